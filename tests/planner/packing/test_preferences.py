"""Preferences choose between machines of one price, and do nothing else.

What a preference wants is told by the Kubernetes docs, "Assigning Pods to Nodes" and "Pod Topology Spread Constraints".
"""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from planner.model.plan import PlanResult
from planner.packing.problem import PackedNode, Packing, PackingProblem
from planner.plan import plan
from tests.builders import kwok_node_class, node, node_pool, pod, server_type
from tests.planner import scenes
from tests.planner.outcome import planned
from tests.planner.reading import Json
from tests.planner.scenes import Scene
from tests.planner.wishes import HOST, ZONE, affinity, in_zones, on_port, preference, soft_spread, spread, term

ZONES = ("fsn1", "nbg1", "hel1")
ARCH = "kubernetes.io/arch"
WEB, DB = {"app": "web"}, {"app": "db"}
KINDS = [server_type("cx22", locations=ZONES), server_type("cx42", locations=ZONES)]
CX22, CAX11 = server_type("cx22"), server_type("cax11", pricePerHour="0.0066")
"""Of one price, amd64 and arm64."""


def scene(*pods: Json, kinds: list[Json] = KINDS, types: Any = ("cx22", "cx42"), **spec: Any) -> Scene:
    return scenes.scene(*pods, kinds=kinds, types=types, **spec)


def webs(number: int, cpu: str = "2", **spec: Any) -> list[Json]:
    """Return pods of one owner, of which each fills a cx22."""
    return [pod(f"web-{k}", cpu, "1Gi", labels=WEB, owner="rs-web", **spec) for k in range(number)]


def resident(name: str, zone: str, app: str, **spec: Any) -> tuple[Json, Json]:
    """Return a node in a zone that has no more room, and the pod that fills it."""
    return node(name, labels={ZONE: zone}), pod(f"on-{name}", "2", "1Gi", node=name, labels={"app": app}, **spec)


def bought(given: Scene) -> Counter[tuple[str, str]]:
    return Counter((r.server_type, r.location) for r in planned(given).requests)


def zones(given: Scene) -> Counter[str]:
    return Counter(r.location for r in planned(given).requests)


# Nodes.


def test_a_machine_is_bought_in_the_zone_that_its_pod_prefers():
    assert zones(scene(*webs(2))) == {"fsn1": 2}
    assert zones(scene(*webs(2, affinity=preference(nodes={1: in_zones("nbg1")})))) == {"nbg1": 2}


@pytest.mark.parametrize(("nodes", "zone"), [({30: "nbg1", 70: "hel1"}, "hel1"), ({70: "nbg1", 30: "hel1"}, "nbg1")])
def test_the_weightiest_term_wins(nodes: dict[int, str], zone: str):
    wish = preference(nodes={weight: in_zones(name) for weight, name in nodes.items()})
    assert zones(scene(*webs(1, affinity=wish))) == {zone: 1}


def test_most_pods_of_a_machine_win():
    # All three share one cx42, which costs less than three cx22.
    wishes = ["nbg1", "hel1", "hel1"]
    pods = [pod(f"p{k}", "2", affinity=preference(nodes={50: in_zones(zone)})) for k, zone in enumerate(wishes)]
    assert bought(scene(*pods)) == {("cx42", "hel1"): 1}


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_a_type_is_preferred_to_another_of_the_same_price(architecture: str):
    wish = preference(nodes={1: in_zones(architecture, key=ARCH)})
    name = {"amd64": "cx22", "arm64": "cax11"}[architecture]
    assert bought(scene(*webs(2, affinity=wish), kinds=[CX22, CAX11], types=("cx22", "cax11"))) == {(name, "fsn1"): 2}


def test_nothing_dearer_is_bought():
    dearer = server_type("cax11", pricePerHour="0.0067")
    wish = preference(nodes={100: in_zones("arm64", key=ARCH)})
    assert bought(scene(*webs(2, affinity=wish), kinds=[CX22, dearer], types=("cx22", "cax11"))) == {
        ("cx22", "fsn1"): 2
    }


def test_the_priority_of_a_pool_goes_first():
    types = [{"name": "cx22", "priority": 10}, "cax11"]
    wish = preference(nodes={100: in_zones("arm64", key=ARCH)})
    assert bought(scene(*webs(2, affinity=wish), kinds=[CX22, CAX11], types=types)) == {("cx22", "fsn1"): 2}


def test_what_does_not_hold_the_same_pods_is_not_taken():
    # Two pods share a cx22; the arm64 machine of the same price holds one of them.
    smaller = CAX11 | {"capacity": {"cpu": "1", "memory": "4Gi"}}
    wish = preference(nodes={100: in_zones("arm64", key=ARCH)})
    given = scene(*webs(2, cpu="1", affinity=wish), kinds=[CX22, smaller], types=("cx22", "cax11"))
    assert bought(given) == {("cx22", "fsn1"): 1}


