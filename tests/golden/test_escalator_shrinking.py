"""Golden rows of the seed "Escalator" on machines that go: numbers its documents print, or its tests assert.

Each test carries the row of the reference page on node autoscalers, table 2A, in millicores and units of memory. A
round here is one of its scans after a quiet time. Rows on growth, untainting and locks are tested where these are.
"""

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from planner.model.plan import Plan
from planner.objects.kinds import Node
from planner.plan import plan
from planner.policies.pace.budgets import UNDERUSED
from planner.policies.triggers.group_utilisation import rate
from planner.policies.utilisation.pool_use import PoolUse
from planner.policies.utilisation.removal_order import in_order
from planner.policies.utilisation.shares import is_above, is_below, larger_share
from planner.supply.machines import Machine
from tests.builders import node, node_pool, node_removal_request, pod
from tests.planner.policies.triggers.fleet import aged
from tests.planner.scenes import Scene, scene
from tests.tables import rows

ALL_AT_ONCE = [{"nodes": "100%"}]


def group(lower: int, upper: int, slow: int, fast: int) -> dict:
    return {"lowerPercent": lower, "upperPercent": upper, "slow": slow, "fast": fast}


def fleet(number: int, size: tuple[int, int], pods: int = 0, asked=(0, 0), *more, group, mode="drain", **spec) -> Scene:
    """Return a pool of `number` Nodes of a size, with so many pods dealt out to them one by one."""
    nodes = [
        node(f"n{i:03}", allocatable={"cpu": f"{size[0]}m", "memory": str(size[1]), "pods": "110"})
        for i in range(number)
    ]
    dealt = [
        pod(f"p{i}", f"{asked[0]}m", str(asked[1]), node=nodes[i % number]["metadata"]["name"], owner="rs")
        for i in range(pods)
    ]
    down = {"mode": mode, "budgets": ALL_AT_ONCE, "group": group}
    return scene(*nodes, *more, pods=dealt, scaleDown=down, **spec)


def delta(given: Scene) -> int:
    """Return the change of the number of machines by a round: those that go are below nought."""
    made: Plan = plan(given.snapshot())
    return len(made.requests) - len(made.removals)


@rows(
    ("percent", "goes"),
    {
        "7: 110": (110, 0),
        "7: 75": (75, 0),
        # The document says that 70 grows; code and fields of ours say above. It takes nothing away in any case.
        "8: 70, B4": (70, 0),
        "9: 50": (50, 0),
        "9: 40, the upper bound itself, B4": (40, 0),
        "10: 38": (38, 2),
        "10: 10, the lower bound itself": (10, 2),
        "11: 9": (9, 5),
        "11: 0": (0, 5),
    },
)
def test_rows_7_to_11_and_their_boundaries(percent: int, goes: int):
    wish = node_pool(scaleDown={"mode": "wait", "group": group(10, 40, 2, 5)})
    amounts = {"cpu": percent * 10, "memory": 0}, {"cpu": 1000, "memory": 1000}
    use = PoolUse(*amounts, {"cpu": 0, "memory": 0}, amounts[1])
    (pool,) = scene(pools=[wish]).snapshot().pools
    assert rate(pool.spec.scale_down.group, use)[0] == goes


@rows(
    ("percent", "goes"),
    {"38": (38, 2), "10": (10, 2), "9": (9, 5), "40": (40, 0), "0": (0, 5)},
)
def test_rows_9_to_11_as_rounds(percent: int, goes: int):
    # Twenty machines, so that five of them may go: a hundred pods, each of so many thousandths of what they have.
    given = fleet(20, (1000, 1000), 100, (percent * 2, 1), group=group(10, 40, 2, 5), mode="wait")
    made = plan(given.snapshot())
    assert [removal.reason for removal in made.removals] == [UNDERUSED] * goes
    assert made.requests == ()


def test_row_5_a_minimum_lets_fewer_go():
    assert delta(fleet(7, (1000, 1000), group=group(10, 40, 3, 3), limits={"min": 5})) == -2


def test_row_37_the_fast_rate_of_an_idle_pool():
    assert delta(fleet(10, (2000, 8000), group=group(40, 60, 2, 4), limits={"min": 5})) == -4


