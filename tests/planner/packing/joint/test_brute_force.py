"""The brute force finds what the Kubernetes documents and a pencil find."""

from decimal import Decimal

import pytest

from planner.scheduling.feasibility import Judge
from planner.scheduling.site import sites_of
from tests.builders import Json, before, daemon_set, node, node_request, pod, server_type
from tests.planner import scenes
from tests.planner.packing.domains.landing import machine, with_daemons
from tests.planner.packing.domains.rows import at, away, near, scene, several, spread, term
from tests.planner.packing.joint.cheapest import Score, cheapest
from tests.planner.packing.joint.contradictions import contradictions
from tests.planner.packing.joint.ordinary import ordinary
from tests.planner.packing.joint.small_round import small_round
from tests.planner.reading import REQUIRED
from tests.planner.scenes import Scene
from tests.planner.wishes import HOST, ZONE, on_port
from tests.searching import blocks

NOTHING = Decimal(0)
CX22, CX32, CX42 = Decimal("0.0066"), Decimal("0.0106"), Decimal("0.0170")
"""2, 4 and 8 cores, per hour."""
TAINT: Json = {"key": "team", "value": "blue", "effect": "NoSchedule"}


def best(given: Scene) -> Score:
    return cheapest(small_round(given)).score


def cluster(counts: dict[str, tuple[str, int]], *, open_: tuple[str, ...], **spec: object) -> Scene:
    """Return nodes with so many pods of foo=bar each in their zone, full but for those that are open, and one more pod.

    Nothing can be bought.
    """
    made = scene(*several(1, app="bar", **spec), limits={"max": 0})
    for name, (zone, number) in counts.items():
        made.nodes.append(at(name, zone, pool=None))
        made.pods += [pod(f"on-{name}-{k}", "10m", "1Mi", node=name, labels={"app": "bar"}) for k in range(number)]
        if name not in open_:
            made.pods.append(pod(f"fill-{name}", "1900m", "1Mi", node=name, labels={"app": "fill"}))
    return made


# Source of the next ones: Kubernetes docs, "Pod Topology Spread Constraints".

FOUR = {"node1": ("zoneA", 1), "node2": ("zoneA", 1), "node3": ("zoneB", 1), "node4": ("zoneB", 0)}
CONFLICT = {"node1": ("zoneA", 2), "node2": ("zoneA", 1), "node3": ("zoneB", 2)}
FIVE = FOUR | {"node5": ("zoneC", 0)}


@pytest.mark.parametrize(("open_", "missing"), [("node1", 1), ("node2", 1), ("node3", 0), ("node4", 0)])
def test_one_constraint_lets_the_pod_into_zone_b_only(open_, missing):
    given = cluster(FOUR, open_=(open_,), topologySpreadConstraints=[spread(ZONE, 1, "bar")])
    assert best(given) == ((missing,), NOTHING)


@pytest.mark.parametrize(("open_", "missing"), [("node1", 1), ("node2", 1), ("node3", 1), ("node4", 0)])
def test_two_constraints_leave_node_4(open_, missing):
    both = [spread(ZONE, 1, "bar"), spread(HOST, 1, "bar")]
    assert best(cluster(FOUR, open_=(open_,), topologySpreadConstraints=both)) == ((missing,), NOTHING)


@pytest.mark.parametrize(("zone_skew", "missing"), [(1, 1), (2, 0)])
def test_two_constraints_that_no_node_meets_together(zone_skew, missing):
    # By zone it must go to node3, by host to node2; a skew of 2 over zones opens node2.
    both = [spread(ZONE, zone_skew, "bar"), spread(HOST, 1, "bar")]
    given = cluster(CONFLICT, open_=tuple(CONFLICT), topologySpreadConstraints=both)
    assert best(given) == ((missing,), NOTHING)


@pytest.mark.parametrize(("is_kept_off", "missing"), [(True, 0), (False, 1)])
def test_a_zone_that_the_pods_affinity_excludes_does_not_count(is_kept_off, missing):
    expression = {"key": ZONE, "operator": "NotIn", "values": ["zoneC"]}
    wish = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
    counts = FIVE | {"node4": ("zoneB", 1), "node1": ("zoneA", 2), "node2": ("zoneA", 0)}
    # Two in zone A and two in zone B: one more there is a skew of 1 over both, and of 3 over an empty zone C, too.
    spec = {"affinity": wish} if is_kept_off else {}
    given = cluster(counts, open_=("node2", "node4"), topologySpreadConstraints=[spread(ZONE, 1, "bar")], **spec)
    assert best(given) == ((missing,), NOTHING)


@pytest.mark.parametrize(("min_domains", "missing"), [(5, 1), (3, 0)])
def test_with_fewer_domains_than_wanted_the_minimum_is_0(min_domains, missing):
    # 2 in each of three zones: one more is a skew of 3 beside 0 and of 1 beside 2; maxSkew is 2.
    three = {f"n{z}": (z, 2) for z in ("a", "b", "c")}
    constraint = spread(ZONE, 2, "bar", minDomains=min_domains)
    given = cluster(three, open_=tuple(three), topologySpreadConstraints=[constraint])
    assert best(given) == ((missing,), NOTHING)


