"""Drives requests and removals through their whole lives with KWOK's servers, through deaths at any write.

The loop is the drivers' (look, next step, act or wait), with the little around it that a cluster
does: servers boot, Nodes turn Ready, pods are bound where they may.
"""

from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace

from activities.kube.json_patch import set_field
from activities.objects.events import Recorder
from activities.objects.kind_activities import activities_of
from activities.objects.pods import tolerates
from activities.ports.cluster import CONFIG_MAPS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports, in_place
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.provider import KwokProvider
from activities.removals.activities import REMOVAL_ACTIVITIES
from activities.requests.activities import REQUEST_ACTIVITIES
from planner.lifecycle import removal, request
from planner.lifecycle.json_predicates import is_ready
from planner.lifecycle.step import Act, EffectInput, Wait
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class
from tests.activities import bodies
from tests.activities.lives import NAME, START
from tests.activities.rounds import Crash, FlakyCluster

_STEPS = 400
"""A life that needs more goes round and round."""


class Story:
    """A cluster with one machine's request or removal, and the workers that drive it one after the other."""

    def __init__(self, *faults):
        self._now = START
        self._faults = faults
        self.cluster = FlakyCluster(self.now)
        self.deaths = 0
        self.twice = False
        """Every effect is executed a second time, as after a reply that got lost."""
        self.steps = []
        self._start()

    def now(self):
        return self._now

    def _start(self):
        self.cloud = KwokProvider(self.cluster, "growth-system", self.now)
        ports = Ports(
            cluster=self.cluster,
            reader=self.cluster,
            providers={"KwokNodeClass": self.cloud},
            now=self.now,
            cluster_name="test",
            namespace="growth-system",
            compute=in_place,
        )
        recorder = Recorder(ports)
        self._activities = {
            NODE_REQUESTS: SimpleNamespace(**activities_of(REQUEST_ACTIVITIES, ports, recorder)),
            NODE_REMOVAL_REQUESTS: SimpleNamespace(**activities_of(REMOVAL_ACTIVITIES, ports, recorder)),
        }

    async def install(self):
        self.cluster.install_definitions(bodies.definitions())
        small = machine("cx32", cpu=4, memory=8, price="0.01", boot_time="3s")
        await self.plain(MemoryCluster.create, KWOK_NODE_CLASSES, node_class([small], faults=self._faults))
        coming = {"provisioningTimeout": "20s", "joinTimeout": "20s", "recordTTL": "10s", "failedTTL": "10s"}
        going = {"softGrace": "5s", "removal": {"maxAttempts": 3, "retry": "10s", "parkedRetry": "1m"}}
        pool = bodies.pool("default", scaleUp=coming, scaleDown=going)
        await self.plain(MemoryCluster.create, NODE_POOLS, pool)

    async def plain(self, verb, resource, *arguments, **options):
        """Call the cluster as somebody else does: no worker dies of it."""
        return await verb(self.cluster, resource, *arguments, **options)

    async def add_request(self, *, pods=1):
        seats = []
        for number in range(pods):
            pod = await self.plain(MemoryCluster.create, PODS, bodies.pod(f"web-{number}"), namespace="shop")
            seats.append({"namespace": "shop", "name": f"web-{number}", "uid": pod["metadata"]["uid"]})
        await self.plain(MemoryCluster.create, NODE_REQUESTS, bodies.request(NAME, seats=seats))

    async def add_removal(self, **spec):
        await self.plain(MemoryCluster.create, NODE_REMOVAL_REQUESTS, bodies.removal(NAME, nodeName=NAME, **spec))

    async def play(self, *parts):
        """Play a story: run, step, remove, until EFFECT, delete request, delete removal, say DECISION."""
        for part in parts:
            match part.split():
                case ["run"]:
                    await self.run()
                case ["step"]:
                    await self.run(until=lambda: bool(self.steps))
                case ["until", effect]:
                    await self.run(until=lambda effect=effect: any(step.startswith(effect) for step in self.steps))
                case ["remove"]:
                    await self.add_removal()
                case ["delete", kind]:
                    await self.delete(NODE_REQUESTS if kind == "request" else NODE_REMOVAL_REQUESTS)
                case ["say", word]:
                    decision = {"growth.dev/decision": word}
                    await self.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/annotations", decision)

    async def run(self, *, until=lambda: False):
        """Drive everything there is to its end, or until `until` says so; a death is followed by a new worker."""
        for _ in range(_STEPS):
            try:
                boots_at = await self.cloud.boot()
                await self._play()
                if until() or await self._is_over(boots_at):
                    return
            except Crash:
                self._die()
        raise AssertionError(f"no end after {_STEPS} steps, lately {self.steps[-12:]}")

    def _die(self):
        self.deaths += 1
        self.cluster.crash_at = self.cluster.crash_after = None
        self._start()

    async def _is_over(self, boots_at):
        """Take one step of every life, pass the time if all wait, and return whether none is left."""
        wakes = [boots_at] if boots_at else []
        lives = 0
        for resource, steps in ((NODE_REQUESTS, request), (NODE_REMOVAL_REQUESTS, removal)):
            for item in await self.items(resource):
                lives += 1
                wakes.append(await self._step(resource, steps, item["metadata"]))
        if lives and None not in wakes:
            self._now = min(wakes)
        return not lives

    async def _step(self, resource, steps, metadata):
        """Return when the life wants to be woken, or None if it acted."""
        activities = self._activities[resource]
        given = EffectInput(name=metadata["name"], uid=metadata["uid"])
        if resource is NODE_REQUESTS:
            step = steps.next_step(await activities.look_request(given), self._now)
        else:
            step = steps.next_step(await activities.look_removal(given), None, self._now)
        if isinstance(step, Wait):
            return step.wake_at(self._now)
        if isinstance(step, Act):
            self.steps.append(f"{step.effect} {step.reason}")
            try:
                for _ in range(2 if self.twice else 1):
                    await getattr(activities, step.effect)(given.model_copy(update={"act": step}))
            except GrowthError as error:
                if not error.retryable:
                    raise
                return self._now + timedelta(seconds=1)
        return None

    async def _play(self):
        """Be the kubelets and the scheduler."""
        for node in await self.items(NODES):
            if not is_ready(node):
                ready = set_field(node, ("status", "conditions"), [{"type": "Ready", "status": "True"}])
                await self.plain(MemoryCluster.patch, NODES, node["metadata"]["name"], ready, subresource="status")
            taints = {t["key"] for t in node["spec"].get("taints", ())}
            if is_ready(node) and not taints & {"growth.dev/unregistered", "growth.dev/scale-down"}:
                for pod in await self.items(PODS):
                    name = pod["metadata"]["name"]
                    if not pod["spec"].get("nodeName") and (not taints or tolerates(pod, NAME)):
                        self.cluster.bind("shop", name, node["metadata"]["name"])

    async def items(self, resource):
        return (await MemoryCluster.list(self.cluster, resource)).items

    async def names(self, resource):
        return [item["metadata"]["name"] for item in await self.items(resource)]

    async def servers(self):
        records = (await MemoryCluster.list(self.cluster, CONFIG_MAPS)).items
        return [r["metadata"]["name"] for r in records if "growth.dev/kwok-server" in r["metadata"].get("labels", {})]

    async def delete(self, resource):
        with suppress(GrowthError):
            await MemoryCluster.delete(self.cluster, resource, NAME)


async def through_deaths(story_of):
    """Run the story undisturbed, then with every effect twice, then with a death after every write.

    A death before a write is one after the write before it. Yields each story at its end.
    """
    first = await story_of(None, 0)
    yield first
    yield await story_of("twice", True)
    for write in range(1, len(first.cluster.writes) + 1):
        story = await story_of("crash_after", write)
        assert story.deaths == 1, f"nobody died after write {write}"
        yield story
