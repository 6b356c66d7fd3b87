"""Limits and minimums: what counts, what is bought ahead, and that pods use it. Source: docs/design.md#supply."""

import json

import pytest

from tests.builders import kwok_node_class, node, node_removal_request, node_request, pod, server_type
from tests.planner.outcome import planned
from tests.planner.scenes import scene


def kinds(made):
    return [r.server_type for r in made.requests]


def test_a_minimum_is_bought_without_load():
    made = planned(scene(types=({"name": "cx22", "min": 2}, "cx32"), limits={"max": 9, "min": 3}))
    assert kinds(made) == ["cx22", "cx22", "cx22"]
    assert made.result == "NoDemands"
    assert made.optimal
    assert {r.seats for r in made.requests} == {()}
    assert made.requests[0].why == "The minimum of pool default asks for it"


def test_pods_use_what_a_minimum_buys():
    made = planned(scene(pod("a", "1"), types=("cx22", {"name": "cx32", "min": 1})))
    assert kinds(made) == ["cx32"]
    assert [s.name for s in made.requests[0].seats] == ["a"]
    assert made.optimal


def test_what_pods_need_counts_towards_the_pools_minimum():
    assert kinds(planned(scene(pod("a", "4"), limits={"max": 9, "min": 2}))) == ["cx32", "cx22"]


@pytest.mark.parametrize(
    ("parts", "missing"),
    [
        ({"nodes": [node("n")]}, 0),
        ({"nodes": [node("n", ready=False)]}, 0),
        ({"nodes": [node("n", deleting=True)]}, 1),
        ({"requests": [node_request("r")]}, 0),
        ({"requests": [node_request("r", phase="Unmet", expiresAt="2026-03-01T11:00:00Z")]}, 1),
        ({"requests": [node_request("r", deleting=True)]}, 1),
        ({"nodes": [node("n")], "removals": [node_removal_request("n")]}, 1),
        ({"nodes": [node("n")], "removals": [node_removal_request("n", phase="CouldNotRemove")]}, 1),
        ({"nodes": [node("n", pool="other")]}, 1),
    ],
)
def test_what_counts_towards_a_minimum(parts, missing):
    for types, limits in ((({"name": "cx22", "min": 1},), {"max": 9}), (("cx22",), {"max": 9, "min": 1})):
        assert len(planned(scene(types=types, limits=limits, **parts)).requests) == missing


def test_a_minimum_obeys_the_max():
    given = scene(
        types=({"name": "cx22", "min": 2},), limits={"max": 2}, nodes=[node("n")], removals=[node_removal_request("n")]
    )
    assert len(planned(given).requests) == 1


@pytest.mark.parametrize(
    ("parts", "room"),
    [
        ({}, 2),
        ({"nodes": [node("n", "cx32")]}, 1),
        ({"requests": [node_request("r", "cx32", phase="Deprovisioning")]}, 1),
        ({"requests": [node_request("r", "cx32", phase="Failed", expiresAt="2026-03-01T11:00:00Z")]}, 2),
        ({"removals": [node_removal_request("gone", "cx32", phase="Deprovisioning")]}, 1),
        ({"nodes": [node("n", "cx32")], "removals": [node_removal_request("n", "cx32", phase="Deprovisioning")]}, 1),
        ({"nodes": [node("n", "cx32")], "requests": [node_request("n", "cx32", phase="Ready")]}, 1),
        ({"nodes": [node("n", "cx32", pool="other")]}, 2),
    ],
)
@pytest.mark.parametrize("limit", ["pool", "type"])
def test_what_counts_towards_a_max(parts, room, limit):
    types = ({"name": "cx22", "max": 2},) if limit == "type" else ("cx22",)
    limits = {"max": 100} if limit == "type" else {"max": 2}
    if limit == "type":
        parts = {k: [_as_cx22(o) for o in objects] for k, objects in parts.items()}
    # Nodes of type cx32 take none of these pods, as the pool's taint is on new machines only.
    pods = [pod(str(k), "2", nodeSelector={"disk": "new"}) for k in range(4)]
    given = scene(*pods, types=types, limits=limits, **parts)
    given.pools[0]["spec"]["template"] = {"labels": {"disk": "new"}}
    made = planned(given)
    assert len(made.requests) == room
    assert {u.reasons[0].code for u in made.unplaced} == {"LimitReached"}


def _as_cx22(item: dict) -> dict:
    return json.loads(json.dumps(item).replace("cx32", "cx22"))


def test_important_pods_get_the_last_machines():
    pods = [pod("low", "2"), pod("high", "2", priority=100), pod("mid", "2", priority=50)]
    made = planned(scene(*pods, types=("cx22",), limits={"max": 2}))
    assert [r.seats[0].name for r in made.requests] == ["high", "mid"]
    assert [u.pod for u in made.unplaced] == ["default/low"]


def test_few_machines_are_made_the_most_of():
    # One machine is allowed: a cx32 takes both pods, the cheaper cx22 only one.
    made = planned(scene(pod("a", "2"), pod("b", "2"), limits={"max": 1}))
    assert kinds(made) == ["cx32"]
    assert made.result == "AllPlaced"


def test_a_machine_that_a_pod_needs_elsewhere_meets_the_minimum_of_its_type():
    """The minimum would be bought in fsn1, the first location; the pod may only run in nbg1."""
    given = scene(
        pod("a", "1", nodeSelector={"topology.kubernetes.io/zone": "nbg1"}),
        types=({"name": "cx22", "min": 1},),
    )
    given.classes = [kwok_node_class(server_type("cx22", locations=("fsn1", "nbg1")))]
    made = planned(given)
    assert [(r.server_type, r.location, len(r.seats)) for r in made.requests] == [("cx22", "nbg1", 1)]
    assert made.optimal  # one machine is what the minimum costs alone
