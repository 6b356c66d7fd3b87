"""The world of a churn as Growth's planner sees it: objects of a cluster, each made once while it stays the same."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from activities.providers.kwok.catalogue import offerings
from api.keys import LABEL_ARCH, LABEL_HOSTNAME, LABEL_ZONE, TAINT_RESERVED
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import ClassRef, NodePool, NodePoolStatus
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from benchmarks.catalogue import ZONES
from benchmarks.churn.stream import ChurnWorkload, Stream
from benchmarks.churn.world import DAEMON, ChurnBudget, ChurnWorld
from benchmarks.instance import Instance
from benchmarks.objects import server_types_of
from planner.model.node_class import NodeClass
from planner.model.plan import PlannerMemory, Snapshot
from planner.objects.disruption_budget import DisruptionBudget
from planner.objects.kinds import Node, Owner, Pod, Requirement, Taint
from planner.parsing.objects import Json, parse_daemon_set, parse_pod
from planner.supply.node_template import node_labels
from simulator.peers.fleet import FleetMachine, FleetPod

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
POOL: Final = "default"
_APP: Final = "app"


class ChurnView:
    """Snapshots of a world.

    Args:
        world: whose pods and machines they show.
        scale_down: `spec.scaleDown` of the one pool.
    """

    def __init__(self, world: ChurnWorld, scale_down: Json) -> None:
        self._world = world
        node_class = KwokNodeClass.model_validate(
            {"metadata": {"name": "default"}, "spec": {"serverTypes": server_types_of(_machines(world.stream))}}
        )
        self.offerings = offerings(node_class)
        self.offering_of = {(one.name, one.zone): b for b, one in enumerate(world.fleet.offerings)}
        """Index in the fleet by server type and location."""
        by_name = {(one.server_type, one.location): one for one in self.offerings}
        self._planned = [by_name[one.name, one.zone] for one in world.fleet.offerings]
        names = dict.fromkeys(machine.name for machine in world.stream.machines)
        self.pool = NodePool.model_validate(
            {
                "metadata": {"name": POOL, "uid": POOL},
                "spec": {
                    "serverTypes": [{"name": name} for name in names],
                    "limits": {"max": 10_000},
                    "scaleDown": scale_down,
                },
            }
        )
        self._templates = [parse_pod(_pod(workload)) for workload in world.stream.workloads]
        self._daemon_set = parse_daemon_set(_DAEMON_SET)
        self._pods: dict[int, tuple[FleetMachine | None, Pod]] = {}
        self._nodes: dict[str, tuple[tuple[object, ...], Node]] = {}
        self._daemons: dict[str, Pod] = {}

    def snapshot(
        self,
        *,
        requests: tuple[NodeRequest, ...] = (),
        removals: tuple[NodeRemovalRequest, ...] = (),
        annotations: Mapping[str, Mapping[str, str]],
        status: NodeClassStatus,
        memory: PlannerMemory,
    ) -> Snapshot:
        """Return everything that a round decides on now."""
        world = self._world
        leaving = {removal.spec.server_name for removal in removals}
        ready = [machine for machine in world.fleet.machines.values() if machine.is_ready]
        pods = [self._pod_of(pod) for pods in world.of_workload for pod in pods.values()]
        return Snapshot(
            now=moment(world.now),
            pods=(*pods, *(self._daemon_on(machine) for machine in ready)),
            nodes=tuple(self._node(machine, annotations.get(machine.name, {}), leaving) for machine in ready),
            daemon_sets=(self._daemon_set,),
            disruption_budgets=tuple(map(self._budget, world.budgets())),
            pools=(self.pool,),
            classes=(NodeClass(ref=ClassRef(), offerings=self.offerings, status=status),),
            requests=requests,
            removals=removals,
            watched_since=EPOCH,
            memory=memory,
        )

    def empty_cluster(self, counts: list[int], at: int) -> Snapshot:
        """Return a cluster without machines in which so many pods of each workload wait."""
        pods = [
            replace(template, name=f"{template.name}-{k}", uid=f"{template.name}-{k}", is_unschedulable=True)
            for template, number in zip(self._templates, counts, strict=True)
            for k in range(number)
        ]
        return Snapshot(
            now=moment(at),
            pods=tuple(pods),
            daemon_sets=(self._daemon_set,),
            pools=(self.pool,),
            classes=(NodeClass(ref=ClassRef(), offerings=self.offerings),),
        )

    def report(self, status: NodePoolStatus) -> None:
        """Let the pool have a status from now on."""
        self.pool = self.pool.model_copy(update={"status": status})

    def forget(self) -> None:
        """Drop what is kept of pods and machines that are gone."""
        world = self._world
        alive = {uid for pods in world.of_workload for uid in pods}
        self._pods = {uid: known for uid, known in self._pods.items() if uid in alive}
        self._nodes = {name: known for name, known in self._nodes.items() if name in world.fleet.machines}

    def _pod_of(self, pod: FleetPod) -> Pod:
        known = self._pods.get(pod.uid)
        if known is not None and known[0] is pod.machine:
            return known[1]
        template, machine = self._templates[pod.workload], pod.machine
        revision = f"{template.name}-{self._world.revisions[pod.workload]}"
        owner = replace(template.owner, name=revision, uid=revision) if template.owner is not None else None
        name = f"{revision}-{pod.uid}"
        made = replace(
            template,
            name=name,
            uid=str(pod.uid),
            owner=known[1].owner if known is not None else owner,
            node_name="" if machine is None else machine.name,
            phase="Pending" if machine is None else "Running",
            is_unschedulable=machine is None,
            created_at=moment(pod.created),
        )
        self._pods[pod.uid] = machine, made
        return made

    def _budget(self, counted: ChurnBudget) -> DisruptionBudget:
        name = self._world.stream.workloads[counted.workload].name
        return DisruptionBudget(
            namespace="default",
            name=name,
            selector=(Requirement(_APP, "In", (name,)),),
            allowed=counted.allowed,
            healthy=counted.healthy,
            needed=counted.needed,
        )

    def _node(self, machine: FleetMachine, annotations: Mapping[str, str], leaving: Collection[str]) -> Node:
        # What another hand has tainted is closed to pods as one that a person has cordoned.
        is_cordoned = machine.is_closed and machine.name not in leaving
        state = (machine.reserved is not None, dict(annotations), is_cordoned)
        known = self._nodes.get(machine.name)
        if known is not None and known[0] == state:
            return known[1]
        offering = self._planned[machine.offering]
        made = Node(
            name=machine.name,
            uid=machine.name,
            allocatable=offering.allocatable,
            labels=node_labels(self.pool, offering, machine.name, machine.name),
            annotations=annotations,
            taints=() if machine.reserved is None else (Taint(TAINT_RESERVED, machine.name),),
            is_ready=True,
            is_cordoned=is_cordoned,
            provider_id=f"churn://{machine.name}",
            created_at=moment(machine.ready),
            ready_since=moment(machine.ready),
        )
        self._nodes[machine.name] = state, made
        return made

    def _daemon_on(self, machine: FleetMachine) -> Pod:
        if machine.name not in self._daemons:
            self._daemons[machine.name] = replace(
                self._daemon_set.template,
                name=f"agent-{machine.name}",
                uid=f"agent-{machine.name}",
                owner=Owner("DaemonSet", self._daemon_set.name, self._daemon_set.uid),
                node_name=machine.name,
                phase="Running",
                is_daemon=True,
            )
        return self._daemons[machine.name]


def moment(seconds: int) -> datetime:
    """Return the time so many seconds after the beginning."""
    return EPOCH + timedelta(seconds=seconds)


def _machines(stream: Stream) -> Instance:
    return Instance((), stream.machines)


def _pod(workload: ChurnWorkload) -> Json:
    requests = {"cpu": f"{workload.cpu}m", "memory": f"{workload.memory}Mi"}
    spreads = [(LABEL_ZONE, workload.zone_skew), (LABEL_HOSTNAME, workload.host_skew)]
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "resources": {"requests": requests}}],
        "nodeSelector": {LABEL_ARCH: workload.architecture} if workload.architecture else {},
        "topologySpreadConstraints": [
            ({"minDomains": len(ZONES)} if key == LABEL_ZONE else {})
            | {
                "topologyKey": key,
                "maxSkew": skew,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {_APP: workload.name}},
            }
            for key, skew in spreads
            if skew is not None
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}] if workload.has_empty_dir else [],
    }
    kind = "Job" if workload.is_job else "ReplicaSet"
    owner = {"apiVersion": "v1", "kind": kind, "name": workload.name, "uid": workload.name, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": workload.name,
            "namespace": "default",
            "uid": workload.name,
            "labels": {_APP: workload.name},
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"} if workload.is_job else {},
            "ownerReferences": [owner],
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


_AGENT: Final = {"app": "agent"}
_DAEMON_SET: Final[Json] = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "agent", "namespace": "kube-system", "uid": "agent"},
    "spec": {
        "selector": {"matchLabels": _AGENT},
        "template": {
            "metadata": {"labels": _AGENT},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "resources": {"requests": {"cpu": f"{DAEMON[0]}m", "memory": f"{DAEMON[1]}Mi"}},
                    }
                ]
            },
        },
    },
}