def test_a_node_without_the_key_counts_for_none_and_takes_none():
    given = cluster(FOUR, open_=("bare",), topologySpreadConstraints=[spread("rack", 1, "bar")])
    given.nodes.append(at("bare", "zoneA", pool=None))
    assert best(given) == ((1,), NOTHING)
    given.nodes[-1]["metadata"]["labels"]["rack"] = "r1"
    assert best(given) == ((0,), NOTHING)


def test_a_pod_on_its_way_out_does_not_count():
    given = cluster(FOUR, open_=("node1", "node2"), topologySpreadConstraints=[spread(ZONE, 1, "bar")])
    gone = next(p for p in given.pods if p["metadata"]["name"] == "on-node2-0")
    gone["metadata"]["deletionTimestamp"] = before(seconds=1)
    assert best(given) == ((0,), NOTHING)


@pytest.mark.parametrize(("policy", "missing"), [("Ignore", 1), ("Honor", 0)])
def test_a_tainted_node_counts_unless_the_constraint_honours_taints(policy, missing):
    constraint = spread(HOST, 1, "bar", nodeTaintsPolicy=policy)
    one = {"node1": ("zoneA", 1)}
    given = cluster(one, open_=("node1",), topologySpreadConstraints=[constraint])
    given.nodes.append(at("tainted", "zoneA", pool=None, taints=[TAINT]))
    assert best(given) == ((missing,), NOTHING)


# Machines to buy.


@pytest.mark.parametrize(("pods", "machines"), [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (6, 3)])
def test_new_machines_fill_together_and_stay_even_over_hosts(pods, machines):
    given = scene(*several(pods, "900m", topologySpreadConstraints=[spread(HOST)]), types=("cx22",))
    assert best(given) == ((0,), machines * CX22)


@pytest.mark.parametrize(("skew", "machines"), [(1, 4), (2, 2)])
def test_a_full_node_without_any_of_the_pods_keeps_hosts_at_max_skew(skew, machines):
    given = scene(*several(4, "900m", topologySpreadConstraints=[spread(HOST, skew)]), types=("cx22",))
    given.nodes.append(at("full", "fsn1", pool=None))
    given.pods.append(pod("other", "2", "1Mi", node="full", labels={"app": "other"}))
    assert best(given) == ((0,), machines * CX22)


@pytest.mark.parametrize(("skew", "zones", "machines"), [(1, 3, 3), (2, 3, 2), (3, 3, 1), (1, 1, 1)])
def test_zones_that_could_be_bought_count_as_empty(skew, zones, machines):
    # With skew 2 one zone takes two pods while another is empty, and the third pod goes elsewhere.
    names = ("fsn1", "hel1", "nbg1")[:zones]
    given = scene(*several(3, "500m", topologySpreadConstraints=[spread(ZONE, skew)]), types=("cx22",), zones=names)
    assert best(given) == ((0,), machines * CX22)


@pytest.mark.parametrize(("cpu", "cost"), [("1900m", 2 * CX22), ("3000m", CX42)])
def test_a_zone_whose_machines_are_too_small_does_not_count(cpu, cost):
    # In hel1 there are only machines of 2 cores: where these are too small, both pods may share one of 8 cores in fsn1.
    kinds = [server_type("cx22", locations=("fsn1", "hel1")), server_type("cx42", locations=("fsn1",))]
    waiting = several(2, cpu, topologySpreadConstraints=[spread(ZONE)])
    assert best(scenes.scene(*waiting, types=("cx22", "cx42"), kinds=kinds)) == ((0,), cost)


@pytest.mark.parametrize(("key", "score"), [(HOST, ((0,), 3 * CX22)), (ZONE, ((1,), 2 * CX22))])
def test_pods_that_keep_apart_have_a_domain_each(key, score):
    waiting = several(3, "100m", affinity=away(term(key, "web")))
    assert best(scene(*waiting, types=("cx22",), zones=("fsn1", "hel1"))) == score


def test_anti_affinity_of_a_pod_that_runs_keeps_others_off_its_zone():
    given = scene(*several(1, "100m"), types=("cx22",), zones=("fsn1",))
    given.nodes.append(at("n", "fsn1", pool=None))
    given.pods.append(pod("shy", "1", "1Mi", node="n", labels={"app": "db"}, affinity=away(term(ZONE, "web"))))
    assert best(given) == ((1,), NOTHING)


def test_the_first_of_a_group_that_keeps_together_may_go_anywhere_and_the_rest_follow():
    waiting = several(3, "900m", affinity=near(term(ZONE, "web")))
    assert best(scene(*waiting, types=("cx22",))) == ((0,), 2 * CX22)
    waiting = several(3, "900m", affinity=near(term(HOST, "web")))
    assert best(scene(*waiting, types=("cx22",))) == ((1,), CX22)
    assert best(scene(*waiting, types=("cx22", "cx32"))) == ((0,), CX32)


