"""The ways out of a request's life: nothing is left behind, and nothing is taken that should stay."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CRDS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Conflict
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, RESERVED, START, UNREGISTERED, Life
from tests.activities.rounds import Crash

ASKED = START - timedelta(seconds=100)
BOOTING = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": ASKED,
    "providerID": f"kwok://test/{NAME}",
    "provisioningDeadline": START + timedelta(minutes=5),
}
REGISTERED = BOOTING | {
    "runningAt": START - timedelta(seconds=50),
    "joinDeadline": START,
    "registeredAt": START - timedelta(seconds=20),
    "nodeName": NAME,
}
RECORD = REGISTERED | {"phase": "Ready", "releasedAt": ASKED, "expiresAt": START}
SEALED = {"key": "growth.dev/scale-down", "value": str(int(START.timestamp())), "effect": "NoSchedule"}
FOREIGN = {"key": "other.example/taint", "value": "x", "effect": "NoSchedule"}


def gave_up(reason="JoinTimeout", **status):
    return REGISTERED | {"phase": "Deprovisioning", "reason": reason, "message": "Too late", **status}


HAND_OVER = Act(effect="hand_over", reason="JoinTimeout")
FINISH = Act(effect="finish_request", reason="Expired")


@pytest.fixture
async def life():
    made = Life()
    await made.install()
    return made


async def given_up(life, *taints, status=None, ready=False, node=True):
    await life.add_request(status or gave_up())
    life.add_server()
    if node:
        await life.add_node(*taints, ready=ready)
    return life


async def test_giving_up_is_written_with_its_reason(life):
    await life.add_request(REGISTERED)
    life.add_server()
    await life.add_node(RESERVED)
    seen = await life.do("give_up")
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "JoinTimeout")
    again = await life.do("give_up", Act(effect="give_up", reason="JoinTimeout"))
    assert again == seen
    assert ("NodeRequest", "JoinTimeout") in await life.told()


async def test_a_late_attempt_does_not_give_up_what_became_ready(life):
    await life.add_request(RECORD | {"expiresAt": START + timedelta(minutes=5)})
    life.add_server()
    await life.add_node(ready=True)
    seen = await life.do("give_up", Act(effect="give_up", reason="JoinTimeout"))
    assert seen.status.phase == "Ready"


async def test_a_cancelled_workflow_gives_up_a_request_that_is_not_deleted(life):
    await life.add_request(BOOTING)
    life.add_server(ServerState.CREATING)
    seen = await life.do("give_up", Act(effect="give_up", reason="Cancelled"))
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "Cancelled")


async def test_a_broken_server_speaks_against_its_offering_as_a_miss_does(life):
    """Its creation was taken on and failed later for want of capacity: bought again at once, it would fail again."""
    await life.add_request(BOOTING)
    life.add_server(ServerState.BROKEN)
    life.cloud.servers[NAME] = replace(life.cloud.servers[NAME], problem="error during placement")
    seen = await life.do("give_up")
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "ServerBroken")
    assert seen.status.message == "The provider says that the server will not run: error during placement"
    (entry,) = (await life.find(KWOK_NODE_CLASSES, "default"))["status"]["unavailable"]
    assert (entry["serverType"], entry["location"], entry["failures"]) == ("cx32", "fsn1", 1)
    # 120 s are the default of `spec.scaleUp.unavailableTTL`.
    assert entry["until"] == "2026-11-01T12:02:00Z"


async def test_the_hand_over_orders_a_removal_and_ends_the_request(life):
    await given_up(life, RESERVED, FOREIGN)
    assert not (await life.do("hand_over")).exists
    assert await life.request() is None
    removal = await life.removal()
    assert removal["spec"] == {
        "serverName": NAME,
        "nodeName": NAME,
        "providerID": f"kwok://test/{NAME}",
        "pool": "default",
        "serverType": "cx32",
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "reason": "JoinTimeout",
        "immediate": True,
        "createAttemptAt": "2026-11-01T11:58:20Z",
        "replacedBy": [],
    }
    assert removal["metadata"]["finalizers"] == ["growth.dev/lifecycle"]
    assert removal["metadata"]["labels"] == life.own_labels()
    assert await life.taints() == [FOREIGN, SEALED], "sealed, and released first"
    assert life.cloud.calls == [], "the removal is the sole deleter"


async def test_handed_over_twice_there_is_one_removal(life):
    await given_up(life, RESERVED)
    await life.do("hand_over", HAND_OVER)
    uid = (await life.removal())["metadata"]["uid"]
    assert not (await life.do("hand_over", HAND_OVER)).exists
    assert (await life.removal())["metadata"]["uid"] == uid


@pytest.mark.parametrize("write", range(1, 8))
@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_any_write_the_hand_over_is_completed_by_the_next(life, write, when):
    await given_up(life, RESERVED)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("hand_over", HAND_OVER)
    life.restart()
    assert not (await life.do("hand_over", HAND_OVER)).exists
    assert await life.request() is None
    assert (await life.removal())["spec"]["immediate"] is True
    assert RESERVED not in await life.taints()


async def test_without_a_node_it_is_ordered_all_the_same(life):
    await given_up(life, node=False, status=gave_up("ProvisioningTimeout", nodeName=None, registeredAt=None))
    await life.do("hand_over")
    assert "nodeName" not in (await life.removal())["spec"]


@pytest.mark.parametrize("reason", ["JoinTimeout", "ProvisioningTimeout"])
@pytest.mark.parametrize("sign", ["Ready", "a bound pod"])
async def test_a_node_that_came_in_time_wins_over_a_time_out(life, reason, sign):
    await given_up(life, RESERVED, status=gave_up(reason), ready=sign == "Ready")
    if sign == "a bound pod":
        await life.add_pod("web-9", bound=True)
    seen = await life.do("hand_over")
    assert (seen.status.phase, seen.status.reason) == ("Provisioning", "InTime")
    assert await life.removal() is None
    assert await life.taints() == [RESERVED]
    seen = await life.do("mark_ready")
    assert seen.status.phase == "Ready"


async def test_the_node_is_sealed_before_it_is_judged(life):
    """A pod that is bound between the look and the taint is seen."""
    await given_up(life, RESERVED)

    async def bind():
        await life.add_pod("web-9", bound=True)

    look = life.cluster.list

    async def bind_first(resource, **selectors):
        if resource.plural == "pods":
            life.cluster.list = look
            assert SEALED in await life.taints()
            await bind()
        return await look(resource, **selectors)

    life.cluster.list = bind_first
    seen = await life.do("hand_over")
    assert seen.status.phase == "Provisioning"


@pytest.mark.parametrize("reason", ["Cancelled", "ServerBroken", "NodeGone", "CapacityAfterUnknown"])
async def test_only_a_time_out_is_overruled(life, reason):
    await given_up(life, status=gave_up(reason), ready=True)
    await life.do("hand_over")
    assert (await life.removal())["spec"]["reason"] == reason


async def test_once_ordered_a_removal_is_not_taken_back(life):
    """Killed after the order, and the Node becomes Ready meanwhile: the removal may have begun already."""
    await given_up(life, RESERVED)
    life.cluster.crash_after = len(life.cluster.writes) + 3
    with pytest.raises(Crash):
        await life.do("hand_over", HAND_OVER)
    assert await life.removal() is not None
    await life.set_ready()
    life.restart()
    assert not (await life.do("hand_over", HAND_OVER)).exists


@pytest.mark.parametrize("joins", ["before", "meanwhile"])
async def test_an_attempt_that_was_given_up_orders_no_removal_of_a_machine_that_was_taken_back(life, joins):
    """It has found the Node late; then it stood still, the Node came, and a later attempt took the machine back."""
    await given_up(life, RESERVED, node=joins == "before")
    create = life.cluster.create

    async def stand_still(resource, body, *, namespace=None):
        if resource == NODE_REMOVAL_REQUESTS:
            life.cluster.create = create
            await overtake()
        return await create(resource, body, namespace=namespace)

    async def overtake():
        if joins == "meanwhile":
            await life.add_node(RESERVED)
        await life.set_ready()
        await life.do("hand_over", HAND_OVER)

    life.cluster.create = stand_still
    await life.do("hand_over", HAND_OVER)
    request, removal = await life.request(), await life.removal()
    assert (request is None) != (removal is None), f"{request} and {removal}"


async def test_what_is_decided_stays_decided(life):
    """Killed before the order; the Node is Ready at the next attempt, which may be the second to judge."""
    await given_up(life, RESERVED)
    life.cluster.crash_after = len(life.cluster.writes) + 2
    with pytest.raises(Crash):
        await life.do("hand_over", HAND_OVER)
    assert await life.removal() is None
    await life.set_ready()
    life.restart()
    assert not (await life.do("hand_over", HAND_OVER)).exists
    assert (await life.removal())["spec"]["reason"] == "JoinTimeout"


async def test_the_removal_of_an_earlier_machine_does_not_keep_a_node_that_came_in_time_from_winning(life):
    await given_up(life, ready=True)
    await existing(life, {"phase": "Deprovisioning"}, immediate=True)
    label = [{"op": "add", "path": "/metadata/labels", "value": {"growth.dev/request-uid": "earlier"}}]
    await MemoryCluster.patch(life.cluster, NODE_REMOVAL_REQUESTS, NAME, label)
    assert (await life.do("hand_over")).status.phase == "Provisioning"


async def existing(life, status=None, **spec):
    """A removal of the same server that somebody else made."""
    body = bodies.removal(NAME, **spec)
    await MemoryCluster.create(life.cluster, NODE_REMOVAL_REQUESTS, body)
    if status is not None:
        await life.set_status(NODE_REMOVAL_REQUESTS, status)


async def test_a_cool_off_of_the_server_is_moved_past_its_point_of_no_return(life):
    await given_up(life)
    await existing(life, {"phase": "Pending", "scaleDownAt": START + timedelta(minutes=1), "taintedAt": START})
    await life.do("hand_over")
    status = (await life.removal())["status"]
    assert (status["phase"], status["reason"]) == ("Deprovisioning", "HandOver")
    assert await life.request() is None


@pytest.mark.parametrize("phase", ["Deprovisioning", "CouldNotRemove"])
async def test_a_removal_past_its_point_of_no_return_is_left_as_it_is(life, phase):
    await given_up(life)
    await existing(life, {"phase": phase, "reason": "RemovalFailed", "removalAttempts": 5})
    before = await life.removal()
    await life.do("hand_over")
    assert await life.removal() == before
    assert await life.request() is None


@pytest.mark.parametrize(
    "trouble",
    [
        "cancelled",
        "cancelled by annotation",
        "deleted",
        "of an earlier machine",
        "does not know when the server was asked for",
    ],
)
async def test_a_removal_that_has_to_end_first_is_waited_for(life, trouble):
    await given_up(life, status=gave_up(createAttemptAt=START - timedelta(seconds=10)))
    asked = {"createAttemptAt": "2026-11-01T11:59:50Z"}
    if trouble == "cancelled":
        await existing(
            life, {"phase": "Pending", "cancel": {"at": START.isoformat(), "by": "Person", "reason": ""}}, **asked
        )
    elif trouble == "cancelled by annotation":
        await existing(life, **asked)
        cancel = [{"op": "add", "path": "/metadata/annotations", "value": {"growth.dev/decision": "cancel"}}]
        await MemoryCluster.patch(life.cluster, NODE_REMOVAL_REQUESTS, NAME, cancel)
    elif trouble == "deleted":
        await existing(life, **asked)
        await MemoryCluster.delete(life.cluster, NODE_REMOVAL_REQUESTS, NAME)
    elif trouble == "of an earlier machine":
        await existing(life, **asked)
        label = [{"op": "add", "path": "/metadata/labels", "value": {"growth.dev/request-uid": "earlier"}}]
        await MemoryCluster.patch(life.cluster, NODE_REMOVAL_REQUESTS, NAME, label)
    else:
        await existing(life)
    with pytest.raises(Conflict, match=NAME):
        await life.do("hand_over", HAND_OVER)
    assert await life.request() is not None


async def test_finishing_ends_the_record_and_leaves_the_machine(life):
    await life.add_request(RECORD)
    life.add_server()
    await life.add_node(FOREIGN, ready=True)
    assert not (await life.do("finish_request")).exists
    assert await life.request() is None
    assert await life.removal() is None
    assert (await life.taints(), list(life.cloud.servers)) == ([FOREIGN], [NAME])
    assert not (await life.do("finish_request", FINISH)).exists


async def test_finishing_opens_the_node_first(life):
    """The provider says that the server is gone while its Node is Ready and still kept for its pods."""
    seat = await life.add_pod()
    await life.add_request(REGISTERED | {"phase": "Ready", "releaseBy": START + timedelta(seconds=30)}, seats=[seat])
    await life.add_node(RESERVED, ready=True)
    await life.do("finish_request")
    assert await life.taints() == []


@pytest.mark.parametrize("write", range(1, 3))
@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_any_write_finishing_is_completed_by_the_next(life, write, when):
    await life.add_request(RECORD)
    life.add_server()
    await life.add_node(ready=True)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("finish_request", FINISH)
    life.restart()
    assert not (await life.do("finish_request", FINISH)).exists
    assert await life.request() is None


async def test_a_request_that_changed_meanwhile_is_not_ended(life):
    """Its end was decided before a server was asked for; another attempt has asked since."""
    await life.add_request()
    await life.cluster.delete(NODE_REQUESTS, NAME)

    def ask_first(verb, resource, _):
        if (verb, resource) == ("patch", NODE_REQUESTS):
            life.cluster.refuse = None
            key = ("", NAME)
            stored = life.cluster._store.find(NODE_REQUESTS, key)
            changed = {**stored, "metadata": dict(stored["metadata"])}
            changed["status"] = {"phase": "Pending", "attempts": 1, "createAttemptAt": "2026-11-01T12:00:00Z"}
            life.cluster._store.put(NODE_REQUESTS, key, changed)

    life.cluster.refuse = ask_first
    seen = await life.do("finish_request", Act(effect="finish_request", reason="Cancelled"))
    assert seen.exists
    assert (await life.do("give_up")).status.phase == "Deprovisioning"


async def test_another_finalizer_does_not_make_the_end_go_round(life):
    await life.add_request(RECORD, finalizers=["growth.dev/lifecycle", "foregroundDeletion"])
    await life.add_node(ready=True)
    assert not (await life.do("finish_request")).exists
    assert (await life.request())["metadata"]["finalizers"] == ["foregroundDeletion"]


@pytest.mark.parametrize("status", [None, BOOTING, RECORD, gave_up()])
async def test_removing_the_definitions_never_deletes_a_server(life, status):
    await life.add_request(status)
    life.add_server()
    await life.add_node(UNREGISTERED)
    await life.cluster.delete(CRDS, "noderequests.growth.dev")
    assert not (await life.do("forget_request")).exists
    assert (list(life.cloud.servers), life.cloud.calls) == ([NAME], [])
    assert await life.node() is not None
    assert life.cluster.writes[-1] == f"patch noderequests/{NAME}"


async def test_without_a_deletion_the_definitions_are_not_asked_for(life):
    """A request goes on while another kind's definition is being removed."""
    await life.add_request(BOOTING)
    life.add_server(ServerState.CREATING)
    await life.cluster.delete(CRDS, "noderemovalrequests.growth.dev")
    seen = await life.do("forget_request", Act(effect="forget_request", reason="DefinitionRemoved"))
    assert (seen.exists, seen.crds_going) == (True, False)
