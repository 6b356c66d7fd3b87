"""The end of a machine with a dead Node: its pods count as gone with its server, and none is deleted by force."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_POOLS, NODES, PODS
from activities.ports.errors import NotFound, UnknownOutcome
from api.meta import format_timestamp
from planner.lifecycle.removal import next_step
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, SCALE_DOWN, START, Life, at_each_write
from tests.activities.rounds import Crash
from tests.tables import rows

OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
DRAINING = OVER | {"phase": "Draining", "drainStartedAt": START, "excludedAt": START - timedelta(minutes=1)}
REPAIR = {"repair": {"after": "20m"}}
DEAD_SINCE = START - timedelta(minutes=40)


async def dying(*pods, status=OVER, scale_down=REPAIR, since=DEAD_SINCE, ends=START - timedelta(minutes=9), **spec):
    """A removal of a machine whose kubelet died, with these pods on it that should have ended."""
    life = Life()
    await life.install(scaleDown=scale_down)
    await life.add_leaving(status, SCALE_DOWN, ready=False, **{"reason": "Dead"} | spec)
    await set_condition(life, "Unknown", since)
    for name in pods:
        await life.run_pod(name)
        await ask_to_end(life, name, ends)
    return life


async def set_condition(life, status, since, name=NAME):
    node = await life.find(NODES, name)
    condition = {"type": "Ready", "status": status, "lastTransitionTime": format_timestamp(since)}
    change = set_field(node, ("status", "conditions"), [condition])
    await MemoryCluster.patch(life.cluster, NODES, name, change, subresource="status")


async def ask_to_end(life, name, ends):
    """Delete the pod 30 s before its time to end is over."""
    now = life.now()
    life.pass_time((ends - now).total_seconds() - 30)
    await MemoryCluster.delete(life.cluster, PODS, name, namespace="shop")
    life.pass_time((now - life.now()).total_seconds())


async def go_on(life, *, seconds=1200):
    """Live on until the removal is over or for so long, and return the effects and awaited reasons in their order."""
    steps, until = [], life.now() + timedelta(seconds=seconds)
    while life.now() < until:
        seen = await life.look_removal()
        if not seen.exists:
            break
        step = next_step(seen, None, life.now())
        word = step.effect if isinstance(step, Act) else step.reason
        if not steps or steps[-1] != word:
            steps.append(word)
        if isinstance(step, Act):
            await life.do(step.effect, step)
        else:
            life.pass_time(1)
    return steps


async def pods(life):
    return {p["metadata"]["name"] for p in (await MemoryCluster.list(life.cluster, PODS)).items}


async def conditions(life):
    return {each["type"]: each["status"] for each in (await life.removal())["status"]["conditions"]}


async def test_its_server_is_deleted_then_its_node_and_no_pod_by_us():
    life = await dying("db-0", "db-1")
    assert await go_on(life) == [
        "commit_removal",
        "leave_balancers",
        "LoadBalancersLetGo",
        "delete_server",
        "delete_node",
        "finish_removal",
    ]
    assert (life.cloud.servers, await life.node(), await life.removal()) == ({}, None, None)
    assert await pods(life) == {"db-0", "db-1"}, "pods of a Node that is gone are Kubernetes' own to end"
    assert not [write for write in life.cluster.writes if "pods" in write]


async def test_what_is_on_record_does_not_say_that_it_was_empty():
    life = await dying("db-0")
    await life.do("commit_removal")
    assert await conditions(life) == {"Empty": "Unknown"}
    status = (await life.removal())["status"]
    assert (status["phase"], status["reason"]) == ("Deprovisioning", "Dead")
    assert status["message"] == "The node is dead and 1 pod cannot end: delete its server, and they count as gone"


async def test_without_pods_it_is_empty():
    life = await dying()
    await life.do("commit_removal")
    assert await conditions(life) == {"Empty": "True"}


async def test_no_node_goes_before_the_provider_says_that_its_server_is_gone():
    life = await dying("db-0", scale_down=REPAIR | {"removal": {"maxAttempts": 1}})
    life.cloud.fail["delete"] = UnknownOutcome("no answer")
    steps = await go_on(life, seconds=300)
    assert steps[-2:] == ["park_removal", "Parked"]
    assert await life.node() is not None
    assert await pods(life) == {"db-0"}


async def test_a_server_that_is_gone_already_is_no_trouble():
    life = await dying("db-0")
    life.cloud.servers.clear()
    assert (await go_on(life))[-2:] == ["delete_node", "finish_removal"]


@rows(
    ("change", "why"),
    {
        "its Node is Ready again": (
            lambda life: set_condition(life, "True", START),
            f"Node {NAME} is Ready again: the machine stays",
        ),
        "its Node was Ready meanwhile": (
            lambda life: set_condition(life, "Unknown", START - timedelta(minutes=19)),
            f"Node {NAME} has been Ready, or has changed, at 2026-11-01 11:41:00 UTC: the machine stays",
        ),
        "cordoned": (
            lambda life: life.cluster.put(NODES, NAME, "/spec/unschedulable", True),
            f"Node {NAME} is cordoned, and whoever did that decides about it: the machine stays",
        ),
        "the pool says nothing of it any more": (
            lambda life: life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown", {}),
            f"No pool says that the machine of Node {NAME} goes when it is dead: the machine stays",
        ),
        "nothing goes any more": (
            lambda life: life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/mode", "none"),
            f"No pool says that the machine of Node {NAME} goes when it is dead: the machine stays",
        ),
        "nobody can read the pool": (
            lambda life: life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/mode", "of a later version"),
            f"No pool says that the machine of Node {NAME} goes when it is dead: the machine stays",
        ),
    },
)
async def test_a_machine_that_is_not_dead_any_more_stays(change, why):
    life = await dying("db-0")
    await change(life)
    assert await go_on(life) == ["cancel_removal", "untaint_node", "finish_removal"]
    assert (await life.taints(), "growth.dev/spared-at" in (await life.node())["metadata"]["annotations"]) == (
        [],
        False,
    )
    notes = [event["note"] for event in await life.events() if event["reason"] == "Cancelled"]
    assert notes == [f"By NotDead: {why}"]
    assert NAME in life.cloud.servers


async def test_none_goes_while_most_nodes_are_not_ready():
    life = await dying("db-0")
    for number in range(2):
        body = {"metadata": {"name": f"other-{number}"}, "spec": {}, "status": {}}
        await MemoryCluster.create(life.cluster, NODES, body)
        await set_condition(life, "Unknown" if number else "True", DEAD_SINCE, f"other-{number}")
    step = await life.removal_step()
    assert (step.effect, step.by) == ("cancel_removal", "NotDead")
    assert step.message == "Most Nodes of the cluster are not Ready, 2 of 3: the machine stays"


async def test_after_an_outage_it_waits_until_nodes_have_been_seen_for_two_minutes():
    life = await dying("db-0")
    life.ports = replace(life.ports, watched_since=lambda: START - timedelta(seconds=30))
    life.restart()
    told = (await life.do("tell_blockers")).status
    assert told.reason == "Late"
    assert "still awaited until 2026-11-01 12:01:30 UTC" in told.message
    step = await life.removal_step()
    assert (step.reason, step.until) == ("CoolOff", START + timedelta(seconds=90))


@pytest.mark.parametrize(
    ("ends", "effect"), [(START, "commit_removal"), (START + timedelta(seconds=1), "cancel_removal")]
)
async def test_a_pod_that_may_still_end_keeps_it(ends, effect):
    life = await dying("db-0", ends=ends)
    assert (await life.removal_step()).effect == effect


async def test_a_pod_that_nobody_asked_to_end_keeps_it():
    life = await dying("db-0")
    await life.run_pod("agent")
    step = await life.removal_step()
    assert (step.reason, step.message) == ("NotEmpty", "1 pods are on the node or on their way to it: shop/agent")


async def test_a_pod_for_which_the_scheduler_kept_the_node_once_does_not_keep_it():
    life = await dying("db-0")
    await life.add_pod("late")
    await life.set_pod_status({"phase": "Pending", "nominatedNodeName": NAME}, "late")
    assert (await life.removal_step()).effect == "commit_removal"


async def test_one_that_a_person_spares_is_marked_so():
    life = await dying("db-0")
    await life.cluster.put(NODES, NAME, "/metadata/annotations", {"growth.dev/do-not-remove": "mine"})
    assert await go_on(life) == ["cancel_removal", "untaint_node", "finish_removal"]
    assert (await life.node())["metadata"]["annotations"]["growth.dev/spared-at"] == format_timestamp(START)


async def test_a_removal_of_another_reason_marks_nothing():
    life = await dying(reason="Empty")
    await life.cluster.put(NODES, NAME, "/metadata/annotations", {"growth.dev/do-not-remove": "mine"})
    await go_on(life)
    assert "growth.dev/spared-at" not in (await life.node())["metadata"]["annotations"]


async def test_in_mode_drain_nobody_is_asked_to_leave():
    life = await dying("db-0", scale_down=REPAIR | {"mode": "drain"})
    assert (await life.removal_step()).effect == "commit_removal"


async def test_a_drain_by_hand_does_not_wait_for_ever_for_a_dead_kubelet():
    life = await dying("db-0", status=DRAINING, scale_down=REPAIR | {"mode": "drain"}, reason="ByHand")
    assert (await go_on(life))[0] == "commit_removal"
    assert life.cloud.servers == {}
    # Without the field it waits for people, as ever.
    waits = await dying("db-0", status=DRAINING, scale_down={"mode": "drain"}, reason="ByHand")
    assert await go_on(waits) == ["tell_blockers", "BlockedByTerminating"]
    assert NAME in waits.cloud.servers


async def test_a_drain_of_a_node_that_died_just_now_waits():
    drain = {"status": DRAINING, "scale_down": REPAIR | {"mode": "drain"}, "reason": "ByHand"}
    life = await dying("db-0", since=START - timedelta(minutes=1), **drain)
    steps = await go_on(life, seconds=1200)
    assert steps[:3] == ["tell_blockers", "BlockedByTerminating", "commit_removal"]
    assert steps[-1] == "finish_removal"


async def test_a_ready_node_is_drained_as_ever_whatever_its_pool_repairs():
    life = await dying("db-0", status=DRAINING, scale_down=REPAIR | {"mode": "drain"}, reason="ByHand")
    await set_condition(life, "True", START)
    assert (await life.removal_step()).effect == "tell_blockers"


@at_each_write(1)
async def test_a_kill_at_the_point_of_no_return_repeats_it_or_goes_on(when, write):
    life = await dying("db-0")
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    with pytest.raises(Crash):
        await life.do("commit_removal")
    life.restart()
    assert (await go_on(life))[-1] == "finish_removal"
    assert life.cloud.servers == {}


async def test_a_node_that_a_controller_deletes_in_the_cool_off_takes_its_server_with_it():
    life = await dying("db-0")
    await MemoryCluster.delete(life.cluster, NODES, NAME)
    assert (await go_on(life))[-2:] == ["delete_server", "finish_removal"]
    with pytest.raises(NotFound):
        await MemoryCluster.get(life.cluster, NODES, NAME)
