"""A class of simulated machines beside real Nodes: a condition, one line in the log, and nothing is bought."""

import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.objects.node_classes import change_class_status
from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import Conflict
from activities.ports.simulated_kinds import SimulatedKinds
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.simulated_node import is_simulated
from activities.round.observe import Observer
from api.keys import ANNOTATION_IDLE_SINCE
from api.v1alpha1.node_class_status import UnavailableOffering
from planner.model.plan import PlannerMemory
from planner.plan import plan
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.rounds import CLASS, START, World

RULES = {"KwokNodeClass": is_simulated}
MESSAGE = (
    "Node cp-1 is real (provider id hcloud://42), and machines of this class are simulated: pods bound to them would "
    "not run; `growth run --simulated-machines` buys them all the same"
)


async def world_with(*, are_allowed=False):
    made = World(simulated=SimulatedKinds(RULES, are_allowed))
    await made.install()
    await made.add_pods(2)
    return made


async def add_real_node(world, name="cp-1", provider_id="hcloud://42", **metadata):
    await MemoryCluster.create(
        world.cluster, NODES, {"metadata": {"name": name, **metadata}, "spec": {"providerID": provider_id}}
    )


async def condition(world):
    [item] = await world.items(KWOK_NODE_CLASSES)
    conditions = item.get("status", {}).get("conditions", [])
    assert len(conditions) <= 1
    return conditions[0] if conditions else None


async def pool_condition(world):
    [item] = await world.items(NODE_POOLS)
    return next(each for each in item["status"]["conditions"] if each["type"] == "Ready")


async def reasons(world):
    snapshot = (await Observer(world.ports).observe(PlannerMemory(), {})).snapshot
    return {reason.code: reason.message for entry in plan(snapshot).unplaced for reason in entry.reasons}


async def test_without_a_real_node_it_is_used_and_has_no_condition():
    world = await world_with()
    await world.add_node("default-a1", cpu="100m")
    await world.run()
    assert await condition(world) is None
    assert len(await world.items(NODE_REQUESTS)) == 1


async def test_beside_a_real_node_nothing_is_bought_and_class_pool_and_pods_say_why():
    world = await world_with()
    await add_real_node(world)
    await world.run()
    assert await world.items(NODE_REQUESTS) == []
    told = await condition(world)
    assert (told["type"], told["status"], told["reason"], told["message"]) == ("Ready", "False", "RealCluster", MESSAGE)
    ready = await pool_condition(world)
    assert (ready["status"], ready["reason"]) == ("False", "RealCluster")
    sentence = f"KwokNodeClass/default of pool default is not used: {MESSAGE}"
    assert ready["message"] == sentence
    assert await reasons(world) == {"RealCluster": sentence}


async def test_with_the_setting_it_is_used_beside_a_real_node_and_says_so():
    world = await world_with(are_allowed=True)
    await add_real_node(world)
    await world.run()
    assert len(await world.items(NODE_REQUESTS)) == 1
    told = await condition(world)
    assert (told["status"], told["reason"]) == ("True", "SimulatedMachinesAllowed")
    assert "Node cp-1 is real" in told["message"]


async def test_a_worker_without_the_setting_takes_back_what_one_with_it_has_said():
    world = await world_with(are_allowed=True)
    await add_real_node(world)
    await world.run()
    world.ports = replace(world.ports, simulated=SimulatedKinds(RULES, False))
    await world.add_pods(2, cpu="4", prefix="more")
    await world.run()
    assert (await condition(world))["reason"] == "RealCluster"
    assert len(await world.items(NODE_REQUESTS)) == 1, "the one from before, and no further"


async def test_once_the_last_real_node_is_gone_it_is_used_again():
    world = await world_with()
    await add_real_node(world)
    await add_real_node(world, "cp-2")
    await world.run()
    await world.cluster.delete(NODES, "cp-1")
    await world.run()
    assert "Node cp-2 is real" in (await condition(world))["message"]
    assert await world.items(NODE_REQUESTS) == []
    await world.cluster.delete(NODES, "cp-2")
    await world.run()
    told = await condition(world)
    assert (told["status"], told["reason"]) == ("True", "NoRealNode")
    assert len(await world.items(NODE_REQUESTS)) == 1


async def test_the_oldest_real_node_is_named_so_that_the_condition_stands_still():
    world = await world_with()
    await add_real_node(world, "z")
    await world.run()
    before = await condition(world)
    world.pass_time(timedelta(seconds=1))
    await add_real_node(world, "a")
    world.cluster.writes.clear()
    await world.run()
    assert await condition(world) == before
    assert not [write for write in world.cluster.writes if "nodeclasses" in write]


async def test_one_line_tells_of_it_and_one_that_it_is_over(caplog):
    caplog.set_level(logging.INFO, "activities.objects.simulated_classes")
    world = await world_with()
    worker = world.activities()
    await world.run(worker)
    assert caplog.messages == []
    await add_real_node(world)
    for _ in range(3):
        await world.run(worker)
    # The pool says so as well, in a line of its own.
    of_class = [each for each in caplog.records if each.name == "activities.objects.simulated_classes"]
    assert [each.message for each in of_class] == [f"nothing of KwokNodeClass/default is bought: {MESSAGE}"]
    assert [each.levelname for each in caplog.records] == ["WARNING", "WARNING"]
    caplog.clear()
    await world.cluster.delete(NODES, "cp-1")
    for _ in range(2):
        await world.run(worker)
    assert caplog.messages == ["simulated machines are bought again: no Node is real"]


