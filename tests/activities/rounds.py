"""A small world for rounds: a cluster in memory whose writes can fail, a clock, plans, and the objects of a story."""

import asyncio
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

from activities.objects.events import Recorder
from activities.ports.cluster import LEASES, NODE_POOLS, NODES, PODS
from activities.ports.errors import InvalidConfiguration
from activities.ports.ports import Ports, in_place
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.round.fence import Fence
from activities.round.plan_round import PlanActivities
from api.keys import LABEL_INSTANCE_TYPE, LABEL_REGION
from api.v1alpha1.node_pool import ClassRef
from api.v1alpha1.node_request import Seat
from planner.model.plan import Plan, PlannedRemoval, PlannedRequest, PlannerMemory, PlanResult
from planner.model.round import RoundInput
from planner.objects.offering import Offering
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.bodies import definitions, node, node_class, pod, pool, unschedulable

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
GIB = 2**30
CLASS = ClassRef()


class Crash(BaseException):
    """The process dies here: nothing may catch it."""


class FlakyCluster(MemoryCluster):
    """Counts writes, and fails where a test says."""

    def __init__(self, now):
        super().__init__(now)
        self.fail_with = None
        """Every write fails with this."""
        self.crash_at = None
        """The write of this number, from 1, does not happen: the process dies instead."""
        self.crash_after = None
        """The write of this number happens, then the process dies before its reply."""
        self.refuse = None
        """Called with verb, resource and name before each write; may raise."""
        self.writes = []
        self.reads = []

    async def list(self, resource, **selectors):
        self.reads.append(resource.plural)
        return await super().list(resource, **selectors)

    async def create(self, resource, body, *, namespace=None):
        self._before("create", resource, body["metadata"]["name"])
        done = await super().create(resource, body, namespace=namespace)
        self._after()
        return done

    async def patch(self, resource, name, operations, *, namespace=None, subresource=None):
        self._before("patch", resource, name)
        done = await super().patch(resource, name, operations, namespace=namespace, subresource=subresource)
        self._after()
        return done

    async def delete(self, resource, name, *, namespace=None, uid=None, resource_version=None, grace=None):
        self._before("delete", resource, name)
        await super().delete(
            resource, name, namespace=namespace, uid=uid, resource_version=resource_version, grace=grace
        )
        self._after()

    async def evict(self, name, *, namespace, uid, dry_run=False):
        if dry_run:
            return await super().evict(name, namespace=namespace, uid=uid, dry_run=True)
        self._before("evict", PODS, name)
        await super().evict(name, namespace=namespace, uid=uid)
        self._after()
        return None

    def refuse_writes(self, error, verb=None, resource=None, *, name=None, times=None):
        """Fail writes of this verb to this resource, or of any where none is named, so many times or always."""
        left = count(1)

        def refuse(*write):
            matches = all(
                asked is None or asked == given for asked, given in zip((verb, resource, name), write, strict=True)
            )
            if matches and (times is None or next(left) <= times):
                raise error

        self.refuse = refuse

    def overtake(self, verb, resource, edit, *, number=1):
        """Let another writer `edit` the stored object between an activity's look and its write of this number."""
        writes = count(1)

        def change_first(given_verb, given_resource, name):
            if (given_verb, given_resource) == (verb, resource) and next(writes) == number:
                self.refuse = None
                changed = deepcopy(self._store.find(resource, ("", name)))
                edit(changed)
                self._store.put(resource, ("", name), changed)

        self.refuse = change_first

    def call_before(self, verb, resource, change):
        """Await `change` before the next call of this verb ("get", "list", "create", "delete") for this resource."""
        call = getattr(self, verb)

        async def change_first(given_resource, *args, **options):
            if given_resource == resource:
                setattr(self, verb, call)
                await change()
            return await call(given_resource, *args, **options)

        setattr(self, verb, change_first)

    async def put(self, resource, name, path, value):
        """Set a field as another writer does, uncounted and never refused; without a value, remove it."""
        operation = {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}
        namespace = "shop" if resource.namespaced else None
        part = "status" if path.startswith("/status") else None
        return await MemoryCluster.patch(self, resource, name, [operation], namespace=namespace, subresource=part)

    async def end(self, resource, name):
        """Delete an object, whoever holds it."""
        await self.put(resource, name, "/metadata/finalizers", None)
        await MemoryCluster.delete(self, resource, name)

    def _before(self, verb, resource, name):
        self.writes.append(f"{verb} {resource.plural}/{name}")
        if self.crash_at == len(self.writes):
            raise Crash
        if self.fail_with is not None:
            raise self.fail_with
        if self.refuse is not None:
            self.refuse(verb, resource, name)

    def _after(self):
        if self.crash_after == len(self.writes):
            raise Crash


