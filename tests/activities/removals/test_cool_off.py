"""The cool-off of a removal: everything before the point of no return can be undone, and who comes first wins."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, PODS
from activities.ports.errors import Conflict, Unreachable
from activities.round.removals import cancel as cancel_by_planner
from api.keys import FINALIZER
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, START
from tests.activities.rounds import Crash

OTHER = {"key": "other.example/taint", "value": "x", "effect": "NoSchedule"}
TAINT = Act(effect="taint_node", reason="CoolOff", message="Taint", until=START + timedelta(minutes=1))
COMMIT = Act(effect="commit_removal", reason="Empty", message="Empty")
CANCEL = Act(effect="cancel_removal", reason="Cancelled", message="Wanted again", by="Ada")
COOLING = {"phase": "Pending", "scaleDownAt": START + timedelta(minutes=1), "taintedAt": START}
OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
CANCELLED = {"cancel": {"at": "2026-11-01T12:00:00Z", "by": "Ada", "reason": "Wanted again"}}


def tainted(seconds=0):
    at = int(START.timestamp()) + seconds
    return {"key": "growth.dev/scale-down", "value": str(at), "effect": "NoSchedule"}


async def with_node(life, status=None, *taints, **spec):
    await life.add_removal(status, **{"nodeName": NAME} | spec)
    await life.add_node(OTHER, *taints, ready=True)
    return life


async def test_the_cool_off_is_written_then_begun_then_dated(life):
    await with_node(life)
    life.pass_time(0.4)
    before = len(life.cluster.writes)
    seen = await life.do("taint_node", TAINT)
    assert [w for w in life.cluster.writes[before:] if w.startswith("patch")] == [
        f"patch noderemovalrequests/{NAME}",
        f"patch nodes/{NAME}",
        f"patch noderemovalrequests/{NAME}",
    ]
    assert await life.taints() == [OTHER, tainted()]
    assert seen.status.scale_down_at == TAINT.until
    assert seen.status.tainted_at == life.now()
    (condition,) = (await life.removal())["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Tainted", "True")
    assert {("NodeRemovalRequest", "CoolOff"), ("Node", "CoolOff")} <= await life.event_reasons()


async def test_tainted_twice_nothing_more_changes(life):
    await with_node(life)
    first = await life.do("taint_node", TAINT)
    version = (await life.node())["metadata"]["resourceVersion"]
    life.pass_time(3)
    assert await life.do("taint_node", TAINT) == first
    assert (await life.node())["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("write", range(1, 4))
@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_killed_at_any_write_the_taint_is_never_older_than_its_date(life, write, when):
    await with_node(life)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("taint_node", TAINT)
    life.restart()
    life.pass_time(7)
    seen = await life.do("taint_node", TAINT)
    assert seen.status.scale_down_at == TAINT.until, "the first decision's"
    assert seen.node.scale_down
    (value,) = [int(t["value"]) for t in await life.taints() if t["key"] == "growth.dev/scale-down"]
    assert seen.status.tainted_at.timestamp() >= value


async def test_a_taint_that_someone_lifted_is_set_again_and_dated_anew(life):
    await with_node(life, OVER)
    seen = await life.do("taint_node")
    assert (seen.status.tainted_at, seen.status.scale_down_at) == (START, START)
    assert await life.taints() == [OTHER, tainted()]


async def test_killed_while_tainting_again_the_old_date_is_gone(life):
    await with_node(life, OVER)
    life.cluster.crash_after = len(life.cluster.writes) + 2
    with pytest.raises(Crash):
        await life.do("taint_node", TAINT)
    status = (await life.removal())["status"]
    assert "taintedAt" not in status
    assert tainted() in await life.taints()


async def test_a_removal_made_by_hand_is_held(life):
    await with_node(life)
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/finalizers", None)
    await life.do("taint_node")
    assert (await life.removal())["metadata"]["finalizers"] == [FINALIZER]


async def test_the_node_is_found_by_the_servers_name(life):
    """Without this a removal by hand that names no node would take a full one for one without pods."""
    await life.add_removal()
    await life.add_node(ready=True)
    await life.add_pod("web-1", bound=True)
    seen = await life.do("taint_node")
    assert (seen.occupant_count, seen.occupants) == (1, ("shop/web-1",))


async def test_a_cancel_is_recorded_and_the_taint_lifted(life):
    await with_node(life, COOLING, tainted())
    seen = await life.do("cancel_removal", CANCEL)
    assert (seen.status.cancel.by, seen.status.cancel.reason) == ("Ada", "Wanted again")
    assert await life.do("cancel_removal", CANCEL) == seen, "cancelled twice is cancelled once"
    seen = await life.do("untaint_node")
    assert await life.taints() == [OTHER]
    idle_since = (await life.node())["metadata"]["annotations"]["growth.dev/idle-since"]
    assert idle_since == "2026-11-01T12:00:00Z"  # its idle time runs anew
    assert not (await life.do("finish_removal")).exists
    assert await life.removal() is None
    assert await life.node() is not None
    assert ("NodeRemovalRequest", "Cancelled") in await life.event_reasons()
    assert life.cloud.calls == []


async def test_untainted_twice_nothing_more_changes(life):
    await with_node(life, COOLING | CANCELLED, tainted())
    act = Act(effect="untaint_node", reason="Cancelled")
    first = await life.do("untaint_node", act)
    assert await life.do("untaint_node", act) == first
    assert await life.taints() == [OTHER]


async def test_an_attempt_that_was_given_up_cannot_taint_after_the_cancel(life):
    """It has read the removal before the cancel, and comes to the Node after its taint was lifted."""
    await with_node(life)
    look = life.cluster.get

    async def cancel_meanwhile(resource, name, *, namespace=None):
        if resource == NODES:
            life.cluster.get = look
            await life.set_status(NODE_REMOVAL_REQUESTS, COOLING | CANCELLED)
        return await look(resource, name, namespace=namespace)

    life.cluster.get = cancel_meanwhile
    await life.do("taint_node", TAINT)
    assert await life.taints() == [OTHER]


@pytest.mark.parametrize("status", [{"phase": "Deprovisioning"}, {"phase": "CouldNotRemove"}])
async def test_a_cancel_that_comes_too_late_changes_nothing(life, status):
    await with_node(life, status, tainted())
    before = await life.removal()
    seen = await life.do("cancel_removal", CANCEL)
    assert seen.status.cancel is None
    assert await life.removal() == before


async def test_a_handed_over_machine_cannot_be_cancelled(life):
    await with_node(life, immediate=True)
    assert (await life.do("cancel_removal", CANCEL)).status.cancel is None


async def test_an_empty_node_passes_the_point_of_no_return(life):
    await with_node(life, OVER, tainted(-60))
    seen = await life.do("commit_removal")
    assert seen.status.phase == "Deprovisioning"
    assert await life.do("commit_removal", COMMIT) == seen
    (condition,) = (await life.removal())["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Empty", "True")


@pytest.mark.parametrize(
    ("who", "stays"),
    [
        ("a pod", True),
        ("a terminating pod", True),
        ("one on its way", True),
        ("a DaemonSet's", False),
        ("a finished one", False),
    ],
)
async def test_the_pods_are_listed_at_the_commit(life, who, stays):
    await with_node(life, OVER, tainted(-60))
    await life.add_pod("web-1", bound=who != "one on its way")
    if who == "one on its way":
        await life.cluster.put(PODS, "web-1", "/status/nominatedNodeName", NAME)
    if who == "a terminating pod":
        await MemoryCluster.delete(life.cluster, PODS, "web-1", namespace="shop")
    if who == "a DaemonSet's":
        await life.cluster.put(PODS, "web-1", "/metadata/ownerReferences/0/kind", "DaemonSet")
    if who == "a finished one":
        await life.cluster.put(PODS, "web-1", "/status", {"phase": "Succeeded"})
    seen = await life.do("commit_removal", COMMIT)
    assert seen.status.phase == ("Pending" if stays else "Deprovisioning")
    if stays:
        seen = await life.do("cancel_removal")
        assert (seen.status.cancel.by, seen.status.cancel.reason) == (
            "NotEmpty",
            "1 pods are on the node or on their way to it: shop/web-1",
        )
        conditions = {c["type"]: c["status"] for c in (await life.removal())["status"]["conditions"]}
        assert conditions["Empty"] == "False"


async def test_a_pod_that_is_bound_during_the_look_is_seen(life, monkeypatch):
    """It is awaited before the first list of pods and on the Node after it: in another order none would show it."""
    await with_node(life, OVER, tainted(-60))
    await life.add_pod("web-1")
    await life.cluster.put(PODS, "web-1", "/status/nominatedNodeName", NAME)
    real, bound = life.cluster.list, []

    async def list_(resource, **selectors):
        listed = await real(resource, **selectors)
        if resource == PODS and not bound:
            bound.append(life.cluster.bind("shop", "web-1", NAME))
        return listed

    monkeypatch.setattr(life.cluster, "list", list_)
    seen = await life.do("commit_removal", COMMIT)
    assert (seen.status.phase, seen.occupants, len(bound)) == ("Pending", ("shop/web-1",), 1)


async def test_a_cancel_between_the_look_and_the_commit_wins(life):
    """One order of events: the commit is conditional on the version that showed no cancel."""
    await with_node(life, OVER, tainted(-60))
    read = await life.removal()

    def cancel_first(verb, resource, _):
        if (verb, resource) == ("patch", NODE_REMOVAL_REQUESTS):
            life.cluster.refuse = None
            key = ("", NAME)
            stored = life.cluster._store.find(NODE_REMOVAL_REQUESTS, key)
            changed = {**stored, "metadata": dict(stored["metadata"]), "status": {**stored["status"], **CANCELLED}}
            life.cluster._store.put(NODE_REMOVAL_REQUESTS, key, changed)

    life.cluster.refuse = cancel_first
    seen = await life.do("commit_removal", COMMIT)
    assert (seen.status.phase, seen.status.cancel.by) == ("Pending", "Ada")
    with pytest.raises(Conflict):
        await cancel_by_planner(life.cluster, read, "demand", START)


async def test_the_planners_cancel_comes_too_late_after_the_commit(life):
    await with_node(life, OVER, tainted(-60))
    read = await life.removal()
    await life.do("commit_removal")
    with pytest.raises(Conflict):
        await cancel_by_planner(life.cluster, read, "demand", START)


@pytest.mark.parametrize("trouble", ["kept", "untainted", "deleted", "too early"])
async def test_what_the_driver_saw_is_seen_again_at_the_commit(life, trouble):
    await with_node(life, OVER if trouble != "too early" else COOLING, tainted(-60))
    if trouble == "kept":
        await life.cluster.put(NODES, NAME, "/metadata/annotations", {"growth.dev/do-not-remove": "yes"})
    if trouble == "untainted":
        await life.cluster.put(NODES, NAME, "/spec/taints", None)
    if trouble == "deleted":
        await MemoryCluster.delete(life.cluster, NODE_REMOVAL_REQUESTS, NAME)
    assert (await life.do("commit_removal", COMMIT)).status.phase == "Pending"


async def test_clocks_may_differ_a_little(life):
    """The driver's clock is ahead: what it found due is due."""
    await with_node(life, OVER | {"scaleDownAt": START + timedelta(seconds=0.9)}, tainted(-60))
    assert (await life.do("commit_removal", COMMIT)).status.phase == "Deprovisioning"


