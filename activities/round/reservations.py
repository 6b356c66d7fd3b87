"""Who a coming machine is kept for: moves seats between requests so that no pod ever holds two.

A pod that moves leaves its old seat first. A round that dies in between leaves it without a seat,
which the next round sees and mends; two seats would keep a machine for nobody.
"""

from collections.abc import Collection, Mapping, Sequence

from activities.kube.json_patch import patch_if_same, set_field
from activities.ports.cluster import NODE_REQUESTS, Cluster, Object, PatchOp
from activities.round.writes import RoundWrites
from api.v1alpha1.node_request import RequestPhase, Seat
from planner.lifecycle.json_predicates import is_terminating
from planner.model.plan import Plan


async def move_seats(
    writes: RoundWrites, cluster: Cluster, plan: Plan, requests: Mapping[str, Object], stuck: Collection[str]
) -> frozenset[str]:
    """Write `plan.reservations` and return the uids of pods that could not leave their old seat.

    Such a pod must not be given another seat in this round; those in `stuck` are so already and are
    among the returned. `requests` are the objects that the plan was made from, by name.
    """
    current = {name: requests[name] for name in plan.reservations if name in requests}
    wanted = {name: plan.reservations[name] for name in current}
    taken = {seat.uid for planned in plan.requests for seat in planned.seats}
    for name, seats in wanted.items():
        taken |= {seat.uid for seat in seats} - _uids(current[name])

    leaving = [name for name in current if (_uids(current[name]) - _wanted_uids(wanted[name])) & taken]
    left = await writes.each(
        leaving, _what, lambda name: _write(cluster, current[name], _staying(current[name], wanted[name]))
    )
    current.update(left)
    gone = {name for name, _ in left}
    bound = set(stuck)
    for name in leaving:
        if name not in gone:
            bound |= (_uids(current[name]) - _wanted_uids(wanted[name])) & taken

    final = {
        name: [seat.to_json() for seat in seats if seat.uid not in bound or seat.uid in _uids(current[name])]
        for name, seats in wanted.items()
        if name not in leaving or name in gone
    }
    await writes.each(
        [name for name, seats in final.items() if seats != _seats(current[name])],
        _what,
        lambda name: _write(cluster, current[name], final[name]),
    )
    return frozenset(bound)


def _what(name: str) -> str:
    return f"reservation of request {name}"


def _seats(request: Object) -> list[Object]:
    return list(request.get("spec", {}).get("reservedFor", ()))


def _uids(request: Object) -> set[str]:
    return {seat["uid"] for seat in _seats(request)}


def _wanted_uids(seats: Sequence[Seat]) -> set[str]:
    return {seat.uid for seat in seats}


def _staying(request: Object, seats: Sequence[Seat]) -> list[Object]:
    wanted = _wanted_uids(seats)
    return [seat for seat in _seats(request) if seat["uid"] in wanted]


async def _write(cluster: Cluster, read: Object, seats: Sequence[Object]) -> Object:
    def operations(request: Object) -> list[PatchOp]:
        return set_field(request, ("spec", "reservedFor"), list(seats) or None)

    return await patch_if_same(
        cluster, NODE_REQUESTS, read, operations, lambda live: _decided_on(live) == _decided_on(read)
    )


def _decided_on(request: Object) -> tuple[object, ...]:
    # Its workflow writes the status all the time; only these parts speak for or against a seat.
    status = request.get("status", {})
    return (
        is_terminating(request),
        _seats(request),
        status.get("phase", RequestPhase.PENDING),
        status.get("releasedAt"),
    )
