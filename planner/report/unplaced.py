"""Why pods of a group have no place: the nearest miss of each kind, with a code that stays stable.

Codes: NoPool, PoolNotFound (which pool); ClassNotFound, ClassInvalid, PoolDeleting, PoolPaused, PoolFrozen, DryRun,
PoolBlocked, BuyingPaused, PurchaseLockClosed, PurchaseCooldown, BreakerOpen (the pool buys nothing);
NoCompatibleOffering (labels or taints), TooLarge (room), OfferingUnavailable (sold out), LimitReached (max), BatchMax,
MaxInFlight (pace), TooYoung, BelowThreshold (nothing is bought for the pod itself), NoRoom; VolumeUnbound,
VolumeElsewhere (volumes),
HostPortTaken; PlacementRefused (by the scheduler, where there was room); NotJudged, BackOff (not planned for);
Expendable (nothing is bought for its priority).
From `planner.placement.shares`: NamespaceLimit (limits.perNamespace), LimitShared (others had their turn).
From `planner.packing.domains`: SpreadUnsatisfiable, AntiAffinity, AffinityUnsatisfiable, WaitsForPods.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from api.keys import LABEL_OS, LABEL_POOL, LABEL_REGION, LABEL_ZONE
from api.quantity import rounded_amount, rounded_amounts
from planner.lifecycle.request import BUYING_PAUSED
from planner.model.plan import Reason
from planner.objects.kinds import Pod, Requirement
from planner.objects.predicates import (
    FIELD_NAME,
    NEVER,
    NEW_HOST,
    is_of_system,
    reaches_volumes,
    selects,
    untolerated,
    wants_node,
    whole_number,
)
from planner.packing.assemble import fits_kind, is_refused
from planner.report.pace import pace_reached
from planner.scheduling.attachments import amount_of, asked, driver_of
from planner.scheduling.conflicts import ports_meet
from planner.supply.limits import LimitKey, Limits, is_pace, part_of
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.node_template import written
from planner.supply.pod_group import PodGroup
from planner.supply.sums.pool_sums import amounts_of, is_full
from planner.supply.type_facts import facts_of
from planner.supply.type_faults import with_faults, with_refusals

_NOWHERE: Final = (
    "no node can have a volume of the pod: none fits its claim and its storage class makes none, "
    "or it may be used nowhere by its own terms"
)
_TOLD: Final = 3
"""Offerings named in one message; the rest is counted."""


def untried(key: LimitKey) -> str:
    """Return an empty text: the gain of a raised limit was not tried."""
    del key
    return ""


def why_unplaced(
    group: PodGroup, pool_kinds: Mapping[str, PoolKinds], limits: Limits, raised: Callable[[LimitKey], str] = untried
) -> tuple[Reason, ...]:
    """Return the reasons why no machine can be bought for pods of this group, at least one.

    `raised` ends the sentence about a limit with the gain of raising it.
    """
    pod = group.example
    reasons = [obstacle for name in group.pools if (obstacle := pool_kinds[name].obstacle) is not None]
    candidates = [kind for name in group.pools if pool_kinds[name].obstacle is None for kind in pool_kinds[name].kinds]
    if not candidates:
        reasons.extend(_no_types(pool_kinds[name]) for name in group.pools if pool_kinds[name].obstacle is None)
        return tuple(reasons)
    fitting_labels = [kind for kind in candidates if _mismatch(pod, kind) is None]
    if not fitting_labels:
        return (*reasons, _with_pool(_incompatible(pod, candidates), group, pool_kinds))
    near_volumes = [kind for kind in fitting_labels if reaches_volumes(pod, kind.labels)]
    if not near_volumes:
        return (*reasons, _elsewhere(pod, fitting_labels))
    portless = [kind for kind in near_volumes if not ports_meet(pod, kind.daemons)]
    if not portless:
        return (*reasons, _port_taken(pod, near_volumes[0]))
    fitting_labels = portless
    large_enough = [kind for kind in fitting_labels if not _shortage(pod, kind)]
    if not large_enough:
        return (*reasons, _with_pool(_too_large(pod, fitting_labels), group, pool_kinds))
    refused = _refused(group)
    open_kinds = [kind for kind in large_enough if not is_refused(group, kind)]
    if not open_kinds:
        return (*refused, *reasons)
    buying = [kind for kind in open_kinds if group.buys_in(kind.pool.metadata.name)]
    held = group.reasons_held({kind.pool.metadata.name for kind in open_kinds})
    obstacles = [*reasons, *held, *_unavailable(buying), *_limits(buying, limits, raised), *refused]
    if obstacles:
        return tuple(obstacles)
    # Room is left and nothing stands in the way, so the packer could not share what was there.
    return (Reason("NoRoom", f"pool {' or '.join(group.pools)} has no room left for this pod beside the others"),)


def held_up(
    group: PodGroup, pool_kinds: Mapping[str, PoolKinds], limits: Limits, is_open: Callable[[MachineKind], bool]
) -> tuple[Reason, ...]:
    """Return the reasons why no machine can be bought on which rules about other pods admit one more of this group.

    Empty where only such rules are the obstacle. `is_open` returns whether they admit a pod on a machine of a kind.
    """
    obstacles = [obstacle for name in group.pools if (obstacle := pool_kinds[name].obstacle) is not None]
    candidates = [kind for name in group.pools if pool_kinds[name].obstacle is None for kind in pool_kinds[name].kinds]
    wanted = [kind for kind in candidates if fits_kind(group, kind) and is_open(kind)]
    held = group.reasons_held({kind.pool.metadata.name for kind in wanted})
    wanted = [kind for kind in wanted if group.buys_in(kind.pool.metadata.name)]
    return (*obstacles, *held, *_unavailable(wanted), *_limits(wanted, limits, untried), *_refused(group))


def _refused(group: PodGroup) -> tuple[Reason, ...]:
    return () if group.lost_places is None else tuple(group.lost_places.reasons(group.pools))[:_TOLD]


def _no_types(kinds_of_pool: PoolKinds) -> Reason:
    names = ", ".join(kinds_of_pool.unknown_types[:_TOLD])
    pool = kinds_of_pool.pool
    message = f"{pool.spec.template.class_ref} has none of the server types of pool {pool.metadata.name}"
    message = with_refusals(f"{message}: {names}" if names else message, kinds_of_pool.refusals)
    return Reason("NoCompatibleOffering", with_faults(message, kinds_of_pool.faults))


def suiting_pools(pod: Pod, pool_kinds: Mapping[str, PoolKinds]) -> str:
    """Return which pools have a machine for the pod, and what to add so that they take it; empty if there is none.

    Labels that a pool gives its machines select a Node, but not the pool that buys it.
    """
    names = [
        name
        for name, found in sorted(pool_kinds.items())
        if any(_mismatch(pod, kind) is None and not _shortage(pod, kind) for kind in found.kinds)
    ]
    if not names:
        return ""
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return (
        f"pool {' or '.join(names[:_TOLD])}{more} has such machines: add the nodeSelector {LABEL_POOL}: {names[0]} to "
        "the pod, or matchUnselectedPods: true to the pool's spec"
    )


def _with_pool(reason: Reason, group: PodGroup, pool_kinds: Mapping[str, PoolKinds]) -> Reason:
    """Return the reason with the pools that would suit, beside those that the pods were planned for."""
    hint = suiting_pools(group.example, {name: pool_kinds[name] for name in pool_kinds if name not in group.pools})
    return replace(reason, message=f"{reason.message}. But {hint}") if hint else reason


def _mismatch(pod: Pod, kind: MachineKind) -> str | None:
    """Return the label or taint that keeps the pod off this kind, or None."""
    taint = untolerated(pod.tolerations, kind.taints)
    if taint is not None:
        return f"taint {written(taint)} is not tolerated"
    if not is_of_system(pod, kind.labels):
        return f"the pod is for {pod.system} (spec.os), but {kind.offering.server_type} has {kind.labels[LABEL_OS]}"
    if wants_node(pod, kind.labels):
        return None
    missed = next((r for r in pod.node_selector if not wants_label(r, kind)), None)
    if missed is not None:
        return _missed(missed, kind)
    terms = [[r for r in term if not wants_label(r, kind)] for term in pod.node_affinity]
    return _missed(min(terms, key=len)[0], kind)


def wants_label(requirement: Requirement, kind: MachineKind) -> bool:
    """Return whether the labels of the kind meet one requirement."""
    return wants_node(Pod("", "", "", {}, node_selector=(requirement,)), kind.labels)


def _contradiction(terms: Sequence[Sequence[Requirement]]) -> tuple[Requirement, Requirement] | None:
    """Return two requirements of one term that no label can meet both, None unless each term has two such."""
    pairs = [next((pair for pair in combinations(term, 2) if _exclude_each_other(*pair)), None) for term in terms]
    return pairs[0] if pairs and all(pairs) else None


def _exclude_each_other(wish: Requirement, other: Requirement) -> bool:
    if wish.key != other.key:
        return False
    if {wish.operator, other.operator} in ({"DoesNotExist", "Exists"}, {"DoesNotExist", "In"}):
        return True
    if wish.operator == "In":
        return not any(selects((other,), {other.key: value}) for value in wish.values)
    return other.operator == "In" and _exclude_each_other(other, wish)


def _missed(requirement: Requirement, kind: MachineKind) -> str:
    """Return a sentence part on a requirement that the kind does not meet."""
    key, operator, values = requirement.key, requirement.operator, _shown(requirement.values)
    if not key:
        return "a node affinity term without expressions selects no node"
    if operator in ("Gt", "Lt") and whole_number(values) is None:
        return f"{operator} of {key} in the pod's node affinity needs a whole number, got {values}"
    if operator == "In" and kind.labels.get(key) == NEW_HOST:
        node = f"{'named' if key == FIELD_NAME else f'with {key}'} {' or '.join(map(_quoted, requirement.values))}"
        return f"the pod asks for the node {node}, which is not a machine that can be bought"
    if operator == "DoesNotExist" and kind.labels.get(key) == NEW_HOST:
        return f"the pod asks for a node without the label {key}, which each machine that Growth buys has"
    asked_for = f"{key} {operator} {values}".rstrip()
    has = _quoted(kind.labels[key]) if key in kind.labels else "none"
    return f"the pod asks for {asked_for}, but {kind.offering.server_type} has {has}"


def _shown(values: Sequence[str]) -> str:
    return ", ".join(map(_quoted, values))


def _quoted(value: str) -> str:
    """Return a value of a label as it is read: an empty one would look like none."""
    return value or '""'


def _incompatible(pod: Pod, kinds: Sequence[MachineKind]) -> Reason:
    terms = [(*pod.node_selector, *term) for term in pod.node_affinity] or [pod.node_selector]
    if (apart := _contradiction(terms)) is not None:
        wishes = " and ".join(map(_asks, apart))
        return Reason("NoCompatibleOffering", f"no node can be what the pod asks for: {wishes} exclude each other")
    causes: dict[str, MachineKind] = {}
    for kind in kinds:
        causes.setdefault(_mismatch(pod, kind) or "", kind)
    message, nearest = next(iter(causes.items()))
    pools = " or ".join(sorted({kind.pool.metadata.name for kind in kinds}))
    return Reason(
        "NoCompatibleOffering", f"no server type of pool {pools} suits: {message}", nearest.offering.server_type
    )


def _elsewhere(pod: Pod, kinds: Sequence[MachineKind]) -> Reason:
    for terms in pod.volume_terms:
        if not any(selects(term, kind.labels) for term in terms for kind in kinds):
            wanted = " or ".join(" and ".join(_asks(r) for r in term) for term in terms if NEVER not in term)
            if not wanted:
                return Reason("VolumeElsewhere", _NOWHERE)
            unknown = _unknown(terms, kinds)
            return Reason("VolumeElsewhere", f"a volume of the pod can only be used where {wanted}{unknown}")
    return Reason("VolumeElsewhere", "no machine can use all volumes of the pod at once")


def _unknown(terms: Sequence[Sequence[Requirement]], kinds: Sequence[MachineKind]) -> str:
    """Return a note on a label that no offering states, as a CSI driver sets it on Nodes."""
    for key in dict.fromkeys(r.key for term in terms for r in term if r.key):
        places = sorted({kind.offering.location for kind in kinds if key not in kind.labels})
        if places and key not in (LABEL_REGION, LABEL_ZONE):
            names = ", ".join(places[:_TOLD]) + (f" and {len(places) - _TOLD} more" if len(places) > _TOLD else "")
            return f"; which {key} machines in {names} have is not known from any Node"
    return ""


def _asks(requirement: Requirement) -> str:
    if requirement.key == FIELD_NAME:
        return f"the node is {_shown(requirement.values)}"
    return " ".join((requirement.key, requirement.operator, _shown(requirement.values))).rstrip()


def _port_taken(pod: Pod, kind: MachineKind) -> Reason:
    taken = next(daemon for daemon in kind.daemons if ports_meet(pod, (daemon,)))
    ports = ", ".join(f"{port.port}/{port.protocol}" for port in pod.host_ports)
    return Reason("HostPortTaken", f"a host port of the pod ({ports}) is taken by DaemonSet pods such as {taken.key}")


def _shortage(pod: Pod, kind: MachineKind) -> dict[str, int]:
    """Return the amounts by which the kind is too small, by resource."""
    return {
        name: amount - amount_of(kind.usable, name)
        for name, amount in asked(pod).items()
        if amount > amount_of(kind.usable, name)
    }


def _too_large(pod: Pod, kinds: Sequence[MachineKind]) -> Reason:
    def distance(missing: Mapping[str, int], server_type: str) -> tuple[int, float, str]:
        return len(missing), max(short / asked(pod)[name] for name, short in missing.items()), server_type

    # Types that lack the same are one miss, and one that lacks more of everything is none that a person asks about.
    by_type = {kind.offering.server_type: _shortage(pod, kind) for kind in kinds}
    kind_of_type = {kind.offering.server_type: kind for kind in kinds}
    nearest: list[tuple[str, Mapping[str, int]]] = []
    for server_type, missing in sorted(by_type.items(), key=lambda one: distance(one[1], one[0])):
        if not any(all(missing.get(n, 0) >= less for n, less in closer.items()) for _, closer in nearest):
            nearest.append((server_type, missing))
    del nearest[_TOLD:]
    short_of = sorted({name for _, missing in nearest for name in missing})
    wanted = rounded_amounts({name: asked(pod)[name] for name in short_of})
    shortfalls = [
        (server_type, ", ".join(_shortfall(name, n, kind_of_type[server_type]) for name, n in sorted(missing.items())))
        for server_type, missing in nearest
    ]
    pools = " or ".join(sorted({kind.pool.metadata.name for kind in kinds}))
    message = f"no machine of pool {pools} is large enough for {wanted}; {'; '.join(map(': '.join, shortfalls))}"
    return Reason("TooLarge", message + _taken_by_daemons(kind_of_type[nearest[0][0]], short_of), nearest[0][0])


def _taken_by_daemons(kind: MachineKind, resources: Sequence[str]) -> str:
    """Return which DaemonSet pods take how much of these resources on a machine, an empty text if none does."""
    clauses: list[str] = []
    for name in resources:
        takers = sorted(
            ((pod.requests[name], pod.key) for pod in kind.daemons if pod.requests.get(name)),
            key=lambda one: (-one[0], one[1]),
        )
        if not takers:
            continue
        shares = [f"{key} {rounded_amount(name, amount)}" for amount, key in takers[:_TOLD]]
        shares += [f"{len(takers) - _TOLD} more"] * (len(takers) > _TOLD)
        taken = rounded_amount(name, sum(amount for amount, _ in takers))
        clauses.append(f"{name} {taken} ({', '.join(shares)})")
    return f". DaemonSet pods take {', '.join(clauses)} of {kind.offering.server_type}" if clauses else ""


def _shortfall(name: str, amount: int, kind: MachineKind) -> str:
    short = f"{name} short by {rounded_amount(name, amount)}"
    driver = driver_of(name)
    if not driver:
        return short
    # People know the claims of their pod, not what a machine attaches, nor from where that is known.
    limit = f"{amount_of(kind.usable, name)} fit on a machine"
    return f"{short} ({limit}, as on Nodes of other types)" if driver in kind.borrowed_limits else f"{short} ({limit})"


def _unavailable(kinds: Sequence[MachineKind]) -> Iterator[Reason]:
    blocked = [kind.obstacle for kind in kinds if kind.obstacle is not None]
    yield from dict.fromkeys(blocked[:_TOLD])
    if len(blocked) > _TOLD:
        yield Reason("OfferingUnavailable", f"{len(blocked) - _TOLD} more offerings have no capacity")


def _limits(kinds: Sequence[MachineKind], limits: Limits, raised: Callable[[LimitKey], str]) -> Iterator[Reason]:
    reached: dict[LimitKey, Reason] = {}
    for kind in kinds:
        if kind.obstacle is None:
            full = (key for key in limits.exhausted(kind) if key not in reached)
            reached.update({key: limit_reached(kind, key, limits) for key in full})
    for key, reason in list(reached.items())[:_TOLD]:
        yield replace(reason, message=reason.message + raised(key))


def limit_reached(kind: MachineKind, key: LimitKey, limits: Limits) -> Reason:
    """Return the reason that a limit allows no more machines of this kind."""
    pool, server_type = kind.pool, kind.offering.server_type
    name = pool.metadata.name
    if key[0] == "pool":
        return Reason("LimitReached", f"pool {name} is at its max of {pool.spec.limits.max} machines")
    if is_pace(key):
        return pace_reached(pool, key)
    if key[0] in {"type", "entry"}:
        entry = pool.spec.server_types[kind.entry]
        of_type = f"type {server_type}" if entry.name is not None else f"serverTypes[{kind.entry}], {entry}"
        return Reason("LimitReached", f"pool {name} is at its max of {entry.max} machines of {of_type}", server_type)
    if (standing := limits.standing(key)) is not None:
        amount = amounts_of(facts_of(kind.offering))[standing.of.name]
        return Reason("LimitReached", is_full(name, standing, server_type, amount))
    if (part := part_of(key)) is not None:
        return Reason(BUYING_PAUSED, f"{kind.class_ref} was refused {part}: one machine is tried first")
    if key[1:] == (str(kind.class_ref),):
        return Reason(BUYING_PAUSED, f"{kind.class_ref} was refused more machines: one is tried first")
    message = f"{server_type} in {kind.offering.location} had no capacity: one machine is tried first"
    return Reason("OfferingUnavailable", message, server_type)
