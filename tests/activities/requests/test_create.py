"""The create call of a request: written before, told after, and never leaving a server that nobody knows of."""

from datetime import datetime, timedelta

import pytest

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import (
    AuthenticationFailed,
    Conflict,
    InsufficientCapacity,
    InvalidConfiguration,
    QuotaExceeded,
    UnknownOutcome,
    Unreachable,
)
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import FINALIZER
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, START, UNREGISTERED, Life
from tests.activities.rounds import Crash

CREATE = Act(effect="create_server", reason="CreateServer", until=START + timedelta(minutes=10))


@pytest.fixture
async def life():
    made = Life()
    await made.install(
        template={"labels": {"team": "shop"}, "taints": [{"key": "dedicated", "value": "shop", "effect": "NoSchedule"}]}
    )
    return made


@pytest.fixture
async def new(life):
    await life.add_request()
    return life


async def test_a_server_is_ordered_with_all_that_identifies_it(new):
    seen = await new.do("create_server")
    (order,) = new.cloud.orders
    assert (order.name, order.server_type, order.location) == (NAME, "cx32", "fsn1")
    assert order.labels == {"growth.dev/cluster": "test", **new.own_labels()}
    assert order.node_labels == {"team": "shop", **new.own_labels()}
    assert order.node_taints == [{"key": "dedicated", "value": "shop", "effect": "NoSchedule"}, UNREGISTERED]
    assert (seen.status.phase, seen.status.reason, seen.server) == ("Provisioning", "Launched", ServerSeen.CREATING)
    assert seen.status.provider_id == f"kwok://test/{NAME}"
    assert seen.status.provisioning_deadline == START + timedelta(minutes=10)
    assert seen.status.create_attempt_at == START
    status = (await new.request())["status"]
    assert [event["name"] for event in status["events"]] == ["CreateServer", "Launched"]
    assert [(c["type"], c["status"]) for c in status["conditions"]] == [("Launched", "True")]
    assert ("NodeRequest", "Launched") in await new.told()


async def test_the_attempt_is_on_the_object_before_the_call(new):
    seen = {}

    async def during():
        seen.update((await new.request())["status"])

    new.cloud.during["create"] = during
    await new.do("create_server")
    assert (seen["attempts"], seen["createAttemptAt"]) == (1, "2026-11-01T12:00:00Z")
    assert seen["provisioningDeadline"] == "2026-11-01T12:10:00Z"
    assert seen["phase"] == "Pending"


async def test_executed_twice_it_creates_once(new):
    first = await new.do("create_server", CREATE)
    assert await new.do("create_server", CREATE) == first
    assert new.cloud.calls.count("create") == 1


@pytest.mark.parametrize("write", range(1, 4))
@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_any_write_it_ends_with_one_server(new, write, when):
    setattr(new.cluster, when, len(new.cluster.writes) + write)
    with pytest.raises(Crash):
        await new.do("create_server", CREATE)
    new.restart()
    seen = await new.do("create_server", CREATE)
    assert (seen.status.phase, len(new.cloud.servers)) == ("Provisioning", 1)


async def test_a_request_made_by_hand_is_held_first(life):
    await life.add_request(finalizers=[])
    await life.do("create_server")
    assert (await life.request())["metadata"]["finalizers"] == [FINALIZER]
    assert life.cluster.writes[2].startswith("patch noderequests"), "held before it is created"
    assert len(life.cloud.servers) == 1


async def test_a_lost_reply_is_raised_and_the_server_found_by_the_next_call(new):
    new.cloud.loses_reply["create"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await new.do("create_server", CREATE)
    status = (await new.request())["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Pending", "UnknownOutcome", "time-out")
    new.pass_time(2)
    seen = await new.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.attempts, len(new.cloud.servers)) == ("Provisioning", 2, 1)
    assert seen.status.create_attempt_at == START + timedelta(seconds=2)
    assert seen.status.provisioning_deadline == START + timedelta(minutes=10), "the first call's"


@pytest.mark.parametrize("error", [UnknownOutcome("?"), Unreachable("?")])
async def test_unknown_outcomes_are_repeated_until_the_deadline_of_the_first_call(new, error):
    new.cloud.fail["create"] = error
    with pytest.raises(type(error)):
        await new.do("create_server", CREATE)
    new.pass_time(600)
    seen = await new.do("create_server", CREATE)
    assert (seen.status.attempts, new.cloud.calls.count("create")) == (1, 1)
    seen = await new.do("give_up")
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "ProvisioningTimeout")


async def test_a_server_of_that_name_made_for_another_is_left_alone(new):
    new.add_server(**{"growth.dev/request-uid": "another"})
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason) == ("Failed", "NameTaken")
    assert seen.status.expires_at == START + timedelta(minutes=30)
    assert new.cloud.servers[NAME].labels["growth.dev/request-uid"] == "another"


async def test_a_taken_name_is_certain_after_unknown_outcomes_too(life):
    await life.add_request({"phase": "Pending", "attempts": 3, "createAttemptAt": START})
    life.add_server(**{"growth.dev/request-uid": "another"})
    seen = await life.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.reason) == ("Failed", "NameTaken")


