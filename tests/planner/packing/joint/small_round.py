"""A small round as a few tables: equal pods, machines with room, kinds to buy, limits and minimums.

Read from raw objects; only the reader of the plans' checker is used, nothing of the planner's.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from tests.planner.reading import (
    OWN_TAINTS,
    Amounts,
    Json,
    amounts,
    asked,
    is_demand,
    offering_node,
    owner,
    plus,
    tolerates,
    wants,
)
from tests.planner.scenes import Scene
from tests.planner.selecting import HOSTNAME, Namespaces

Limit = tuple[str, str]
"""Pool and server type; all types together under an empty name."""
SUMS = ("cpu", "memory", "pricePerHour")
"""Names of a pool's limits that are no numbers of machines."""
DAEMON_KEYS = ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
"""Taints of node.kubernetes.io that DaemonSet pods tolerate. Source: Kubernetes docs, "DaemonSet"."""


@dataclass(frozen=True)
class Workload:
    """Waiting pods that differ in their names only."""

    example: Json
    names: tuple[str, ...]
    takes: Amounts

    @property
    def priority(self) -> int:
        return self.example["spec"].get("priority", 0)


@dataclass(frozen=True)
class Spot:
    """A machine that is there or in flight, or a kind of machines to buy."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Json, ...]
    free: Amounts
    pods: tuple[Json, ...]
    """On it from the start, DaemonSet pods too."""
    is_cordoned: bool = False
    price: Decimal | None = None
    """Per hour, of a kind to buy."""
    limits: tuple[Limit, ...] = ()
    sums: Mapping[Limit, int] = field(default_factory=dict)
    """What it takes of the pool's limits in cores, memory and money: by pool and name of the field."""
    tier: tuple[int, int] = (0, 0)
    """Priority of the pool and, where it chooses by priority, of the type."""

    @property
    def takes(self) -> Mapping[Limit, int]:
        """What it takes of every limit."""
        return {**dict.fromkeys(self.limits, 1), **self.sums}


@dataclass(frozen=True)
class SmallRound:
    """All that decides which plan is the cheapest."""

    workloads: tuple[Workload, ...]
    there: tuple[Spot, ...]
    kinds: tuple[Spot, ...]
    left: Mapping[Limit, int]
    """What limits allow: machines, or millicores, bytes and billionths."""
    missing: Mapping[Limit, int]
    """Machines that minimums ask for."""
    namespaces: Namespaces = field(default_factory=dict)


def small_round(scene: Scene) -> SmallRound:
    """Return the tables of a scene."""
    seats = {s["uid"]: r["metadata"]["name"] for r in scene.requests for s in r["spec"]["reservedFor"]}
    of_growth = [
        (n["metadata"]["labels"]["growth.dev/pool"], n["metadata"]["labels"]["growth.dev/server-type"])
        for n in scene.nodes
        if "growth.dev/pool" in n["metadata"]["labels"]
    ]
    coming = [(r["spec"]["pool"], r["spec"]["serverType"]) for r in scene.requests]
    counted = Counter(limit for pool, kind in (*of_growth, *coming) for limit in ((pool, ""), (pool, kind)))
    left: dict[Limit, int] = {}
    missing: dict[Limit, int] = {}
    for pool in scene.pools:
        name = pool["metadata"]["name"]
        for kind, bounds in (("", pool["spec"]["limits"]), *((t["name"], t) for t in pool["spec"]["serverTypes"])):
            if "max" in bounds:
                left[name, kind] = max(0, bounds["max"] - counted[name, kind])
            if bounds.get("min", 0) > counted[name, kind]:
                missing[name, kind] = bounds["min"] - counted[name, kind]
        for name_of_sum, most in _sums_limited(pool).items():
            whose = [each for p, each in (*of_growth, *coming) if p == name]
            used = sum(_sums(pool, kind)[name_of_sum] for each in whose for kind in _types(scene, pool, each))
            left[name_of_sum] = max(0, most - used)
    kinds = [
        _to_come(scene, pool, kind, place)
        for pool in scene.pools
        for kind in _types(scene, pool)
        for place in kind["locations"]
        if all(left.get(limit, 1) for limit in _limits(pool, kind))
        and all(left[limit] >= amount for limit, amount in _sums(pool, kind).items())
    ]
    return SmallRound(
        workloads=_workloads([p for p in scene.pods if is_demand(p) and p["metadata"]["uid"] not in seats]),
        there=(*(_node(scene, n) for n in scene.nodes), *(_in_flight(scene, r, seats) for r in scene.requests)),
        kinds=tuple(kinds),
        left=left,
        missing=missing,
        namespaces=scene.namespaces,
    )


def _workloads(pods: list[Json]) -> tuple[Workload, ...]:
    alike: dict[str, list[Json]] = {}
    for pod in pods:
        looks = repr((pod["metadata"]["namespace"], pod["metadata"]["labels"], owner(pod), pod["spec"]))
        alike.setdefault(looks, []).append(pod)
    return tuple(
        Workload(same[0], tuple(p["metadata"]["name"] for p in same), asked(same[0]["spec"])) for same in alike.values()
    )


