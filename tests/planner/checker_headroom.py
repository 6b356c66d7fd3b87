"""Judges headroom and expendable pods by the raw objects: with one size in a pool, room can be counted."""

from collections.abc import Iterator

from tests.planner.lookups import Lookups
from tests.planner.reading import OWN_TAINTS, Amounts, Json, amounts, asked, plus

_COMING = ("Pending", "Provisioning")


def violations(known: Lookups) -> Iterator[str]:
    yield from _expendable(known)
    for name, pool in known.pools.items():
        yield from _headroom(known, name, pool)


def _expendable(known: Lookups) -> Iterator[str]:
    for bought in known.plan.requests:
        for seat in bought.seats:
            cutoff = known.pools[bought.pool]["spec"].get("scaleUp", {}).get("expendablePriority")
            if cutoff is not None and known.by_uid[seat.uid]["spec"].get("priority", 0) < cutoff:
                yield f"a machine of pool {bought.pool} is bought for {seat.name}, whose priority is too low"


def _headroom(known: Lookups, name: str, pool: Json) -> Iterator[str]:
    entries = pool["spec"].get("headroom") or []
    held = sum(bought.headroom for bought in known.plan.requests if bought.pool == name)
    wanted = sum(entry["count"] for entry in entries)
    of_buffers = sum(buffer.count for buffer in known.plan.buffers)
    if held > wanted + of_buffers:
        yield f"pool {name} buys for {held} pods of headroom, and wants {wanted + of_buffers}"
    if len(entries) != 1 or of_buffers:
        return
    (report,) = (each for each in known.plan.pools if each.name == name)
    is_told = any(c.type == "HeadroomShort" and c.status == "True" for c in report.status.conditions)
    size = amounts(entries[0]["requests"]) | {"pods": 1}
    room = _room(known, name, pool, size)
    if not is_told and room + held < wanted:
        yield f"pool {name} has room for {room} pods of headroom, buys for {held}, wants {wanted} and says nothing"
    if held and room >= wanted:
        yield f"pool {name} buys for headroom although {room} of {wanted} pods fit"


def _room(known: Lookups, name: str, pool: Json, size: Amounts) -> int:
    """Return how many pods of headroom fit on the machines of a pool that stay, beside the pods that these get."""
    going = {removal.node for removal in known.plan.removals}
    taken_back = {cancel.removal for cancel in known.plan.removal_cancels}
    going |= {n for n, r in known.removals.items() if not r["status"].get("cancel") and n not in taken_back}
    total = 0
    for spot in known.world().spots:
        of_pool = spot.labels.get("growth.dev/pool") == name
        if not of_pool or spot.name in going or spot.name in known.plan.cancelled or spot.is_cordoned:
            continue
        if spot.name.startswith("new-"):
            continue
        template = pool["spec"].get("template", {}).get("taints", [])
        strange = [t for t in spot.taints if t["key"] not in OWN_TAINTS and t not in template]
        if not any(t["effect"] != "PreferNoSchedule" for t in strange):
            total += _times(_free(known, spot.name, spot.residents, spot.newcomers), size)
    return total


def _free(known: Lookups, name: str, residents: list[Json], newcomers: list[Json]) -> Amounts:
    node, request = known.nodes.get(name), known.requests.get(name)
    if node is not None:
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
        if not ready and (request is None or request["status"].get("phase") not in _COMING):
            return {}
        allocatable = amounts(node["status"]["allocatable"])
    elif request is not None and request["status"].get("phase", "Pending") in (*_COMING, "Ready"):
        allocatable = known.looks(request["spec"]["pool"], *known.offering_of(request["spec"]), name)[2]
    else:
        return {}
    kept = [pod for pod in residents if not known.is_expendable(pod)]
    taken = plus(*(asked(pod["spec"]) for pod in (*kept, *newcomers)))
    return {resource: amount - taken.get(resource, 0) for resource, amount in allocatable.items()}


def _times(free: Amounts, size: Amounts) -> int:
    return max(0, min(free.get(name, 0) // amount for name, amount in size.items() if amount))