async def entries(life):
    node_class = await life.find(KWOK_NODE_CLASSES, "default")
    return node_class.get("status", {}).get("unavailable", [])


async def test_no_capacity_is_unmet_and_remembered_on_the_class(new):
    new.cloud.fail["create"] = InsufficientCapacity("sold out")
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason, seen.status.message) == ("Unmet", "InsufficientCapacity", "sold out")
    assert seen.status.expires_at == START + timedelta(seconds=120)
    (entry,) = await entries(new)
    assert (entry["serverType"], entry["location"], entry["failures"]) == ("cx32", "fsn1", 1)
    assert entry["until"] == "2026-11-01T12:02:00Z"
    assert ("NodeRequest", "InsufficientCapacity") in await new.told()


async def test_an_offering_that_is_not_sold_at_all_is_left_out_for_an_hour(new):
    new.cloud.fail["create"] = InsufficientCapacity("not sold in fsn1", lasts=True)
    seen = await new.do("create_server")
    assert seen.status.expires_at == START + timedelta(hours=1)
    assert (await entries(new))[0]["until"] == "2026-11-01T13:00:00Z"


async def test_a_pool_that_leaves_offerings_out_for_longer_does_so_for_those_that_are_not_sold(new):
    change = [{"op": "add", "path": "/spec/scaleUp", "value": {"unavailableTTL": "2h"}}]
    await MemoryCluster.patch(new.cluster, NODE_POOLS, "default", change)
    new.cloud.fail["create"] = InsufficientCapacity("not sold in fsn1", lasts=True)
    assert (await new.do("create_server")).status.expires_at == START + timedelta(hours=2)


async def test_a_second_miss_in_the_same_wait_does_not_count_and_ends_with_it(new):
    new.cloud.fail["create"] = InsufficientCapacity("sold out")
    miss = {
        "serverType": "cx32",
        "location": "fsn1",
        "failures": 3,
        "lastFailureAt": "2026-11-01T11:59:00Z",
        "until": "2026-11-01T12:05:00Z",
    }

    async def sibling():
        change = [{"op": "add", "path": "/status", "value": {"unavailable": [miss]}}]
        await MemoryCluster.patch(new.cluster, KWOK_NODE_CLASSES, "default", change, subresource="status")

    new.cloud.during["create"] = sibling
    seen = await new.do("create_server")
    assert await entries(new) == [miss]
    assert seen.status.expires_at == START + timedelta(minutes=5)


async def test_a_miss_after_the_wait_doubles_it(new):
    new.cloud.fail["create"] = InsufficientCapacity("sold out")
    await new.do("create_server")
    new.pass_time(120)
    await new.do("finish_request")
    await new.add_request()
    seen = await new.do("create_server")
    assert seen.status.expires_at == START + timedelta(seconds=120 + 240)


async def test_a_machine_that_becomes_ready_ends_the_memory_of_misses(new):
    new.cloud.fail["create"] = InsufficientCapacity("sold out")
    await new.do("create_server")
    new.pass_time(120)
    await new.do("finish_request")
    await new.add_request()
    new.cloud.fail.clear()
    await new.do("create_server")
    # A server that was had is no machine yet: one that never boots speaks against the offering.
    assert len(await entries(new)) == 1
    await new.add_node(ready=True)
    await new.do("register_node")
    await new.do("mark_ready")
    assert await entries(new) == []


async def test_a_machine_that_is_not_there_in_time_is_a_miss_of_its_offering(new):
    for waited in (120, 240):
        await new.do("create_server")
        new.pass_time(1200)
        began = new.ports.now()
        await new.do("give_up")
        (entry,) = await entries(new)
        assert datetime.fromisoformat(entry["until"]) == began + timedelta(seconds=waited)
        await new.do("hand_over")
        new.cloud.servers.clear()
        await new.cluster.patch(NODE_REMOVAL_REQUESTS, NAME, [{"op": "remove", "path": "/metadata/finalizers"}])
        await new.cluster.delete(NODE_REMOVAL_REQUESTS, NAME)
        await new.add_request()
        new.pass_time(waited)


async def test_an_offering_that_is_left_out_is_unmet_without_a_call(new):
    new.cloud.fail["create"] = InsufficientCapacity("sold out")
    await new.do("create_server")
    await new.cluster.delete(NODE_REQUESTS, NAME)
    await new.do("finish_request")
    await new.add_request()
    new.cloud.calls.clear()
    seen = await new.do("create_server", CREATE)
    assert (seen.status.phase, new.cloud.calls) == ("Pending", [])
    seen = await new.do("mark_unmet")
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "OfferingUnavailable")
    assert seen.status.expires_at == START + timedelta(seconds=120)
    assert new.cloud.calls == []