def test_row_39_to_none_at_all():
    assert delta(fleet(4, (2000, 8000), group=group(40, 60, 2, 4))) == -4


@rows(
    ("nodes", "pods", "goes"),
    {
        "41: 62.5 %, by its max alone": (12, 30, 2),
        "43: 90.9 %, over-max wins over growth": (11, 40, 1),
        "44: at its max": (10, 26, 0),
    },
)
@pytest.mark.parametrize("mode", ["drain", "wait"])
def test_rows_41_to_44_over_max(nodes: int, pods: int, goes: int, mode: str):
    bounds = {"min": 5, "max": 10}
    given = fleet(nodes, (2000, 8000), pods, (500, 1000), group=group(40, 50, 2, 5), limits=bounds, mode=mode)
    given.pools[0]["spec"]["scaleUp"] = {"estimators": ["threshold"], "thresholdPercent": 80}
    made = plan(given.snapshot())
    assert [removal.reason for removal in made.removals] == ["OverMax"] * goes
    assert made.requests == ()


def test_row_46_machines_that_go_do_not_count_towards_max():
    given = fleet(12, (2000, 8000), 0, group=group(40, 50, 2, 5), limits={"min": 5, "max": 10})
    given.pods = [pod(f"p{i}", "500m", "1000", node=f"n{i % 8:03}", owner="rs") for i in range(20)]
    given.removals = [node_removal_request(f"n{i:03}", spec={"reason": UNDERUSED}) for i in range(8, 12)]
    assert delta(given) == 0


@rows(
    ("nodes", "least", "wanted", "goes"),
    {
        "51: wants two": (6, 3, 2, 2),
        "51: wants four": (6, 3, 4, 3),
        "52: below its minimum": (2, 3, 4, 0),
        "53: fewer than wanted": (3, 0, 4, 3),
        "53: as many as wanted": (6, 0, 4, 4),
    },
)
def test_rows_51_to_53_how_many_are_closed(nodes: int, least: int, wanted: int, goes: int):
    given = fleet(nodes, (1000, 1000), group=group(40, 60, wanted, wanted), limits={"min": least})
    assert len(plan(given.snapshot()).removals) == goes


def created(years: list[int]) -> list[Machine]:
    return [
        Machine(f"n{i}", node=Node(f"n{i}", f"u{i}", {}, is_ready=True, created_at=datetime(year, 1, 1, tzinfo=UTC)))
        for i, year in enumerate(years)
    ]


YEARS = [2011, 2009, 2010, 2015, 2005, 2007]


@rows(
    ("years", "most", "order"),
    {
        "55: six": (YEARS, 6, [4, 5, 1, 2, 0, 3]),
        "56: two": (YEARS, 2, [4, 5]),
        "56: three of the first four": (YEARS[:4], 3, [1, 2, 0]),
    },
)
def test_rows_55_and_56_the_oldest_first(years: list[int], most: int, order: list[int]):
    (pool,) = scene(pools=[node_pool(scaleDown={"order": "oldest"})]).snapshot().pools
    assert [machine.name for machine in in_order(pool, created(years), {})][:most] == [f"n{i}" for i in order]


def test_row_56_as_a_round():
    given = fleet(0, (1000, 1000), group=group(40, 60, 2, 2))
    given.nodes = [aged(f"n{i}", days=(2026 - year) * 365) for i, year in enumerate(YEARS)]
    given.pools[0]["spec"]["scaleDown"]["order"] = "oldest"
    assert {removal.node for removal in plan(given.snapshot()).removals} == {"n4", "n5"}


def test_row_67_a_kept_node_is_never_closed():
    # There both are tainted, and the kept one stays when its grace is over; here it is never tainted.
    given = fleet(2, (1000, 1000), group=group(40, 60, 2, 2))
    assert delta(given) == -2
    given.nodes[0]["metadata"]["annotations"] = {"growth.dev/do-not-remove": "mine"}
    assert [removal.node for removal in plan(given.snapshot()).removals] == ["n001"]


