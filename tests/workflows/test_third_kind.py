"""A third kind of lifecycle, all of it in this file: tables take it in, and it is driven to its end.

A NodeMark writes a word on the Node of its name, and rests until somebody changes it. Its definition is optional.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from io import StringIO
from typing import Any, Literal

import pytest
from rich.console import Console
from temporalio import workflow
from temporalio.worker import Worker

from activities.objects.definitions import is_kind_going
from activities.objects.kind_activities import EffectContext, KindActivities
from activities.objects.kinds import StoredKind
from activities.objects.nodes import change_node, get_node
from activities.objects.record import Record, drop_finalizer, let_go, read_record, write_step
from activities.ports.cluster import CRDS, NODES, Object, Resource
from activities.ports.errors import NotFound
from activities.ports.ports import Ports, in_place
from activities.registry import LIFECYCLES, all_activities
from api.keys import API_VERSION, FINALIZER, GROUP, VERSION
from api.meta import Conditions, ObjectMeta
from api.model import Model, Payload
from api.v1alpha1.lifecycle import LifecycleEvent
from planner.lifecycle.kinds import LifecycleKind, ObjectId
from planner.lifecycle.seen import LifecycleObservation
from planner.lifecycle.step import Act, Decision, Done, Step, Wait
from planner.model.plan import Snapshot
from planner.model.round import StartNote
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate
from simulator.world import World, definition
from tests.activities.bodies import definitions
from tests.workflows.world import QUEUE
from worker.commands.lifecycles.group import lifecycle_app
from worker.commands.shared.cluster_view import cluster_view
from worker.commands.shared.next_steps import SHOWN_KINDS, ShownKind, next_steps
from worker.commands.shared.read_once import ReadOnce
from worker.commands.status.table import print_status
from workflows.lifecycle import Lifecycle
from workflows.ui_details import Account

NODE_MARKS = Resource(GROUP, VERSION, "NodeMark", "nodemarks", namespaced=False, is_optional=True)
WORD = "example.com/word"


class Phase(StrEnum):
    PENDING = "Pending"
    MARKED = "Marked"


class NodeMarkSpec(Model):
    word: str


class NodeMarkStatus(Payload):
    phase: Phase = Phase.PENDING
    reason: str = ""
    message: str = ""
    workflow_id: str | None = None
    marked_generation: int | None = None
    conditions: Conditions = ()
    events: tuple[LifecycleEvent, ...] = ()


class NodeMark(Model):
    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["NodeMark"] = "NodeMark"
    metadata: ObjectMeta
    spec: NodeMarkSpec
    status: NodeMarkStatus = NodeMarkStatus()


class MarkEffect(StrEnum):
    LOOK = "look_mark"
    WRITE = "write_mark"
    FINISH = "finish_mark"
    FORGET = "forget_mark"


class MarkSeen(LifecycleObservation):
    status: NodeMarkStatus = NodeMarkStatus()
    generation: int = 1
    has_node: bool = False


def next_step(seen: MarkSeen, _decision: Decision | None, _now: datetime) -> Step:
    if not seen.exists:
        return Done(reason="Gone")
    if seen.crds_going:
        return Act(effect=MarkEffect.FORGET, reason="DefinitionRemoved")
    if seen.deleting:
        return Act(effect=MarkEffect.FINISH, reason="Deleted")
    if seen.status.marked_generation == seen.generation:
        return Done(reason="Rests", message="until somebody changes it")
    if not seen.has_node:
        return Wait(reason="NodeMissing", message="The Node has not joined", until=None, look_every=timedelta(hours=1))
    return Act(effect=MarkEffect.WRITE, reason="Marked", message="Write the word on the Node")


def needs_workflow(item: Mapping[str, Any]) -> bool:
    metadata = item["metadata"]
    is_marked = item.get("status", {}).get("markedGeneration") == metadata["generation"]
    return not is_marked or "deletionTimestamp" in metadata


MARK = LifecycleKind(
    name="NodeMark",
    word="mark",
    workflow="NodeMark",
    id_prefix="node-mark",
    seen=MarkSeen,
    effects=MarkEffect,
    look=MarkEffect.LOOK,
    next_step=next_step,
    needs_workflow=needs_workflow,
)
MARKS = StoredKind(
    lifecycle=MARK,
    resource=NODE_MARKS,
    model=NodeMark,
    start_note=lambda item, _prices: StartNote(summary=item["metadata"]["name"]),
)


@dataclass(frozen=True, slots=True)
class MarkObjects:
    record: Record[NodeMark]
    seen: MarkSeen
    node: Object | None


async def look(ports: Ports, name: str, uid: str) -> MarkObjects | None:
    record = await read_record(ports.cluster, MARKS, name, uid)
    if record is None:
        return None
    node = await get_node(ports.cluster, name)
    seen = MarkSeen(
        deleting=record.is_deleting,
        crds_going=record.is_deleting and await is_kind_going(ports, NODE_MARKS),
        status=record.model.status,
        generation=record.model.metadata.generation or 0,
        has_node=node is not None,
    )
    return MarkObjects(record, seen, node)


async def write(of: EffectContext[MarkObjects]) -> None:
    assert of.observed.node is not None
    record = of.observed.record
    await change_node(of.ports.cluster, of.observed.node, annotations={WORD: record.model.spec.word})
    # What rests names no workflow: a change of it is then noticed as one that needs one.
    await write_step(
        of.ports.cluster,
        record,
        of.act,
        now=of.ports.now(),
        phase=Phase.MARKED,
        workflow_id=None,
        marked_generation=record.model.metadata.generation,
    )


MARK_ACTIVITIES: KindActivities[MarkObjects] = KindActivities(
    stored=MARKS,
    look=look,
    bodies={
        MarkEffect.WRITE: write,
        MarkEffect.FINISH: lambda of: let_go(of.ports.cluster, of.observed.record),
        MarkEffect.FORGET: lambda of: drop_finalizer(of.ports.cluster, NODE_MARKS, of.observed.record.object),
    },
)


@workflow.defn(name=MARK.workflow, sandboxed=False)
class NodeMarkWorkflow(Lifecycle[MarkSeen]):
    kind = MARK
    account = Account(
        facts=lambda seen: [f"Node: {'there' if seen.has_node else 'missing'}"],
        choices=lambda _seen: (),
        how=lambda _name, _seen, _choices: "Nothing to decide.",
        ending=lambda name, act, _before: Done(reason=act.reason, message=name),
    )

    @workflow.init
    def __init__(self, subject: ObjectId) -> None:
        super().__init__(subject)

    @workflow.run
    async def run(self, _subject: ObjectId) -> str:
        return await self.drive()

    def decide(self, seen: MarkSeen) -> Step:
        return next_step(seen, None, workflow.now())


class MarkedWorld(World):
    lifecycles = (*LIFECYCLES, MARK_ACTIVITIES)


POOL = node_pool("default", [{"name": "small"}], limits={"max": 5})
CLASS = node_class([machine("small", cpu=2, memory=4, price="0.010")])


def mark(name: str, word: str) -> Object:
    return {"metadata": {"name": name, "finalizers": [FINALIZER]}, "spec": {"word": word}}


async def words(cluster: MemoryCluster) -> dict[str, str]:
    nodes = (await cluster.list(NODES)).items
    return {one["metadata"]["name"]: one["metadata"].get("annotations", {}).get(WORD, "") for one in nodes}


async def define(sim) -> None:
    sim.world.cluster.install_definitions([definition(NODE_MARKS)])


async def undefine(sim) -> None:
    await sim.world.cluster.delete(CRDS, f"{NODE_MARKS.plural}.{NODE_MARKS.group}")


async def one_machine(sim, workload: str) -> None:
    sim.world.workloads.add(Workload(workload, 1, {"cpu": "1500m", "memory": "1Gi"}))
    sim.world.wake()

    def is_bound(view):
        return any(node and pod.startswith(f"default/{workload}-") for pod, node in view.placement().items())

    await sim.until(is_bound, f"{workload} bound", within=120)


async def until(sim, holds, seconds=90) -> None:
    """Wait for what a view does not show."""
    deadline = sim.seconds() + seconds
    while not await holds():
        assert sim.seconds() < deadline, "\n".join(sim.log[-30:])
        await asyncio.sleep(0.5)


def test_it_is_driven_on_the_simulator_rests_and_ends_beside_the_machines():
    async def story(sim):
        await define(sim)
        sim.start()
        await one_machine(sim, "web")
        (name,) = (await sim.look()).nodes
        created = await sim.world.cluster.create(NODE_MARKS, mark(name, "first"))

        async def has(word):
            return (await words(sim.world.cluster))[name] == word

        await until(sim, lambda: has("first"))
        await sim.until(
            lambda _: created["metadata"]["uid"] not in sim.alive[0].driver.running_uids(), "rest", within=60
        )
        await sim.crash()
        sim.start()
        change = [{"op": "add", "path": "/spec/word", "value": "second"}]
        await sim.world.cluster.patch(NODE_MARKS, name, change)
        await until(sim, lambda: has("second"))
        stored = await sim.world.cluster.get(NODE_MARKS, name)
        assert [event["name"] for event in stored["status"]["events"]] == ["Marked", "Marked"]
        await sim.world.cluster.delete(NODE_MARKS, name)

        async def is_gone():
            return not (await sim.world.cluster.list(NODE_MARKS)).items

        await until(sim, is_gone)

    sim = simulate(3, story, objects=[CLASS, POOL], make_world=MarkedWorld, has_worker=False)
    steps = [line.split(": ", 1)[1] for line in sim.log if "mark/" in line]
    assert steps.count("write_mark Marked") == 2
    assert steps[-1] == "done Gone"


async def shown(cluster: MemoryCluster) -> str:
    """Return what `growth status` prints of what is awaited."""
    kinds = (*SHOWN_KINDS, ShownKind(MARKS, look))
    ports = Ports(cluster, cluster, {}, lambda: datetime.now(UTC), cluster_name="test", namespace="growth-system")
    steps = await next_steps(ports, ReadOnce(cluster), kinds)
    out = Console(file=StringIO(), width=120)
    print_status(cluster_view(Snapshot(now=datetime.now(UTC)), {}, steps), out)
    return out.file.getvalue()


async def test_status_tells_what_it_waits_for_until_it_rests():
    cluster = MemoryCluster(lambda: datetime.now(UTC))
    cluster.install_definitions(definitions())
    assert "mark" not in await shown(cluster), "its definition is optional"
    cluster.install_definitions([definition(NODE_MARKS)])
    await cluster.create(NODE_MARKS, mark("n-1", "hello"))
    assert re.search(r"mark +n-1 +- +The Node has not joined", await shown(cluster))
    await cluster.patch(
        NODE_MARKS, "n-1", [{"op": "add", "path": "/status", "value": {"markedGeneration": 1}}], subresource="status"
    )
    assert "n-1" not in await shown(cluster)


def test_it_has_a_command_group(capsys):
    app = lifecycle_app(MARK, "Words that nodes bear.")
    assert app.name == ("marks",)
    app(["--help"], result_action="return_value")
    assert re.search(r"list +List the words that nodes bear\.", capsys.readouterr().out)


def test_a_view_of_the_simulator_has_it():
    async def story(sim):
        await define(sim)
        await sim.world.cluster.create(NODE_MARKS, mark("n-1", "hello"))
        assert (await sim.look()).phases() == {"NodeMark/n-1": "Pending"}
        await undefine(sim)
        assert (await sim.look()).lifecycles["NodeMark"].keys() == {"n-1"}, "its finalizer holds it"

    simulate(5, story, objects=[CLASS, POOL], make_world=MarkedWorld, has_worker=False)


def test_without_its_definition_it_is_not_used_and_machines_come_and_stay():
    async def story(sim):
        await define(sim)
        await undefine(sim)
        sim.start()
        await one_machine(sim, "web")
        await define(sim)
        waits = await sim.world.cluster.create(NODE_MARKS, mark("no-such-node", "never"))
        await sim.until(
            lambda _: waits["metadata"]["uid"] in sim.alive[0].driver.running_uids(), "its driver", within=60
        )
        await undefine(sim)

        async def is_gone():
            try:
                await sim.world.cluster.list(NODE_MARKS)
            except NotFound:
                return True
            return False

        await until(sim, is_gone)
        await one_machine(sim, "api")
        assert len((await sim.look()).nodes) == 2

    sim = simulate(4, story, objects=[CLASS, POOL], make_world=MarkedWorld, has_worker=False)
    assert any("forget_mark DefinitionRemoved" in line for line in sim.log)
    assert not any("being removed" in line for line in sim.log)


@pytest.fixture
def ports():
    cluster = MemoryCluster(lambda: datetime.now(UTC))
    return Ports(
        cluster=cluster,
        reader=cluster,
        providers={},
        now=lambda: datetime.now(UTC),
        cluster_name="test",
        namespace="growth-system",
        compute=in_place,
    )


async def test_its_workflow_drives_it_on_temporal(skipping, ports):
    ports.cluster.install_definitions([*definitions(), definition(NODE_MARKS)])
    await ports.cluster.create(NODES, {"metadata": {"name": "n-1"}})
    created = await ports.cluster.create(NODE_MARKS, mark("n-1", "hello"))
    subject = ObjectId(name="n-1", uid=created["metadata"]["uid"])
    activities = all_activities(ports, (*LIFECYCLES, MARK_ACTIVITIES))
    async with Worker(skipping.client, task_queue=QUEUE, workflows=[NodeMarkWorkflow], activities=activities):
        workflow_id = MARK.workflow_id("test", subject)
        assert workflow_id == f"node-mark:test:n-1:{subject.uid}"
        run = await skipping.client.start_workflow(MARK.workflow, subject, id=workflow_id, task_queue=QUEUE)
        assert await run.result() == "Rests: until somebody changes it"
        assert await words(ports.cluster) == {"n-1": "hello"}
        await ports.cluster.delete(NODE_MARKS, "n-1")
        run = await skipping.client.start_workflow(MARK.workflow, subject, id=workflow_id, task_queue=QUEUE)
        assert await run.result() == "Deleted: n-1"
        assert not (await ports.cluster.list(NODE_MARKS)).items