def test_a_limit_holds():
    wish = preference(nodes={100: in_zones("arm64", key=ARCH)})
    types = [{"name": "cx22"}, {"name": "cax11", "max": 1}]
    given = scene(*webs(3, affinity=wish), kinds=[CX22, CAX11], types=types)
    assert bought(given) == {("cx22", "fsn1"): 2, ("cax11", "fsn1"): 1}


def test_what_is_hard_holds():
    wish = preference(nodes={100: in_zones("nbg1")})
    assert zones(scene(*webs(2, affinity=wish, nodeSelector={ZONE: "hel1"}))) == {"hel1": 2}
    even = scene(*webs(3, affinity=wish, topologySpreadConstraints=[spread(app="web")]))
    assert zones(even) == {"fsn1": 1, "nbg1": 1, "hel1": 1}
    together = wish | affinity(near=term(ZONE, {"app": "db"}))
    given = scene(*webs(2, affinity=together))
    made, on_it = resident("n", "hel1", "db")
    given.nodes, given.pods = [made], [*given.pods, on_it]
    assert zones(given) == {"hel1": 2}


def test_machines_with_room_are_used_whatever_is_preferred():
    given = scene(*webs(1, affinity=preference(nodes={100: in_zones("nbg1")})))
    given.nodes = [node("n", labels={ZONE: "fsn1"})]
    made = planned(given)
    assert (made.requests, [p.node for p in made.placed]) == ((), ["n"])


# Other pods.


def test_soft_spreading_is_even_where_it_costs_nothing():
    even = webs(6, topologySpreadConstraints=[soft_spread(app="web")])
    assert zones(scene(*even, types=["cx22"])) == {"fsn1": 2, "nbg1": 2, "hel1": 2}


def test_soft_spreading_adds_no_machine():
    # Four pods share one cx42, in one zone.
    even = webs(4, topologySpreadConstraints=[soft_spread(app="web")])
    made = planned(scene(*even))
    assert [r.server_type for r in made.requests] == ["cx42"]
    assert made.cost_per_hour == Decimal("0.0170")


def test_pods_that_are_there_count():
    given = scene(*webs(3, topologySpreadConstraints=[soft_spread(app="web")]), types=["cx22"])
    there = [resident("a", "fsn1", "web"), resident("b", "fsn1", "web"), resident("c", "nbg1", "web")]
    # Not counted: pods of another app, and one that is about to go.
    there += [resident("d", "hel1", "db"), resident("e", "hel1", "web")]
    there[-1][1]["metadata"]["deletionTimestamp"] = "2026-03-01T11:59:00Z"
    given.nodes = [made for made, _ in there]
    given.pods += [on_it for _, on_it in there]
    assert zones(given) == {"nbg1": 1, "hel1": 2}


def test_pods_of_the_round_without_a_wish_count():
    # These are tied to a zone and want nothing; the others look for them.
    tied = [pod(f"tied-{k}", "2", labels=WEB, nodeSelector={ZONE: "fsn1"}) for k in range(2)]
    fond = webs(2, topologySpreadConstraints=[soft_spread(app="web")])
    assert zones(scene(*tied, *fond, types=["cx22"])) == {"fsn1": 2, "nbg1": 1, "hel1": 1}


@pytest.mark.parametrize(
    ("wish", "zone"),
    [
        (preference(near={10: term(ZONE, {"app": "db"})}), "hel1"),
        (preference(away={10: term(ZONE, {"app": "db"})}), "fsn1"),
        (preference(near={10: term(ZONE, {"app": "db"}, namespaces=["elsewhere"])}), "fsn1"),
        (preference(away={10: term(ZONE, {"app": "cache"})}), "nbg1"),
        # The first counts twice, as there are two of them.
        (preference(near={51: term(ZONE, {"app": "db"}), 100: term(ZONE, {"app": "queue"})}), "hel1"),
        (preference(near={49: term(ZONE, {"app": "db"}), 100: term(ZONE, {"app": "queue"})}), "nbg1"),
    ],
)
def test_pods_to_be_near_and_pods_to_be_away_from(wish: Json, zone: str):
    given = scene(*webs(1, affinity=wish))
    there = [resident("a", "hel1", "db"), resident("b", "hel1", "db"), resident("c", "nbg1", "queue")]
    there += [resident("d", "fsn1", "cache"), resident("e", "hel1", "cache")]
    given.nodes = [made for made, _ in there]
    given.pods += [on_it for _, on_it in there]
    assert zones(given) == {zone: 1}


def test_a_wish_about_single_machines_changes_nothing():
    wish = preference(away={100: term(HOST, WEB)})
    given = webs(2, cpu="1", affinity=wish, topologySpreadConstraints=[soft_spread(HOST, app="web")])
    assert bought(scene(*given)) == {("cx22", "fsn1"): 1}


# What a preference might cost elsewhere.


