"""What a look at a request sees, and what it does not ask for."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CRDS, NODE_POOLS, NODE_REQUESTS
from activities.ports.errors import AuthenticationFailed, NotFound, UnknownOutcome, Unreachable, Unreadable
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.seen import NodeSeen, RequestTimings, ServerSeen
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, RESERVED, START, UNREGISTERED
from tests.tables import rows

BOOTING = {"phase": "Provisioning", "attempts": 1, "createAttemptAt": START}


async def test_neither_a_request_that_is_gone_nor_another_of_its_name_is_seen(life):
    life.uid = "never"
    assert not (await life.look_request()).exists
    await life.add_request()
    life.uid = "another"
    assert not (await life.look_request()).exists


async def test_a_request_that_only_others_hold_has_ended(life):
    await life.add_request(finalizers=["foregroundDeletion"])
    assert (await life.look_request()).exists
    await MemoryCluster.delete(life.cluster, NODE_REQUESTS, NAME)
    assert not (await life.look_request()).exists


async def test_the_status_comes_without_its_events(life):
    await life.add_request(BOOTING | {"events": [{"at": START.isoformat(), "name": "Launched", "reason": "x"}]})
    seen = await life.look_request()
    assert (seen.status.create_attempt_at, seen.status.events, seen.pool) == (START, (), "default")


async def test_an_object_that_a_person_broke_is_told_by_field(life):
    await life.add_request(BOOTING | {"phase": "Lost"})
    with pytest.raises(Unreadable, match=f"NodeRequest {NAME}: status.phase"):
        await life.look_request()


@pytest.mark.parametrize("state", ServerState)
async def test_the_state_of_its_server(life, state):
    await life.add_request(BOOTING)
    life.add_server(state)
    assert (await life.look_request()).server == state.value


async def test_whether_the_provider_works_on_its_server_and_what_is_wrong_with_it(life):
    await life.add_request(BOOTING)
    life.add_server(ServerState.CREATING)
    seen = await life.look_request()
    assert (seen.server_progresses, seen.server_problem) == (False, "")
    life.cloud.servers[NAME] = replace(life.cloud.servers[NAME], is_progressing=True, problem="x" * 2000)
    seen = await life.look_request()
    assert seen.server_progresses
    assert seen.server_problem == f"{'x' * 1021}..."


async def test_another_requests_server_is_foreign(life):
    await life.add_request(BOOTING)
    life.add_server(**{"growth.dev/request-uid": "another"})
    assert (await life.look_request()).server is ServerSeen.FOREIGN


@rows(
    ("error", "server"),
    {
        "not found": (NotFound("?"), ServerSeen.ABSENT),
        "no answer": (UnknownOutcome("?"), ServerSeen.UNKNOWN),
        "a bad token": (AuthenticationFailed("?"), ServerSeen.UNKNOWN),
        "unreachable": (Unreachable("?"), ServerSeen.UNKNOWN),
        "no provider": (None, ServerSeen.UNKNOWN),
    },
)
async def test_only_not_found_is_absence(life, error, server):
    await life.add_request(BOOTING)
    life.add_server()
    life.cloud.fail["get"] = error
    if error is None:
        life.ports.providers.clear()
    assert (await life.look_request()).server is server


@pytest.mark.parametrize("phase", ["Pending", "Unmet", "Failed", "Deprovisioning"])
async def test_the_provider_is_asked_only_where_it_matters(life, phase):
    await life.add_request({"phase": phase})
    assert (await life.look_request()).server is ServerSeen.UNKNOWN
    assert life.cloud.calls == []


async def test_its_node(life):
    await life.add_request(BOOTING)
    assert (await life.look_request()).node is None
    await life.add_node(UNREGISTERED, RESERVED, ready=True)
    assert (await life.look_request()).node == NodeSeen(name=NAME, ready=True, unregistered=True, reserved=True)


async def test_a_node_reserved_for_another_request_is_not_reserved_for_this(life):
    await life.add_request(BOOTING)
    await life.add_node(RESERVED | {"value": "default-b2"})
    assert not (await life.look_request()).node.reserved


async def test_the_pods_of_its_seats_and_those_on_its_node(life):
    seats = [await life.add_pod(f"web-{number}") for number in range(1, 4)]
    await life.add_request(BOOTING, seats=[*seats, {"namespace": "shop", "name": "never", "uid": "x"}])
    seen = await life.look_request()
    assert (seen.seats, seen.awaited, seen.untolerated, seen.bound) == (4, 4, 0, 0), "without a Node nothing is asked"
    await life.add_node()
    life.cluster.bind("shop", "web-1", NAME)
    life.cluster.bind("shop", "web-2", "elsewhere")
    seen = await life.look_request()
    assert (seen.seats, seen.awaited, seen.untolerated, seen.bound) == (4, 2, 1, 1)


async def test_the_pools_durations(life):
    fields = ("provisioningTimeout", "joinTimeout", "unavailableTTL", "failedTTL", "recordTTL")
    durations = {field: f"{minutes}m" for minutes, field in enumerate(fields, 1)}
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleUp", durations)
    await life.add_request()
    timings = (await life.look_request()).timings
    assert [duration / timedelta(minutes=1) for _, duration in timings] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("trouble", ["gone", "unreadable"])
async def test_without_its_pool_the_defaults_hold(life, trouble):
    await life.add_request(BOOTING)
    if trouble == "gone":
        await life.cluster.delete(NODE_POOLS, "default")
    else:
        change = [{"op": "remove", "path": "/spec/serverTypes"}]
        await MemoryCluster.patch(life.cluster, NODE_POOLS, "default", change)
    assert (await life.look_request()).timings == RequestTimings()


async def test_an_offering_that_is_left_out(life):
    times = {"lastFailureAt": "2026-11-01T11:59:00Z", "until": "2026-11-01T12:01:00Z"}
    entry = {"serverType": "cx32", "location": "fsn1", "failures": 1} | times
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {"unavailable": [entry]})
    await life.add_request()
    assert (await life.look_request()).offering_unavailable_until == START + timedelta(minutes=1)
    life.pass_time(60)
    assert (await life.look_request()).offering_unavailable_until is None


@pytest.mark.parametrize("plural", ["nodepools", "noderequests", "noderemovalrequests", "kwoknodeclasses"])
async def test_a_deletion_beside_a_vanishing_definition_is_no_wish(life, plural):
    await life.add_request(BOOTING)
    await MemoryCluster.delete(life.cluster, NODE_REQUESTS, NAME)
    assert not (await life.look_request()).crds_going
    life.cloud.calls.clear()
    await life.cluster.delete(CRDS, f"{plural}.growth.dev")
    seen = await life.look_request()
    assert (seen.exists, seen.crds_going, life.cloud.calls) == (True, True, [])


async def test_what_is_seen_stays_small(life):
    """It goes through the workflow's history at every look."""
    long = {"reason": "R" * 64, "message": "m" * 200, "lastTransitionTime": "2026-11-01T12:00:00Z"}
    conditions = [{"type": kind, "status": "True"} | long for kind in ("Launched", "Registered", "Ready")]
    events = [{"at": START.isoformat(), "name": "Launched", "reason": "x" * 512}] * 20
    await life.add_request(BOOTING | {"message": "m" * 1024, "conditions": conditions, "events": events})
    await life.add_node()
    assert len((await life.look_request()).model_dump_json()) < 4096
