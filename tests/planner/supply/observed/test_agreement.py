"""Labels and taints that all Ready Nodes of a pool and type have count on the next one, until one lacks them."""

import time
from decimal import Decimal

import pytest

from planner.model.plan import Plan
from planner.objects.kinds import Node, Taint
from planner.objects.offering import Offering
from planner.supply.observed.agreement import Agreements
from tests.builders import NOW, Json, before, node, node_request, pod
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import Scene, scene
from tests.tables import rows

NFD = "feature.node.kubernetes.io/cpu-cpuid.AVX512F"
DEDICATED = {"key": "example.com/dedicated", "value": "batch", "effect": "NoSchedule"}
CORDONED = {"unschedulable": True}


def full(name: str, *, since: str | None = None, taints: list[Json] | None = None, **changes: object) -> Json:
    """Return a node without room, Ready since then."""
    made = node(name, allocatable={"cpu": "0"}, taints=taints, **changes)
    if since is not None:
        made["status"]["conditions"][0]["lastTransitionTime"] = since
    return made


def labelled(name: str, value: str | None = "true", key: str = NFD, **changes: object) -> Json:
    return full(name, labels={} if value is None else {key: value}, **changes)


def wants(*nodes: Json, key: str = NFD, value: str = "true", **parts: object) -> Scene:
    return scene(pod("a", nodeSelector={key: value}), *nodes, types=("cx22",), **parts)


@rows(
    ("nodes", "is_bought"),
    {
        "no Node": ([], False),
        "one": ([labelled("a")], False),
        "two that agree": ([labelled("a"), labelled("b")], True),
        "two with other values": ([labelled("a"), labelled("b", "false")], False),
        "a third without it": ([labelled("a"), labelled("b"), labelled("c", None)], False),
        "a third that is not Ready": ([labelled("a"), labelled("b"), labelled("c", None, ready=False)], True),
        "a third of another type": ([labelled("a"), labelled("b"), node("c", "cx32", allocatable={"cpu": "0"})], True),
        "a third of another pool": ([labelled("a"), labelled("b"), labelled("c", None, pool="other")], True),
        "two of another type": ([labelled("a", server_type="cx32"), labelled("b", server_type="cx32")], False),
        "two that are not Growth's": ([labelled("a", pool=None), labelled("b", pool=None)], False),
        "two, of which one is not Ready": ([labelled("a"), labelled("b", ready=False)], False),
        "two, of which one is cordoned": ([labelled("a"), labelled("b", spec=CORDONED)], False),
        "two, of which one is being deleted": ([labelled("a"), labelled("b", deleting=True)], False),
        "a third that is cordoned and lacks it": (
            [labelled("a"), labelled("b"), labelled("c", None, spec=CORDONED)],
            False,
        ),
        "a third that turned Ready a moment ago": (
            [labelled("a"), labelled("b"), labelled("c", None, since=before(seconds=9))],
            True,
        ),
        "a third that had time": (
            [labelled("a"), labelled("b"), labelled("c", None, since=before(seconds=11))],
            False,
        ),
        "a third that is not registered yet": (
            [
                labelled("a"),
                labelled("b"),
                labelled("c", None, taints=[{"key": "growth.dev/unregistered", "effect": "NoSchedule"}]),
            ],
            True,
        ),
    },
)
def test_which_nodes_teach_a_label(nodes, is_bought):
    assert types(planned(wants(*nodes))) == (["cx22"] if is_bought else [])


def learned(*nodes: Node, region: str | None = None) -> dict[str, str]:
    offering = Offering(
        "cx22", "x", Decimal(1), "EUR", {}, labels={} if region is None else {"topology.kubernetes.io/region": region}
    )
    return Agreements(nodes, NOW).of("default", "CX22").labels_at(offering)


def with_labels(name: str, **changes: str) -> Node:
    own = {"growth.dev/pool": "default", "growth.dev/server-type": "cx22", "growth.dev/request-uid": "u"}
    return Node(name, name, {}, labels=own | {k.replace("__", "/"): v for k, v in changes.items()}, is_ready=True)


def test_a_key_with_a_value_for_each_node_is_not_learned_nor_growths_own():
    assert learned(*(with_labels(n, machine_id=n, role="worker") for n in ("a", "b"))) == {"role": "worker"}


