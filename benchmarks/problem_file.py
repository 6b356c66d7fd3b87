"""A problem as a JSON file, so that programs that are not ours can be given the very same.

Classes carry a nodeSelector that says of them what their list of offerings says: with what a pod
asks for, it leaves exactly those offerings.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from benchmarks.catalogue import CatalogueMachine
from benchmarks.instance import DEDICATED, PORTS, Instance, InstanceShape
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_of
from simulator.peers.problem import ClassSpread, PeerProblem

_ONLY_ZONE: Final = "everywhere"
"""The zone of machines that have none: a program may ask for one of each."""
_LABELS: Final[Mapping[str, str]] = {
    "architecture": "kubernetes.io/arch",
    "zone": "topology.kubernetes.io/zone",
    "family": "benchmark.growth.dev/family",
}
"""By what pods choose machines, and the label of each; first of what they are most likely to name."""


class Inexpressible(ValueError):
    """Kubernetes objects cannot say it; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPool:
    """Machines among which a program of a peer chooses by itself, as its user would set them up."""

    name: str
    weight: int
    """A pool of a higher weight comes first, whatever it costs."""
    types: tuple[str, ...]
    tolerating: tuple[int, ...] | None = None
    """Not None: the machines are tainted, and pods of these classes alone tolerate it."""


def write(
    path: Path, problem: PeerProblem, machines: Sequence[CatalogueMachine], set_ups: Mapping[str, Sequence[ProblemPool]]
) -> None:
    """Write a problem and the set-ups of pools that peers shall be run with.

    Args:
        path: the file.
        problem: what waits and what can be bought, without priorities or bounds.
        machines: what stands behind each of its bins, in their order.
        set_ups: pools by the name of the set-up.

    Raises:
        Inexpressible: pods or machines have what the file has no words for.
    """
    packing = problem.packing
    if packing.limits:
        raise Inexpressible("a bound on the number of machines of one type: pools bound all of theirs together")
    if any(group.tier for group in packing.groups):
        raise Inexpressible("a priority: peers pack without regard to it")
    document = {
        "currency": problem.currency,
        "resources": problem.resources,
        "zones": problem.zones,
        "offerings": [
            {
                "name": name,
                "type": machine.name,
                **_properties(machine),
                "capacity": dict(zip(problem.resources, made_of.capacity, strict=True)),
                "price": made_of.price,
            }
            for name, machine, made_of in zip(problem.offerings, machines, packing.bins, strict=True)
        ],
        "classes": [
            {
                "count": group.count,
                "demand": dict(zip(problem.resources, group.demand, strict=True)),
                "offerings": sorted(group.bins),
                "selector": _selector(problem, machines, i),
                "perNode": group.per_node,
                "apart": sorted(group.apart),
                "zoneSkew": problem.spreads.get(i, ClassSpread()).zone_skew,
                "hostSkew": problem.spreads.get(i, ClassSpread()).host_skew,
            }
            for i, group in enumerate(packing.groups)
        ],
        "setUps": {name: [asdict(pool) for pool in pools] for name, pools in set_ups.items()},
    }
    path.write_text(json.dumps(document))


def read(path: Path) -> PeerProblem:
    """Return the problem that a file holds."""
    document = json.loads(path.read_text())
    resources = tuple(document["resources"])
    groups = tuple(
        GroupRow(
            demand=tuple(one["demand"][resource] for resource in resources),
            count=one["count"],
            bins=frozenset(one["offerings"]),
            per_node=one["perNode"],
            apart=frozenset(one["apart"]),
        )
        for one in document["classes"]
    )
    bins = tuple(
        BinRow(tuple(one["capacity"][resource] for resource in resources), one["price"])
        for one in document["offerings"]
    )
    names = tuple(one["name"] for one in document["offerings"])
    spreads = {
        i: ClassSpread(one["zoneSkew"], one["hostSkew"], _left_by(one["selector"], document["offerings"]))
        for i, one in enumerate(document["classes"])
        if one["zoneSkew"] or one["hostSkew"]
    }
    packing, zones = PackingProblem(groups, bins), tuple(document["zones"])
    return PeerProblem(packing, names, resources, document["currency"], zones=zones, spreads=spreads)


def read_instance(path: Path) -> Instance:
    """Return the shapes and machines that a file holds, of which Kubernetes objects can be made.

    Raises:
        Inexpressible: a class asks for what no shape asks for.
    """
    document = json.loads(path.read_text())
    machines = tuple(
        CatalogueMachine(
            name=one["type"],
            zone="" if one["zone"] == _ONLY_ZONE else one["zone"],
            price_per_hour=price_of(one["price"]),
            cpu=one["capacity"]["cpu"],
            memory=one["capacity"]["memory"],
            disk=one["capacity"]["ephemeral-storage"],
            pods=one["capacity"]["pods"],
        )
        for one in document["offerings"]
    )
    return Instance(tuple(map(_shape, document["classes"])), machines)


def _shape(entry: Mapping[str, Any]) -> InstanceShape:
    demand, asked = entry["demand"], {name: entry["selector"].get(label, "") for name, label in _LABELS.items()}
    if asked["family"] not in {"", DEDICATED}:
        raise Inexpressible(f"a class that asks for machines of the family {asked['family']}")
    ports = [port for port in range(PORTS) if demand[f"port-{port}"]]
    return InstanceShape(
        count=entry["count"],
        cpu=demand["cpu"],
        memory=demand["memory"],
        disk=demand["ephemeral-storage"],
        architecture=asked["architecture"],
        is_dedicated=asked["family"] == DEDICATED,
        per_node=entry["perNode"],
        port=ports[0] if ports else None,
        apart=frozenset(entry["apart"]),
        zone="" if asked["zone"] == _ONLY_ZONE else asked["zone"],
        is_spread=entry["zoneSkew"] is not None,
        host_skew=entry["hostSkew"],
    )


def _left_by(selector: Mapping[str, str], offerings: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    asked = {name: selector[label] for name, label in _LABELS.items() if label in selector}
    return frozenset(b for b, one in enumerate(offerings) if asked.items() <= one.items())


def _properties(machine: CatalogueMachine) -> dict[str, str]:
    return {
        "architecture": machine.architecture,
        "zone": machine.zone or _ONLY_ZONE,
        "family": machine.family,
    }


def _selector(problem: PeerProblem, machines: Sequence[CatalogueMachine], group: int) -> dict[str, str]:
    """Return the shortest nodeSelector that leaves the offerings of a class."""
    asked = problem.packing.groups[group]
    large_enough = [
        b
        for b, made_of in enumerate(problem.packing.bins)
        if all(amount <= most for amount, most in zip(asked.demand, made_of.capacity, strict=True))
    ]
    properties = [_properties(machine) for machine in machines]
    for chosen in _choices(properties):
        if asked.bins == frozenset(b for b in large_enough if chosen.items() <= properties[b].items()):
            return {_LABELS[name]: value for name, value in chosen.items()}
    raise Inexpressible(f"class {group}: no nodeSelector leaves {[problem.offerings[b] for b in sorted(asked.bins)]}")


def _choices(properties: Sequence[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    for length in range(len(_LABELS) + 1):
        for names in combinations(_LABELS, length):
            for values in dict.fromkeys(tuple(one[name] for name in names) for one in properties):
                yield dict(zip(names, values, strict=True))
