"""What running servers do to a cluster: their kubelets register Nodes, and Hetzner's controller looks after these.

Source: Kubernetes docs, kubelet, "Reserve Compute Resources" (allocatable) and "Cloud Controller Manager"
(initialisation, end of Nodes); hcloud-cloud-controller-manager (provider id, labels).
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from activities.kube.json_patch import escape, guarded, set_field
from activities.ports.cluster import NODES, Cluster, Object, PatchOp
from activities.ports.errors import AlreadyExists, Conflict, NotFound
from api.keys import LABEL_ARCH, LABEL_HOSTNAME, LABEL_INSTANCE_TYPE, LABEL_OS, LABEL_REGION, LABEL_ZONE, OLD_LABELS
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.flags import KubeletFlags, read_flags
from simulator.hetzner.project.price_list import ListedServerType
from simulator.hetzner.project.server import ServerRecord

_FAKE: Final = {"kwok.x-k8s.io/node": "fake"}
"""The annotation by which KWOK knows the Nodes that it plays."""
_SCHEME: Final = "hcloud://"
_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
_PROVIDED_BY: Final = {"instance.hetzner.cloud/provided-by": "cloud"}
_ARCHITECTURES: Final = {"x86": "amd64", "arm": "arm64"}
_DISK_LEFT: Final = Fraction(98, 100)
"""Of the decimal gigabytes that are advertised, once partitions and file system are made."""
_GIB: Final = 2**30
_GB: Final = 10**9
_KI: Final = 2**10

log = logging.getLogger(__name__)


class HetznerNodes:
    """The kubelets of all servers of a cloud, and, if asked for, Hetzner's cloud-controller-manager.

    Args:
        cloud: whose servers.
        cluster: where the Nodes live.
        now: the time, UTC.
        join_seconds: from a server's start until its Node registers.
        memory_loss: how much of the advertised memory a server does not have.
        controller: whether the cloud-controller-manager runs.
        controller_delay_seconds: from a Node's registration until that sees it.
        other_scheme: of the provider ids that Nodes register with, such as `k3s`, instead of their servers' own.
        labels_are_lost: whether Nodes come without the labels of their user data, as when that sets taints alone.
        joins: whether a server's user data lets it join this cluster: several clusters may share a project.
    """

    def __init__(
        self,
        cloud: FakeHetzner,
        cluster: Cluster,
        *,
        now: Callable[[], datetime],
        join_seconds: float = 2.0,
        memory_loss: float = 0.069,
        controller: bool = False,
        controller_delay_seconds: float = 0.0,
        other_scheme: str = "",
        labels_are_lost: bool = False,
        joins: Callable[[ServerRecord], bool] = lambda _server: True,
    ) -> None:
        self._joins = joins
        self._cloud = cloud
        self._cluster = cluster
        self._now = now
        self._join = timedelta(seconds=join_seconds)
        self._memory_left = 1 - Fraction(str(memory_loss))
        self._controller_delay = timedelta(seconds=controller_delay_seconds) if controller else None
        self._other_scheme = other_scheme
        self._labels_are_lost = labels_are_lost
        self._joined: dict[int, tuple[str, datetime]] = {}
        """Names of the Nodes that servers registered, and when: one that a person deletes does not come again."""

    async def step(self) -> bool:
        """Let every kubelet and the controller look once, and return whether anything changed."""
        now = self._now()
        servers = {each.id: each for name in list(self._cloud.projects) for each in self._cloud.servers_of(name)}
        changed = False
        for server in filter(self._joins, servers.values()):
            if server.id not in self._joined and server.running_since is not None:
                changed |= now >= server.running_since + self._join and await self._register(server, now)
        if self._controller_delay is not None:
            nodes = (await self._cluster.list(NODES)).items
            changed |= await self._control(servers, {node["metadata"]["name"]: node for node in nodes}, now)
        return changed

    async def _register(self, server: ServerRecord, now: datetime) -> bool:
        flags = read_flags(server.user_data)
        if refused := flags.refused_labels():
            log.warning("the kubelet of server %s does not start with labels %s", server.name, refused)
            return False
        is_new = True
        try:
            # An API server that does not answer is asked again, as a kubelet does.
            await self._cluster.create(NODES, self._node(server, flags))
        except AlreadyExists:
            log.info("Node %s exists already", server.name)
            is_new = False
        self._joined[server.id] = server.name, now
        return is_new

    def _node(self, server: ServerRecord, flags: KubeletFlags) -> Object:
        machine = self._cloud.machine(server.server_type)
        taints = [dict(taint) for taint in flags.taints]
        if flags.is_external:
            taints.append({"key": _UNINITIALIZED, "value": "true", "effect": "NoSchedule"})
        spec: dict[str, Any] = {"taints": taints} if taints else {}
        if self._other_scheme:
            # Source: k3s' own cloud controller, whose provider ids are k3s:// and the node's name.
            spec["providerID"] = f"{self._other_scheme}://{server.name}"
        elif flags.names_provider_id:
            spec["providerID"] = f"{_SCHEME}{server.id}"
        labels = {
            LABEL_HOSTNAME: server.name,
            LABEL_ARCH: _ARCHITECTURES[machine.architecture],
            LABEL_OS: "linux",
        }
        old_names = {OLD_LABELS[label]: labels[label] for label in (LABEL_ARCH, LABEL_OS)}
        labels = {**labels, **old_names, **({} if self._labels_are_lost else flags.labels)}
        return {
            "apiVersion": NODES.api_version,
            "kind": NODES.kind,
            "metadata": {"name": server.name, "labels": labels, "annotations": dict(_FAKE)},
            "spec": spec,
            "status": self._amounts(machine, flags),
        }

    def _amounts(self, machine: ListedServerType, flags: KubeletFlags) -> dict[str, dict[str, str]]:
        """Return capacity and allocatable."""
        cpu = Fraction(machine.cores)
        memory = machine.memory_gib * _GIB * self._memory_left
        disk = machine.disk_gb * _GB * _DISK_LEFT
        pods = str(flags.max_pods)
        left_cpu = cpu - flags.reserved.get("cpu", Fraction(0))
        left_memory = memory - flags.withheld("memory", "memory.available", memory)
        left_disk = disk - flags.withheld("ephemeral-storage", "nodefs.available", disk)
        return {
            "capacity": {
                "cpu": str(machine.cores),
                "memory": _kibibytes(memory),
                "ephemeral-storage": str(int(disk)),
                "pods": pods,
            },
            "allocatable": {
                "cpu": f"{max(0, int(left_cpu * 1000))}m",
                "memory": _kibibytes(left_memory),
                "ephemeral-storage": str(max(0, int(left_disk))),
                "pods": pods,
            },
        }

    async def _control(self, servers: Mapping[int, ServerRecord], nodes: Mapping[str, Object], now: datetime) -> bool:
        """Initialise the Nodes of servers, and delete those whose server is gone."""
        delay = self._controller_delay or timedelta(0)
        named = {server.name: server for server in servers.values()}
        gone = {name for id_, (name, _) in self._joined.items() if id_ not in servers and name not in named}
        changed = False
        for name, node in nodes.items():
            provider_id = node.get("spec", {}).get("providerID") or ""
            server = named.get(name)
            try:
                is_gone = provider_id.startswith(_SCHEME) and _id_of(provider_id) not in servers
                if is_gone or (name in gone and not provider_id):
                    await self._cluster.delete(NODES, name, uid=node["metadata"]["uid"])
                    changed = True
                elif server is not None and now >= self._joined.get(server.id, (name, now))[1] + delay:
                    changed |= await self._initialise(node, server)
            except (Conflict, NotFound):
                # Somebody else was quicker: at the next look.
                changed = True
        return changed

    async def _initialise(self, node: Object, server: ServerRecord) -> bool:
        place = self._cloud.place(server.location)
        labels = {
            LABEL_INSTANCE_TYPE: server.server_type,
            LABEL_REGION: place.name,
            LABEL_ZONE: place.node_zone,
        }
        labels |= {OLD_LABELS[label]: value for label, value in labels.items()} | _PROVIDED_BY
        present = node["metadata"].get("labels") or {}
        operations: list[PatchOp] = [
            {"op": "add", "path": f"/metadata/labels/{escape(key)}", "value": value}
            for key, value in labels.items()
            if present.get(key) != value
        ]
        spec = node.get("spec", {})
        taints = spec.get("taints") or []
        others = [taint for taint in taints if taint["key"] != _UNINITIALIZED]
        # A provider id is never changed again.
        if not spec.get("providerID"):
            operations += set_field(node, ("spec", "providerID"), f"{_SCHEME}{server.id}")
        if others != taints:
            operations += set_field(node, ("spec", "taints"), others or None)
        if not operations:
            return False
        await self._cluster.patch(NODES, node["metadata"]["name"], guarded(node, operations))
        return True


def _id_of(provider_id: str) -> int:
    """Return the id of the server; that of an unreadable one is none that a server has."""
    digits = provider_id.removeprefix(_SCHEME)
    return int(digits) if digits.isdecimal() else 0


def _kibibytes(amount: Fraction) -> str:
    return f"{max(0, int(amount / _KI))}Ki"
