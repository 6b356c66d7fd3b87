"""A machine's life on a real control plane: it accepts every write, and the scheduler obeys the reservation."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from types import SimpleNamespace

import pytest

from activities.kube.client import KubeCluster
from activities.objects.events import Recorder
from activities.objects.kind_activities import activities_of
from activities.ports.cluster import NAMESPACES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import NotFound, UnknownOutcome
from activities.ports.ports import Ports
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.provider import KwokProvider
from activities.removals.activities import REMOVAL_ACTIVITIES
from activities.requests.activities import REQUEST_ACTIVITIES
from planner.lifecycle import removal as removal_steps
from planner.lifecycle import request as request_steps
from planner.lifecycle.json_predicates import is_ready
from planner.lifecycle.step import Act, Done, EffectInput
from tests.activities import bodies
from tests.activities.on_control_plane import clear_named
from tests.e2e.harness import borrowed_control_plane

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

SPACE = "lives"
"""Begins the name of everything here: the control plane may serve other tests before and after."""
NAME = f"{SPACE}-a1"


@pytest.fixture(scope="module")
def control_plane():
    with borrowed_control_plane() as plane:
        plane.apply_definitions()
        yield plane


@pytest.fixture
async def machine(control_plane):
    cluster = await KubeCluster.connect(str(control_plane.kubeconfig))
    # A namespace takes a while to go, so that the next test cannot have the same.
    made = Machine(cluster, f"{SPACE}-{token_hex(3)}")
    await cluster.create(NAMESPACES, {"metadata": {"name": made.space}})
    yield made
    await clear_named(cluster, SPACE)
    for name in (made.space, made.records):
        await cluster.delete(NAMESPACES, name)
    await cluster.close()


class Machine:
    """Drives the request and the removal of one machine."""

    def __init__(self, cluster, space):
        self.cluster = cluster
        self.space = space
        self.records = f"{space}-records"
        """Namespace of the servers, which only the provider makes."""
        self.provider = KwokProvider(cluster, self.records, self.now)
        ports = Ports(
            cluster=cluster,
            reader=cluster,
            providers={self.provider.node_classes.kind: self.provider},
            now=self.now,
            cluster_name="e2e",
            namespace=self.records,
        )
        recorder = Recorder(ports)
        self.requests = SimpleNamespace(**activities_of(REQUEST_ACTIVITIES, ports, recorder))
        self.removals = SimpleNamespace(**activities_of(REMOVAL_ACTIVITIES, ports, recorder))

    def now(self):
        return datetime.now(UTC)

    async def add(self, resource, body, namespace=None):
        return (await self.cluster.create(resource, body, namespace=namespace))["metadata"]["uid"]

    async def prepare(self, *faults):
        machine = {
            "name": "cx32",
            "capacity": {"cpu": "4", "memory": "8Gi"},
            "pricePerHour": "0.01",
            "locations": [{"name": "fsn1", "bootTime": "1s"}],
        }
        node_class = {"metadata": {"name": SPACE}, "spec": {"serverTypes": [machine], "faults": list(faults)}}
        await self.add(KWOK_NODE_CLASSES, node_class)
        wish = {
            "template": {"classRef": {"name": SPACE}, "labels": {"team": "shop"}},
            "scaleUp": {"recordTTL": "1s"},
            "scaleDown": {"softGrace": "1s", "removal": {"retry": "1s", "maxAttempts": 2, "parkedRetry": "2s"}},
        }
        await self.add(NODE_POOLS, bodies.pool(SPACE, **wish))

    async def request(self, seats=()):
        body = bodies.request(NAME, pool_name=SPACE, seats=seats)
        body["spec"]["classRef"]["name"] = SPACE
        return await self.add(NODE_REQUESTS, body)

    async def removal(self):
        body = bodies.removal(NAME, pool_name=SPACE, nodeName=NAME)
        body["spec"]["classRef"]["name"] = SPACE
        return await self.add(NODE_REMOVAL_REQUESTS, body)

    async def drive(self, uid, *, until=None):
        """Run the life of the object with this uid to its end, or up to an effect, and return the effects."""
        effects = []
        is_request = any(item["metadata"]["uid"] == uid for item in (await self.cluster.list(NODE_REQUESTS)).items)
        activities = self.requests if is_request else self.removals
        look = self.requests.look_request if is_request else self.removals.look_removal
        given = EffectInput(name=NAME, uid=uid)
        while until is None or until not in effects:
            await self.provider.boot()
            seen = await look(given)
            if is_request:
                step = request_steps.next_step(seen, self.now())
            else:
                step = removal_steps.next_step(seen, None, self.now())
            if isinstance(step, Done):
                break
            if isinstance(step, Act):
                effects.append(step.effect)
                with suppress(UnknownOutcome):
                    await getattr(activities, step.effect)(given.model_copy(update={"act": step}))
            else:
                await asyncio.sleep(min(0.2, max(0.0, (step.wake_at(self.now()) - self.now()) / timedelta(seconds=1))))
        return effects


async def waiting_pod(machine):
    body = bodies.pod("web-1", nodeSelector={"growth.dev/pool": SPACE})
    body["metadata"] = {"name": "web-1", "namespace": machine.space}
    uid = await machine.add(PODS, body, machine.space)
    return {"namespace": machine.space, "name": "web-1", "uid": uid}


BY_CHANCE = {"mark_running", "mark_tried", "tolerate_pods"}
"""Steps that are made only if a look meets the machine, or its pod, on the way."""


async def test_a_machine_comes_for_its_pod_and_goes_without_it(machine):
    cluster = machine.cluster
    await machine.prepare({"call": "delete", "times": 3})
    seat = await waiting_pod(machine)
    effects = await machine.drive(await machine.request([seat]))
    assert effects[0] == "create_server"
    certain = [effect for effect in effects if effect not in BY_CHANCE]
    assert certain[-4:] == ["register_node", "mark_ready", "release_node", "finish_request"]
    pod = await cluster.get(PODS, "web-1", namespace=machine.space)
    assert pod["spec"]["nodeName"] == NAME
    node = await cluster.get(NODES, NAME)
    assert not [t for t in node["spec"].get("taints", []) if t["key"].startswith("growth.dev/")]
    assert (node["metadata"]["labels"]["team"], is_ready(node)) == ("shop", True)

    effects = await machine.drive(await machine.removal())
    assert effects == ["taint_node", "cancel_removal", "untaint_node", "finish_removal"], "it is not empty"
    await cluster.delete(PODS, "web-1", namespace=machine.space)
    while (await cluster.list(PODS, namespace=machine.space)).items:
        await asyncio.sleep(0.1)

    effects = await machine.drive(await machine.removal())
    assert effects.count("delete_server") == 4
    assert [e for e in effects if e != "delete_server"] == [
        "taint_node",
        "commit_removal",
        "leave_balancers",
        "park_removal",
        "resume_removal",
        "delete_node",
        "finish_removal",
    ]
    for resource in (NODES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS):
        with pytest.raises(NotFound):
            await cluster.get(resource, NAME)
    with pytest.raises(NotFound):
        await machine.provider.get(NAME)


async def test_a_cancelled_machine_is_handed_over(machine):
    """Made by hand, without our finalizer; the reply of its create call is lost; then it is deleted."""
    cluster = machine.cluster
    await machine.prepare({"call": "create", "lostReply": True, "times": 1})
    uid = await machine.request()
    await cluster.patch(NODE_REQUESTS, NAME, [{"op": "remove", "path": "/metadata/finalizers"}])
    assert await machine.drive(uid, until="create_server") == ["create_server"]
    await cluster.delete(NODE_REQUESTS, NAME)
    assert await machine.drive(uid) == ["give_up", "hand_over"]
    removal = await cluster.get(NODE_REMOVAL_REQUESTS, NAME)
    assert (removal["spec"]["immediate"], removal["spec"]["reason"]) == (True, "Cancelled")
    effects = await machine.drive(removal["metadata"]["uid"], until="delete_server")
    assert effects == ["commit_removal", "delete_server"]
    with pytest.raises(NotFound):
        await machine.provider.get(NAME)
