"""An instance as ordinary Kubernetes objects: what a cluster with these pods would show to Growth."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from activities.providers.kwok.catalogue import offerings
from api.keys import LABEL_ARCH, LABEL_HOSTNAME, LABEL_ZONE
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from benchmarks.catalogue import ZONES, CatalogueMachine
from benchmarks.instance import DEDICATED, SCARCE, Instance, InstanceShape
from planner.model.node_class import NodeClass
from planner.model.plan import Plan, Snapshot
from planner.packing.problem import PackedNode, Packing
from planner.parsing.objects import Json, parse_objects, parse_pod
from planner.supply.sums.price_units import price_units
from simulator.peers.problem import PeerProblem

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Any time: nothing here has an age."""
_SOMEWHERE: Final = "fsn1"
"""Location of machines that are in no zone."""
_FAMILY: Final = "family"
_SHAPE: Final = "shape"
_FIRST_PORT: Final = 8000
_MOST_MACHINES: Final = 100_000
_WAITING: Final = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}


def snapshot_of(instance: Instance) -> Snapshot:
    """Return a cluster without machines in which all pods of the instance wait, and one pool that takes them all."""
    parsed = parse_objects(pods=pods_of(instance))
    node_class = KwokNodeClass.model_validate(
        {"metadata": {"name": "default"}, "spec": {"serverTypes": server_types_of(instance)}}
    )
    names = dict.fromkeys(machine.name for machine in instance.machines)
    limited = {} if instance.limit is None else {"max": instance.limit}
    pool = NodePool.model_validate(
        {
            "metadata": {"name": "default"},
            "spec": {
                "serverTypes": [{"name": name} | (limited if name in SCARCE else {}) for name in names],
                "limits": {"max": _MOST_MACHINES},
            },
        }
    )
    return Snapshot(
        now=_NOW,
        pods=parsed.pods,
        pools=(pool,),
        classes=(NodeClass(ref=ClassRef(), offerings=offerings(node_class)),),
        problems=parsed.problems,
    )


def packing_of(problem: PeerProblem, made: Plan) -> Packing:
    """Return the machines of a plan for the snapshot of an instance, as a packing of its problem."""
    names = (name.partition(" ") for name in problem.offerings)
    offerings = {(kind, zone or _SOMEWHERE): b for b, (kind, _, zone) in enumerate(names)}
    nodes = tuple(
        PackedNode(
            offerings[bought.server_type, bought.location],
            Counter(int(seat.name.split("-")[1]) for seat in bought.seats),
        )
        for bought in made.requests
    )
    left = Counter(int(unplaced.pod.split("-")[1]) for unplaced in made.unplaced)
    return Packing(nodes, dict(left), proven=price_units(made.lower_bound_per_hour))


def unjudged_pods(instance: Instance) -> int:
    """Return the number of pods with a constraint that the planner does not judge: it would buy nothing for them."""
    examples = enumerate(instance.shapes)
    return sum(shape.count for i, shape in examples if parse_pod(pod_of(f"example-{i}", i, shape)).unjudged)


def pods_of(instance: Instance) -> Iterator[Json]:
    """Yield its pods as the API server would show them, waiting for a machine."""
    for i, shape in enumerate(instance.shapes):
        for k in range(shape.count):
            # Padded, so that names sort as shapes do, and classes keep the order that ties are decided by.
            yield pod_of(f"pod-{i:05}-{k:05}", i, shape)


def pod_of(name: str, i: int, shape: InstanceShape) -> Json:
    """Return a waiting pod of an instance's shape `i`."""
    requests = {"cpu": f"{shape.cpu}m", "memory": f"{shape.memory}Mi"}
    if shape.disk:
        requests["ephemeral-storage"] = f"{shape.disk}Mi"
    container: dict[str, Any] = {"name": "main", "resources": {"requests": requests}}
    if shape.port is not None:
        port = _FIRST_PORT + shape.port
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {_SHAPE: str(i)}},
        "spec": {"containers": [container], **_constraints(i, shape)},
        "status": _WAITING,
    }


def _constraints(i: int, shape: InstanceShape) -> Mapping[str, Any]:
    selector = {LABEL_ARCH: shape.architecture, LABEL_ZONE: shape.zone}
    if shape.is_dedicated:
        selector[_FAMILY] = DEDICATED
    kept_away = sorted(shape.apart | ({i} if shape.per_node == 1 else set()))
    spread = [(LABEL_ZONE, 1)] if shape.is_spread else []
    host_skew = shape.host_skew or (shape.per_node if shape.per_node != 1 else None)
    if host_skew is not None:
        spread.append((LABEL_HOSTNAME, host_skew))
    spec: dict[str, Any] = {
        "nodeSelector": {key: value for key, value in selector.items() if value},
        "topologySpreadConstraints": [_spread(i, key, skew) for key, skew in spread],
    }
    if kept_away:
        among = {"key": _SHAPE, "operator": "In", "values": [str(k) for k in kept_away]}
        term = {"topologyKey": LABEL_HOSTNAME, "labelSelector": {"matchExpressions": [among]}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return spec


def _spread(i: int, key: str, skew: int) -> Json:
    all_zones = {"minDomains": len(ZONES)} if key == LABEL_ZONE else {}
    return all_zones | {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {_SHAPE: str(i)}},
    }


def server_types_of(instance: Instance) -> list[dict[str, Any]]:
    """Return the machines of an instance as the server types of a KwokNodeClass."""
    places: dict[str, list[CatalogueMachine]] = {}
    for machine in instance.machines:
        places.setdefault(machine.name, []).append(machine)
    return [_server_type(alike[0], [machine.zone or _SOMEWHERE for machine in alike]) for alike in places.values()]


def _server_type(machine: CatalogueMachine, locations: Iterable[str]) -> dict[str, Any]:
    return {
        "name": machine.name,
        "capacity": {
            "cpu": f"{machine.cpu}m",
            "memory": f"{machine.memory}Mi",
            "ephemeral-storage": f"{machine.disk}Mi",
            "pods": str(machine.pods),
        },
        "architecture": machine.architecture,
        "labels": {_FAMILY: machine.family},
        "pricePerHour": machine.price_per_hour,
        "locations": [{"name": location} for location in locations],
    }
