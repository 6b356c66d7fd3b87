"""Cases of Karpenter's own test suites that concern planning, as objects in and outcome out.

Each test names the case by its file and line there, as the reference page on Karpenter lists them (section 3).
Machines are those of its fake provider: `small` 2 cpu/2Gi, `default` 4/4Gi, `arm` 16/128Gi, five pods on each,
in three zones, without what a system keeps for itself; prices are ours. Left out: minValues, spot and
reserved capacity, consolidation and its scores, which this planner has not.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from planner.model.plan import PlanResult
from tests.builders import (
    claim,
    node,
    node_request,
    pod,
    server_type,
    storage_class,
    volume,
)
from tests.planner import scenes
from tests.planner.outcome import codes, landed, planned, together, types
from tests.planner.reading import Json
from tests.planner.scenes import Scene
from tests.planner.wishes import HOST, ZONE, affinity, spread, term, using

ZONES = ("z1", "z2", "z3")
KINDS = {"small": ("2", "2Gi", "0.5"), "default": ("4", "4Gi", "0.8"), "arm": ("16", "128Gi", "15")}
WEB = {"app": "web"}


def kind(of: str, zones: Sequence[str] = ZONES, **more: Any) -> Json:
    cpu, memory, price = KINDS[of]
    made = server_type(of, locations=tuple(zones), capacity={"cpu": cpu, "memory": memory, "pods": "5"})
    made |= {"pricePerHour": price, "architecture": "arm64" if of == "arm" else "amd64"}
    return made | more


def scene(*pods: Json, kinds: Sequence[Json] | None = None, **parts: Any) -> Scene:
    offered = [kind(name) for name in KINDS] if kinds is None else list(kinds)
    return scenes.scene(*pods, types=[k["name"] for k in offered], kinds=offered, **parts)


def many(number: int, cpu: str = "10m", memory: str = "10M", name: str = "p", **spec: Any) -> list[Json]:
    return [pod(f"{name}-{k}", cpu, memory, labels=WEB, owner="rs", **spec) for k in range(number)]


def there(name: str, zone: str = "z1", **more: Any) -> Json:
    """Return a node of another maker in a zone."""
    return node(name, pool=None, labels={ZONE: zone}, **more)


AMD = {"nodeSelector": {"kubernetes.io/arch": "amd64"}}


# suite_test: packing and machines that are coming.


def test_suite_1574_small_pods_share_the_smallest_machine():
    assert types(planned(scene(*many(5)))) == ["small"]


def test_suite_1593_forty_pods_in_pairs():
    made = planned(scene(*many(40, memory="1.8G", **AMD)))
    assert types(made) == ["default"] * 20
    assert made.optimal


def test_suite_1694_a_limit_of_pods_per_node():
    made = planned(scene(*many(25)))
    assert types(made) == ["small"] * 5
    assert together(made) == [5] * 5


@pytest.mark.parametrize(("cpu", "bought"), [("1", ["small"]), ("3", ["default"]), ("999", [])])
def test_suite_1716_and_1741_an_init_container_decides(cpu: str, bought: list[str]):
    init = [{"name": "init", "resources": {"requests": {"cpu": cpu}}}]
    made = planned(scene(pod("p", "1", "1Gi", initContainers=init, **AMD)))
    assert types(made) == bought
    assert codes(made) == ({} if bought else {"p": "TooLarge"})


def test_suite_1763_the_cheapest_type_though_it_is_the_largest():
    # Karpenter hands all three to the provider; ours decides itself and says the same machine.
    prices = {"small": "2.00", "default": "3.00", "arm": "1.00"}
    made = planned(scene(*many(1), kinds=[kind(name, pricePerHour=price) for name, price in prices.items()]))
    assert types(made) == ["arm"]


def test_suite_1830_a_machine_that_is_coming_is_used():
    coming = node_request(
        "coming", "default", location="z1", phase="Provisioning", createAttemptAt="2026-03-01T11:59:00Z"
    )
    made = planned(scene(*many(4, "1", "1G", **AMD), requests=[coming]))
    assert made.requests == ()
    assert {p.request for p in made.placed} == {"coming"}
    assert types(planned(scene(*many(5, "1", "900M", **AMD), requests=[coming]))) == ["small"]


def test_suite_1932_a_node_that_is_going_is_not_used():
    leaving = there("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert types(planned(scene(*many(1), nodes=[leaving]))) == ["small"]
    assert planned(scene(*many(1), nodes=[there("stays")])).requests == ()


def test_suite_4262_pods_that_no_budget_lets_move_get_no_machine():
    # Karpenter buys ahead for the pods of a node that goes, so it has to leave out those whose budget is used up.
    # Ours buys for pods that have no node: whatever a budget says, one that still runs is none of them.
    leaving = there("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    made = planned(scene(pod("runs", node="leaving", labels=WEB), nodes=[leaving]))
    assert made.result is PlanResult.NO_DEMANDS
    assert made.requests == ()


# suite_test: volumes.


def disks(*volumes: Json, names: Sequence[str] = ("d0",), **parts: Any) -> Scene:
    claims = [claim(n, v["metadata"]["name"]) for n, v in zip(names, volumes, strict=True)]
    return scene(using(pod("p"), *names), claims=claims, volumes=list(volumes), **parts)


def in_zones(name: str, *zones: str) -> Json:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [z]}]} for z in zones]
    return volume(name, nodeAffinity={"required": {"nodeSelectorTerms": terms}})


def test_suite_3047_a_volume_of_several_zones():
    made = planned(disks(in_zones("v", "z3", "z2"), kinds=[kind("small", ["z1", "z2"])]))
    assert [r.location for r in made.requests] == ["z2"]


def test_suite_3118_the_terms_of_a_storage_class():
    given = scene(using(pod("p"), "d"), claims=[claim("d")], storage_classes=[storage_class("waits", "z3", "z2")])
    assert [r.location in ("z2", "z3") for r in planned(given).requests] == [True]


def test_suite_3165_the_alternatives_of_several_volumes():
    given = disks(in_zones("v", "z1", "z2"), in_zones("w", "z2", "z3"), names=("d0", "d1"))
    assert [r.location for r in planned(given).requests] == ["z2"]
    nowhere = disks(in_zones("v", "z1"), in_zones("w", "z3"), names=("d0", "d1"))
    assert planned(nowhere).requests == ()
    assert codes(planned(nowhere)) == {"p": "VolumeElsewhere"}


# topology_test: spreading.


def zonal(number: int, name: str = "p", **more: Any) -> list[Json]:
    return many(number, "500m", name=name, topologySpreadConstraints=[spread(app="web", **more)])


@pytest.mark.parametrize(("number", "counts"), [(4, [1, 1, 2]), (9, [3, 3, 3])])
def test_topology_111_pods_balance_over_zones(number: int, counts: list[int]):
    given = scene(*zonal(number))
    made = planned(given)
    assert made.result is PlanResult.ALL_PLACED
    assert sorted(landed(given, made).values()) == counts


def test_topology_350_a_skew_that_is_there_already_is_only_made_less():
    # Three pods of nine are left, all in one zone: three more go where there are none.
    nodes = [there(f"n{z}", z) for z in ZONES]
    runs = [pod(f"old-{k}", "100m", "10M", node="nz1", labels=WEB) for k in range(3)]
    given = scene(*runs, *zonal(3), nodes=nodes)
    made = planned(given)
    assert made.requests == ()
    assert sorted(landed(given, made).values()) == [1, 2, 3]


def test_topology_a_zone_that_nobody_buys_in_holds_the_others_back():
    full = there("full", "z3", taints=[{"key": "full", "effect": "NoSchedule"}])
    given = scene(
        pod("old", "10m", "10M", node="full", labels=WEB), *zonal(6), nodes=[full], kinds=[kind("small", ["z1", "z2"])]
    )
    made = planned(given)
    assert landed(given, made) == {"z1": 2, "z2": 2, "z3": 1}
    assert set(codes(made).values()) == {"SpreadUnsatisfiable"}


@pytest.mark.parametrize(("most", "machines"), [(1, [2, 2]), (4, [4])])
def test_topology_548_pods_spread_over_machines(most: int, machines: list[int]):
    # Karpenter counts a new machine as empty and buys four; the scheduler binds 1 and 1, then 2 and 2.
    given = scene(*many(4, topologySpreadConstraints=[spread(HOST, most, "web")]))
    assert together(planned(given)) == machines


def test_topology_610_and_944_zones_and_machines_at_once():
    both = [spread(ZONE, 1, "web"), spread(HOST, 3, "web")]
    given = scene(*many(10, topologySpreadConstraints=both))
    made = planned(given)
    assert made.result is PlanResult.ALL_PLACED
    assert sorted(landed(given, made).values()) == [3, 3, 4]
    # Karpenter has three on a machine at most; machines that fill together only have to stay even.
    assert max(together(made)) - min(together(made)) <= 3


def test_topology_1093_spreading_over_architectures():
    given = scene(*many(4, topologySpreadConstraints=[spread("kubernetes.io/arch", 1, "web")]))
    made = planned(given)
    assert made.result is PlanResult.ALL_PLACED
    assert landed(given, made, "kubernetes.io/arch") == {"amd64": 2, "arm64": 2}


@pytest.mark.parametrize(("policy", "counts"), [("Honor", {"z1": 5, "z2": 0}), ("Ignore", {"z1": 1, "z2": 0})])
def test_topology_1192_tainted_nodes(policy: str, counts: dict[str, int]):
    other = there("other", "z2", taints=[{"key": "team", "effect": "NoSchedule"}])
    given = scene(*zonal(5, nodeTaintsPolicy=policy), nodes=[other], kinds=[kind("default", ["z1"])])
    made = planned(given)
    assert landed(given, made) == counts
    assert len(made.unplaced) == 5 - counts["z1"]


@pytest.mark.parametrize(("policy", "counts"), [("Honor", {"z1": 5, "z2": 0}), ("Ignore", {"z1": 1, "z2": 0})])
def test_topology_1664_nodes_that_pods_do_not_want(policy: str, counts: dict[str, int]):
    pods = many(5, "500m", nodeSelector={ZONE: "z1"},
                topologySpreadConstraints=[spread(app="web", nodeAffinityPolicy=policy)])  # fmt: skip
    given = scene(*pods, nodes=[there("other", "z2")])
    made = planned(given)
    assert landed(given, made) == counts


def test_topology_domains_that_are_too_few():
    given = scene(*zonal(3, minDomains=3), kinds=[kind("default", ["z1", "z2"])])
    made = planned(given)
    assert landed(given, made) == {"z1": 1, "z2": 1}
    assert list(codes(made).values()) == ["SpreadUnsatisfiable"]


# topology_test: coming together and keeping apart.


@pytest.mark.parametrize("topology", [HOST, ZONE])
def test_topology_2016_pods_of_one_kind_come_together(topology: str):
    given = scene(*many(5, affinity=affinity(near=term(topology, WEB))))
    made = planned(given)
    assert made.result is PlanResult.ALL_PLACED
    assert sum(n > 0 for n in landed(given, made, topology).values()) == 1


def test_topology_2080_only_the_first_empty_machine_is_for_a_group():
    # Ten pods of one machine each half full: five fit it, and no second one may begin a group of its own.
    given = scene(*many(10, affinity=affinity(near=term(HOST, WEB))))
    made = planned(given)
    assert together(made) == [5]
    assert len(made.unplaced) == 5


def test_topology_2150_a_group_goes_where_it_is():
    runs = pod("old", "100m", "10M", node="n", labels=WEB)
    full = there("n", "z2", taints=[{"key": "full", "effect": "NoSchedule"}])
    made = planned(scene(runs, *many(3, affinity=affinity(near=term(ZONE, WEB))), nodes=[full]))
    assert {r.location for r in made.requests} == {"z2"}
    assert made.result is PlanResult.ALL_PLACED


def test_topology_2322_one_pod_a_zone():
    given = scene(*many(5, affinity=affinity(away=term(ZONE, WEB))))
    made = planned(given)
    assert landed(given, made) == {"z1": 1, "z2": 1, "z3": 1}
    assert set(codes(made).values()) == {"AntiAffinity"}
    assert len(made.unplaced) == 2


def test_topology_2400_who_runs_keeps_a_new_pod_away():
    wary = [pod(f"wary-{z}", "10m", "10M", node=f"n{z}", affinity=affinity(away=term(ZONE, WEB))) for z in ("z1", "z3")]
    given = scene(*wary, *many(2), nodes=[there("nz1", "z1"), there("nz3", "z3")])
    made = planned(given)
    assert {r.location for r in made.requests} == {"z2"}
    assert landed(given, made) == {"z1": 0, "z2": 2, "z3": 0}


def test_topology_2533_a_pod_whose_zone_is_open_and_one_that_avoids_it():
    # "Schroedinger": Karpenter buys for the wary pod, may not know in which zone, and leaves the other one for the
    # next round. Ours decides the zone when it buys, so that both are placed at once.
    wary = pod("wary", "1500m", "10M", affinity=affinity(away=term(ZONE, WEB)))
    given = scene(wary, *many(1, "1500m"))
    made = planned(given)
    assert made.result is PlanResult.ALL_PLACED
    assert len({r.location for r in made.requests}) == 2


def chain() -> list[Json]:
    """Return four pods of which each wants the machine of the one before."""
    db = pod("db", "100m", "10M", labels={"type": "db"}, affinity=affinity(away=term(HOST, {"type": "db"})))
    return [
        db,
        *(
            pod(name, "100m", "10M", labels={"type": name}, affinity=affinity(near=term(HOST, {"type": before})))
            for name, before in (("web", "db"), ("cache", "web"), ("ui", "cache"))
        ),
    ]


def test_topology_2792_a_chain_of_pods_that_need_each_other():
    made = planned(scene(*chain()))
    assert [sorted(s.name for s in r.seats) for r in made.requests] == [["cache", "db", "ui", "web"]]
    assert made.unplaced == ()


# instance_selection_test.

OFFERED = [
    kind("small", ["z1"], pricePerHour="0.9"),
    kind("default", ["z2"], pricePerHour="0.7"),
    kind("default", ["z3"], name="large", capacity={"cpu": "8", "memory": "16Gi"}, pricePerHour="1.1"),
    kind("arm", ["z3"], pricePerHour="0.6"),
]
IN = "In"


@pytest.mark.parametrize(
    ("selector", "cpu", "cheapest"),
    [
        ({}, "1", "arm"),
        ({"kubernetes.io/arch": "amd64"}, "1", "default"),
        ({"kubernetes.io/arch": "arm64"}, "1", "arm"),
        ({"kubernetes.io/os": "linux"}, "1", "arm"),
        ({"kubernetes.io/os": "windows"}, "1", None),
        ({ZONE: "z1"}, "1", "small"),
        ({ZONE: "z2"}, "1", "default"),
        ({ZONE: "z3", "kubernetes.io/arch": "amd64"}, "1", "large"),
        ({ZONE: "z2", "kubernetes.io/arch": "arm64"}, "1", None),
        ({"node.kubernetes.io/instance-type": "small"}, "1", "small"),
        ({"kubernetes.io/arch": "amd64"}, "5", "large"),
        ({ZONE: "z1"}, "3", None),
    ],
)
def test_instance_selection_82_the_cheapest_that_all_filters_leave(selector: dict[str, str], cpu: str, cheapest: str):
    made = planned(scene(pod("p", cpu, "1G", nodeSelector=selector), kinds=OFFERED))
    assert types(made) == ([cheapest] if cheapest else [])
    assert made.optimal


def test_instance_selection_563_the_price_decides_not_the_kind_of_capacity():
    # There, on-demand machines that are cheaper come before spot ones that are dearer. Ours has one price each.
    dear, cheap = (kind("small", ["z1"], name=n, pricePerHour=p) for n, p in (("spot", "0.4"), ("lasting", "0.3")))
    assert types(planned(scene(*many(1), kinds=[dear, cheap]))) == ["lasting"]
