"""A dump of a whole cluster, as `kubectl get pods,nodes,… -A -o json` prints it: drawn from a seed, never real.

    python -m benchmarks.dump --nodes 200 --pods 3000 > dump.json
    python -m benchmarks.dump --yaml > dump.yaml

Each object has the size that such objects have: statuses, owner references, container settings, and with
`--managed-fields` who wrote which field, as `--show-managed-fields` prints it.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Final

import yaml
from cyclopts import App, Parameter

from benchmarks.dump_nodes import csi_node, node, storage
from benchmarks.dump_owned import DumpedWorkload, daemon_set, disruption_budget, replica_set
from benchmarks.dump_pods import claim, pod, volume

_DAEMON_SETS: Final = 5
_REVISIONS: Final = 10
"""ReplicaSets kept of each Deployment. Source: revisionHistoryLimit of the apps/v1 API, its default."""
_PODS_OF_WORKLOAD: Final = 6
_CLAIM_SHARE: Final = 0.1
"""Workloads whose pods have a volume each."""
_ROOM: Final = {"cpu": 7_820, "memory": 14_500}
"""Of a node, in millicores and MiB: the allocatable of `benchmarks.dump_nodes`."""

app = App(name="benchmarks.dump")


@dataclass(frozen=True, slots=True)
class Size:
    """How much a cluster has."""

    nodes: int = 200
    pods: int = 3000
    """All of them, those of DaemonSets included."""
    namespaces: int = 40


@app.default
def main(
    *,
    nodes: int = 200,
    pods: int = 3000,
    seed: int = 0,
    as_yaml: Annotated[bool, Parameter(name="--yaml", negative="")] = False,
    managed_fields: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Print the dump.

    Args:
        nodes: how many Nodes.
        pods: how many Pods, those of DaemonSets included.
        seed: which of all such clusters.
        as_yaml: as YAML, else as JSON.
        managed_fields: with metadata.managedFields.
    """
    items = list(objects(Size(nodes, pods), seed, managed_fields=managed_fields))
    whole = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    if as_yaml:
        # As kubectl writes it: keys sorted, lists not indented.
        yaml.dump(whole, sys.stdout, Dumper=yaml.CSafeDumper, width=10_000)
    else:
        # As kubectl writes it: keys sorted.
        json.dump(whole, sys.stdout, indent=4, sort_keys=True)
        sys.stdout.write("\n")


def objects(size: Size, seed: int, *, managed_fields: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster in the order of `kubectl get pods,nodes,pv,pvc,storageclasses,…`."""
    random = Random(seed)  # noqa: S311 - it draws test data
    for item in _objects(size, random):
        if managed_fields:
            item["metadata"]["managedFields"] = _managers(item)
        yield item


def _objects(size: Size, random: Random) -> Iterator[dict[str, Any]]:
    nodes = [f"default-{random.getrandbits(40):010x}" for _ in range(size.nodes)]
    namespaces = ["default", "kube-system", *(f"team-{i:02}" for i in range(size.namespaces - 2))]
    daemons = [DumpedWorkload("DaemonSet", "kube-system", f"agent-{i}", random) for i in range(_DAEMON_SETS)]
    rest = max(0, size.pods - len(daemons) * size.nodes)
    workloads = [
        DumpedWorkload("ReplicaSet", random.choice(namespaces[2:]), f"app-{i:04}", random)
        for i in range(-(-rest // _PODS_OF_WORKLOAD))
    ]
    # The first one in any case, so that a small dump has every kind of storage, too.
    with_claims = {w for i, w in enumerate(workloads) if random.random() < _CLAIM_SHARE or not i}

    free = {name: dict(_ROOM) for name in nodes}
    for owner in daemons:
        for name in nodes:
            _take(free[name], owner)
            yield pod(owner, random, name)
    claims: list[tuple[DumpedWorkload, str, str]] = []
    for i in range(rest):
        owner = workloads[i // _PODS_OF_WORKLOAD]
        # Pods of a workload are on different nodes, and those that find no room wait, as in a cluster that is full.
        steps = range(0, max(1, len(nodes) - _PODS_OF_WORKLOAD + 1), _PODS_OF_WORKLOAD)
        nearby = (nodes[(i + step) % len(nodes)] for step in steps)
        name = next((name for name in nearby if _take(free[name], owner)), "")
        claim_name = f"data-{owner.name}-{i}" if owner in with_claims and name else ""
        if claim_name:
            claims.append((owner, claim_name, name))
        yield pod(owner, random, name, claim=claim_name)
    yield from (node(name, i, random) for i, name in enumerate(nodes))
    for owner, claim_name, name in claims:
        yield volume(owner, claim_name, nodes.index(name))
        yield claim(owner, claim_name)
    yield from storage()
    yield from (csi_node(name) for name in nodes)
    for name in namespaces:
        labels = {"kubernetes.io/metadata.name": name, "team": name.rpartition("-")[2]}
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"labels": labels, "name": name, "uid": f"ns-{name}"},
        }
    yield from (daemon_set(owner) for owner in daemons)
    for owner in workloads:
        yield from (replica_set(owner, random, is_newest=i == 0) for i in range(_REVISIONS))
        yield disruption_budget(owner)


def _take(free: dict[str, int], owner: DumpedWorkload) -> bool:
    """Take room for a pod of the workload, and return whether there was enough."""
    if owner.millicores > free["cpu"] or owner.mebibytes > free["memory"]:
        return False
    free["cpu"] -= owner.millicores
    free["memory"] -= owner.mebibytes
    return True


def _managers(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": item["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:{key}": _fields(value) for key, value in item.items() if isinstance(value, dict)},
            "manager": manager,
            "operation": "Update",
            "time": "2026-01-01T00:00:00Z",
        }
        for manager in ("kube-controller-manager",)
    ]


def _fields(value: Any) -> dict[str, Any]:
    """Return the names of all fields, as who manages them is written down."""
    if isinstance(value, list):
        return {
            f'k:{{"name":"{one.get("name", i)}"}}': _fields(one) for i, one in enumerate(value) if isinstance(one, dict)
        }
    if not isinstance(value, dict):
        return {}
    return {".": {}} | {f"f:{key}": _fields(inner) for key, inner in value.items()}


if __name__ == "__main__":
    app()
