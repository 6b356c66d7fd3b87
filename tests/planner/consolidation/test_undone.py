"""What the next rounds would undo is not begun: no pod moves onto a machine that is to be renewed next."""

import pytest

from tests.builders import before, node, node_removal_request
from tests.planner.consolidation.quiet_scenes import consolidating, going, planned, pod

FREELY = {"nodes": "100%", "reasons": ["Consolidation"]}
ROTATION = {"maxNodeAge": "720h"}


def aged(name, days, kind="cx22", **parts):
    made = node(name, kind, **parts)
    made["metadata"]["creationTimestamp"] = before(days=days)
    return made


def rotating(*budgets, mode="drain", **old):
    """While `first` is emptied for its age, `next` waits for the same; it alone has room for the pod on `young`."""
    removal = node_removal_request(
        "first",
        phase="Draining",
        spec={"reason": "Rotation", "moves": [{"pod": "default/y", "node": "full", "owner": "web"}]},
        metadata={"labels": {"growth.dev/request": "first"}},
    )
    pods = [pod("y", "600m", node="first"), pod("f", "500m", node="full"), pod("z", "2500m", node="next")]
    pods.append(pod("w", "950m", node="young"))
    nodes = [aged("first", 40), aged("next", 39, "cx32", **old), aged("young", 1), aged("full", 1)]
    return consolidating(
        *nodes,
        removal,
        pods=pods,
        types=["cx22", "cx32"],
        limits={"max": 4},
        rotation=ROTATION,
        scaleDown={"mode": mode, "consolidate": {}, "budgets": [*budgets, FREELY]},
    )


def test_no_pod_moves_onto_a_machine_that_is_renewed_next():
    made = planned(rotating({"nodes": 1, "reasons": ["Rotation"]}))
    assert made.removals == ()
    (condition,) = [each for each in made.pools[0].status.conditions if each.type == "TooOld"]
    assert condition.status == "True"


@pytest.mark.parametrize(
    ("budget", "old"),
    [
        ({"nodes": 0, "reasons": ["Rotation"]}, {}),
        ({"nodes": 1, "reasons": ["Rotation"]}, {"annotations": {"growth.dev/do-not-remove": "mine"}}),
    ],
    ids=["none goes", "is kept"],
)
def test_one_that_stays_for_all_that_takes_pods(budget, old):
    made = planned(rotating(budget, **old))
    assert going(made) == [("young", "Consolidation")]
    assert [(move.pod, move.node) for move in made.removals[0].moves] == [("default/w", "next")]
