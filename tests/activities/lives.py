"""A small world for lifecycles: a cluster in memory, a cloud that does what a test says, a clock, one machine."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from activities.kube.json_patch import set_field
from activities.objects.events import Recorder
from activities.objects.kind_activities import activities_of
from activities.ports.cluster import (
    DISRUPTION_BUDGETS,
    EVENTS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
)
from activities.ports.errors import InvalidConfiguration, NotFound
from activities.ports.ports import Ports, in_place
from activities.ports.provider import Server, ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.catalogue import offerings
from activities.removals.activities import REMOVAL_ACTIVITIES
from activities.requests.activities import REQUEST_ACTIVITIES
from api.meta import format_timestamp
from api.model import UnreadableError, read
from api.v1alpha1.kwok_node_class import KwokNodeClass
from planner.lifecycle import removal as removal_steps
from planner.lifecycle import request as request_steps
from planner.lifecycle.step import Act, EffectInput
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.rounds import Crash, FlakyCluster

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
NAME = "default-a1"
"""Of the request, the server, the Node and the removal."""
UNREGISTERED = {"key": "growth.dev/unregistered", "effect": "NoSchedule"}
RESERVED = {"key": "growth.dev/reserved", "value": NAME, "effect": "NoSchedule"}
FOREIGN = {"key": "other.example/taint", "value": "x", "effect": "NoSchedule"}
SCALE_DOWN = {"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}
REGISTERED = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": START - timedelta(seconds=100),
    "providerID": f"kwok://test/{NAME}",
    "provisioningDeadline": START + timedelta(minutes=5),
    "runningAt": START - timedelta(seconds=10),
    "joinDeadline": START + timedelta(minutes=10),
    "registeredAt": START - timedelta(seconds=5),
    "nodeName": NAME,
}
"""Status of a request whose Node registered 5 s ago."""


def at_each_write(last):
    """Run a test with `when` and `write` for a death before and after each write up to the last."""
    when = pytest.mark.parametrize("when", ["crash_at", "crash_after"])
    return lambda test: when(pytest.mark.parametrize("write", range(1, last + 1))(test))


class Cloud:
    """A provider whose answers a test sets."""

    node_classes = KWOK_NODE_CLASSES

    def __init__(self, now):
        self._now = now
        self.servers = {}
        self.boot_image = None
        """With one, what a Node turns out to have for pods is learned."""
        self.orders = []
        self.calls = []
        self.fail = {}
        """Error by call; raised instead of any effect."""
        self.loses_reply = {}
        """Error by call; raised after its effect."""
        self.during = {}
        """Called by call while it is under way."""

    def offerings(self, node_class):
        try:
            return offerings(read(KwokNodeClass, node_class))
        except UnreadableError as error:
            raise InvalidConfiguration(str(error)) from error

    def image(self, node_class, offering):
        return self.boot_image

    def refusal(self, server_type):
        return None

    async def create(self, node_class, order):
        await self._begin("create")
        self.orders.append(order)
        if order.name not in self.servers:
            self.servers[order.name] = self.server(order.name, order.labels)
        self._end("create")
        return self.servers[order.name]

    async def get(self, name, class_name=None):
        await self._begin("get")
        if name not in self.servers:
            raise NotFound(f"no server {name}")
        return self.servers[name]

    async def list(self, cluster):
        raise NotImplementedError

    async def delete(self, name, class_name=None):
        await self._begin("delete")
        self.servers.pop(name, None)
        self._end("delete")

    async def label(self, name, labels, class_name=None):
        await self._begin("label")
        if name not in self.servers:
            raise NotFound(f"no server {name}")
        self.servers[name] = replace(self.servers[name], labels={**self.servers[name].labels, **labels})

    def server(self, name, labels, state=ServerState.CREATING):
        return Server(name, f"kwok://test/{name}", state, "cx32", "fsn1", dict(labels), self._now())

    def fail_server(self, failure, name=NAME):
        """Let the provider say why a broken server is broken."""
        self.servers[name] = replace(self.servers[name], failure=failure, problem=str(failure or ""))

    def set_state(self, state, name=NAME):
        self.servers[name] = replace(self.servers[name], state=state)

    async def _begin(self, call):
        self.calls.append(call)
        if call in self.during:
            await self.during.pop(call)()
        if call in self.fail:
            raise self.fail[call]

    def _end(self, call):
        if call in self.loses_reply:
            raise self.loses_reply.pop(call)


class Life:
    """One machine's life, and everything that it needs."""

    def __init__(self):
        self._now = START
        self.cluster = FlakyCluster(self.now)
        self.cloud = Cloud(self.now)
        self.ports = Ports(
            cluster=self.cluster,
            reader=self.cluster,
            providers={"KwokNodeClass": self.cloud},
            now=self.now,
            cluster_name="test",
            namespace="growth-system",
            compute=in_place,
        )
        self.uid = ""
        self.restart()

    def restart(self):
        recorder = Recorder(self.ports)
        self.requests = SimpleNamespace(**activities_of(REQUEST_ACTIVITIES, self.ports, recorder))
        self.removals = SimpleNamespace(**activities_of(REMOVAL_ACTIVITIES, self.ports, recorder))

    def now(self):
        return self._now

    def pass_time(self, seconds):
        self._now += timedelta(seconds=seconds)

    async def install(self, *, class_status=None, **pool):
        """CRDs, a class and the pool."""
        self.cluster.install_definitions(bodies.definitions())
        machine = {
            "name": "cx32",
            "capacity": {"cpu": "4", "memory": "8Gi"},
            "pricePerHour": "0.01",
            "locations": [{"name": "fsn1"}],
        }
        node_class = {"metadata": {"name": "default"}, "spec": {"serverTypes": [machine]}}
        await self.cluster.create(KWOK_NODE_CLASSES, node_class)
        await self.cluster.create(NODE_POOLS, bodies.pool("default", **pool))

    async def add_request(self, status=None, *, seats=(), **metadata):
        """The request, with this status; times as they are meant."""
        body = bodies.request(NAME, seats=seats, **metadata)
        created = await MemoryCluster.create(self.cluster, NODE_REQUESTS, body)
        self.uid = created["metadata"]["uid"]
        if status is not None:
            await self.set_status(NODE_REQUESTS, status)

    async def add_removal(self, status=None, *, labels=None, **spec):
        body = bodies.removal(NAME, **spec)
        body["metadata"]["labels"] = labels or {}
        created = await MemoryCluster.create(self.cluster, NODE_REMOVAL_REQUESTS, body)
        self.uid = created["metadata"]["uid"]
        if status is not None:
            await self.set_status(NODE_REMOVAL_REQUESTS, status)

    async def set_status(self, resource, status):
        as_json = {k: format_timestamp(v) if isinstance(v, datetime) else v for k, v in status.items()}
        change = [{"op": "add", "path": "/status", "value": as_json}]
        await MemoryCluster.patch(self.cluster, resource, NAME, change, subresource="status")

    def own_labels(self, uid=None):
        return {
            "growth.dev/pool": "default",
            "growth.dev/server-type": "cx32",
            "growth.dev/request": NAME,
            "growth.dev/request-uid": uid or self.uid,
        }

    def add_server(self, state=ServerState.RUNNING, **labels):
        marks = {"growth.dev/cluster": "test", **self.own_labels(), **labels}
        self.cloud.servers[NAME] = self.cloud.server(NAME, marks, state)

    async def add_node(self, *taints, ready=False, **metadata):
        body = bodies.node(NAME, "default", "cx32", "4", "8Gi", **metadata)
        body["spec"] = {"providerID": f"kwok://test/{NAME}", "taints": list(taints)}
        body["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
        return await MemoryCluster.create(self.cluster, NODES, body)

    async def add_machine(
        self, status=None, *taints, pods=0, bound=False, server=ServerState.RUNNING, node=True, ready=False, **metadata
    ):
        """A request with so many planned pods, its server in this state, and its Node."""
        seats = [await self.add_pod(f"web-{number + 1}", bound=bound) for number in range(pods)]
        await self.add_request(status, seats=seats, **metadata)
        if server is not None:
            self.add_server(server)
        if node:
            await self.add_node(*taints, ready=ready)

    async def add_leaving(self, status=None, *taints, server=True, node=True, ready=True, **spec):
        """A removal, the server that it removes, and its Node."""
        await self.add_removal(status, **{"nodeName": NAME, "providerID": f"kwok://test/{NAME}"} | spec)
        if server:
            self.add_server()
        if node:
            await self.add_node(*taints, ready=ready)

    async def set_ready(self, *, ready=True):
        node = await self.node()
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        change = set_field(node, ("status", "conditions"), conditions)
        await MemoryCluster.patch(self.cluster, NODES, NAME, change, subresource="status")

    async def add_pod(self, name="web-1", *, bound=False, **fields):
        """A pod in the namespace shop, and its seat."""
        body = bodies.pod(name, node_name=NAME if bound else None, **fields)
        created = await MemoryCluster.create(self.cluster, PODS, body, namespace="shop")
        return {"namespace": "shop", "name": name, "uid": created["metadata"]["uid"]}

    async def run_pod(self, name="web-1", *, owner="web", labels=None, annotations=None, **fields):
        """A healthy pod on the Node, of a controller unless `owner` is None."""
        await self.add_pod(name, bound=True, owner=owner, **fields)
        pod = await self.find(PODS, name, "shop")
        metadata = {"labels": labels or {"app": "web"}, "annotations": annotations or {}}
        change = [operation for key, of in metadata.items() for operation in set_field(pod, ("metadata", key), of)]
        if owner is None:
            change += set_field(pod, ("metadata", "ownerReferences"), None)
        await MemoryCluster.patch(self.cluster, PODS, name, change, namespace="shop")
        healthy = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.set_pod_status(healthy, name)

    async def set_pod_status(self, status, name="web-1"):
        change = [{"op": "add", "path": "/status", "value": status}]
        await MemoryCluster.patch(self.cluster, PODS, name, change, namespace="shop", subresource="status")

    async def add_budget(self, name="web", **spec):
        """A PodDisruptionBudget over the pods of the app web; without a spec it never allows one to go."""
        body = {
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": "web"}}} | (spec or {"maxUnavailable": 0}),
        }
        await MemoryCluster.create(self.cluster, DISRUPTION_BUDGETS, body, namespace="shop")

    async def request(self):
        return await self.find(NODE_REQUESTS)

    async def removal(self):
        return await self.find(NODE_REMOVAL_REQUESTS)

    async def node(self):
        return await self.find(NODES)

    async def find(self, resource, name=NAME, namespace=None):
        try:
            return await MemoryCluster.get(self.cluster, resource, name, namespace=namespace)
        except NotFound:
            return None

    async def taints(self):
        return (await self.node())["spec"].get("taints", [])

    async def tolerations(self, name="web-1"):
        return (await self.find(PODS, name, "shop"))["spec"].get("tolerations", [])

    async def conditions(self):
        """Status and reason of each condition of the request or removal, by type."""
        item = await self.removal() or await self.request()
        return {c["type"]: (c["status"], c["reason"]) for c in item["status"]["conditions"]}

    async def event_reasons(self):
        """Reasons of the Kubernetes Events so far, with the kinds they are about."""
        return {(event["regarding"]["kind"], event["reason"]) for event in await self.events()}

    async def events(self):
        return (await MemoryCluster.list(self.cluster, EVENTS)).items

    async def look_request(self):
        return await self.requests.look_request(EffectInput(name=NAME, uid=self.uid))

    async def look_removal(self):
        return await self.removals.look_removal(EffectInput(name=NAME, uid=self.uid))

    async def removal_step(self):
        """Look at the removal, and return its next step."""
        return removal_steps.next_step(await self.look_removal(), None, self._now)

    async def die_during(self, activity, act, when, write):
        """Run an activity in a process that dies before or after its write of this number, and start another."""
        setattr(self.cluster, when, len(self.cluster.writes) + write)
        with pytest.raises(Crash):
            await self.do(activity, act)
        self.restart()

    async def do(self, activity, act=None, **words):
        """Run an activity, by default for the step that its step function gives now."""
        look = self.removals.look_removal if activity in dir(self.removals) else self.requests.look_request
        steps = removal_steps if activity in dir(self.removals) else request_steps
        given = EffectInput(name=NAME, uid=self.uid)
        if act is None:
            seen = await look(given)
            act = steps.next_step(seen, None, self._now) if steps is removal_steps else steps.next_step(seen, self._now)
            assert isinstance(act, Act), f"{activity} is not due: {act}"
            assert act.effect == activity
        owner = self.removals if steps is removal_steps else self.requests
        return await getattr(owner, activity)(given.model_copy(update={"act": act.model_copy(update=words)}))
