"""While a pool is little used as a whole, machines go: at a rate for a time, and never so many that it must grow again.

Source: atlassian/escalator, docs/algorithm.md.
"""

from datetime import timedelta

import pytest

from planner.plan import plan
from tests.builders import NOW, after, before, node, node_removal_request, node_request, pod
from tests.planner.scenes import scene
from tests.tables import rows

GROUP = {"lowerPercent": 10, "upperPercent": 40, "slow": 1, "fast": 3, "every": "2m"}
FREE = [{"nodes": "100%"}]


def pool_of(number, cpu="200m", *more, mode="wait", group=None, down=None, **spec):
    """Return a pool of so many Nodes of 2 cores, with a pod on each."""
    nodes = [node(f"n{i}") for i in range(number)]
    pods = [pod(f"on-n{i}", cpu, "64Mi", node=f"n{i}", owner="rs") for i in range(number)]
    fields = {"mode": mode, "budgets": FREE, "group": GROUP | (group or {})} | (down or {})
    return scene(*nodes, *more, pods=pods, scaleDown=fields, **spec)


def leaving(given):
    return [(removal.node, removal.reason) for removal in plan(given.snapshot()).removals]


def blocked(given):
    return {(each.node, each.trigger, each.reason) for each in plan(given.snapshot()).blocked}


def test_one_goes_at_the_slow_rate_and_says_why():
    made = plan(pool_of(4).snapshot())
    (removal,) = made.removals
    assert (removal.node, removal.reason, removal.moves) == ("n0", "Underused", ())
    assert removal.why == "10 % of the cpu of pool default is asked for, below scaleDown.group.upperPercent, 40"
    assert made.requests == ()
    (report,) = made.pools
    assert report.status.last_shrink_at == NOW


def test_where_pods_are_moved_each_has_a_place_and_nothing_is_bought():
    made = plan(pool_of(4, mode="drain").snapshot())
    (removal,) = made.removals
    assert [move.pod for move in removal.moves] == [f"default/on-{removal.node}"]
    assert (removal.replacement, made.requests) == ((), ())


def test_one_whose_pod_has_no_other_place_stays_and_another_goes():
    given = pool_of(4, mode="drain")
    given.pods[0]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n0"}
    made = plan(given.snapshot())
    assert [removal.node for removal in made.removals] == ["n1"]
    assert [(each.node, each.trigger, each.reason) for each in made.blocked] == [("n0", "Underused", "BlockedByMisfit")]
    assert made.requests == ()


@rows(
    ("last", "goes"),
    {
        "never": (None, 3),
        "before that": (before(minutes=2), 3),
        "within it": (before(seconds=119), 0),
        "by a clock that was ahead": (after(minutes=30), 3),
    },
)
def test_the_rate_holds_for_a_time_by_the_status(last, goes):
    given = pool_of(10, "10m")
    given.pools[0]["status"] = {"lastShrinkAt": last} if last else {}
    made = plan(given.snapshot())
    assert len(made.removals) == goes
    if not goes:
        assert made.wake_at == NOW + timedelta(seconds=1)
        assert made.pools[0].status.last_shrink_at == NOW - timedelta(seconds=119)


@rows(
    ("seconds", "reason", "goes"),
    {
        "long ago": (120, "Underused", 3),
        "a while ago": (60, "Underused", 0),
        "of another policy": (60, "Empty", 0),
        "at once, for somebody": (60, "RemoveNow", 3),
        "a person's": (60, "Requested", 3),
    },
)
def test_a_removal_that_the_status_has_missed_counts(seconds, reason, goes):
    # The worker died between its writes.
    gone = node_removal_request("n9", spec={"reason": reason})
    gone["metadata"]["creationTimestamp"] = before(seconds=seconds)
    if reason != "Requested":
        gone["metadata"]["labels"] = {"growth.dev/request": "n9"}
    given = pool_of(10, "10m", gone)
    assert len(leaving(given)) == goes


def test_a_machine_that_goes_for_want_of_pods_takes_the_turn():
    given = pool_of(10, "10m")
    given.nodes[4]["metadata"]["annotations"] = {"growth.dev/idle-since": before(hours=1)}
    del given.pods[4]
    made = plan(given.snapshot())
    assert [(removal.node, removal.reason) for removal in made.removals] == [("n4", "Empty")]
    assert made.wake_at == NOW + timedelta(minutes=2)


@rows(
    ("most", "threshold", "goes"),
    {
        # Two machines at 30 %: one would be at 60 %.
        "usual": (None, None, 1),
        "exactly as much": (60, None, 1),
        "less": (59, None, 0),
        "as much as makes it grow": (None, 60, 1),
        "more than makes it grow": (None, 59, 0),
        "the stricter of both": (59, 80, 0),
    },
)
def test_what_remains_is_not_used_too_much(most, threshold, goes):
    down = {} if most is None else {"maxRemainingPercent": most}
    up = {} if threshold is None else {"scaleUp": {"estimators": ["threshold"], "thresholdPercent": threshold}}
    given = pool_of(2, "600m", down=down, **up)
    assert len(leaving(given)) == goes
    kept = {("n0", "Underused", "BlockedByRemainingUse"), ("n1", "Underused", "BlockedByRemainingUse")}
    assert blocked(given) == (set() if goes else kept)


