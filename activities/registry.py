"""All activities, wired to the outside world.

They raise the project's own errors; the worker's interceptor tells Temporal which of them may be
retried, and the simulator reads them as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from activities.objects.events import Recorder
from activities.objects.kind_activities import KindActivities, activities_of
from activities.ports.ports import Ports
from activities.removals.activities import REMOVAL_ACTIVITIES
from activities.requests.activities import REQUEST_ACTIVITIES
from activities.round.plan_round import PlanActivities

LIFECYCLES: Final[Sequence[KindActivities[Any]]] = (REQUEST_ACTIVITIES, REMOVAL_ACTIVITIES)
"""The activities of every kind, in the order of `planner.lifecycle.kinds.KINDS`."""


def all_activities(ports: Ports, lifecycles: Sequence[KindActivities[Any]] = LIFECYCLES) -> list[Callable[..., Any]]:
    """Return every activity as a Temporal worker takes them."""
    recorder = Recorder(ports)
    kinds = [row.stored for row in lifecycles]
    of_kinds = [run for row in lifecycles for run in activities_of(row, ports, recorder).values()]
    return [PlanActivities(ports, recorder, kinds=kinds).plan_round, *of_kinds]