def test_who_looks_for_pods_that_are_not_there_waits_and_goes_along_with_those_that_come():
    looking = several(1, "900m", "web", affinity=near(term(HOST, "db")))
    assert best(scene(*looking, types=("cx22",))) == ((1,), NOTHING)
    assert best(scene(*looking, *several(1, "900m", "db"), types=("cx22",))) == ((0,), CX22)
    assert best(scene(*looking, *several(1, "1500m", "db"), types=("cx22",))) == ((1,), CX22)


def test_a_port_of_the_node_is_taken_once():
    waiting = [on_port(p) for p in several(2, "100m")]
    assert best(scene(*waiting, types=("cx22",))) == ((0,), 2 * CX22)


def test_daemon_sets_take_their_part_of_each_machine_that_they_tolerate():
    given = scene(*several(1, "2"), daemon_set("agent"), types=("cx22", "cx32"))
    assert best(given) == ((0,), CX32)
    given.pools[0]["spec"]["template"] = {"taints": [TAINT]}
    given.pods[0]["spec"]["tolerations"] = [{"key": "team", "operator": "Exists"}]
    assert best(given) == ((0,), CX22)


def test_higher_priorities_come_first_then_as_many_as_possible():
    # One machine of 2 cores: the one of high priority takes it, although four others could.
    waiting = [*several(1, "1900m", "db", priority=10), *several(4, "500m")]
    assert best(scene(*waiting, types=("cx22",), limits={"max": 1})) == ((0, 4), CX22)
    assert best(scene(*waiting[1:], types=("cx22",), limits={"max": 1})) == ((0,), CX22)


def test_machines_of_a_minimum_are_bought_anyway_and_used():
    waiting = several(2, "1900m")
    # One of 4 cores holds both for 0.0106, and the minimum asks for another one beside it.
    assert best(scene(*waiting, types=("cx22", "cx32"), limits={"min": 2})) == ((0,), 2 * CX22)
    assert best(scene(*waiting, types=("cx22", "cx32"))) == ((0,), CX32)
    given = scene(*several(1, "100m"), types=("cx22", "cx32"))
    given.pools[0]["spec"]["serverTypes"][1]["min"] = 1
    assert best(given) == ((0,), CX32)


def test_machines_in_flight_cost_nothing_and_their_seats_are_taken():
    held = several(1, "1500m", "db")[0]
    status = {"phase": "Provisioning", "createAttemptAt": before(seconds=9)}
    given = scene(*several(2, "500m"), node_request("m", **status), types=("cx22",))
    assert best(given) == ((0,), NOTHING)
    given = scene(*several(2, "500m"), held, node_request("m", seats=[scenes.seat(held)], **status), types=("cx22",))
    assert best(given) == ((0,), CX22)


def test_limits_count_what_is_there():
    given = scene(*several(2, "1900m"), node("own"), types=("cx22",), limits={"max": 2})
    given.pods.append(pod("full", "2", "1Mi", node="own", labels={"app": "other"}))
    assert best(given) == ((1,), CX22)


def steps_refused(seed: int) -> list[str]:
    """Return what the judge of feasibility says against the steps of the best plan, each after those before."""
    given = ordinary(seed)
    table, snapshot = small_round(given), given.snapshot()
    best_plan = cheapest(table)
    pods = {pod.name: pod for pod in snapshot.pods}
    sites = {site.name: with_daemons(site, snapshot) for site in sites_of(snapshot.nodes, snapshot.pods)}
    for each in snapshot.requests:
        spec = each.spec
        sites[each.metadata.name] = machine(snapshot, each.metadata.name, spec.pool, spec.server_type, spec.location)
    names = [spot.name for spot in table.there]
    for k, spot in enumerate(best_plan.bought):
        names.append(f"bought-{k}")
        sites[names[-1]] = machine(snapshot, names[-1], *spot.name.split("/"))
    judge = Judge(sites.values(), snapshot.namespaces)
    for each in snapshot.requests:
        for held in each.spec.reserved_for:
            judge.seat(pods[held.name], sites[each.metadata.name])
    refused: list[str] = []
    for name, m in best_plan.steps:
        if (words := judge.verdict(pods[name], sites[names[m]])) is not None:
            refused.append(f"{seed}: {name} on {names[m]}: {words}")
        judge.seat(pods[name], sites[names[m]])
    return refused


@pytest.mark.parametrize("seeds", [*blocks(range(400), 100), *blocks(range(400, 2000), 400, pytest.mark.nightly)])
def test_each_step_of_the_best_plan_is_one_that_the_judge_of_feasibility_allows(seeds):
    possible = [seed for seed in seeds if not contradictions(ordinary(seed))]
    assert [words for seed in possible for words in steps_refused(seed)] == []