class Provider:
    """Knows offerings and nothing else; a call of the cloud is a fault of the test's subject."""

    node_classes = KWOK_NODE_CLASSES

    def __init__(self):
        self.reads = 0

    def offerings(self, node_class):
        self.reads += 1
        if "serverTypes" not in node_class["spec"]:
            raise InvalidConfiguration("spec.serverTypes: is missing")
        return tuple(
            Offering(
                server_type=name,
                location="fsn1",
                price_per_hour=Decimal(price),
                currency="EUR",
                allocatable={"cpu": cpu, "memory": memory * GIB, "pods": 110},
                labels={
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/os": "linux",
                    LABEL_INSTANCE_TYPE: name,
                    LABEL_REGION: "fsn1",
                    "topology.kubernetes.io/zone": "fsn1",
                },
            )
            for name, cpu, memory, price in node_class["spec"]["serverTypes"]
        )

    def refusal(self, server_type):
        return f"{server_type} is sold elsewhere" if server_type.startswith("gex") else None


class World:
    """Cluster, clock and ports."""

    def __init__(self, **ports):
        self._now = START
        self.leaps = timedelta()
        self.cluster = FlakyCluster(self.now)
        self.provider = Provider()
        self.ports = Ports(
            cluster=self.cluster,
            reader=self.cluster,
            providers={"KwokNodeClass": self.provider},
            now=self.now,
            cluster_name="test",
            namespace="growth-system",
            elapsed=lambda: (self._now - START).total_seconds() - self.leaps.total_seconds(),
            compute=in_place,
        )
        self.ports = replace(self.ports, **ports)
        self.round = 0

    def now(self):
        return self._now

    def memory(self):
        return PlannerMemory()

    def pass_time(self, time):
        self._now += time

    def leap(self, time):
        """Set the clock, while no time passes."""
        self._now += time
        self.leaps += time

    async def sleep(self, seconds):
        self._now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def fence(self):
        return Fence(self.ports, sleep=self.sleep)

    def activities(self, **options):
        """A worker's activities, as after a restart."""
        return PlanActivities(self.ports, Recorder(self.ports), fence=self.fence(), **options)

    async def run(self, activities=None, **given):
        """One more round, by a new worker unless given."""
        self.round += 1
        return await (activities or self.activities()).plan_round(RoundInput(run="run-1", round=self.round, **given))

    async def carry_out(self, plan, **given):
        """One more round, whose planner answers with `plan`."""
        return await self.run(self.activities(planner=lambda _: plan), **given)

    async def install(self, *, pools=("default",)):
        """CRDs, a class and pools."""
        self.cluster.install_definitions(definitions())
        await self.cluster.create(KWOK_NODE_CLASSES, node_class())
        for name in pools:
            await self.cluster.create(NODE_POOLS, pool(name))

    async def add_pods(self, count, *, cpu="1", memory="1Gi", prefix="web", **fields):
        for number in range(count):
            body = pod(f"{prefix}-{number}", cpu=cpu, memory=memory, **fields)
            created = await self.cluster.create(PODS, body, namespace="shop")
            if "nodeName" not in body["spec"]:
                await self.cluster.patch(
                    PODS, created["metadata"]["name"], unschedulable(), namespace="shop", subresource="status"
                )

    async def add_node(self, name, *, pool="default", server_type="cx32", cpu="4", memory="8Gi", **metadata):
        return await self.cluster.create(NODES, node(name, pool, server_type, cpu, memory, **metadata))

    async def items(self, resource):
        return (await MemoryCluster.list(self.cluster, resource)).items

    async def names(self, resource):
        return [item["metadata"]["name"] for item in await self.items(resource)]

    async def set_status(self, resource, name, **status):
        change = [{"op": "add", "path": "/status", "value": status}]
        return await MemoryCluster.patch(self.cluster, resource, name, change, subresource="status")

    async def lease(self):
        return await self.cluster.get(LEASES, "growth-round", namespace="growth-system")


def nothing(**parts):
    """A plan without demands."""
    return Plan(result=PlanResult.NO_DEMANDS, **parts)


def bought(ordinal=0, **parts):
    """A machine to buy for one pod."""
    standard = PlannedRequest(
        ordinal=ordinal,
        pool="default",
        pool_uid="pool-uid",
        server_type="cx22",
        location="fsn1",
        class_ref=CLASS,
        price_per_hour=Decimal("0.0066"),
        seats=(Seat(namespace="shop", name=f"web-{ordinal}", uid=f"u-{ordinal}", owner="rs", pod_class="k"),),
        reserve=True,
        why="Cheapest machine for 1 pod",
    )
    return replace(standard, **parts)


def begun(name, **parts):
    """A removal of an empty machine."""
    standard = PlannedRemoval(
        node=name,
        server=name,
        provider_id=f"kwok://{name}",
        pool="default",
        server_type="cx32",
        location="fsn1",
        class_ref=CLASS,
        reason="Empty",
        why="No pods",
        at=START + timedelta(minutes=1),
    )
    return replace(standard, **parts)


def buying(count):
    """A plan that buys so many machines."""
    return Plan(
        result=PlanResult.ALL_PLACED,
        requests=tuple(bought(n) for n in range(count)),
        cost_per_hour=Decimal("0.0066") * count,
        currency="EUR",
    )
