"""A cluster with leftovers for sweeps: simulated servers, Nodes and objects, each planted as a test says."""

from datetime import UTC, datetime, timedelta

from activities.garbage.sweep import Healer
from activities.objects.events import Recorder
from activities.ports.cluster import CRDS, EVENTS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import NotFound
from activities.ports.ports import Ports, in_place
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.provider import KwokProvider
from activities.providers.kwok.record import KwokRecords
from api.meta import format_timestamp
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class
from tests.activities import bodies
from tests.activities.rounds import FlakyCluster

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
NAME = "default-a1"
CLUSTER = "test"
SPACE = "growth-system"
HOUR = timedelta(hours=1)


class Listed(KwokProvider):
    """A provider that counts its calls, and fails where a test says."""

    def __init__(self, *given):
        super().__init__(*given)
        self.calls = []
        self.fail = {}
        self.hides = frozenset()
        """Names that the list leaves out, by error."""

    async def list(self, cluster):
        self._begin("list")
        return [server for server in await super().list(cluster) if server.name not in self.hides]

    async def get(self, name, class_name=None):
        self._begin("get")
        return await super().get(name, class_name)

    def _begin(self, call):
        self.calls.append(call)
        if call in self.fail:
            raise self.fail[call]


class Yard:
    """Everything that a sweep sees, and the sweeper."""

    def __init__(self, name=CLUSTER, uid=""):
        self.name = name
        self._now = START
        self.cluster = FlakyCluster(self.now)
        self.provider = Listed(self.cluster, SPACE, self.now)
        self.ports = Ports(
            cluster=self.cluster,
            reader=self.cluster,
            providers={self.provider.node_classes.kind: self.provider},
            now=self.now,
            cluster_name=name,
            cluster_uid=uid,
            namespace=SPACE,
            compute=in_place,
        )
        self.healer = self.another()

    def another(self):
        """The sweeper of another replica, or of this one after a restart."""
        return Healer(self.ports, Recorder(self.ports))

    def now(self):
        return self._now

    def pass_time(self, seconds):
        self._now += timedelta(seconds=seconds)

    async def install(self, *, classes=True):
        self.cluster.install_definitions(bodies.definitions())
        if classes:
            small = machine("cx22", cpu=2, memory=4, price="0.006")
            await MemoryCluster.create(self.cluster, KWOK_NODE_CLASSES, node_class([small]))
        await MemoryCluster.create(self.cluster, NODE_POOLS, bodies.pool("default"))

    async def sweep(self, healer=None):
        """Sweep twice, as far apart as needed, and return the kinds of what was healed."""
        healer = healer or self.healer
        first = await healer.heal()
        self.pass_time(30)
        return [healed.kind for healed in (*first, *await healer.heal())]

    async def server(self, name=NAME, *, age=HOUR, cluster=None, uid="u-1", **labels):
        marks = {
            "growth.dev/cluster": self.name if cluster is None else cluster,
            "growth.dev/pool": "default",
            "growth.dev/server-type": "cx22",
            "growth.dev/request": name,
            "growth.dev/request-uid": uid,
            **labels,
        }
        await KwokRecords(self.cluster, SPACE).add(
            name,
            server_type="cx22",
            location="fsn1",
            class_name="default",
            created_at=self._now - age,
            runs_at=self._now - age,
            labels={key: value for key, value in marks.items() if value},
            node={},
        )

    async def node(self, name=NAME, *taints, ready=True, uid="u-1", age=HOUR, labels=None, **metadata):
        body = bodies.node(name, "default", "cx22", "2", "4Gi", **metadata)
        body["metadata"]["labels"] |= {"growth.dev/request-uid": uid} if labels is None else labels
        if labels == {}:
            body["metadata"]["labels"] = {}
        body["spec"] = {"providerID": f"kwok://{self.name}/{name}", "taints": [dict(taint) for taint in taints]}
        body["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
        now, self._now = self._now, self._now - age
        await MemoryCluster.create(self.cluster, NODES, body)
        self._now = now

    async def request(self, name=NAME, **status):
        created = await MemoryCluster.create(self.cluster, NODE_REQUESTS, bodies.request(name))
        if status:
            await self.set_status(NODE_REQUESTS, name, status)
        return created["metadata"]["uid"]

    async def removal(self, name=NAME, **spec):
        await MemoryCluster.create(self.cluster, NODE_REMOVAL_REQUESTS, bodies.removal(name, **spec))

    async def pod(self, name="web-1", on=NAME):
        await MemoryCluster.create(self.cluster, PODS, bodies.pod(name, node_name=on), namespace="shop")

    async def set_status(self, resource, name, status):
        as_json = {k: format_timestamp(v) if isinstance(v, datetime) else v for k, v in status.items()}
        change = [{"op": "add", "path": "/status", "value": as_json}]
        await MemoryCluster.patch(self.cluster, resource, name, change, subresource="status")

    async def set_provider_id(self, provider_id, name=NAME):
        change = [{"op": "add", "path": "/spec/providerID", "value": provider_id}]
        await MemoryCluster.patch(self.cluster, NODES, name, change)

    async def delete_definition(self, resource):
        await MemoryCluster.delete(self.cluster, CRDS, f"{resource.plural}.{resource.group}")

    async def find(self, resource, name=NAME, namespace=None):
        try:
            return await MemoryCluster.get(self.cluster, resource, name, namespace=namespace)
        except NotFound:
            return None

    async def removals(self):
        items = (await MemoryCluster.list(self.cluster, NODE_REMOVAL_REQUESTS)).items
        return {item["metadata"]["name"]: item for item in items}

    async def taints(self, name=NAME):
        return [taint["key"] for taint in (await self.find(NODES, name))["spec"].get("taints", [])]

    async def event_reasons(self):
        """The Kubernetes Events so far: kind, name and reason of each."""
        events = (await MemoryCluster.list(self.cluster, EVENTS)).items
        return [(event["regarding"]["kind"], event["regarding"]["name"], event["reason"]) for event in events]
