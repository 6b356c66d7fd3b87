"""The cool-off of a removal: everything before the point of no return can be undone, and who comes first wins."""

from datetime import timedelta

import pytest

from activities.objects.removal_cancels import cancel as cancel_by_planner
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, PODS
from activities.ports.errors import Conflict, Unreachable
from api.keys import FINALIZER
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import FOREIGN, NAME, START, at_each_write
from tests.tables import rows

TAINT = Act(effect="taint_node", reason="CoolOff", message="Taint", until=START + timedelta(minutes=1))
COMMIT = Act(effect="commit_removal", reason="Empty", message="Empty")
CANCEL = Act(effect="cancel_removal", reason="Cancelled", message="Wanted again", by="Ada")
UNTAINT = Act(effect="untaint_node", reason="Cancelled")
COOLING = {"phase": "Pending", "scaleDownAt": START + timedelta(minutes=1), "taintedAt": START}
OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
CANCELLED = {"cancel": {"at": "2026-11-01T12:00:00Z", "by": "Ada", "reason": "Wanted again"}}


def tainted(seconds=0):
    at = int(START.timestamp()) + seconds
    return {"key": "growth.dev/scale-down", "value": str(at), "effect": "NoSchedule"}


@pytest.fixture
async def due(life):
    """A removal of an empty Node whose cool-off is over."""
    await life.add_leaving(OVER, FOREIGN, tainted(-60))
    return life


@pytest.fixture
async def new(life):
    """A removal whose Node is not tainted yet."""
    await life.add_leaving(None, FOREIGN)
    return life


async def test_the_cool_off_is_written_then_begun_then_dated(new):
    new.pass_time(0.4)
    before = len(new.cluster.writes)
    seen = await new.do("taint_node", TAINT)
    assert [w for w in new.cluster.writes[before:] if w.startswith("patch")] == [
        f"patch noderemovalrequests/{NAME}",
        f"patch nodes/{NAME}",
        f"patch noderemovalrequests/{NAME}",
    ]
    assert await new.taints() == [FOREIGN, tainted()]
    assert seen.status.scale_down_at == TAINT.until
    assert seen.status.tainted_at == new.now()
    assert [(kind, status) for kind, (status, _) in (await new.conditions()).items()] == [("Tainted", "True")]
    assert {("NodeRemovalRequest", "CoolOff"), ("Node", "CoolOff")} <= await new.event_reasons()
    version = (await new.node())["metadata"]["resourceVersion"]
    new.pass_time(3)
    assert await new.do("taint_node", TAINT) == seen, "tainted twice nothing more changes"
    assert (await new.node())["metadata"]["resourceVersion"] == version


@at_each_write(3)
async def test_killed_at_any_write_the_taint_is_never_older_than_its_date(new, write, when):
    await new.die_during("taint_node", TAINT, when, write)
    new.pass_time(7)
    seen = await new.do("taint_node", TAINT)
    assert seen.status.scale_down_at == TAINT.until, "the first decision's"
    assert seen.node.scale_down
    (value,) = [int(t["value"]) for t in await new.taints() if t["key"] == "growth.dev/scale-down"]
    assert seen.status.tainted_at.timestamp() >= value


async def test_a_taint_that_someone_lifted_is_set_again_and_dated_anew(life):
    await life.add_leaving(OVER, FOREIGN)
    seen = await life.do("taint_node")
    assert (seen.status.tainted_at, seen.status.scale_down_at) == (START, START)
    assert await life.taints() == [FOREIGN, tainted()]


async def test_killed_while_tainting_again_the_old_date_is_gone(life):
    await life.add_leaving(OVER, FOREIGN)
    await life.die_during("taint_node", TAINT, "crash_after", 2)
    assert "taintedAt" not in (await life.removal())["status"]
    assert tainted() in await life.taints()


async def test_a_removal_made_by_hand_is_held(new):
    await new.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/finalizers", None)
    await new.do("taint_node")
    assert (await new.removal())["metadata"]["finalizers"] == [FINALIZER]


