"""Headroom: which machines keep it, what has to be bought for it, and what of it has no room.

Real pods come first. Headroom takes the room that they leave on machines that are there or coming: on those that stay
anyway, then on those that cost least of all that would go. Only what finds no room there is bought for, in one problem
with the pods that wait, and not if one of these lost its place by that. Everything is worked out anew in each round:
machines that are coming have room like all others, so nothing is bought twice.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from api.quantity import rounded_amounts
from planner.model.plan import Reason, RemovalCancel
from planner.packing.assemble import buyable, fits_kind
from planner.packing.assign import Assignment, headroom_cancel, wish_of
from planner.placement.headroom_pods import buffer_of, headroom_groups, position_of
from planner.placement.headroom_room import HeadroomRoom
from planner.placement.known_state import KnownState
from planner.report.unplaced import why_unplaced
from planner.supply.limits import Limits
from planner.supply.machine_kind import PoolKinds
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup, choose_pools

_REAL_PODS_FIRST: Final = "RealPodsFirst"
_LATER: Final = Reason(_REAL_PODS_FIRST, "machines for waiting pods are bought first")


@dataclass(frozen=True, slots=True)
class KeptHeadroom:
    """Headroom on machines that are there or coming."""

    machines: Mapping[str, str] = field(default_factory=dict)
    """Those that stay for headroom alone, and whose, as `wish_of` says it."""
    cancels: tuple[RemovalCancel, ...] = ()
    on_nodes: tuple[PodGroup, ...] = ()
    """Headroom on Nodes that are there and stay: where one goes, it needs room elsewhere."""
    places: tuple[Place, ...] = ()
    """All places without the room that headroom takes."""
    left: tuple[PodGroup, ...] = ()
    """Headroom without room."""
    costs: Mapping[str, Decimal] = field(default_factory=dict)
    """What machines cost per hour that would go unless headroom needed them, by name."""


@dataclass(frozen=True, slots=True)
class DecidedHeadroom:
    """What a round decides of headroom."""

    machines: Mapping[str, str] = field(default_factory=dict)
    """Those that stay for headroom alone, and whose, as `wish_of` says it."""
    cancels: tuple[RemovalCancel, ...] = ()
    on_nodes: tuple[PodGroup, ...] = ()
    short: Mapping[str, Reason] = field(default_factory=dict)
    """Why headroom of pools has no room and nothing is bought for it, by pool."""
    short_buffers: Mapping[str, Reason] = field(default_factory=dict)
    """The same of CapacityBuffers, by namespace/name."""


def keep_headroom(
    known: KnownState, assignment: Assignment, places: Sequence[Place], released: Collection[str] = ()
) -> KeptHeadroom:
    """Return where headroom has room beside the pods that the round places on these places.

    None on `released` machines, which go so that limits let others be bought for real pods: these are no places.
    """
    groups = headroom_groups(known.snapshot)
    if not groups:
        return KeptHeadroom(places=tuple(places))
    places = [place for place in places if place.machine.name not in released]
    room = HeadroomRoom(known, assignment, places)
    filled = room.fill(groups, lambda place: place.rank is not Rank.COOL_OFF or place.machine.name in assignment.used)
    if filled.left and any(place.rank is Rank.COOL_OFF for place in places):
        # Machines that go already come back only where it does not do without them.
        other = room.fill(groups, lambda _: True)
        filled = other if _count(other.left) < _count(filled.left) else filled
    wishes = {
        place.machine.name: wish_of(place.machine.pool, filled.pods[place.machine.name])
        for place in places
        if place.machine.name in filled.pods
    }
    holding = [place for place in places if place.machine.name in filled.pods]
    on_nodes = {pod.uid for p in holding if p.rank is Rank.NODE for pod in filled.pods[p.machine.name]}
    return KeptHeadroom(
        machines={name: wish for name, wish in wishes.items() if name in room.costs},
        cancels=tuple(each for place in holding for each in headroom_cancel(place, wishes[place.machine.name])),
        on_nodes=_those(groups, on_nodes),
        places=room.without(filled),
        left=filled.left,
        costs=room.costs,
    )


def buyable_headroom(groups: Iterable[PodGroup], pool_kinds: Mapping[str, PoolKinds], limits: Limits) -> list[PodGroup]:
    """Return the headroom that some machine could be bought for, as far as these `limits` go."""
    kinds = [kind for kind in buyable(pool_kinds) if limits.left(kind, 1) > 0]
    return [group for group in groups if any(fits_kind(group, kind) for kind in kinds)]


def without_pools(groups: Iterable[PodGroup], pools: Collection[str]) -> list[PodGroup]:
    """Return the groups without these pools, those that have any other."""
    fewer = (replace(group, pools=tuple(name for name in group.pools if name not in pools)) for group in groups)
    return [group for group in fewer if group.pools]


def shortages(
    left: Iterable[PodGroup], known: KnownState, delayed: Iterable[PodGroup] = ()
) -> tuple[dict[str, Reason], dict[str, Reason]]:
    """Return what is to be said of headroom without room, by pool, and by buffer.

    For `delayed` headroom machines can be bought, but later.
    """
    waits = {group.key for group in delayed}
    counts = {buffer.key: buffer.count for buffer in known.snapshot.buffers}
    short: dict[str, Reason] = {}
    short_buffers: dict[str, Reason] = {}
    for group in left:
        why = _LATER if group.key in waits else _why_short(group, known)
        buffer = buffer_of(group)
        if buffer is not None:
            short_buffers[buffer] = Reason(why.code, f"{_told(group, counts[buffer])}: {why.message}")
            continue
        (pool,) = group.pools
        entry = (known.pool_kinds[pool].pool.spec.headroom or ())[position_of(group)]
        message = f"headroom[{position_of(group)}]: {_told(group, entry.count)}: "
        before = short.get(pool)
        short[pool] = Reason(
            why.code if before is None else before.code,
            f"{message}{why.message}" if before is None else f"{before.message}; {message}{why.message}",
        )
    return short, short_buffers


def _why_short(group: PodGroup, known: KnownState) -> Reason:
    if not group.pools:
        choice = choose_pools(group.example, known.snapshot.pools)
        return choice.obstacle or Reason("PoolDeleting", "its pool is being deleted")
    return why_unplaced(group, known.pool_kinds, known.limits)[0]


def _told(group: PodGroup, count: int) -> str:
    size = rounded_amounts({name: n for name, n in group.example.requests.items() if name != "pods"})
    have = "has" if group.count == 1 else "have"
    return f"{group.count} of {count} pods of {size} {have} no room"


def _those(groups: Iterable[PodGroup], uids: Collection[str]) -> tuple[PodGroup, ...]:
    some = (replace(group, pods=tuple(pod for pod in group.pods if pod.uid in uids)) for group in groups)
    return tuple(group for group in some if group.pods)


def _count(groups: Iterable[PodGroup]) -> int:
    return sum(group.count for group in groups)