@pytest.mark.parametrize(
    "key", ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"]
)
def test_what_offerings_state_is_not_learned(key):
    nodes = [with_labels(name) for name in ("a", "b")]
    assert learned(*(Node(n.name, n.uid, {}, {**n.labels, key: "same"}, is_ready=True) for n in nodes)) == {}


def test_a_value_that_is_the_nodes_place_is_learned_for_that_place_only():
    nodes = [with_labels(n, topology_kubernetes_io="-", example__site="fsn1", example__tier="gold") for n in "ab"]
    nodes = [
        Node(n.name, n.uid, {}, {**n.labels, "topology.kubernetes.io/region": "fsn1"}, is_ready=True) for n in nodes
    ]
    assert learned(*nodes, region="fsn1")["example/site"] == "fsn1"
    assert "example/site" not in learned(*nodes, region="hel1")
    assert learned(*nodes, region="hel1")["example/tier"] == "gold"


def test_a_pools_own_label_comes_first():
    template = {"labels": {NFD: "false"}}
    assert types(planned(wants(labelled("a"), labelled("b"), template=template))) == []
    assert types(planned(wants(labelled("a"), labelled("b"), value="false", template=template))) == ["cx22"]


def test_a_coming_machine_will_have_the_label_too():
    coming = node_request("coming", createAttemptAt=before(seconds=2))
    made = planned(wants(labelled("a"), labelled("b"), coming))
    assert ([p.request for p in made.placed], made.requests) == (["coming"], ())


def tainted(*nodes: Json, tolerates: bool = False) -> Plan:
    toleration = {"tolerations": [{"key": DEDICATED["key"], "operator": "Exists"}]} if tolerates else {}
    return planned(scene(pod("a", **toleration), *nodes, types=("cx22",)))


OLD, YOUNG = before(minutes=11), before(minutes=9)


@rows(
    ("nodes", "is_learned"),
    {
        "two have had it for long": ([{"since": OLD}, {"since": OLD}], True),
        "nobody tells since when": ([{}, {}], True),
        "one is Ready for a short while": ([{"since": OLD}, {"since": YOUNG}], False),
        "a third one is young and has it": ([{"since": OLD}, {"since": OLD}, {"since": YOUNG}], True),
        "it was added a short while ago": ([{"since": OLD, "added": YOUNG}, {"since": OLD, "added": YOUNG}], False),
        "it was added long ago": ([{"since": YOUNG, "added": OLD}, {"since": YOUNG, "added": OLD}], True),
        "a third one lacks it": ([{"since": OLD}, {"since": OLD}, {"taint": {}}], False),
        "with other values": ([{"since": OLD}, {"since": OLD, "taint": DEDICATED | {"value": "web"}}], False),
        "under an effect of preference": ([{"taint": DEDICATED | {"effect": "PreferNoSchedule"}}] * 2, False),
        "a condition of the Node": (
            [{"taint": {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}}] * 2,
            False,
        ),
        "a cool-off": (
            [{"taint": {"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}}] * 2,
            False,
        ),
        "all are cordoned": ([{"spec": CORDONED}] * 2, False),
    },
)
def test_which_taints_are_learned(nodes, is_learned):
    there = []
    for k, each in enumerate(nodes):
        taint = each.get("taint", DEDICATED)
        if "added" in each:
            taint = taint | {"timeAdded": each["added"]}
        there.append(full(f"n-{k}", since=each.get("since"), taints=[taint] if taint else [], spec=each.get("spec")))
    made = tainted(*there)
    assert (types(made), codes(made)) == (([], {"a": "NoCompatibleOffering"}) if is_learned else (["cx22"], {}))
    assert types(tainted(*there, tolerates=True)) == ["cx22"]


def test_the_reason_names_a_learned_taint():
    made = tainted(full("x", taints=[DEDICATED]), full("y", taints=[DEDICATED]))
    assert "taint example.com/dedicated=batch:NoSchedule is not tolerated" in made.unplaced[0].reasons[0].message


def test_two_taints_are_the_same_whenever_they_were_added():
    assert Taint("a", added_at=NOW) == Taint("a")
    assert len({Taint("a", added_at=NOW), Taint("a")}) == 1


def test_ten_thousand_nodes_cost_less_than_their_pods():
    nodes = [with_labels(f"n-{k}", **{f"label-{i}": "x" for i in range(30)}) for k in range(10_000)]
    began = time.process_time()
    assert len(learned(*nodes)) == 30
    assert time.process_time() - began < 1