async def test_the_node_is_found_by_the_servers_name(life):
    """Without this a removal by hand that names no node would take a full one for one without pods."""
    await life.add_removal()
    await life.add_node(ready=True)
    await life.add_pod("web-1", bound=True)
    seen = await life.do("taint_node")
    assert (seen.occupant_count, seen.occupants) == (1, ("shop/web-1",))


async def test_a_cancel_is_recorded_and_the_taint_lifted(life):
    await life.add_leaving(COOLING, FOREIGN, tainted())
    seen = await life.do("cancel_removal", CANCEL)
    assert (seen.status.cancel.by, seen.status.cancel.reason) == ("Ada", "Wanted again")
    assert await life.do("cancel_removal", CANCEL) == seen, "cancelled twice is cancelled once"
    seen = await life.do("untaint_node")
    assert await life.taints() == [FOREIGN]
    idle_since = (await life.node())["metadata"]["annotations"]["growth.dev/idle-since"]
    assert idle_since == "2026-11-01T12:00:00Z"  # its idle time runs anew
    assert await life.do("untaint_node", UNTAINT) == seen, "untainted twice nothing more changes"
    assert await life.taints() == [FOREIGN]
    assert not (await life.do("finish_removal")).exists
    assert await life.removal() is None
    assert await life.node() is not None
    assert ("NodeRemovalRequest", "Cancelled") in await life.event_reasons()
    assert life.cloud.calls == []


async def test_an_attempt_that_was_given_up_cannot_taint_after_the_cancel(new):
    """It has read the removal before the cancel, and comes to the Node after its taint was lifted."""

    async def cancel():
        await new.set_status(NODE_REMOVAL_REQUESTS, COOLING | CANCELLED)

    new.cluster.call_before("get", NODES, cancel)
    await new.do("taint_node", TAINT)
    assert await new.taints() == [FOREIGN]


@rows(
    ("status", "immediate"),
    {
        "too late": ({"phase": "Deprovisioning"}, False),
        "too late for a parked one": ({"phase": "CouldNotRemove"}, False),
        "of a machine that was handed over": (None, True),
    },
)
async def test_a_cancel_changes_nothing(life, status, immediate):
    await life.add_leaving(status, FOREIGN, tainted(), immediate=immediate)
    before = await life.removal()
    assert (await life.do("cancel_removal", CANCEL)).status.cancel is None
    assert await life.removal() == before


async def test_an_empty_node_passes_the_point_of_no_return(due):
    read = await due.removal()
    seen = await due.do("commit_removal")
    assert seen.status.phase == "Deprovisioning"
    assert await due.do("commit_removal", COMMIT) == seen
    assert [(kind, status) for kind, (status, _) in (await due.conditions()).items()] == [("Empty", "True")]
    with pytest.raises(Conflict):
        await cancel_by_planner(due.cluster, read, "the planner comes too late", START)


@rows(
    ("path", "value", "stays"),
    {
        "a bound pod": ("/spec/nodeName", NAME, True),
        "a terminating pod": (None, None, True),
        "one on its way": ("/status/nominatedNodeName", NAME, True),
        "a DaemonSet's": ("/metadata/ownerReferences/0/kind", "DaemonSet", False),
        "a finished one": ("/status", {"phase": "Succeeded"}, False),
    },
)
async def test_the_pods_are_listed_at_the_commit(due, path, value, stays):
    await due.add_pod("web-1", bound=path != "/status/nominatedNodeName")
    if path is None:
        await MemoryCluster.delete(due.cluster, PODS, "web-1", namespace="shop")
    else:
        await due.cluster.put(PODS, "web-1", path, value)
    seen = await due.do("commit_removal", COMMIT)
    assert seen.status.phase == ("Pending" if stays else "Deprovisioning")
    if stays:
        cancel = (await due.do("cancel_removal")).status.cancel
        reason = "1 pods are on the node or on their way to it: shop/web-1"
        assert (cancel.by, cancel.reason) == ("NotEmpty", reason)
        assert (await due.conditions())["Empty"][0] == "False"