async def test_a_vanished_node_lets_its_server_go(life):
    await life.add_removal(COOLING, nodeName=NAME)
    seen = await life.do("commit_removal")
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "NodeGone")


@pytest.mark.parametrize("effect", ["taint_node", "cancel_removal", "untaint_node", "commit_removal"])
async def test_an_object_that_is_gone_is_no_error(life, effect):
    await with_node(life)
    life.uid = "another"
    before = list(life.cluster.writes)
    assert not (await life.do(effect, Act(effect=effect, reason="Any"))).exists
    assert life.cluster.writes == before


@pytest.mark.parametrize("resource", [NODES, NODE_REMOVAL_REQUESTS])
async def test_what_keeps_changing_is_a_conflict(life, resource):
    await with_node(life)

    def conflict(verb, changed, _):
        if (verb, changed) == ("patch", resource):
            raise Conflict("changed")

    life.cluster.refuse = conflict
    with pytest.raises(Conflict):
        await life.do("taint_node", TAINT)


async def test_an_unreachable_api_server_is_raised(life):
    await with_node(life)
    life.cluster.fail_with = Unreachable("down")
    with pytest.raises(Unreachable):
        await life.do("taint_node", TAINT)


async def test_a_removal_of_another_servers_node_ends(life):
    """The Node carries another provider id: it is the Node of a later machine of that name."""
    await life.add_removal(COOLING, nodeName=NAME, providerID="kwok://test/earlier")
    await MemoryCluster.create(life.cluster, NODES, bodies.node(NAME, "default", "cx32", "4", "8Gi"))
    assert (await life.do("cancel_removal")).status.cancel.by == "NotOurs"
