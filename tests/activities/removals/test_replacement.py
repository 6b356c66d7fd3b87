"""What a removal sees of the machines that replace its own, of its turn, and of pods that take over.

Source: docs/design.md#replacement.
"""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import Unreachable
from api.keys import ANNOTATION_MOVE_FAILED, ANNOTATION_MOVE_FAILED_BY
from planner.objects.pauses import Pause, read_pause
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, SCALE_DOWN, START, Life, at_each_write

WAITING = {"phase": "Pending", "scaleDownAt": START + timedelta(minutes=25), "taintedAt": START - timedelta(minutes=1)}
DRAINING = WAITING | {"phase": "Draining", "drainStartedAt": START - timedelta(seconds=30)}
OTHER = "default-b2"
"""The machine that takes its place."""
QUARTER = timedelta(minutes=15)


async def life_of(status=WAITING, *taints, step=None, pods=1, **spec):
    """A machine with pods that is under removal, in a pool of mode drain."""
    life = Life()
    await life.install(scaleDown={"mode": "drain"})
    labels = {"growth.dev/step": step} if step else None
    await life.add_leaving(status, *(taints or (SCALE_DOWN,)), labels=labels, **({"replacedBy": [OTHER]} | spec))
    for number in range(pods):
        await life.run_pod(f"web-{number + 1}")
    return life


async def add_other(life, status=None, *, node=None, deleting=False, labels=None, seats=()):
    """The request of the other machine with this status, and its Node: Ready, not Ready, or none."""
    if status is not None:
        body = bodies.request(OTHER, seats=seats, **({"labels": labels} if labels else {}))
        await MemoryCluster.create(life.cluster, NODE_REQUESTS, body)
        change = [{"op": "add", "path": "/status", "value": status}]
        await MemoryCluster.patch(life.cluster, NODE_REQUESTS, OTHER, change, subresource="status")
    if deleting:
        await MemoryCluster.delete(life.cluster, NODE_REQUESTS, OTHER)
    if node is not None:
        body = bodies.node(OTHER, "default", "cx32")
        body["status"]["conditions"] = [
            {"type": "Ready", "status": str(node), "lastTransitionTime": "2026-11-01T11:59:00Z"}
        ]
        await MemoryCluster.create(life.cluster, NODES, body)


COMES = "was to take its place and does not come"


@pytest.mark.parametrize(
    ("other", "awaited", "lost"),
    [
        ({"status": {}}, f"{OTHER} (Pending)", ""),
        ({"status": {"phase": "Provisioning"}}, f"{OTHER} (Provisioning)", ""),
        ({"status": {"phase": "Provisioning"}, "node": True}, f"{OTHER} (Provisioning)", ""),
        ({"status": {"phase": "Ready"}, "node": True}, "", ""),
        ({"status": {"phase": "Ready"}, "node": False}, f"{OTHER} (not Ready)", ""),
        ({"node": True}, "", ""),
        ({"node": False}, f"{OTHER} (not Ready)", ""),
        ({"status": {"phase": "Ready"}}, f"{OTHER} (gone)", f"{OTHER} is to take its place, and its Node is gone"),
        ({}, f"{OTHER} (gone)", f"{OTHER} was to take its place and is gone"),
        ({"status": {"phase": "Unmet", "message": "No capacity"}}, f"{OTHER} (Unmet)", f"{OTHER} {COMES}: No capacity"),
        ({"status": {"phase": "Failed", "reason": "Rejected"}}, f"{OTHER} (Failed)", f"{OTHER} {COMES}: Rejected"),
        ({"status": {"phase": "Deprovisioning"}}, f"{OTHER} (Deprovisioning)", f"{OTHER} {COMES}: Deprovisioning"),
        (
            {"status": {"phase": "Provisioning"}, "deleting": True},
            f"{OTHER} (Provisioning)",
            f"{OTHER} was to take its place and was cancelled",
        ),
        ({"status": {"phase": "Ready"}, "node": True, "deleting": True}, "", ""),
    ],
)
async def test_how_a_machine_that_replaces_it_is_seen(other, awaited, lost):
    life = await life_of()
    await add_other(life, **other)
    seen = (await life.look_removal()).replacement
    assert (seen.names, seen.awaited, seen.lost) == ((OTHER,), (awaited,) if awaited else (), lost)
    assert seen.unready_since is None


