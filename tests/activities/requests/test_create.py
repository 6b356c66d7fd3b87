"""The create call of a request: written before, told after, and never leaving a server that nobody knows of."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.errors import (
    AuthenticationFailed,
    Conflict,
    InsufficientCapacity,
    InvalidConfiguration,
    QuotaExceeded,
    Rejected,
    UnknownOutcome,
    Unreachable,
)
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import FINALIZER
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, START, UNREGISTERED, Life, at_each_write
from tests.tables import rows

CREATE = Act(effect="create_server", reason="CreateServer", until=START + timedelta(minutes=10))
ASKED = {"phase": "Pending", "attempts": 1, "createAttemptAt": START}
OF_ANOTHER = {"growth.dev/request-uid": "another"}
DEDICATED = {"key": "dedicated", "value": "shop", "effect": "NoSchedule"}
SOLD_OUT = InsufficientCapacity("sold out")
NOT_SOLD = InsufficientCapacity("not sold in fsn1", lasts=True)


def miss(failed, until, *, failures=1):
    """An entry of an offering that is left out, with hours of the day."""
    times = {"lastFailureAt": f"2026-11-01T{failed}:00Z", "until": f"2026-11-01T{until}:00Z"}
    return {"serverType": "cx32", "location": "fsn1", "failures": failures} | times


@pytest.fixture
async def life():
    made = Life()
    await made.install(template={"labels": {"team": "shop"}, "taints": [DEDICATED]})
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
    assert order.node_taints == [DEDICATED, UNREGISTERED]
    assert (seen.status.phase, seen.status.reason, seen.server) == ("Provisioning", "Launched", ServerSeen.CREATING)
    assert seen.status.provider_id == f"kwok://test/{NAME}"
    assert seen.status.provisioning_deadline == START + timedelta(minutes=10)
    assert seen.status.create_attempt_at == START
    status = (await new.request())["status"]
    assert [event["name"] for event in status["events"]] == ["CreateServer", "Launched"]
    assert [(c["type"], c["status"]) for c in status["conditions"]] == [("Launched", "True")]
    assert ("NodeRequest", "Launched") in await new.event_reasons()


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


@at_each_write(3)
async def test_killed_at_any_write_it_ends_with_one_server(new, write, when):
    await new.die_during("create_server", CREATE, when, write)
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


@rows("status", {"at the first call": None, "after unknown outcomes": ASKED | {"attempts": 3}})
async def test_a_server_of_that_name_made_for_another_is_left_alone(life, status):
    await life.add_request(status)
    life.add_server(**OF_ANOTHER)
    seen = await life.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.reason) == ("Failed", "NameTaken")
    assert seen.status.expires_at == START + timedelta(minutes=30)
    assert life.cloud.servers[NAME].labels["growth.dev/request-uid"] == "another"


@rows(
    ("mark", "phase"),
    {
        "this cluster's": ("ours", "Provisioning"),
        "made by an earlier version": ("", "Provisioning"),
        "another cluster's of this name": ("theirs", "Failed"),
    },
)
async def test_a_server_that_is_there_is_the_requests_only_if_it_is_this_clusters(life, mark, phase):
    life.ports = replace(life.ports, cluster_uid="ours")
    life.restart()
    await life.add_request(ASKED)
    life.add_server(**({"growth.dev/cluster-uid": mark} if mark else {}))
    seen = await life.do("create_server", CREATE)
    assert seen.status.phase == phase
    assert [order.labels["growth.dev/cluster-uid"] for order in life.cloud.orders] == ["ours"]


async def test_no_server_is_bought_under_the_name_of_a_node_that_exists(new):
    """It could not join, and the Node that has the name would be taken for its own and go with it."""
    body = bodies.node(NAME, "default", "cx32", "4", "8Gi", labels={"team": "storage"})
    await MemoryCluster.create(new.cluster, NODES, body)
    before = await new.node()
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason) == ("Failed", "NameTaken")
    assert seen.status.message == f"A Node named {NAME} exists already and was not made for this request"
    assert new.cloud.calls == []
    assert await new.node() == before


async def test_after_a_call_of_unknown_outcome_the_node_may_be_its_own(life):
    await life.add_machine(ASKED, UNREGISTERED)
    assert (await life.do("create_server")).status.phase == "Provisioning"


async def entries(life):
    node_class = await life.find(KWOK_NODE_CLASSES, "default")
    return node_class.get("status", {}).get("unavailable", [])


async def test_no_capacity_is_unmet_and_remembered_on_the_class(new):
    new.cloud.fail["create"] = SOLD_OUT
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason, seen.status.message) == ("Unmet", "InsufficientCapacity", "sold out")
    assert seen.status.expires_at == START + timedelta(seconds=120)
    assert await entries(new) == [miss("12:00", "12:02")]
    assert ("NodeRequest", "InsufficientCapacity") in await new.event_reasons()


@rows(("ttl", "hours"), {"for an hour": (None, 1), "longer in a pool that leaves offerings out for longer": ("2h", 2)})
async def test_an_offering_that_is_not_sold_at_all_is_left_out(new, ttl, hours):
    if ttl:
        await new.cluster.put(NODE_POOLS, "default", "/spec/scaleUp", {"unavailableTTL": ttl})
    new.cloud.fail["create"] = NOT_SOLD
    seen = await new.do("create_server")
    assert seen.status.expires_at == START + timedelta(hours=hours)
    assert (await entries(new))[0]["until"] == f"2026-11-01T{12 + hours}:00:00Z"


async def test_a_second_miss_in_the_same_wait_does_not_count_and_ends_with_it(new):
    new.cloud.fail["create"] = SOLD_OUT
    earlier = miss("11:59", "12:05", failures=3)

    async def sibling():
        await new.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {"unavailable": [earlier]})

    new.cloud.during["create"] = sibling
    seen = await new.do("create_server")
    assert await entries(new) == [earlier]
    assert seen.status.expires_at == START + timedelta(minutes=5)


async def missed(life):
    """Miss once, and ask again with another request when the wait is over."""
    life.cloud.fail["create"] = SOLD_OUT
    await life.do("create_server")
    life.pass_time(120)
    await life.do("finish_request")
    await life.add_request()


async def test_a_miss_after_the_wait_doubles_it(new):
    await missed(new)
    seen = await new.do("create_server")
    assert seen.status.expires_at == START + timedelta(seconds=120 + 240)


async def test_a_machine_that_becomes_ready_ends_the_memory_of_misses(new):
    await missed(new)
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
        await new.cluster.end(NODE_REMOVAL_REQUESTS, NAME)
        await new.add_request()
        new.pass_time(waited)


async def test_an_offering_that_is_left_out_is_unmet_without_a_call(new):
    new.cloud.fail["create"] = SOLD_OUT
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


@pytest.mark.parametrize("error", [Rejected("forbidden"), Unreachable("down"), Conflict("changed")], ids=repr)
@rows(
    ("known", "fails", "expected"),
    {
        # Else the next attempt would call again, and then again until the provisioning time-out.
        "a miss": ([], {"create": SOLD_OUT}, ("Unmet", "InsufficientCapacity", START + timedelta(seconds=120))),
        "a server": ([miss("11:00", "11:02")], {}, ("Provisioning", "Launched", None)),
    },
)
async def test_the_providers_answer_is_not_lost_with_the_memory_of_it(new, known, fails, expected, error):
    await new.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {"unavailable": known})
    new.cluster.refuse_writes(error, "patch", KWOK_NODE_CLASSES)
    new.cloud.fail |= fails
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.reason, seen.status.expires_at) == expected
    assert new.cloud.calls.count("create") == 1


@rows(
    ("error", "phase", "seconds", "asked_before"),
    {
        "quota": (QuotaExceeded("no more"), "Unmet", 300, "CapacityAfterUnknown"),
        "configuration": (InvalidConfiguration("no such image"), "Failed", 1800, "ConfigurationAfterUnknown"),
        "token": (AuthenticationFailed("token"), "Failed", 1800, "ConfigurationAfterUnknown"),
        "capacity": (SOLD_OUT, "Unmet", 120, "CapacityAfterUnknown"),
    },
)
async def test_a_refused_call_leaves_a_record_for_its_time(life, error, phase, seconds, asked_before):
    await life.add_request()
    life.cloud.fail["create"] = error
    seen = await life.do("create_server")
    assert (seen.status.phase, seen.status.reason, seen.status.message) == (phase, error.reason, str(error))
    assert seen.status.expires_at == START + timedelta(seconds=seconds)
    assert await entries(life) == ([miss("12:00", "12:02")] if error is SOLD_OUT else [])
    assert await life.conditions() == {"Launched": ("False", error.reason)}
    # After an unknown outcome a refusal is no proof that there is no server.
    await life.cluster.end(NODE_REQUESTS, NAME)
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {})
    await life.add_request()
    life.cloud.fail["create"] = UnknownOutcome("time-out")
    with pytest.raises(UnknownOutcome):
        await life.do("create_server", CREATE)
    life.cloud.fail["create"] = error
    seen = await life.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", asked_before)


@rows("asked", {"at the first call": False, "after another call": True})
@pytest.mark.parametrize(
    ("resource", "message"), [(NODE_POOLS, "NodePool default"), (KWOK_NODE_CLASSES, "KwokNodeClass")]
)
async def test_without_pool_or_class_it_fails_and_says_what_to_do(life, asked, resource, message):
    await life.add_request(ASKED if asked else None)
    await life.cluster.delete(resource, "default")
    seen = await life.do("create_server", CREATE)
    assert seen.status.phase == ("Deprovisioning" if asked else "Failed")
    assert message in seen.status.message
    assert "create it" in seen.status.message
    assert life.cloud.calls == []


async def test_a_pool_that_cannot_be_read_fails_naming_the_field(new):
    await new.cluster.put(NODE_POOLS, "default", "/spec/limits", {"max": "many"})
    seen = await new.do("create_server", CREATE)
    assert (seen.status.phase, seen.status.reason) == ("Failed", "Unreadable")
    assert "spec.limits.max" in seen.status.message


async def test_a_request_of_another_uid_is_another_request(new):
    new.uid = "another"
    seen = await new.do("create_server", CREATE)
    assert not seen.exists
    assert (new.cloud.calls, new.cluster.writes[2:]) == ([], [])


@rows("late", {"deleted before the look": False, "deleted between the look and the write": True})
async def test_a_deleted_request_is_not_asked_for(new, late):
    if late:
        deleted = {"deletionTimestamp": "2026-11-01T12:00:00Z"}
        new.cluster.overtake("patch", NODE_REQUESTS, lambda request: request["metadata"].update(deleted))
    else:
        await new.cluster.delete(NODE_REQUESTS, NAME)
    seen = await new.do("create_server", CREATE)
    assert seen.deleting
    assert new.cloud.calls == []


async def test_a_change_during_the_call_does_not_lose_its_outcome(new):
    async def seats():
        seat = {"namespace": "a", "name": "b", "uid": "c"}
        await new.cluster.put(NODE_REQUESTS, NAME, "/spec/reservedFor", [seat])

    new.cloud.during["create"] = seats
    seen = await new.do("create_server")
    assert (seen.status.phase, seen.status.attempts, seen.seats) == ("Provisioning", 1, 1)


async def test_an_object_that_keeps_changing_is_a_conflict(new):
    new.cluster.refuse_writes(Conflict("changed"), "patch", NODE_REQUESTS)
    with pytest.raises(Conflict):
        await new.do("create_server", CREATE)
    assert new.cloud.calls == []


@pytest.mark.parametrize("reply", [None, UnknownOutcome("time-out")])
async def test_a_request_torn_away_during_the_call_leaves_a_removal(new, reply):
    async def tear():
        await new.cluster.end(NODE_REQUESTS, NAME)

    new.cloud.during["create"] = tear
    if reply:
        new.cloud.loses_reply["create"] = reply
        with pytest.raises(UnknownOutcome):
            await new.do("create_server", CREATE)
    else:
        assert not (await new.do("create_server", CREATE)).exists
    removal = await new.removal()
    assert removal["spec"]["immediate"] is True
    assert removal["spec"]["createAttemptAt"] == "2026-11-01T12:00:00Z"
    assert removal["metadata"]["labels"]["growth.dev/request-uid"] == new.uid


async def test_a_late_refusal_beside_a_later_call_is_no_proof(new):
    """An attempt that was given up gets its refusal after another attempt has begun: the server may exist."""

    async def another_attempt():
        await new.set_status(NODE_REQUESTS, (await new.request())["status"] | {"attempts": 2})

    new.cloud.during["create"] = another_attempt
    new.cloud.fail["create"] = QuotaExceeded("no more")
    assert (await new.do("create_server")).status.phase == "Deprovisioning"
