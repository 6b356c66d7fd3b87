"""The ways out of a request's life: nothing is left behind, and nothing is taken that should stay."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CRDS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS
from activities.ports.errors import Conflict
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import FOREIGN, NAME, RESERVED, START, UNREGISTERED, at_each_write
from tests.tables import rows

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
GIVEN_UP = REGISTERED | {"phase": "Deprovisioning", "reason": "JoinTimeout", "message": "Too late"}
RECORD = REGISTERED | {"phase": "Ready", "releasedAt": ASKED, "expiresAt": START}
FRESH = RECORD | {"expiresAt": START + timedelta(minutes=5)}
CREATING = {"server": ServerState.CREATING, "node": False}
SEALED = {"key": "growth.dev/scale-down", "value": str(int(START.timestamp())), "effect": "NoSchedule"}
GIVE_UP = Act(effect="give_up", reason="JoinTimeout")
HAND_OVER = Act(effect="hand_over", reason="JoinTimeout")
CANCEL = Act(effect="give_up", reason="Cancelled")
FINISH = Act(effect="finish_request", reason="Expired")


@rows(
    ("status", "machine", "act", "expected"),
    {
        "not Ready in time": (REGISTERED, {}, None, ("Deprovisioning", "JoinTimeout")),
        "a late attempt spares what became Ready": (FRESH, {"ready": True}, GIVE_UP, ("Ready", "")),
        "a cancelled workflow, its request not deleted": (BOOTING, CREATING, CANCEL, ("Deprovisioning", "Cancelled")),
    },
)
async def test_giving_up_is_written_with_its_reason(life, status, machine, act, expected):
    await life.add_machine(status, RESERVED, **machine)
    seen = await life.do("give_up", act)
    assert (seen.status.phase, seen.status.reason) == expected
    assert await life.do("give_up", act or GIVE_UP) == seen
    assert (("NodeRequest", expected[1]) in await life.event_reasons()) is (expected[0] == "Deprovisioning")


async def test_a_broken_server_speaks_against_its_offering_as_a_miss_does(life):
    """Its creation was taken on and failed later for want of capacity: bought again at once, it would fail again."""
    await life.add_machine(BOOTING, server=ServerState.BROKEN, node=False)
    life.cloud.servers[NAME] = replace(life.cloud.servers[NAME], problem="error during placement")
    seen = await life.do("give_up")
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "ServerBroken")
    assert seen.status.message == "The provider says that the server will not run: error during placement"
    (entry,) = (await life.find(KWOK_NODE_CLASSES, "default"))["status"]["unavailable"]
    assert (entry["serverType"], entry["location"], entry["failures"]) == ("cx32", "fsn1", 1)
    # 120 s are the default of `spec.scaleUp.unavailableTTL`.
    assert entry["until"] == "2026-11-01T12:02:00Z"


async def test_the_hand_over_orders_a_removal_and_ends_the_request(life):
    await life.add_machine(GIVEN_UP, RESERVED, FOREIGN)
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
    assert not (await life.do("hand_over", HAND_OVER)).exists
    assert await life.removal() == removal, "handed over twice there is one removal"


@at_each_write(7)
async def test_killed_at_any_write_the_hand_over_is_completed_by_the_next(life, write, when):
    await life.add_machine(GIVEN_UP, RESERVED)
    await life.die_during("hand_over", HAND_OVER, when, write)
    assert not (await life.do("hand_over", HAND_OVER)).exists
    assert await life.request() is None
    assert (await life.removal())["spec"]["immediate"] is True
    assert RESERVED not in await life.taints()


async def test_without_a_node_it_is_ordered_all_the_same(life):
    status = GIVEN_UP | {"reason": "ProvisioningTimeout", "nodeName": None, "registeredAt": None}
    await life.add_machine(status, node=False)
    await life.do("hand_over")
    assert "nodeName" not in (await life.removal())["spec"]


@pytest.mark.parametrize("reason", ["JoinTimeout", "ProvisioningTimeout"])
@pytest.mark.parametrize("sign", ["Ready", "a bound pod"])
async def test_a_node_that_came_in_time_wins_over_a_time_out(life, reason, sign):
    await life.add_machine(GIVEN_UP | {"reason": reason}, RESERVED, ready=sign == "Ready")
    if sign == "a bound pod":
        await life.add_pod("web-9", bound=True)
    seen = await life.do("hand_over")
    assert (seen.status.phase, seen.status.reason) == ("Provisioning", "InTime")
    assert await life.removal() is None
    assert await life.taints() == [RESERVED]
    assert (await life.do("mark_ready")).status.phase == "Ready"


async def test_the_node_is_sealed_before_it_is_judged(life):
    """A pod that is bound between the look and the taint is seen."""
    await life.add_machine(GIVEN_UP, RESERVED)

    async def bind():
        assert SEALED in await life.taints()
        await life.add_pod("web-9", bound=True)

    life.cluster.call_before("list", PODS, bind)
    assert (await life.do("hand_over")).status.phase == "Provisioning"


@pytest.mark.parametrize("reason", ["Cancelled", "ServerBroken", "NodeGone", "CapacityAfterUnknown"])
async def test_only_a_time_out_is_overruled(life, reason):
    await life.add_machine(GIVEN_UP | {"reason": reason}, ready=True)
    await life.do("hand_over")
    assert (await life.removal())["spec"]["reason"] == reason


@rows(
    ("write", "is_ordered"),
    {
        # The Node is Ready at the next attempt, which may be the second to judge.
        "killed before the order, the decision stays": (2, False),
        # The removal may have begun already.
        "killed after the order, it is not taken back": (3, True),
    },
)
async def test_once_decided_a_node_that_becomes_ready_changes_nothing(life, write, is_ordered):
    await life.add_machine(GIVEN_UP, RESERVED)
    await life.die_during("hand_over", HAND_OVER, "crash_after", write)
    assert (await life.removal() is not None) is is_ordered
    await life.set_ready()
    assert not (await life.do("hand_over", HAND_OVER)).exists
    assert (await life.removal())["spec"]["reason"] == "JoinTimeout"


@pytest.mark.parametrize("joins", ["before", "meanwhile"])
async def test_an_attempt_that_was_given_up_orders_no_removal_of_a_machine_that_was_taken_back(life, joins):
    """It has found the Node late; then it stood still, the Node came, and a later attempt took the machine back."""
    await life.add_machine(GIVEN_UP, RESERVED, node=joins == "before")

    async def overtake():
        if joins == "meanwhile":
            await life.add_node(RESERVED)
        await life.set_ready()
        await life.do("hand_over", HAND_OVER)

    life.cluster.call_before("create", NODE_REMOVAL_REQUESTS, overtake)
    await life.do("hand_over", HAND_OVER)
    request, removal = await life.request(), await life.removal()
    assert (request is None) != (removal is None), f"{request} and {removal}"


async def existing(life, status=None, **spec):
    """A removal of the same server that somebody else made."""
    await MemoryCluster.create(life.cluster, NODE_REMOVAL_REQUESTS, bodies.removal(NAME, **spec))
    if status is not None:
        await life.set_status(NODE_REMOVAL_REQUESTS, status)


async def test_the_removal_of_an_earlier_machine_does_not_keep_a_node_that_came_in_time_from_winning(life):
    await life.add_machine(GIVEN_UP, ready=True)
    await existing(life, {"phase": "Deprovisioning"}, immediate=True)
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/labels", {"growth.dev/request-uid": "earlier"})
    assert (await life.do("hand_over")).status.phase == "Provisioning"


async def test_a_cool_off_of_the_server_is_moved_past_its_point_of_no_return(life):
    await life.add_machine(GIVEN_UP)
    await existing(life, {"phase": "Pending", "scaleDownAt": START + timedelta(minutes=1), "taintedAt": START})
    await life.do("hand_over")
    status = (await life.removal())["status"]
    assert (status["phase"], status["reason"]) == ("Deprovisioning", "HandOver")
    assert await life.request() is None


@pytest.mark.parametrize("phase", ["Deprovisioning", "CouldNotRemove"])
async def test_a_removal_past_its_point_of_no_return_is_left_as_it_is(life, phase):
    await life.add_machine(GIVEN_UP)
    await existing(life, {"phase": phase, "reason": "RemovalFailed", "removalAttempts": 5})
    before = await life.removal()
    await life.do("hand_over")
    assert await life.removal() == before
    assert await life.request() is None


@rows(
    ("asked", "path", "value"),
    {
        "cancelled": (
            True,
            "/status",
            {"phase": "Pending", "cancel": {"at": START.isoformat(), "by": "P", "reason": ""}},
        ),
        "cancelled by annotation": (True, "/metadata/annotations", {"growth.dev/decision": "cancel"}),
        "deleted": (True, None, None),
        "of an earlier machine": (True, "/metadata/labels", {"growth.dev/request-uid": "earlier"}),
        "does not know when the server was asked for": (False, "/metadata/annotations", {}),
    },
)
async def test_a_removal_that_has_to_end_first_is_waited_for(life, asked, path, value):
    await life.add_machine(GIVEN_UP | {"createAttemptAt": START - timedelta(seconds=10)})
    await existing(life, **({"createAttemptAt": "2026-11-01T11:59:50Z"} if asked else {}))
    if path is None:
        await MemoryCluster.delete(life.cluster, NODE_REMOVAL_REQUESTS, NAME)
    else:
        await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, path, value)
    with pytest.raises(Conflict, match=NAME):
        await life.do("hand_over", HAND_OVER)
    assert await life.request() is not None


async def test_finishing_ends_the_record_and_leaves_the_machine(life):
    await life.add_machine(RECORD, FOREIGN, ready=True)
    assert not (await life.do("finish_request")).exists
    assert (await life.request(), await life.removal()) == (None, None)
    assert (await life.taints(), list(life.cloud.servers)) == ([FOREIGN], [NAME])
    assert not (await life.do("finish_request", FINISH)).exists


async def test_finishing_opens_the_node_first(life):
    """The provider says that the server is gone while its Node is Ready and still kept for its pods."""
    status = REGISTERED | {"phase": "Ready", "releaseBy": START + timedelta(seconds=30)}
    await life.add_machine(status, RESERVED, pods=1, server=None, ready=True)
    await life.do("finish_request")
    assert await life.taints() == []


@at_each_write(2)
async def test_killed_at_any_write_finishing_is_completed_by_the_next(life, write, when):
    await life.add_machine(RECORD, ready=True)
    await life.die_during("finish_request", FINISH, when, write)
    assert not (await life.do("finish_request", FINISH)).exists
    assert await life.request() is None


async def test_a_request_that_changed_meanwhile_is_not_ended(life):
    """Its end was decided before a server was asked for; another attempt has asked since."""
    await life.add_request()
    await life.cluster.delete(NODE_REQUESTS, NAME)
    asked = {"phase": "Pending", "attempts": 1, "createAttemptAt": "2026-11-01T12:00:00Z"}
    life.cluster.overtake("patch", NODE_REQUESTS, lambda request: request.update(status=asked))
    assert (await life.do("finish_request", Act(effect="finish_request", reason="Cancelled"))).exists
    assert (await life.do("give_up")).status.phase == "Deprovisioning"


async def test_another_finalizer_does_not_make_the_end_go_round(life):
    await life.add_machine(RECORD, ready=True, server=None, finalizers=["growth.dev/lifecycle", "foregroundDeletion"])
    assert not (await life.do("finish_request")).exists
    assert (await life.request())["metadata"]["finalizers"] == ["foregroundDeletion"]


@pytest.mark.parametrize("status", [None, BOOTING, RECORD, GIVEN_UP], ids=["new", "booting", "record", "given up"])
async def test_removing_the_definitions_never_deletes_a_server(life, status):
    await life.add_machine(status, UNREGISTERED)
    await life.cluster.delete(CRDS, "noderequests.growth.dev")
    assert not (await life.do("forget_request")).exists
    assert (list(life.cloud.servers), life.cloud.calls) == ([NAME], [])
    assert await life.node() is not None
    assert life.cluster.writes[-1] == f"patch noderequests/{NAME}"


async def test_without_a_deletion_the_definitions_are_not_asked_for(life):
    """A request goes on while another kind's definition is being removed."""
    await life.add_machine(BOOTING, **CREATING)
    await life.cluster.delete(CRDS, "noderemovalrequests.growth.dev")
    seen = await life.do("forget_request", Act(effect="forget_request", reason="DefinitionRemoved"))
    assert (seen.exists, seen.crds_going) == (True, False)
