"""What nodes, requests and removals together say of a machine."""

import pytest

from planner.supply.machines import machines_of
from tests.builders import NOW, after, before, kwok_node_class, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import Scene

READY_LONG_AGO = {"phase": "Ready", "readyAt": before(seconds=30)}
READY_NOW = {"phase": "Ready", "readyAt": before(seconds=2)}


def machine(scene: Scene, name: str = "m"):
    return machines_of(scene.snapshot())[name]


def of(*, nodes=(), requests=(), removals=(), pods=()):
    return machine(
        Scene(
            classes=[kwok_node_class()],
            pools=[node_pool()],
            nodes=list(nodes),
            requests=list(requests),
            removals=list(removals),
            pods=list(pods),
        )
    )


@pytest.mark.parametrize(
    ("status", "in_flight"),
    [
        ({}, True),
        ({"phase": "Provisioning", "createAttemptAt": before(seconds=5)}, True),
        # Its pods could not be let onto it: it comes all the same, and they find their place on it.
        ({"phase": "Provisioning", "releasedAt": before(seconds=5)}, True),
        ({"phase": "Provisioning", "releasedAt": before(seconds=5), "joinDeadline": after(seconds=1)}, True),
        ({"phase": "Provisioning", "releasedAt": before(seconds=5), "joinDeadline": NOW}, False),
        ({"phase": "Unmet", "expiresAt": after(seconds=5)}, False),
        ({"phase": "Failed"}, False),
        ({"phase": "Deprovisioning"}, False),
        (READY_LONG_AGO, False),
        (READY_NOW, True),  # the cache may lag behind
    ],
)
def test_in_flight(status, in_flight):
    assert of(requests=[node_request("m", **status)]).is_in_flight(NOW) is in_flight
    assert not of(requests=[node_request("m", deleting=True, **status)]).is_in_flight(NOW)
    assert not of(
        requests=[node_request("m", **status)], removals=[node_removal_request("m", immediate=True)]
    ).is_in_flight(NOW)


def test_a_ready_request_whose_node_is_ready_counts_through_it():
    assert not of(requests=[node_request("m", **READY_NOW)], nodes=[node("m")]).is_in_flight(NOW)


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        ({}, True),
        ({"phase": "Provisioning"}, True),
        ({"phase": "Ready"}, True),
        ({"phase": "Deprovisioning"}, True),
        ({"phase": "Unmet"}, False),
        ({"phase": "Failed"}, False),
    ],
)
def test_which_requests_count_towards_max(status, counts):
    assert of(requests=[node_request("m", **status)]).counts is counts


def test_a_server_counts_once_under_its_name():
    scene = Scene(
        nodes=[node("m")],
        requests=[node_request("m", phase="Ready")],
        removals=[node_removal_request("m")],
        pools=[node_pool()],
    )
    assert len(machines_of(scene.snapshot())) == 1
    assert machine(scene).counts


@pytest.mark.parametrize(
    ("status", "leaving", "cooling"),
    [
        ({}, True, True),
        ({"phase": "Pending", "cancel": {"at": before(seconds=1), "by": "Person"}}, False, False),
        ({"phase": "Draining"}, True, False),
        ({"phase": "Draining", "cancel": {"at": before(seconds=1), "by": "Person"}}, False, False),
        ({"phase": "Deprovisioning"}, True, False),
        ({"phase": "CouldNotRemove"}, True, False),
        ({"immediate": True}, True, False),
    ],
)
def test_removals(status, leaving, cooling):
    made = of(nodes=[node("m")], removals=[node_removal_request("m", **status)])
    assert (made.is_leaving, made.is_cooling_off, made.stays) == (leaving, cooling, not leaving)


def test_a_deleted_removal_is_cancelled_while_it_can_be():
    assert not of(nodes=[node("m")], removals=[node_removal_request("m", deleting=True)]).is_leaving
    assert not of(nodes=[node("m")], removals=[node_removal_request("m", deleting=True, phase="Draining")]).is_leaving
    assert of(nodes=[node("m")], removals=[node_removal_request("m", deleting=True, phase="Deprovisioning")]).is_leaving


def test_finished_pods_take_no_room_and_terminating_ones_do():
    dying = pod("dying", node="m")
    dying["metadata"]["deletionTimestamp"] = before(seconds=5)
    made = of(nodes=[node("m")], pods=[pod("done", node="m", phase="Succeeded"), dying, pod("runs", node="m")])
    assert [p.name for p in made.residents] == ["dying", "runs"]


def test_type_pool_and_location_are_read_from_the_node_where_there_is_no_object():
    made = of(nodes=[node("m", "cx42")])
    assert (made.pool, made.server_type, made.location) == ("default", "cx42", "fsn1")
