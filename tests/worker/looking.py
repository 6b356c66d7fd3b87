"""A cluster in memory for commands that only look, and scenes as they see them."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from activities.kube.kubeconfig import Access
from activities.ports.cluster import (
    CRDS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PERSISTENT_VOLUMES,
    PODS,
    ObjectList,
    Resource,
)
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.providers.built_in import KWOK_NODE_CLASSES
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.bodies import definitions
from tests.builders import Json
from tests.planner.scenes import Scene
from worker import cli
from worker.commands.shared.cluster_view import ClusterView, NextStep, cluster_view
from worker.commands.shared.next_steps import next_steps
from worker.commands.shared.read_once import ReadOnce

READ_ONLY = frozenset({"list", "get"})


def sight(scene: Scene) -> ClusterView:
    """Return the scene as a command sees it."""
    snapshot = scene.snapshot()
    recorded = Recorded(scene)

    async def steps() -> Mapping[str, NextStep]:
        read = ReadOnce(recorded)
        for resource in recorded.lists:
            await read.list(resource)
        ports = Ports(recorded, recorded, {}, lambda: scene.now, cluster_name="here", namespace="growth")
        return await next_steps(ports, read)

    with ThreadPoolExecutor(1) as pool:
        # A test may have a loop of its own.
        known = pool.submit(asyncio.run, steps()).result()
    return cluster_view(snapshot, {node["metadata"]["name"]: node for node in scene.nodes}, known)


class Recorded:
    """A scene as an API server lists it."""

    def __init__(self, scene: Scene) -> None:
        self.lists = {
            KWOK_NODE_CLASSES: scene.classes,
            NODE_POOLS: scene.pools,
            NODES: scene.nodes,
            PERSISTENT_VOLUMES: scene.volumes,
            PODS: scene.pods,
            NODE_REQUESTS: scene.requests,
            NODE_REMOVAL_REQUESTS: scene.removals,
        }

    async def list(self, resource):
        return ObjectList(self.lists[resource], "1")

    async def get(self, resource, name):
        assert resource == CRDS
        return {"metadata": {"name": name}}


class LookedAt(MemoryCluster):
    """Refuses every write once it is closed for writing, and fails where a test says."""

    def __init__(self, now: Callable[[], object]) -> None:
        super().__init__(now)
        self.access = Access("context here", "here", "shop")
        self.fail: dict[str, GrowthError] = {}
        """Error of a list by plural name."""
        self.is_filled = False
        self.is_closed = False

    async def list(self, resource, **selectors):
        if resource.plural in self.fail:
            raise self.fail[resource.plural]
        return await super().list(resource, **selectors)

    async def create(self, *given, **options):
        assert not self.is_filled, "a command that only looks has written"
        return await super().create(*given, **options)

    async def patch(self, *given, **options):
        assert not self.is_filled, "a command that only looks has written"
        return await super().patch(*given, **options)

    async def delete(self, *given, **options):
        raise AssertionError("a command that only looks has written")

    async def close(self) -> None:
        self.is_closed = True

    async def fill(self, scene: Scene, *events: tuple[Resource, Json]) -> None:
        """Put the scene's objects there, and accept no write from then on."""
        self.install_definitions(definitions())
        of_scene = [
            (KWOK_NODE_CLASSES, scene.classes),
            (NODE_POOLS, scene.pools),
            (NODES, scene.nodes),
            (PODS, scene.pods),
            (NODE_REQUESTS, scene.requests),
            (NODE_REMOVAL_REQUESTS, scene.removals),
        ]
        for resource, item in [*((r, item) for r, items in of_scene for item in items), *events]:
            namespace = item["metadata"].get("namespace")
            metadata = {key: value for key, value in item["metadata"].items() if key != "uid"}
            made = await self.create(resource, {**item, "metadata": metadata}, namespace=namespace)
            if "status" in item and made.get("status") != item["status"]:
                change = [{"op": "add", "path": "/status", "value": item["status"]}]
                await self.patch(resource, metadata["name"], change, namespace=namespace, subresource="status")
        self.is_filled = True


def growth(monkeypatch, capsys, *words):
    """Run the command line and return exit code, output and error output."""
    monkeypatch.setattr(sys, "argv", ["growth", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return ended.value.code, out, err