async def test_one_that_goes_itself_is_lost():
    life = await life_of()
    await add_other(life, node=True)
    taint = [{"op": "add", "path": "/spec/taints", "value": [SCALE_DOWN]}]
    await MemoryCluster.patch(life.cluster, NODES, OTHER, taint)
    assert (await life.look_removal()).replacement.lost == f"{OTHER} is to take its place and goes itself"


async def test_a_node_of_that_name_that_is_another_machine_s_is_none():
    life = await life_of()
    body = bodies.node(OTHER, "default", "cx32")
    body["metadata"]["labels"]["growth.dev/request"] = "another"
    await MemoryCluster.create(life.cluster, NODES, body)
    assert (await life.look_removal()).replacement.lost == f"{OTHER} was to take its place and is gone"


async def test_during_a_drain_it_tells_since_when_one_is_not_ready():
    life = await life_of(DRAINING)
    await add_other(life, node=False)
    assert (await life.look_removal()).replacement.unready_since == START - timedelta(minutes=1)


@pytest.mark.parametrize(
    ("own", "others", "within"),
    [({}, {}, 25), ({"provisioningTimeout": "2m", "joinTimeout": "3m"}, {}, 25), ({}, {"joinTimeout": "50m"}, 60)],
)
async def test_the_pool_of_each_machine_says_how_long_it_may_take(own, others, within):
    life = Life()
    await life.install(scaleDown={"mode": "drain"}, scaleUp=own)
    await MemoryCluster.create(life.cluster, bodies.NODE_POOLS, bodies.pool("big", scaleUp=others))
    await life.add_leaving(WAITING, SCALE_DOWN, replacedBy=[OTHER])
    await MemoryCluster.create(life.cluster, NODE_REQUESTS, bodies.request(OTHER, pool_name="big"))
    assert (await life.look_removal()).replacement.within == timedelta(minutes=within)


async def test_the_end_of_its_wait_is_on_the_object_before_the_taint():
    life = await life_of(None, {"key": "x", "effect": "NoSchedule"})
    await add_other(life, {})
    after = await life.do("taint_node")
    assert after.status.scale_down_at == START + timedelta(minutes=25)
    assert (await life.conditions())["Tainted"] == ("True", "Replacement")


async def test_where_the_node_cannot_be_tainted_the_end_of_the_wait_is_written_all_the_same():
    life = await life_of(None, {"key": "x", "effect": "NoSchedule"})
    await add_other(life, {})
    life.cluster.refuse_writes(Unreachable("no answer"), "patch", NODES)
    with pytest.raises(Unreachable):
        await life.do("taint_node")
    assert (await life.removal())["status"]["scaleDownAt"] == "2026-11-01T12:25:00Z"


@at_each_write(last=3)
async def test_a_death_while_it_begins_leaves_the_end_of_the_wait(when, write):
    life = await life_of(None, {"key": "x", "effect": "NoSchedule"})
    await add_other(life, {})
    step = await life.removal_step()
    await life.die_during("taint_node", step, when, write)
    life.pass_time(60)
    step = await life.removal_step()
    if getattr(step, "effect", None) == "taint_node":
        await life.do("taint_node")
        step = await life.removal_step()
    assert (step.reason, step.until <= START + timedelta(minutes=26)) == ("Replacement", True)


