"""What the events of a pool that grows or shrinks say: how many machines of which types, from how many, and why."""

from planner.plan import plan
from planner.report.scaling_events import MOST_POOLS, scaling_events
from tests.builders import node, node_pool, pod
from tests.planner.scenes import scene

GROUP = {"lowerPercent": 10, "upperPercent": 40, "slow": 1, "fast": 5}
THRESHOLD = {"scaleUp": {"estimators": ["binPack", "threshold"], "thresholdPercent": 70}}


def told(given):
    """Return the events of a round that writes all it has planned."""
    made = plan(given.snapshot())
    bought = [(request, f"{request.pool}-{request.ordinal}") for request in made.requests]
    uids = {pool["metadata"]["name"]: pool["metadata"]["uid"] for pool in given.pools}
    return scaling_events(bought, made.removals, made.pools, uids)


def test_growth_says_what_of_from_how_many_and_from_what_use():
    """kubernetes/autoscaler issue 3991: an event of scaling says the number before and after."""
    (event,) = told(scene(node("n"), pod("a", "1800m", node="n"), types=("cx22",), **THRESHOLD))
    assert (event.kind, event.name, event.uid, event.reason, event.warning) == (
        "NodePool",
        "default",
        "pool-default",
        "ScalingUp",
        False,
    )
    assert event.message == (
        "Pool default asks for 1 machine, from 1 to 2: 1 x cx22 in fsn1. "
        "The threshold of pool default asks for it: of cpu 90 % is requested, above 70 %"
    )


def test_growth_for_pods_has_their_number_and_types():
    (event,) = told(scene(*(pod(f"p{number}", "2", "4Gi") for number in range(3)), types=("cx22",)))
    assert event.message.startswith("Pool default asks for 3 machines, from 0 to 3: 3 x cx22 in fsn1.")


def test_shrinking_says_which_machines_and_below_what():
    nodes = [node(name) for name in "abc"]
    pods = [pod(f"on-{name}", "400m", "256Mi", node=name, owner="rs") for name in "abc"]
    (event,) = told(scene(*nodes, *pods, types=("cx22",), scaleDown={"mode": "drain", "group": GROUP}))
    assert event.reason == "ScalingDown"
    assert event.message == (
        f"Pool default lets go 1 machine, from 3 to 2: 1 x cx22 ({event.machine}). "
        "Underused: 20 % of the cpu of pool default is asked for, below "
        "scaleDown.group.upperPercent, 40"
    )


def test_many_machines_are_one_event_and_many_reasons_few():
    idle = {"growth.dev/idle-since": "2026-02-01T00:00:00Z"}
    (event,) = told(scene(*(node(f"n{number}", annotations=idle) for number in range(12))))
    assert "lets go 12 machines, from 12 to 0: 12 x cx22 (n0, n1, n10 and 9 more)" in event.message


def test_a_round_that_writes_nothing_tells_nothing():
    """kubernetes/autoscaler issue 2619 asks for events of scaling; a decision that is not written is none."""
    made = plan(scene(pod("a", "2")).snapshot())
    assert made.requests
    assert scaling_events((), (), made.pools, {"default": "pool-default"}) == ()


def test_no_more_pools_are_told_of_than_leave_room_for_other_events():
    names = [f"p{number}" for number in range(MOST_POOLS + 5)]
    pods = [pod(name, "2", nodeSelector={"growth.dev/pool": name}) for name in names]
    events = told(scene(*pods, pools=[node_pool(name) for name in names]))
    assert len(events) == MOST_POOLS
