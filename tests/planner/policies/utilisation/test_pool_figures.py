"""What is counted of a pool: the numbers that decisions are made by, and Nodes that add up."""

from datetime import timedelta
from fractions import Fraction

from planner.model.pool_figures import NodeState, Use
from planner.plan import plan
from planner.policies.utilisation.pool_use import PoolUses
from planner.supply.machines import machines_of
from tests.builders import before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import scene
from tests.tables import rows

THRESHOLD = {"scaleUp": {"estimators": ["binPack", "threshold"], "thresholdPercent": 70}}
GROUP = {"lowerPercent": 10, "upperPercent": 40, "slow": 1, "fast": 5}
GIB = 2**30


def figures(*objects, pool="default", **spec):
    """Return what a round counted of the pool."""
    made = plan(scene(*objects, **spec).snapshot())
    return made.figures()[pool]


def test_pods_that_have_ended_request_nothing():
    """aws/karpenter-provider-aws issue 2197: pods that had completed went on to count on their node."""
    done, failed = pod("done", "1", node="n", phase="Succeeded"), pod("failed", "1", node="n", phase="Failed")
    made = figures(node("n"), done, failed, pod("runs", "500m", "1Gi", node="n"))
    assert made.use.requests == {"cpu": 500, "memory": GIB}
    assert made.largest_free == {"cpu": 1500, "memory": 3 * GIB}


def test_an_empty_pool_is_told_of_and_is_neither_idle_nor_full():
    """kubernetes-sigs/karpenter issue 935: nothing was told of an empty pool; atlassian/escalator request 148: 0 %."""
    made = figures(pod("waits", "8"), types=("cx22",))
    assert made.use == Use({"cpu": 8000, "memory": GIB // 2}, {"cpu": 0, "memory": 0})
    assert made.use.shares == {}
    assert set(made.nodes.values()) == {0}
    assert figures().use.requests == {"cpu": 0, "memory": 0}


def test_a_share_may_be_above_all_and_room_is_never_below_nothing():
    """Pods that were bound past what a Node has: kubelets admit static pods, and allocatable may shrink."""
    made = figures(node("n"), pod("a", "3", node="n"), types=("cx22",))
    assert made.use.shares["cpu"] == Fraction(3, 2)
    assert made.largest_free["cpu"] == 0


FORCED = [{"key": "growth.dev/remove-now", "effect": "NoSchedule"}]
GOING = [{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}]


@rows(
    ("made", "requests", "removals", "state"),
    {
        "open": (node("n"), [], [], NodeState.UNTAINTED),
        "cordoned": (node("n", spec={"unschedulable": True}), [], [], NodeState.CORDONED),
        "cordoned by a drain of its own": (
            node("n", spec={"unschedulable": True}, ready=False),
            [],
            [node_removal_request("n")],
            NodeState.CORDONED,
        ),
        "to go now": (node("n", taints=FORCED), [], [node_removal_request("n")], NodeState.FORCED),
        "under removal": (node("n"), [], [node_removal_request("n")], NodeState.TAINTED),
        "tainted": (node("n", taints=GOING), [], [], NodeState.TAINTED),
        "being deleted": (node("n", deleting=True), [], [], NodeState.TAINTED),
        "not Ready": (node("n", ready=False), [], [], NodeState.UNHEALTHY),
        "not Ready and going": (node("n", ready=False), [], [node_removal_request("n")], NodeState.TAINTED),
        "just joined": (
            node("n", ready=False),
            [node_request("n", phase="Provisioning", createAttemptAt=before(minutes=1))],
            [],
            NodeState.STARTING,
        ),
    },
)
def test_each_node_is_counted_in_one_state(made, requests, removals, state):
    """kubernetes/autoscaler request 4116: Nodes that go were counted as coming, too.

    openshift/cluster-autoscaler-operator request 139: an alert on Nodes not Ready rang while pools only grew.
    """
    counted = figures(made, *requests, *removals).nodes
    assert {each: number for each, number in counted.items() if number} == {state: 1}
    assert set(counted) == set(NodeState)


def test_what_shrinks_a_pool_is_what_is_told():
    """The sentence of the removal has the share that the figures have."""
    given = scene(
        *(node(name) for name in "abc"),
        *(pod(f"on-{name}", "400m", "256Mi", node=name, owner="rs") for name in "abc"),
        scaleDown={"mode": "drain", "group": GROUP},
    )
    made = plan(given.snapshot())
    counted = made.figures()["default"]
    assert counted.use.shares == {"cpu": Fraction(1, 5), "memory": Fraction(1, 16)}
    assert [removal.why for removal in made.removals] == [
        "20 % of the cpu of pool default is asked for, below scaleDown.group.upperPercent, 40"
    ]
    pool = given.snapshot().pools[0]
    decided = PoolUses(given.snapshot(), machines_of(given.snapshot()).values()).of(pool)
    assert (counted.use.requests, counted.use.capacity) == (decided.asked, decided.capacity)


def test_what_grows_a_pool_is_what_is_told_also_of_machines_that_are_coming():
    coming = node_request("new", phase="Provisioning", createAttemptAt=before(minutes=1))
    made = figures(node("n"), pod("a", "1800m", node="n"), coming, types=("cx22",), **THRESHOLD)
    assert made.growth == Use({"cpu": 1800, "memory": GIB // 2}, {"cpu": 4000, "memory": 8 * GIB})
    assert made.use.shares["cpu"] == Fraction(9, 10)
    assert made.bounds.threshold == 70


def test_a_purchase_by_a_threshold_is_told_as_it_was_before_it():
    given = scene(node("n"), pod("a", "1800m", node="n"), types=("cx22",), **THRESHOLD)
    made = plan(given.snapshot())
    assert [request.why for request in made.requests] == [
        "The threshold of pool default asks for it: of cpu 90 % is requested, above 70 %"
    ]
    growth = made.figures()["default"].growth
    assert growth is not None
    assert growth.shares["cpu"] == Fraction(9, 10)


def test_a_pod_that_waits_counts_in_each_pool_that_it_may_use():
    pools = [node_pool("a"), node_pool("default"), node_pool("b", matchUnselectedPods=True)]
    objects = [pod("any", "3"), pod("for-a", "1", nodeSelector={"growth.dev/pool": "a"})]
    asked = {
        name: (made.use.requests["cpu"], made.largest_pending["cpu"])
        for name in ("a", "b", "default")
        if (made := figures(*objects, pools=pools, pool=name))
    }
    assert asked == {"a": (1000, 1000), "b": (3000, 3000), "default": (3000, 3000)}


def test_bounds_are_those_that_are_in_force():
    types = ({"name": "cx22", "max": 3}, {"name": "cx32", "max": 4, "min": 2})
    assert figures(types=types).limits == {"min": 2, "max": 7}
    assert figures(types=types, limits={"min": 5, "max": 6}).limits == {"min": 5, "max": 6}
    assert figures(scaleDown={"mode": "empty", "group": GROUP}).has_bounds is False


def test_the_lock_tells_when_it_opens():
    lock = {"scaleUp": {"lock": {"min": "2m", "max": "10m"}}}
    made = plan(scene(**lock).snapshot())
    assert (made.pools[0].lock, made.figures()["default"].has_lock) == (None, True)
    given = scene(pod("a"), **lock)
    (report,) = plan(given.snapshot()).pools
    assert report.lock is not None
    assert report.lock.is_closed
    assert report.lock.earliest - report.lock.closed_at == timedelta(minutes=2)
    assert report.lock.latest - report.lock.closed_at == timedelta(minutes=10)