async def test_a_pod_that_is_bound_during_the_look_is_seen(due, monkeypatch):
    """It is awaited before the first list of pods and on the Node after it: in another order none would show it."""
    await due.add_pod("web-1")
    await due.cluster.put(PODS, "web-1", "/status/nominatedNodeName", NAME)
    real, bound = due.cluster.list, []

    async def list_(resource, **selectors):
        listed = await real(resource, **selectors)
        if resource == PODS and not bound:
            bound.append(due.cluster.bind("shop", "web-1", NAME))
        return listed

    monkeypatch.setattr(due.cluster, "list", list_)
    seen = await due.do("commit_removal", COMMIT)
    assert (seen.status.phase, seen.occupants, len(bound)) == ("Pending", ("shop/web-1",), 1)


async def test_a_cancel_between_the_look_and_the_commit_wins(due):
    """One order of events: the commit is conditional on the version that showed no cancel."""
    read = await due.removal()
    due.cluster.overtake("patch", NODE_REMOVAL_REQUESTS, lambda removal: removal["status"].update(CANCELLED))
    seen = await due.do("commit_removal", COMMIT)
    assert (seen.status.phase, seen.status.cancel.by) == ("Pending", "Ada")
    with pytest.raises(Conflict):
        await cancel_by_planner(due.cluster, read, "demand", START)


@rows(
    ("resource", "path", "value"),
    {
        "kept": (NODES, "/metadata/annotations", {"growth.dev/do-not-remove": "yes"}),
        "untainted": (NODES, "/spec/taints", None),
        "deleted": (NODE_REMOVAL_REQUESTS, None, None),
        "too early": (NODE_REMOVAL_REQUESTS, "/status/scaleDownAt", "2026-11-01T12:01:00Z"),
    },
)
async def test_what_the_driver_saw_is_seen_again_at_the_commit(due, resource, path, value):
    if path is None:
        await MemoryCluster.delete(due.cluster, resource, NAME)
    else:
        await due.cluster.put(resource, NAME, path, value)
    assert (await due.do("commit_removal", COMMIT)).status.phase == "Pending"


async def test_clocks_may_differ_a_little(life):
    """The driver's clock is ahead: what it found due is due."""
    await life.add_leaving(OVER | {"scaleDownAt": START + timedelta(seconds=0.9)}, FOREIGN, tainted(-60))
    assert (await life.do("commit_removal", COMMIT)).status.phase == "Deprovisioning"


async def test_a_vanished_node_lets_its_server_go(life):
    await life.add_removal(COOLING, nodeName=NAME)
    seen = await life.do("commit_removal")
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "NodeGone")


@pytest.mark.parametrize("effect", ["taint_node", "cancel_removal", "untaint_node", "commit_removal"])
async def test_an_object_that_is_gone_is_no_error(new, effect):
    new.uid = "another"
    before = list(new.cluster.writes)
    assert not (await new.do(effect, Act(effect=effect, reason="Any"))).exists
    assert new.cluster.writes == before


@rows(
    ("error", "write"),
    {
        "a Node that keeps changing": (Conflict("changed"), ("patch", NODES)),
        "a removal that keeps changing": (Conflict("changed"), ("patch", NODE_REMOVAL_REQUESTS)),
        "an API server that is unreachable": (Unreachable("down"), ()),
    },
)
async def test_what_cannot_be_written_is_raised(new, error, write):
    new.cluster.refuse_writes(error, *write)
    with pytest.raises(type(error)):
        await new.do("taint_node", TAINT)


async def test_a_removal_of_another_servers_node_ends(life):
    """The Node carries another provider id: it is the Node of a later machine of that name."""
    await life.add_removal(COOLING, nodeName=NAME, providerID="kwok://test/earlier")
    await MemoryCluster.create(life.cluster, NODES, bodies.node(NAME, "default", "cx32", "4", "8Gi"))
    assert (await life.do("cancel_removal")).status.cancel.by == "NotOurs"
