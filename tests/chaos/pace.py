"""Growth's own clockwork, about ten times as fast: what takes minutes by rule takes seconds here.

Only durations change, and all in proportion: what has to be shorter than something else still is.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final

from temporalio.common import RetryPolicy
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from planner.lifecycle.garbage import Guards
from workflows import policies

ROOMS: Final = ("activities", "planner", "worker", "workflows")
HEARTBEAT: Final = timedelta(seconds=3)
ASK_AGAIN_AFTER: Final = timedelta(seconds=20)
KEEPER_PERIOD: Final = timedelta(seconds=1.5)
YOUNG: Final = timedelta(seconds=6)
"""Of a server; a sweep for garbage leaves it alone for so long."""
_RETRY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=1),
    non_retryable_error_types=policies.NON_RETRYABLE,
)
_CALL: Final = policies.ActivityPolicy(timedelta(seconds=20), _RETRY, ASK_AGAIN_AFTER)

_SECONDS: Final = {
    "activities.round.fence": {"HELD_FOR": 4, "WRITES_WITHIN": 3, "_LOOK_EVERY": 0.2, "_WAIT_AT_MOST": 5},
    "activities.round.plan_round": {"_ENOUGH_TO_WRITE": 1.5},
    "activities.round.workflow_starts": {"_START_TAKES": 1},
    "planner.supply.machines": {"READY_GRACE": 2},
    "planner.policies.refused_placements": {
        "FIRST_WAIT": 20,
        "LONGEST_WAIT": 720,
        "REMEMBERED_FOR": 120,
        "ROOM_SEEN_FOR": 10,
        "WITHOUT_A_SIGN": 50,
    },
    "planner.supply.places": {"PLACED_AFTER_CANCEL": 4, "_LIFT_DELAY": 1},
    "planner.lifecycle.request": {
        "BELIEVE_ABSENCE_AFTER": 4,
        "RELEASE_AFTER_READY": 6,
        "LOOK_EVERY": 0.5,
        "LONGEST_LOOK": 2,
        "LOOK_AT_RECORD_EVERY": 2,
    },
    "planner.lifecycle.arrival.reservation": {"RELEASE_AFTER_READY": 6, "LOOK_EVERY": 0.5},
    "planner.lifecycle.clocks.deadlines": {"SEEN_FOR": 12, "RELEASE_AFTER_READY": 6},
    "planner.lifecycle.removal": {
        "TAINT_SETTLES_AFTER": 1,
        "LOOK_EVERY": 0.5,
        "LOOK_AT_COOL_OFF_EVERY": 2,
        "LOOK_AT_PARKED_EVERY": 2,
    },
    "planner.lifecycle.drain": {
        "ASK_AGAIN_AFTER": 1,
        "LONGEST_PAUSE": 4,
        "LOOK_AT_PODS_EVERY": 0.5,
        "LOOK_AT_BLOCKED_EVERY": 2,
    },
    "planner.objects.stays": {"STUCK_AFTER": 3},
    "activities.ports.server_lists": {"SHARED_FOR": 1},
    "workflows.policies": {"SHORTEST_PAUSE": 0.3, "LONGEST_PAUSE": 1},
    "workflows.lifecycle": {"SHORTEST_WAIT": 0.1},
    "planner.policies.next_round": {"OPEN_PERIOD": 2, "QUIET_PERIOD": 4, "SHORTEST_WAIT": 0.2, "LONGEST_BACKOFF": 0.5},
}
_OTHERS: Final[dict[str, dict[str, Any]]] = {
    "workflows.policies": {
        "HEARTBEAT": HEARTBEAT,
        "ASK_AGAIN_AFTER": ASK_AGAIN_AFTER,
        "PLAN": policies.ActivityPolicy(timedelta(seconds=15), RetryPolicy(maximum_attempts=1)),
        "POLICIES": dict.fromkeys(policies.Calls, _CALL),
    },
    "planner.lifecycle.step": {"LOOKS_A_SECOND": 40},
    "activities.providers.kwok.provider": {"_PASS_EVERY_SECONDS": 2.0},
    "activities.garbage.sweep": {"Guards": partial(Guards, oldest_young=YOUNG, apart=KEEPER_PERIOD)},
    "planner.lifecycle.wakes": {"ORPHAN_SECONDS": 0.7, "CALM_SECONDS": 0.3},
    "worker.runtime.watches": {"CALM_LONGEST_SECONDS": 1.0},
}


def open_runner() -> SandboxedWorkflowRunner:
    """Return the worker's sandbox, which also takes the workflows' own modules as they are here, with their pace."""
    return SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules(*ROOMS, "api", "tests")
    )


@contextmanager
def quick_pace() -> Iterator[None]:
    """Make Growth quick for the block, in every module that has taken a duration over."""
    changes = [(room, name, timedelta(seconds=value)) for room, of in _SECONDS.items() for name, value in of.items()]
    changes += [(room, name, value) for room, of in _OTHERS.items() for name, value in of.items()]
    changes.append(("worker.temporal.sandbox", "workflow_runner", open_runner))
    undo: list[tuple[Any, str, Any]] = []
    try:
        for room, name, value in changes:
            old = getattr(sys.modules[room], name)
            users = [one for key, one in sys.modules.items() if key.split(".")[0] in ROOMS]
            for module in users:
                if vars(module).get(name) is old:
                    undo.append((module, name, old))
                    setattr(module, name, value)
        yield
    finally:
        for module, name, old in reversed(undo):
            setattr(module, name, old)
