"""What a person writes on removals with kubectl alone, in virtual time, also while workers die."""

import asyncio
from contextlib import suppress
from copy import deepcopy
from random import Random

import pytest

from activities.kube.json_patch import set_field
from activities.ports.cluster import EVENTS, NODE_REMOVAL_REQUESTS, NODES
from activities.ports.errors import NotFound
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import ANNOTATION_CANCELLED_AT, TAINT_SCALE_DOWN
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

STUBBORN = {"call": "delete", "error": "transient"}
POOL = node_pool(
    "default",
    [{"name": "small"}],
    limits={"max": 5},
    scaleUp={"provisioningTimeout": "30s", "joinTimeout": "30s", "recordTTL": "10s"},
    scaleDown={
        "idleAfter": "5s",
        "softGrace": "20s",
        "removal": {"maxAttempts": 2, "retry": "5s", "parkedRetry": "12h"},
    },
)


def objects(*faults, record_ttl="10s"):
    pool = deepcopy(POOL)
    pool["spec"]["scaleUp"]["recordTTL"] = record_ttl
    return [node_class([machine("small", cpu=2, memory=4, price="0.010")], faults=list(faults)), pool]


async def annotate(sim, name, word):
    change = [{"op": "add", "path": "/metadata/annotations", "value": {"growth.dev/decision": word}}]
    sim.tell("person", f"annotates {name} {word}")
    await sim.world.cluster.patch(NODE_REMOVAL_REQUESTS, name, change)


async def obey(sim):
    """Take the fault off the class."""
    await sim.world.cluster.patch(KWOK_NODE_CLASSES, "default", [{"op": "remove", "path": "/spec/faults"}])


async def idle_machine(sim):
    """Let one machine come for a pod that goes again, and return its name when its cool-off has begun."""
    sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
    sim.world.wake()
    await sim.until(lambda v: v.pods and not v.pending(), "the pod bound", within=60)
    sim.scale("web", 0)
    view = await sim.until(lambda v: v.taints(TAINT_SCALE_DOWN), "the cool-off", within=60)
    (name,) = view.removals
    return name


def is_parked(view):
    return "CouldNotRemove" in view.phases().values()


def is_over(view):
    return not (view.servers or view.nodes or view.removals or view.requests)


async def reasons(sim):
    return [event["reason"] for event in (await sim.world.cluster.list(EVENTS)).items]


def test_an_annotation_cancels_a_scale_down_and_the_machine_is_open_again():
    async def story(sim):
        name = await idle_machine(sim)
        await annotate(sim, name, "cancel")
        view = await sim.until(lambda v: not v.removals, "the removal ended", within=5)
        assert (list(view.servers), view.taints(TAINT_SCALE_DOWN)) == ([name], [])
        # Nobody wants it: after an hour its next cool-off begins, and that one goes through.
        await asyncio.sleep(3570)
        view = await sim.look()
        assert (list(view.servers), view.removals) == ([name], {})
        end = await sim.until(is_over, "the machine gone", within=120)
        assert sim.oracle.judge(end, servers=0) == []

    simulate(1, story, objects=objects(), most_servers=1)


def test_a_parked_removal_is_tried_again_by_annotation_and_not_before():
    async def story(sim):
        name = await idle_machine(sim)
        await sim.until(is_parked, "CouldNotRemove", within=90)
        await annotate(sim, name, "cancel")
        await annotate(sim, name, "retr")
        view = await sim.until(lambda v: _annotation(v.removals[name]) is None, "the annotation taken off", within=5)
        assert is_parked(view)
        assert "DecisionUnknown" in await reasons(sim)
        await obey(sim)
        await asyncio.sleep(3600)
        assert is_parked(await sim.look())
        await annotate(sim, name, "retry")
        end = await sim.until(is_over, "the machine gone", within=30)
        assert sim.oracle.judge(end, servers=0) == []

    simulate(2, story, objects=objects(STUBBORN), most_servers=1)


def test_a_skip_holds_while_the_record_of_the_machine_still_exists():
    async def story(sim):
        name = await idle_machine(sim)
        view = await sim.until(is_parked, "CouldNotRemove", within=90)
        assert list(view.requests) == [name]
        await annotate(sim, name, "skip")
        await sim.until(lambda v: not (v.nodes or v.removals or v.requests), "all but the server gone", within=30)
        await asyncio.sleep(120)
        after = await sim.look()
        assert (list(after.servers), after.nodes, after.removals) == ([name], {}, {})

    simulate(4, story, objects=objects(STUBBORN, record_ttl="1h"), most_servers=1)


def test_an_annotation_that_is_written_while_no_worker_lives_is_honoured_by_the_next():
    async def story(sim):
        name = await idle_machine(sim)
        await sim.crash()
        await annotate(sim, name, "cancel")
        # The cool-off is over long before there is a worker again.
        await asyncio.sleep(60)
        sim.start()
        view = await sim.until(lambda v: not v.removals, "the removal ended", within=30)
        assert list(view.servers) == [name]

    simulate(3, story, objects=objects(), most_servers=1)


@pytest.mark.parametrize("seed", range(5))
def test_whenever_workers_die_each_annotation_is_honoured_or_answered_and_no_machine_is_left(seed):
    async def story(sim):
        random = Random(seed)
        sim.world.workloads.add(Workload("web", 3, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda v: v.pods and not v.pending(), "all pods bound", within=90)
        sim.scale("web", 0)
        for _ in range(12):
            await asyncio.sleep(random.uniform(0, 15))
            removals = sorted((await sim.look()).removals)
            if removals:
                with suppress(NotFound):
                    await annotate(sim, random.choice(removals), random.choice(["cancel", "retry", "retry", "rtry"]))
            if random.random() < 0.4:
                await asyncio.sleep(random.uniform(0, 0.1))
                await sim.crash()
                sim.start()
        await obey(sim)
        # Removals without a worker's answer may go on for a while; what is parked waits for a person.
        for _ in range(20):
            await asyncio.sleep(30)
            # They let it go after all: what they cancelled would rest for an hour or more.
            for name, node in (await sim.look()).nodes.items():
                if ANNOTATION_CANCELLED_AT in (node["metadata"].get("annotations") or {}):
                    with suppress(NotFound):
                        change = set_field(node, ("metadata", "annotations", ANNOTATION_CANCELLED_AT), None)
                        await sim.world.cluster.patch(NODES, name, change)
            for name, removal in (await sim.look()).removals.items():
                assert _annotation(removal) is None, f"seed {seed}: {name} was never answered"
                if removal.get("status", {}).get("phase") == "CouldNotRemove":
                    with suppress(NotFound):
                        await annotate(sim, name, "retry")
        end = await sim.until(is_over, "nothing left", within=60)
        assert sim.oracle.judge(end, servers=0) == [], f"seed {seed}"

    simulate(seed, story, objects=objects(STUBBORN), most_servers=5, losses=0.02)


def _annotation(removal):
    return removal["metadata"].get("annotations", {}).get("growth.dev/decision")