async def test_from_the_machine_s_readiness_on_its_pods_leave_and_no_earlier():
    life = await life_of()
    await add_other(life, {"phase": "Provisioning"})
    step = await life.removal_step()
    assert (step.reason, step.until) == ("Replacement", START + timedelta(minutes=25))
    await add_other(life, node=True)
    assert (await life.removal_step()).reason == "Replacement"
    change = [{"op": "add", "path": "/status", "value": {"phase": "Ready"}}]
    await MemoryCluster.patch(life.cluster, NODE_REQUESTS, OTHER, change, subresource="status")
    assert (await life.do("begin_drain")).status.phase == "Draining"


# Failures are remembered on the Node.


@pytest.mark.parametrize(
    ("by", "is_noted"), [("NotReplaced", True), ("MoveFailed", True), ("Planner", False), ("Ada", False)]
)
async def test_a_move_that_failed_is_not_tried_again_for_a_while(by, is_noted):
    cancel = {"at": "2026-11-01T12:00:00Z", "by": by, "reason": "so it is"}
    life = await life_of(WAITING | {"cancel": cancel})
    await life.do("untaint_node")
    annotations = (await life.node())["metadata"]["annotations"]
    assert read_pause(annotations, ANNOTATION_MOVE_FAILED) == (Pause(START + QUARTER, QUARTER) if is_noted else None)
    assert annotations.get(ANNOTATION_MOVE_FAILED_BY) == (OTHER if is_noted else None)
    assert await life.taints() == []


async def test_a_second_failure_waits_twice_as_long():
    cancel = {"at": "2026-11-01T12:00:00Z", "by": "MoveFailed"}
    life = await life_of(WAITING | {"cancel": cancel})
    await life.cluster.put(NODES, NAME, "/metadata/annotations", {ANNOTATION_MOVE_FAILED: "2026-11-01T11:00:00Z 15m"})
    await life.do("untaint_node")
    pause = read_pause((await life.node())["metadata"]["annotations"], ANNOTATION_MOVE_FAILED)
    assert pause == Pause(START + 2 * QUARTER, 2 * QUARTER)


# Steps.


async def add_sibling(life, name, status=None, *, step="s.2", moves=True):
    body = bodies.removal(name, **({"moves": [{"pod": "shop/x", "node": "n"}]} if moves else {}))
    body["metadata"]["labels"] = {"growth.dev/step": step}
    await MemoryCluster.create(life.cluster, NODE_REMOVAL_REQUESTS, body)
    if status:
        change = [{"op": "add", "path": "/status", "value": status}]
        await MemoryCluster.patch(life.cluster, NODE_REMOVAL_REQUESTS, name, change, subresource="status")


MOVES = {"replacedBy": [], "moves": [{"pod": "shop/web-1", "node": "n", "owner": "web"}]}
CANCELLED = {"phase": "Pending", "cancel": {"at": "2026-11-01T12:00:00Z", "by": "Ada"}}


@pytest.mark.parametrize(
    ("sibling", "status", "ahead"),
    [
        ("aaa", None, "aaa"),
        ("zzz", None, ""),
        ("zzz", DRAINING, "zzz"),
        ("aaa", {"phase": "Deprovisioning"}, ""),
        ("aaa", CANCELLED, ""),
    ],
)
async def test_one_machine_of_a_step_is_emptied_after_the_other(sibling, status, ahead):
    life = await life_of(step="s.2", **MOVES)
    as_json = {k: v if isinstance(v, (str, dict)) else v.isoformat() for k, v in (status or {}).items()}
    await add_sibling(life, sibling, as_json)
    assert (await life.look_removal()).ahead == ahead


@pytest.mark.parametrize("other", [{"step": "t.2"}, {"moves": False}])
async def test_what_is_no_step_or_moves_nothing_is_not_awaited(other):
    life = await life_of(step="s.2", **MOVES)
    await add_sibling(life, "aaa", **other)
    assert (await life.look_removal()).ahead == ""