def _types(scene: Scene, pool: Json, name: str = "") -> list[Json]:
    own = {name} if name else {t["name"] for t in pool["spec"]["serverTypes"]}
    return [kind for kind in scene.classes[0]["spec"]["serverTypes"] if kind["name"] in own]


def _sums_limited(pool: Json) -> dict[Limit, int]:
    """Return the limits of the pool in cores, memory and money."""
    limits, name = pool["spec"]["limits"], pool["metadata"]["name"]
    return {(name, each): _amount(each, limits[each]) for each in SUMS if each in limits}


def _sums(pool: Json, kind: Json) -> dict[Limit, int]:
    """Return what a machine of a type takes of these limits."""
    has = kind["capacity"] | {"pricePerHour": kind["pricePerHour"]}
    return {limit: _amount(limit[1], has[limit[1]]) for limit in _sums_limited(pool)}


def _amount(name: str, text: object) -> int:
    return int(Decimal(str(text)) * 10**9) if name == "pricePerHour" else amounts({name: text})[name]


def _limits(pool: Json, kind: Json) -> tuple[Limit, Limit]:
    name = pool["metadata"]["name"]
    return (name, ""), (name, kind["name"])


def _to_come(
    scene: Scene, pool: Json, kind: Json, place: Json, *, host: str = "new", pods: tuple[Json, ...] = ()
) -> Spot:
    """Return a machine that will be of this pool, type and location; one that is to be bought has its price."""
    labels, taints, allocatable = offering_node(pool, kind, place, host)
    running = (*pods, *_daemons(scene, labels, taints, host, pods))
    is_new = host == "new"
    return Spot(
        name=f"{pool['metadata']['name']}/{kind['name']}/{place['name']}" if is_new else host,
        labels=labels,
        taints=tuple(taints),
        free=_room(allocatable, running),
        pods=running,
        price=Decimal(kind["pricePerHour"]) if is_new else None,
        limits=_limits(pool, kind) if is_new else (),
        sums=_sums(pool, kind) if is_new else {},
        tier=_tier(pool, kind["name"]),
    )


def _tier(pool: Json, name: str) -> tuple[int, int]:
    entry = next(t for t in pool["spec"]["serverTypes"] if t["name"] == name)
    chooses = pool["spec"].get("scaleUp", {}).get("choose") == "priority"
    return pool["spec"].get("priority", 0), entry.get("priority", 0) if chooses else 0


def _in_flight(scene: Scene, request: Json, seats: Mapping[str, str]) -> Spot:
    name, spec = request["metadata"]["name"], request["spec"]
    pool = next(p for p in scene.pools if p["metadata"]["name"] == spec["pool"])
    kind = next(k for k in _types(scene, pool) if k["name"] == spec["serverType"])
    place = next(p for p in kind["locations"] if p["name"] == spec["location"])
    held = tuple(p for p in scene.pods if seats.get(p["metadata"]["uid"]) == name)
    return _to_come(scene, pool, kind, place, host=name, pods=held)


def _node(scene: Scene, node: Json) -> Spot:
    name, labels = node["metadata"]["name"], node["metadata"]["labels"]
    taints = [t for t in node["spec"]["taints"] if t["key"] not in OWN_TAINTS]
    residents = [p for p in scene.pods if p["spec"].get("nodeName") == name]
    running = (*residents, *_daemons(scene, labels, taints, name, residents))
    is_cordoned = node["spec"].get("unschedulable", False)
    room = _room(amounts(node["status"]["allocatable"]), running)
    return Spot(name, labels, tuple(taints), room, running, is_cordoned)


def _daemons(
    scene: Scene, labels: Mapping[str, str], taints: list[Json], name: str, residents: list[Json] | tuple[Json, ...]
) -> list[Json]:
    """Return the DaemonSet pods that are to come to a node."""
    there = {owner(p).get("uid") for p in residents}
    found: list[Json] = []
    for each in scene.daemon_sets:
        spec = each["spec"]["template"]["spec"]
        kept = [t for t in taints if t["key"].removeprefix("node.kubernetes.io/") not in DAEMON_KEYS]
        is_wanted = wants(spec, {**labels, HOSTNAME: name}, name) and all(tolerates(spec, t) for t in kept)
        if is_wanted and each["metadata"]["uid"] not in there:
            meta = {
                "namespace": each["metadata"]["namespace"],
                "labels": each["spec"]["template"]["metadata"]["labels"],
            }
            found.append({"metadata": meta, "spec": spec})
    return found


def _room(allocatable: Amounts, pods: tuple[Json, ...]) -> Amounts:
    used = plus(*(asked(p["spec"]) for p in pods))
    return {name: amount - used.get(name, 0) for name, amount in allocatable.items()}
