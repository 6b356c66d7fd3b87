"""Judges pods by their volumes: claims, the nodes that volumes are tied to, and how many a node can attach."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.planner.reading import Json, is_finished, key, term_holds
from tests.planner.selecting import space_of
from tests.planner.world import Spot, World

ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
BOUND = "pv.kubernetes.io/bind-completed"


@dataclass(frozen=True)
class Storage:
    """Raw claims by namespace and name, volumes and classes by name."""

    claims: Mapping[tuple[str, str], Json]
    volumes: Mapping[str, Json]
    classes: Mapping[str, Json]


def storage(claims: Sequence[Json], volumes: Sequence[Json], classes: Sequence[Json]) -> Storage:
    def named(objects: Sequence[Json]) -> dict[str, Json]:
        return {o["metadata"]["name"]: o for o in objects}

    return Storage({(space_of(c), c["metadata"]["name"]): c for c in claims}, named(volumes), named(classes))


def claim_names(pod: Json) -> list[str]:
    """Return the claims that a pod uses, those it makes for itself too."""
    name = pod["metadata"]["name"]
    found: list[str] = []
    for volume in pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" in volume:
            found.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            found.append(f"{name}-{volume['name']}")
    return found


def violations(world: World, kept: Storage) -> Iterator[str]:
    """Yield every newcomer whose volumes do not let it land where it shall."""
    for spot, pod in world.newcomers():
        yield from (f"{key(pod)} on {spot.name}: {why}" for why in obstacles(kept, spot, pod))
    yield from alone(world, kept)
    yield from attached(world, kept)


def could_land(world: World, kept: Storage, spot: Spot) -> bool:
    """Whether the volumes of its newcomers let one more machine take them when all others have landed."""
    larger = replace(world, spots=(*world.spots, spot))
    names = {key(pod) for pod in spot.newcomers}
    return not any(
        spot.name in sentence or any(name in sentence for name in names) for sentence in violations(larger, kept)
    )


def obstacles(kept: Storage, spot: Spot, pod: Json) -> Iterator[str]:
    """Yield what its claims have against this node."""
    for name in claim_names(pod):
        claim = kept.claims.get((space_of(pod), name))
        if claim is None:
            yield f"claim {name} does not exist"
        elif "deletionTimestamp" in claim["metadata"]:
            yield f"claim {name} is being deleted"
        elif claim.get("status", {}).get("phase") == "Lost":
            yield f"claim {name} has lost its volume"
        elif claim["spec"].get("volumeName") and BOUND in (claim["metadata"].get("annotations") or {}):
            yield from bound(kept.volumes.get(claim["spec"]["volumeName"]), name, spot)
        else:
            yield from unbound(kept, claim, name, spot)


def bound(volume: Json | None, name: str, spot: Spot) -> Iterator[str]:
    if volume is None:
        yield f"the volume of claim {name} does not exist"
        return
    labels: dict[str, Any] = volume["metadata"].get("labels") or {}
    for zone in ZONES:
        if zone in labels and set(ZONES) & set(spot.labels) and spot.labels.get(zone) not in labels[zone].split("__"):
            yield f"the volume of claim {name} is in {labels[zone]}"
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required and not any(term_holds(t, spot.labels, spot.name) for t in required["nodeSelectorTerms"]):
        yield f"the volume of claim {name} cannot be reached"


def unbound(kept: Storage, claim: Json, name: str, spot: Spot) -> Iterator[str]:
    found = kept.classes.get(claim["spec"].get("storageClassName") or "")
    if found is None:
        yield f"claim {name} has neither a volume nor a class"
    elif claim["spec"].get("volumeName"):
        yield f"claim {name} is not bound to its volume yet"
    elif found.get("volumeBindingMode", "Immediate") != "WaitForFirstConsumer":
        yield f"claim {name} has no volume yet, and does not wait for a pod"
    elif found["provisioner"] == "kubernetes.io/no-provisioner":
        if not any(could_take(v, claim) and not list(bound(v, name, spot)) for v in kept.volumes.values()):
            yield f"no volume here suits claim {name}"
    elif (allowed := found.get("allowedTopologies")) and not any(
        all(spot.labels.get(e["key"]) in e["values"] for e in t["matchLabelExpressions"]) for t in allowed
    ):
        yield f"no volume for claim {name} may be made here"


def could_take(volume: Json, claim: Json) -> bool:
    """Whether a claim without a volume could be given this one. Scenes give all volumes and claims one size."""
    spec, wanted = volume["spec"], claim["spec"]
    return (
        "claimRef" not in spec
        and volume.get("status", {}).get("phase", "Available") == "Available"
        and spec.get("storageClassName") == wanted.get("storageClassName")
        and set(wanted["accessModes"]) <= set(spec["accessModes"])
    )


def is_shared(kept: Storage, pod: Json, pods: Sequence[Json]) -> bool:
    """Whether another pod wants or has a claim of this one that one pod only may use: either may be told to wait."""
    single = {n for n in claim_names(pod) if is_single(kept.claims.get((space_of(pod), n)))}
    return any(
        single & set(claim_names(p)) and space_of(p) == space_of(pod) and key(p) != key(pod) and not is_finished(p)
        for p in pods
    )


def is_single(claim: Json | None) -> bool:
    return claim is not None and "ReadWriteOncePod" in claim["spec"]["accessModes"]


def alone(world: World, kept: Storage) -> Iterator[str]:
    """Yield claims that one pod only may use, used by two."""
    users: dict[tuple[str, str], list[Json]] = {}
    for spot in world.spots:
        for pod in (*spot.residents, *spot.newcomers):
            for name in claim_names(pod):
                users.setdefault((space_of(pod), name), []).append(pod)
    fresh = {key(pod) for _, pod in world.newcomers()}
    for place, pods in users.items():
        if is_single(kept.claims.get(place)) and len(pods) > 1 and fresh & {key(p) for p in pods}:
            yield f"claim {place[1]} is for one pod only, not for {', '.join(sorted(map(key, pods)))}"


def attached(world: World, kept: Storage) -> Iterator[str]:
    """Yield nodes with more volumes of a driver than they can attach; a new one can do what its type is seen to do."""
    for spot in world.spots:
        handles: dict[str, set[str]] = {}
        for pod in (*spot.residents, *spot.newcomers):
            for driver, handle in () if is_finished(pod) else disks(kept, pod):
                handles.setdefault(driver, set()).add(handle)
        own = {driver for pod in spot.newcomers for driver, _ in disks(kept, pod)}
        for driver in sorted(own):
            limit = limit_of(world, spot, driver)
            if limit is not None and len(handles[driver]) > limit:
                yield f"{spot.name} attaches {len(handles[driver])} volumes of {driver}, at most {limit} fit"


def disks(kept: Storage, pod: Json) -> Iterator[tuple[str, str]]:
    """Yield driver and handle of the volumes of a pod; a volume still to be made has that of its claim."""
    for name in claim_names(pod):
        claim = kept.claims.get((space_of(pod), name), {"spec": {}})
        volume = kept.volumes.get(claim["spec"].get("volumeName") or "")
        found = kept.classes.get(claim["spec"].get("storageClassName") or "")
        if volume is not None and "csi" in volume["spec"]:
            yield volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]
        elif volume is None and found is not None:
            yield found["provisioner"], f"{space_of(pod)}/{name}"


def limit_of(world: World, spot: Spot, driver: str) -> int | None:
    if spot.is_there:
        return world.attach_limits.get(spot.name, {}).get(driver)
    kind = spot.labels["growth.dev/server-type"]
    alike = {s.name for s in world.spots if s.labels.get("growth.dev/server-type") == kind}
    stated = {name: limits[driver] for name, limits in world.attach_limits.items() if driver in limits}
    of_its_type = [limit for name, limit in stated.items() if name in alike]
    # Of a type that no Node has told of, the least that any Node takes is believed; one that takes none is no example.
    return min(of_its_type or (limit for limit in stated.values() if limit > 0), default=None)