async def test_a_part_of_a_step_does_not_begin():
    life = await life_of({"phase": "Pending"}, {"key": "x", "effect": "NoSchedule"}, step="s.2", **MOVES)
    assert (await life.removal_step()).reason == "StepCancelled"
    await add_sibling(life, "zzz")
    assert (await life.removal_step()).reason == "Replacement"


async def test_when_one_of_a_step_is_cancelled_those_that_wait_are_too():
    life = await life_of(CANCELLED, {"key": "x", "effect": "NoSchedule"}, step="s.3", **MOVES)
    await add_sibling(life, "waits", step="s.3")
    await add_sibling(life, "leaves", {"phase": "Draining"}, step="s.3")
    await add_sibling(life, "other", step="t.3")
    await life.do("finish_removal")
    assert await life.removal() is None
    cancels = {
        name: ((await life.find(NODE_REMOVAL_REQUESTS, name)).get("status") or {}).get("cancel", {}).get("by")
        for name in ("waits", "leaves", "other")
    }
    assert cancels == {"waits": "StepCancelled", "leaves": None, "other": None}


@at_each_write(last=3)
async def test_a_death_while_a_step_ends_leaves_no_part_of_it(when, write):
    life = await life_of(CANCELLED, {"key": "x", "effect": "NoSchedule"}, step="s.2", **MOVES)
    await add_sibling(life, "waits")
    step = await life.removal_step()
    await life.die_during("finish_removal", step, when, write)
    if await life.removal() is not None:
        await life.do("finish_removal")
    assert (await life.find(NODE_REMOVAL_REQUESTS, "waits"))["status"]["cancel"]["by"] == "StepCancelled"


# Pods that take over.


@pytest.mark.parametrize(
    ("pod", "count"),
    [
        ({"owner": "web"}, 1),
        ({"owner": "other"}, 0),
        ({"owner": "web", "node_name": "n"}, 0),
    ],
)
async def test_an_empty_machine_waits_for_pods_that_take_over(pod, count):
    life = await life_of(DRAINING | {"evictAttemptedAt": START - timedelta(seconds=5)}, pods=0, **MOVES)
    await MemoryCluster.create(life.cluster, PODS, bodies.pod("web-9", **pod), namespace="shop")
    assert (await life.look_removal()).successors.count == count
    assert (await life.removal_step()).reason == ("SuccessorsBind" if count else "Drained")


async def test_pods_that_have_waited_since_before_the_drain_are_none_of_its():
    life = await life_of(None, pods=0, **MOVES)
    await MemoryCluster.create(life.cluster, PODS, bodies.pod("web-9", owner="web"), namespace="shop")
    life.pass_time(60)
    began = {"drainStartedAt": life.now(), "scaleDownAt": life.now()}
    await life.set_status(NODE_REMOVAL_REQUESTS, DRAINING | began)
    assert (await life.look_removal()).successors.count == 0


async def test_what_finds_no_place_keeps_the_machine():
    life = await life_of(DRAINING, pods=0, **MOVES)
    await MemoryCluster.create(life.cluster, PODS, bodies.pod("web-9", owner="web"), namespace="shop")
    life.pass_time(61)
    step = await life.removal_step()
    assert (step.effect, step.reason) == ("cancel_removal", "MoveFailed")
    assert "shop/web-9" in step.message


# Objects of earlier versions.


async def test_a_removal_without_these_fields_is_as_it_was():
    life = Life()
    await life.install(scaleDown={"mode": "drain"})
    await life.add_leaving(None, {"key": "x", "effect": "NoSchedule"})
    await life.run_pod()
    seen = await life.look_removal()
    assert (seen.replacement, seen.moves, seen.ahead, seen.cut_off) == (None, 0, "", False)
    assert seen.successors.count == 0
    assert "noderequests" not in life.cluster.reads
    step = await life.removal_step()
    assert (step.effect, step.reason, step.until) == ("taint_node", "CoolOff", START + timedelta(minutes=1))