@rows(
    ("asked", "capacity", "share"),
    {
        "13": ((50, 50), (100, 100), Fraction(1, 2)),
        "16": ((0, 0), (66, 66), Fraction(0)),
        "17: nothing of nothing": ((0, 0), (0, 0), Fraction(0)),
    },
)
def test_rows_13_to_17_shares(asked, capacity, share):
    amounts = [dict(zip(("cpu", "memory"), each, strict=True)) for each in (asked, capacity)]
    assert larger_share(*amounts)[0] == share


def test_rows_14_and_26_where_there_is_nothing_no_share_is_below_or_taken():
    # An error there; here such a pool is left alone.
    asked, nothing = {"cpu": 50, "memory": 50}, {"cpu": 0, "memory": 0}
    assert not is_below(asked, nothing, 1000)
    assert is_above(asked, nothing, 1000)
    assert not is_below(nothing, nothing, 1000)
    assert not is_above(nothing, nothing, 0)
    given = fleet(10, (0, 0), 5, (0, 0), group=group(40, 60, 2, 4))
    assert delta(given) == 0


# Ambiguities of section 3, and rules of section 5B.


def test_b6_a_node_that_somebody_wants_gone_counts_on_neither_side():
    # Four categories there: untainted, tainted, cordoned and force-tainted.
    given = fleet(4, (1000, 1000), 12, (100, 100), group=group(10, 31, 1, 1), mode="wait")
    assert delta(given) == -1
    given.nodes[3]["spec"]["taints"] = [{"key": "growth.dev/remove-now", "effect": "NoSchedule"}]
    given.pods.append(pod("more", "31m", "1", node="n000", owner="rs"))
    # 931 of 3000 is 31 %, 1231 of 4000 would be less.
    assert delta(given) == 0


def test_b8_pods_on_closed_and_cordoned_nodes_count_on_neither_side():
    # Upstream counts them in the numerator: 1600 of 2000 would be 80 %, and none would go.
    given = fleet(4, (1000, 1000), 0, group=group(10, 40, 1, 1), mode="wait")
    given.pools[0]["spec"]["scaleDown"]["maxRemainingPercent"] = 200
    uses = {"n000": "100m", "n001": "100m", "n002": "700m", "n003": "700m"}
    given.pods = [pod(f"on-{name}", cpu, "1", node=name, owner="rs") for name, cpu in uses.items()]
    given.removals = [node_removal_request("n002", spec={"reason": UNDERUSED})]
    given.nodes[3]["spec"]["unschedulable"] = True
    assert delta(given) == -1


def test_5b_in_mode_drain_pods_that_are_being_moved_count():
    given = fleet(3, (1000, 1000), 0, group=group(10, 40, 1, 1))
    uses = {"n000": "300m", "n001": "300m", "n002": "400m"}
    given.pods = [pod(f"on-{name}", cpu, "1", node=name, owner="rs") for name, cpu in uses.items()]
    assert delta(given) == -1
    given.removals = [node_removal_request("n002", phase="Draining", spec={"reason": UNDERUSED})]
    # 1000 of 2000, and not 600.
    assert delta(given) == 0


def test_5b_pods_that_wait_count():
    waiting = pod("waits", "900m", "1", nodeSelector={"kubernetes.io/hostname": "nowhere"})
    given = fleet(4, (1000, 1000), 12, (100, 100), group=group(10, 40, 1, 1), mode="wait")
    assert delta(given) == -1
    given.pods.append(waiting)
    assert delta(given) == 0


@pytest.mark.parametrize("mode", ["wait", "drain"])
def test_5b_a_candidate_that_a_check_keeps_never_goes(mode: str):
    given = fleet(3, (1000, 1000), 3, (10, 10), group=group(40, 60, 3, 3), mode=mode)
    for each in given.nodes:
        each["metadata"]["annotations"] = {"growth.dev/do-not-remove": "mine"}
    made = plan(given.snapshot())
    assert (made.removals, made.blocked) == ((), ())


@pytest.mark.parametrize("mode", ["empty", "none"])
def test_in_other_modes_use_takes_nothing_away(mode: str):
    assert delta(fleet(10, (1000, 1000), group=group(40, 60, 3, 3), mode=mode)) == 0


def test_5b_a_rate_of_nought_takes_nothing_away():
    assert delta(fleet(10, (1000, 1000), group=group(40, 60, 0, 0))) == 0