async def test_a_cluster_without_such_a_class_is_told_nothing(caplog):
    world = await world_with()
    await add_real_node(world)
    await world.cluster.delete(KWOK_NODE_CLASSES, "default")
    await world.run()
    assert not [record for record in caplog.records if record.name == "activities.objects.simulated_classes"]


async def test_machines_that_are_there_are_counted_and_removed_as_ever():
    world = await world_with()
    for number in range(2):
        await world.cluster.delete(PODS, f"web-{number}", namespace="shop")
    idle = {ANNOTATION_IDLE_SINCE: "2026-11-01T08:00:00Z"}
    await world.add_node("default-a1", annotations=idle)
    await add_real_node(world)
    await world.run()
    [pool] = await world.items(NODE_POOLS)
    assert (pool["status"]["nodes"]["ready"], pool["status"]["pricePerHour"]) == (1, "0.0106")
    assert [item["spec"]["reason"] for item in await world.items(NODE_REMOVAL_REQUESTS)] == ["Empty"]
    assert await world.names(NODES) == ["cp-1", "default-a1"]


async def test_what_else_the_class_knows_stays_and_a_conflict_is_met_by_writing_anew():
    world = await world_with()
    await add_real_node(world)
    missed = UnavailableOffering(server_type="cx22", location="fsn1", failures=1, last_failure_at=START, until=START)
    world.cluster.overtake(
        "patch", KWOK_NODE_CLASSES, lambda item: item.update(status={"unavailable": [missed.to_json()]})
    )
    await world.run()
    [item] = await world.items(KWOK_NODE_CLASSES)
    assert item["status"]["unavailable"] == [missed.to_json()]
    assert (await condition(world))["reason"] == "RealCluster"
    await change_class_status(world.ports, CLASS, lambda _, status: status.model_copy(update={"unavailable": ()}))
    assert (await condition(world))["reason"] == "RealCluster"


async def test_a_condition_that_cannot_be_written_stops_nothing_and_buys_nothing():
    world = await world_with()
    await add_real_node(world)
    world.cluster.refuse_writes(Conflict("it keeps changing"), "patch", KWOK_NODE_CLASSES)
    result = await world.run()
    assert "1 writes refused" in result.summary
    assert await world.items(NODE_REQUESTS) == []
    world.cluster.refuse = None
    await world.run()
    assert (await condition(world))["reason"] == "RealCluster"


@pytest.mark.parametrize(
    ("written", "is_used"),
    [
        (None, False),
        (("False", "RealCluster"), False),
        (("True", "NoRealNode"), False),
        (("True", "SimulatedMachinesAllowed"), True),
    ],
)
async def test_a_look_goes_by_what_the_worker_has_written(written, is_used):
    world = await world_with()
    await add_real_node(world)
    if written is not None:
        status, reason = written
        stamp = {"lastTransitionTime": "2026-11-01T12:00:00Z", "message": ""}
        ready = {"type": "Ready", "status": status, "reason": reason, **stamp}
        await world.set_status(KWOK_NODE_CLASSES, "default", conditions=[ready])
    world.ports = replace(world.ports, simulated=SimulatedKinds(RULES))
    assert await reasons(world) == (
        {} if is_used else {"RealCluster": f"KwokNodeClass/default of pool default is not used: {MESSAGE}"}
    )


async def test_each_node_is_judged_once_a_round_however_many_classes_there_are():
    judged = []

    def counting(node):
        judged.append(node["metadata"]["name"])
        return True

    world = World(simulated=SimulatedKinds({"KwokNodeClass": counting}, False))
    await world.install()
    for number in range(5):
        await world.cluster.create(
            KWOK_NODE_CLASSES, {"metadata": {"name": f"more-{number}"}, "spec": {"serverTypes": []}}
        )
    for number in range(50):
        await add_real_node(world, f"n-{number}", "kwok://n")
    await world.run()
    assert len(judged) == 50


async def test_a_rule_of_another_package_that_fails_vouches_for_no_node_and_stops_no_round():
    def broken(node):
        return node["spec"]["nothing"]

    world = World(simulated=SimulatedKinds({"OvercastNodeClass": broken, **RULES}, False))
    await world.install()
    await world.add_pods(2)
    await add_real_node(world, "k-1", "kwok://k-1")
    await world.run()
    assert len(await world.items(NODE_REQUESTS)) == 1
    await add_real_node(world, "o-1", "overcast://o-1")
    await world.run()
    assert "Node o-1 is real" in (await condition(world))["message"]


@pytest.mark.parametrize("provider_id", ["x" * 5000, "hcloud://\n4\r2"])
async def test_hostile_words_of_a_node_are_one_short_line(provider_id):
    world = await world_with()
    await add_real_node(world, "n" * 253, provider_id)
    await world.run()
    message = (await condition(world))["message"]
    assert len(message) < 600
    assert len(message.splitlines()) == 1
    assert message.endswith("--simulated-machines` buys them all the same")