def test_nobody_is_left_out_for_a_preference():
    # The four large pods fit only where cx42 is. A machine in a third zone would be an empty domain for them.
    kinds = [server_type("cx22", locations=ZONES), server_type("cx42", locations=ZONES[:2])]
    large = webs(4, cpu="7", topologySpreadConstraints=[spread(app="web")])
    small = pod("small", "2", affinity=preference(nodes={100: in_zones("hel1")}))
    made = planned(scene(*large, small, kinds=kinds))
    assert made.result is PlanResult.ALL_PLACED
    assert zones(scene(small, kinds=kinds)) == {"hel1": 1}


def test_a_plan_whose_pods_land_in_few_orders_only_is_the_one_without_preferences_but_for_locations():
    # Most orders of binding leave one of these out.
    must: Json = {"nodeTaintsPolicy": "Honor", "nodeAffinityPolicy": "Ignore"}
    near_web, wish = affinity(near=term(ZONE, WEB)), preference(away={1: term(ZONE, WEB)})
    pods = [
        pod("app0-0", "50m", "64Mi", owner="0", labels=DB, affinity=near_web),
        pod("app1-0", "50m", "64Mi", owner="1", labels=WEB),
        *(
            pod(name, "50m", "64Mi", owner="2", labels=DB, topologySpreadConstraints=[spread(HOST, 1, "db", **must)])
            for name in ("app2-0", "app2-1")
        ),
        pod("app3-0", "50m", "64Mi", owner="3", labels=WEB, affinity=near_web),
        on_port(
            pod("app4-0", "50m", "64Mi", owner="4", labels=DB, topologySpreadConstraints=[spread(app="db", **must)])
        ),
    ]
    closed, on_it = resident("n", "nbg1", "web")
    closed["spec"]["taints"] = [{"key": "team", "value": "blue", "effect": "NoSchedule"}]
    kinds = [server_type("cx22", locations=ZONES[:2]), server_type("cx42")]
    given = scene(*pods, on_it, kinds=kinds)
    given.nodes = [closed]
    plain = planned(given)
    for p in pods[2:4]:
        p["spec"]["affinity"] = wish
    made = planned(given)
    assert made.cost_per_hour == plain.cost_per_hour
    assert made.unplaced == plain.unplaced == ()
    assert [r.location for r in made.requests] != [r.location for r in plain.requests]


@pytest.mark.parametrize(
    "minimum",
    [
        {},
        {"limits": {"min": 1, "max": 9}},
        {"limits": {"min": 1}},
        # It would be bought in the first zone; where the pod must be, it counts as well.
        {"serverTypes": [{"name": "cx22", "min": 1, "max": 9}]},
    ],
)
def test_a_minimum_is_not_bought_twice(minimum: Json):
    # Machines of pool first count towards its minimum, those of pool second do not.
    wish = preference(nodes={100: in_zones("second", key="growth.dev/pool")})
    given = Scene(pods=webs(1, affinity=wish, nodeSelector={ZONE: "nbg1"}), classes=[kwok_node_class(*KINDS)])
    types = [{"name": "cx22", "max": 9}]
    given.pools = [node_pool(name, types, limits={}, matchUnselectedPods=True) for name in ("first", "second")]
    given.pools[0]["spec"] |= minimum
    assert [r.pool for r in planned(given).requests] == ["first" if minimum else "second"]


def test_a_machine_without_the_label_is_the_worst_to_spread_over():
    # Of pools of one price, only the second has racks.
    racks = webs(1, topologySpreadConstraints=[soft_spread("rack", app="web")])
    given = Scene(pods=racks, classes=[kwok_node_class(CX22)])
    given.pools = [
        node_pool("first", ["cx22"], matchUnselectedPods=True),
        node_pool("second", ["cx22"], matchUnselectedPods=True, template={"labels": {"rack": "r1"}}),
    ]
    assert [r.pool for r in planned(given).requests] == ["second"]


@pytest.mark.parametrize(("architecture", "server_type"), [("amd64", "cx22"), (None, "cax11")])
def test_a_limit_that_others_wait_for_is_left_as_it_is(architecture: str | None, server_type: str):
    # A packer leaves the second pod out although another machine would do for the first: the max that the first
    # counts towards stays used, unless the second is too large for any machine anyway.
    selector = {} if architecture is None else {ARCH: architecture}
    second = pod("second", "2" if architecture else "99", priority=-5, nodeSelector=selector)
    first = webs(1, affinity=preference(nodes={100: in_zones("arm64", key=ARCH)}))
    types = [{"name": "cx22", "max": 1}, {"name": "cax11", "max": 1}]
    given = scene(*first, second, kinds=[CX22, CAX11], types=types)

    def packer(problem: PackingProblem) -> Packing:
        assert [one.price for one in problem.bins] == [6_600_000, 6_600_000]
        return Packing((PackedNode(0, {0: 1}),), {1: 1})

    made = plan(given.snapshot(), packer)
    assert [r.server_type for r in made.requests] == [server_type]
    assert [u.pod for u in made.unplaced] == ["default/second"]