@pytest.mark.parametrize(
    ("error", "phase", "seconds"),
    [
        (QuotaExceeded("no more"), "Unmet", 300),
        (InvalidConfiguration("no such image"), "Failed", 1800),
        (AuthenticationFailed("token"), "Failed", 1800),
    ],
)
async def test_a_refused_call_leaves_a_record_for_its_time(new, error, phase, seconds):
    new.cloud.fail["create"] = error
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason, seen.status.message) == (phase, error.reason, str(error))
    assert seen.status.expires_at == START + timedelta(seconds=seconds)
    assert await entries(new) == []
    (condition,) = (await new.request())["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Launched", "False", error.reason)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InsufficientCapacity("sold out"), "CapacityAfterUnknown"),
        (QuotaExceeded("no more"), "CapacityAfterUnknown"),
        (InvalidConfiguration("no such image"), "ConfigurationAfterUnknown"),
        (AuthenticationFailed("token"), "ConfigurationAfterUnknown"),
    ],
)
async def test_a_refusal_after_an_unknown_outcome_is_no_proof(new, error, reason):
    new.cloud.fail["create"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await new.do("create_server", CREATE)
    new.cloud.fail["create"] = error
    seen = await new.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", reason)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize(
    ("resource", "message"), [(NODE_POOLS, "NodePool default"), (KWOK_NODE_CLASSES, "KwokNodeClass")]
)
async def test_without_pool_or_class_it_fails_and_says_what_to_do(life, asked, resource, message):
    await life.add_request({"phase": "Pending", "attempts": 1, "createAttemptAt": START} if asked else None)
    await life.cluster.delete(resource, "default")
    seen = await life.do("create_server", CREATE)
    assert seen.status.phase == ("Deprovisioning" if asked else "Failed")
    assert message in seen.status.message
    assert "create it" in seen.status.message
    assert life.cloud.calls == []


async def test_a_pool_that_cannot_be_read_fails_naming_the_field(new):
    change = [{"op": "add", "path": "/spec/limits", "value": {"max": "many"}}]
    await MemoryCluster.patch(new.cluster, NODE_POOLS, "default", change)
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason) == ("Failed", "Unreadable")
    assert "spec.limits.max" in seen.status.message


async def test_a_request_of_another_uid_is_another_request(new):
    new.uid = "another"
    seen = await new.do("create_server", CREATE)
    assert not seen.exists
    assert (new.cloud.calls, new.cluster.writes[2:]) == ([], [])


async def test_a_deleted_request_is_not_asked_for(new):
    await new.cluster.delete(NODE_REQUESTS, NAME)
    seen = await new.do("create_server", CREATE)
    assert seen.deleting
    assert new.cloud.calls == []


async def test_a_change_before_the_attempt_is_looked_at_again(new):
    """Deleted between the look and the write: the write is refused, and no call is made."""

    def delete_first(verb, resource, _):
        if (verb, resource) == ("patch", NODE_REQUESTS):
            new.cluster.refuse = None
            new.cluster._store.delete(NODE_REQUESTS, ("", NAME))

    new.cluster.refuse = delete_first
    seen = await new.do("create_server", CREATE)
    assert seen.deleting
    assert new.cloud.calls == []


async def test_a_change_during_the_call_does_not_lose_its_outcome(new):
    async def seats():
        change = [{"op": "add", "path": "/spec/reservedFor", "value": [{"namespace": "a", "name": "b", "uid": "c"}]}]
        await MemoryCluster.patch(new.cluster, NODE_REQUESTS, NAME, change)

    new.cloud.during["create"] = seats
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.attempts, seen.seats) == ("Provisioning", 1, 1)


async def test_an_object_that_keeps_changing_is_a_conflict(new):
    def conflict(verb, resource, _):
        if (verb, resource) == ("patch", NODE_REQUESTS):
            raise Conflict("changed")

    new.cluster.refuse = conflict
    with pytest.raises(Conflict):
        await new.do("create_server", CREATE)
    assert new.cloud.calls == []


@pytest.mark.parametrize("reply", [None, UnknownOutcome("time-out")])
async def test_a_request_torn_away_during_the_call_leaves_a_removal(new, reply):
    async def tear():
        await MemoryCluster.delete(new.cluster, NODE_REQUESTS, NAME)
        change = [{"op": "remove", "path": "/metadata/finalizers"}]
        await MemoryCluster.patch(new.cluster, NODE_REQUESTS, NAME, change)

    new.cloud.during["create"] = tear
    if reply:
        new.cloud.loses_reply["create"] = reply
        with pytest.raises(UnknownOutcome):
            await new.do("create_server", CREATE)
    else:
        assert not (await new.do("create_server", CREATE)).exists
    removal = await new.find(NODE_REMOVAL_REQUESTS)
    assert removal["spec"]["immediate"] is True
    assert removal["spec"]["createAttemptAt"] == "2026-11-01T12:00:00Z"
    assert removal["metadata"]["labels"]["growth.dev/request-uid"] == new.uid


async def test_a_late_refusal_beside_a_later_call_is_no_proof(new):
    """An attempt that was given up gets its refusal after another attempt has begun: the server may exist."""

    async def another_attempt():
        status = (await new.request())["status"] | {"attempts": 2}
        await new.set_status(NODE_REQUESTS, status)

    new.cloud.during["create"] = another_attempt
    new.cloud.fail["create"] = QuotaExceeded("no more")
    seen = await new.do("create_server")
    assert seen.status.phase == "Deprovisioning"