def test_what_remains_is_told_in_percent():
    given = pool_of(3, "500m", down={"maxRemainingPercent": 30})
    why = {each.why for each in plan(given.snapshot()).blocked}
    assert why == {"of the cpu that would remain in pool default, 37.5 % would be asked for, above 30 %"}


def test_machines_of_the_same_round_and_those_that_go_already_are_counted():
    # Ten at 9 %: three at once would leave 12.86 %.
    assert len(leaving(pool_of(10, "180m", down={"maxRemainingPercent": 12}))) == 2
    gone = node_removal_request("n9", spec={"reason": "Underused"})
    # What runs on n9 comes again elsewhere: 1800 of 16000.
    assert len(leaving(pool_of(10, "180m", gone, down={"maxRemainingPercent": 11}))) == 0
    assert len(leaving(pool_of(10, "180m", gone, down={"maxRemainingPercent": 12}))) == 1


def test_nodes_that_are_not_ready_carry_nobody():
    given = pool_of(3, "500m", mode="wait")
    given.nodes[2]["status"]["conditions"][0]["status"] = "False"
    # 1500 of 4000 as both others stay, 1500 of 2000 without one of them.
    assert leaving(given) == [("n2", "Underused")]
    given.pools[0]["spec"]["scaleDown"]["maxRemainingPercent"] = 37
    assert leaving(given) == []
    assert ("n2", "Underused", "BlockedByRemainingUse") in blocked(given)


def test_while_a_machine_of_the_pool_is_coming_none_goes():
    coming = node_request("r", phase="Provisioning", createAttemptAt=before(seconds=9))
    given = pool_of(4, "200m", coming)
    assert leaving(given) == []
    assert {reason for _, _, reason in blocked(given)} == {"BlockedByPurchase"}


def test_while_one_is_bought_none_goes():
    given = pool_of(4)
    given.pods.append(pod("waits", "1900m", "64Mi"))
    made = plan(given.snapshot())
    assert (len(made.requests), made.removals) == (1, ())


def test_machines_that_a_minimum_needs_are_not_even_spoken_of():
    given = pool_of(3, "10m", limits={"min": 3})
    assert (leaving(given), blocked(given)) == ([], set())
    given = pool_of(3, "10m", limits={"min": 2})
    assert (len(leaving(given)), blocked(given)) == (1, set())


@rows(
    ("mode", "budgets", "goes"),
    {
        "in mode wait the rates alone": ("wait", None, 3),
        "in mode drain a tenth": ("drain", None, 1),
        "as many as a budget says": ("wait", [{"nodes": 2, "reasons": ["Underused"]}], 2),
        "of another reason": ("wait", [{"nodes": 0, "reasons": ["Empty"]}], 3),
    },
)
def test_budgets(mode, budgets, goes):
    given = pool_of(10, "10m", mode=mode)
    given.pools[0]["spec"]["scaleDown"].pop("budgets")
    if budgets is not None:
        given.pools[0]["spec"]["scaleDown"]["budgets"] = budgets
    assert len(leaving(given)) == goes


@rows(
    ("order", "first"),
    {
        "the dearest": (None, "dear"),
        "the dearest by name of the field": ("dearest", "dear"),
        "the oldest": ("oldest", "old"),
        "the least used": ("leastUtilised", "spare"),
    },
)
@pytest.mark.parametrize("mode", ["wait", "drain"])
def test_order(order, first, mode):
    nodes = [node("dear", "cx42"), node("old"), node("spare"), node("z")]
    for each, hours in zip(nodes, (3, 9, 2, 1), strict=True):
        each["metadata"]["creationTimestamp"] = before(hours=hours)
    uses = {"dear": "1600m", "old": "400m", "spare": "100m", "z": "400m"}
    pods = [pod(f"on-{name}", cpu, "64Mi", node=name, owner="rs") for name, cpu in uses.items()]
    down = {"mode": mode, "budgets": FREE, "group": GROUP} | ({"order": order} if order else {})
    given = scene(*nodes, pods=pods, scaleDown=down)
    assert leaving(given) == [(first, "Underused")]
    given.nodes[3]["status"]["conditions"][0]["status"] = "False"
    if mode == "wait":
        assert leaving(given) == [("z", "Underused")]


def test_in_mode_drain_one_that_is_not_ready_goes_only_without_pods():
    given = pool_of(4, "300m", mode="drain")
    given.nodes[3]["status"]["conditions"][0]["status"] = "False"
    assert leaving(given) == [("n0", "Underused")]
    del given.pods[3]
    assert leaving(given) == [("n3", "Underused")]


def test_a_machine_that_headroom_needs_stays():
    given = pool_of(2, "100m", headroom=[{"requests": {"cpu": "1500m", "memory": "64Mi"}, "count": 2}])
    assert leaving(given) == []


def test_without_the_fields_the_status_says_nothing():
    given = pool_of(4)
    del given.pools[0]["spec"]["scaleDown"]["group"]
    (report,) = plan(given.snapshot()).pools
    assert (report.status.last_shrink_at, report.status.last_growth_at) == (None, None)
