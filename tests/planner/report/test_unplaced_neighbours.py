"""What a person can act on comes first where pods keep apart and what would help them cannot be bought."""

import pytest

from planner.plan import plan
from tests.builders import after, before, node, node_request, pod, server_type
from tests.planner import scenes
from tests.planner.wishes import HOST, ZONE, affinity, spread, term

BOTH = ("fsn1", "hel1")
CX22 = server_type("cx22", locations=BOTH)
OTHER_ZONE = {ZONE: "hel1", "topology.kubernetes.io/region": "hel1"}


def away(key):
    return {"labels": {"app": "web"}, "affinity": affinity(away=term(key, {"app": "web"}))}


def told(given):
    """Return the reasons of pod a."""
    (unplaced,) = plan(given.snapshot()).unplaced
    assert unplaced.pod == "default/a"
    return [(reason.code, reason.message) for reason in unplaced.reasons]


def codes(given):
    return [code for code, _ in told(given)]


def scene(kind, wish, *, left_out=(), pods=(), nodes=(), **spec):
    """Return one pod on a machine in fsn1, and an equal one without a place."""
    miss = {"serverType": "cx22", "lastFailureAt": before(minutes=1), "failures": 1, "until": after(minutes=5)}
    unavailable = [miss | {"location": location} for location in left_out]
    waits, runs = pod("a", **wish), pod("b", node="n", **wish)
    parts = {"types": ("cx22",), "kinds": [kind], "unavailable": unavailable} | spec
    return scenes.scene(waits, runs, *pods, node("n"), *nodes, **parts)


def test_offerings_that_are_sold_out_come_first():
    kind = server_type("cx22", sold_out=True)
    assert told(scene(kind, away(HOST))) == [
        ("OfferingUnavailable", "cx22 in fsn1 is sold out, says the provider"),
        ("AntiAffinity", f"pod anti-affinity ({HOST}) leaves no machine and no domain for it"),
    ]


def test_offerings_that_had_no_capacity_come_first():
    given = scene(CX22, away(HOST), left_out=BOTH)
    assert codes(given) == ["OfferingUnavailable", "OfferingUnavailable", "AntiAffinity"]
    given = scene(server_type("cx22"), away(HOST))
    given.requests = [
        node_request("m", "cx22", phase="Unmet", reason="InsufficientCapacity", expiresAt=after(seconds=60))
    ]
    assert codes(given) == ["OfferingUnavailable", "AntiAffinity"]


def test_a_zone_that_is_closed_by_a_neighbour_is_no_matter_of_capacity():
    """Only a machine in hel1 would help: that fsn1 has none is not told, nor that the pool is at its max."""
    assert told(scene(CX22, away(ZONE), left_out=BOTH))[:-1] == [
        ("OfferingUnavailable", f"cx22 in hel1 had no capacity and is left out until {after(minutes=5)}")
    ]
    only_fsn1 = server_type("cx22")
    assert codes(scene(only_fsn1, away(ZONE), left_out=["fsn1"])) == ["AntiAffinity"]
    assert codes(scene(only_fsn1, away(ZONE), limits={"max": 1})) == ["AntiAffinity"]


@pytest.mark.parametrize(
    "spec",
    [{"limits": {"max": 1}}, {"serverTypes": [{"name": "cx22", "max": 1}]}],
    ids=["of the pool", "of the type"],
)
def test_a_max_comes_first(spec):
    assert codes(scene(server_type("cx22"), away(HOST), **spec)) == ["LimitReached"]
    # The machine in hel1 counts for the spread, but is full.
    wish = {"labels": {"app": "web"}, "topologySpreadConstraints": [spread(ZONE, app="web")]}
    beside = {"pods": [pod("full", "2", node="m")], "nodes": [node("m", labels=OTHER_ZONE)]}
    assert codes(scene(CX22, wish, **beside, **spec)) == ["LimitReached", "SpreadUnsatisfiable"]


def test_offerings_that_the_pod_could_not_use_are_not_told():
    given = scene(CX22, away(HOST), left_out=BOTH)
    given.pods[0]["spec"]["nodeSelector"] = {"disk": "ssd"}
    given.nodes[0]["metadata"]["labels"]["disk"] = "ssd"
    assert codes(given) == ["AntiAffinity"]


@pytest.mark.parametrize("spec", [{"left_out": ["fsn1"]}, {"limits": {"max": 1}}])
def test_a_new_machine_is_never_beside_a_pod_that_is_there(spec):
    """The machine of the pod that it looks for is full, and no other one would help."""
    given = scene(server_type("cx22"), {}, **spec)
    given.pods = [
        pod("a", "2", affinity=affinity(near=term(HOST, {"app": "db"}))),
        pod("b", "2", node="n", labels={"app": "db"}),
    ]
    assert codes(given) == ["AffinityUnsatisfiable"]


def test_another_machine_is_of_no_use_to_pods_that_must_share_one():
    together = {"labels": {"app": "db"}, "affinity": affinity(near=term(HOST, {"app": "db"}))}
    given = scene(CX22, {}, left_out=["hel1"], limits={"max": 1})
    given.nodes, given.pods = [], [pod(name, "1", **together) for name in ("c", "b", "a")]
    (unplaced,) = plan(given.snapshot()).unplaced
    assert [reason.code for reason in unplaced.reasons] == ["AffinityUnsatisfiable"]
