"""What a conformance test may do besides the port: the same deeds on the cluster in memory and on a real one."""

import asyncio
import contextlib
import json
import uuid
from dataclasses import dataclass
from typing import Any

from activities.ports.cluster import CRDS, PODS, Object, Resource
from activities.ports.errors import AlreadyExists, NotFound
from simulator.apiserver.cluster import MemoryCluster

WIDGETS = Resource("conformance.example.com", "v1", "Widget", "widgets", namespaced=False)
DEFINITION: Object = {
    "metadata": {"name": f"{WIDGETS.plural}.{WIDGETS.group}"},
    "spec": {
        "group": WIDGETS.group,
        "scope": "Cluster",
        "names": {"kind": WIDGETS.kind, "plural": WIDGETS.plural, "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": WIDGETS.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


@dataclass
class World:
    """A cluster with room for one test: names and labels that no other test uses."""

    cluster: Any
    namespace: str
    control_plane: Any = None
    """Of the real cluster; None in memory."""

    def name(self, suffix: str = "a") -> str:
        """Return a name for a cluster-scoped object."""
        return f"{self.namespace}-{suffix}"

    @property
    def selector(self) -> str:
        """The label selector of this test's cluster-scoped objects."""
        return f"test={self.namespace}"

    def config_map(self, name: str = "a", **metadata: Any) -> Object:
        return {"metadata": {"name": name, **metadata}, "data": {"key": "1"}}

    def widget(self, suffix: str = "a", **metadata: Any) -> Object:
        labels = {"test": self.namespace, **metadata.pop("labels", {})}
        return {"metadata": {"name": self.name(suffix), "labels": labels, **metadata}, "spec": {"size": 1}}

    def node(self, suffix: str = "a", **spec: Any) -> Object:
        labels = {"test": self.namespace}
        return {"metadata": {"name": self.name(suffix), "labels": labels}, "spec": spec}

    def pod(self, name: str = "a", **metadata: Any) -> Object:
        """Return a pod that no scheduler looks at, so that only the test changes it."""
        spec = {
            "schedulerName": "nobody",
            "containers": [{"name": "c", "image": "i"}],
            "tolerations": [{"key": "first", "operator": "Exists", "effect": "NoSchedule"}],
        }
        return {"metadata": {"name": name, **metadata}, "spec": spec}

    async def bind(self, name: str, node: str) -> None:
        """Assign a pod to a node, as a scheduler does."""
        if isinstance(self.cluster, MemoryCluster):
            self.cluster.bind(self.namespace, name, node)
            return
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/binding"
        await asyncio.to_thread(
            self.control_plane.kubectl, "create", "--raw", path, "-f", "-", stdin=json.dumps(binding)
        )

    async def finish(self, name: str) -> None:
        """Let a deleted pod go, as a kubelet does."""
        if isinstance(self.cluster, MemoryCluster):
            self.cluster.finish(self.namespace, name)
            return
        arguments = ("delete", "pod", name, f"--namespace={self.namespace}", "--grace-period=0", "--force")
        await asyncio.to_thread(self.control_plane.kubectl, *arguments)

    async def define_widgets(self) -> None:
        """Create the definition of widgets unless it exists, and wait until they are served."""
        with contextlib.suppress(AlreadyExists):
            await self.cluster.create(CRDS, DEFINITION)
        await self.until(self.serves_widgets)

    async def serves_widgets(self) -> bool:
        try:
            await self.cluster.list(WIDGETS)
        except NotFound:
            return False
        return True

    async def is_gone(self, resource: Resource, name: str, namespace: str | None = None) -> bool:
        try:
            await self.cluster.get(resource, name, namespace=namespace)
        except NotFound:
            return True
        return False

    async def until(self, holds: Any, seconds: float = 20) -> None:
        """Wait for what a controller does in the background; in memory it has happened already."""
        async with asyncio.timeout(seconds):
            while not await holds():
                await asyncio.sleep(0.05)

    async def set_phase(self, name: str, phase: str) -> None:
        """Report a pod's phase, as its kubelet does."""
        operations = [{"op": "add", "path": "/status/phase", "value": phase}]
        await self.cluster.patch(PODS, name, operations, namespace=self.namespace, subresource="status")


def fresh_name() -> str:
    """Return a name that no other test has."""
    return f"t{uuid.uuid4().hex[:10]}"
