"""All activities, wired to the outside world.

They raise the project's own errors; the worker's interceptor tells Temporal which of them may be
retried, and the simulator reads them as they are.
"""

from collections.abc import Callable
from typing import Any

from activities.objects.events import Recorder
from activities.ports.ports import Ports
from activities.removals.activities import RemovalActivities
from activities.requests.activities import RequestActivities
from activities.round.plan_round import PlanActivities


def all_activities(ports: Ports) -> list[Callable[..., Any]]:
    """Return every activity as a bound method, as a Temporal worker takes them."""
    recorder = Recorder(ports)
    requests = RequestActivities(ports, recorder)
    removals = RemovalActivities(ports, recorder)
    return [
        PlanActivities(ports, recorder).plan_round,
        requests.look_request,
        requests.create_server,
        requests.mark_unmet,
        requests.mark_running,
        requests.register_node,
        requests.tolerate_pods,
        requests.mark_ready,
        requests.mark_settled,
        requests.release_node,
        requests.give_up,
        requests.hand_over,
        requests.finish_request,
        requests.forget_request,
        removals.look_removal,
        removals.taint_node,
        removals.answer_decision,
        removals.cancel_removal,
        removals.untaint_node,
        removals.begin_drain,
        removals.tell_blockers,
        removals.evict_pods,
        removals.commit_removal,
        removals.delete_server,
        removals.delete_node,
        removals.park_removal,
        removals.resume_removal,
        removals.abandon_server,
        removals.skip_server,
        removals.finish_removal,
        removals.forget_removal,
    ]
