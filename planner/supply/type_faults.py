"""What a pool asks for and its class does not have: types, patterns and requirements that match nothing, locations.

None of it stops the rest of the pool. Some types can never be had, as a provider knows: then it is said why.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.pool_server_type import PoolServerType
from planner.model.plan import Reason
from planner.objects.offering import Offering
from planner.supply.allowed_types import AllowedTypes, matches_type

UNKNOWN_TYPE: Final = "UnknownServerType"
UNKNOWN_LOCATION: Final = "UnknownLocation"
NOTHING_LEFT: Final = "EntryWithoutTypes"
"""Reasons of the pool's condition Ready."""
_SENTENCES: Final = 3
"""Refusals, and faults, in one message."""


def unknown_types(allowed: AllowedTypes) -> tuple[str, ...]:
    """Return the types that the pool names and its class does not have."""
    named = (entry.name for entry in allowed.pool.spec.server_types)
    return tuple(name for name in named if name is not None and name not in allowed.types)


def faults(allowed: AllowedTypes) -> tuple[Reason, ...]:
    """Return what else of the pool comes to nothing in its class, a sentence each."""
    ref = allowed.pool.spec.template.class_ref
    entries = list(enumerate(allowed.pool.spec.server_types))
    matched = {i for i, entry in entries if any(matches_type(entry, facts) for facts in allowed.types.values())}
    nothing = (
        Reason(UNKNOWN_TYPE, f"{_place(i)}: {_matches_none(entry)} of {ref}")
        for i, entry in entries
        if i not in matched and entry.name is None
    )
    left = (reason for i, entry in entries if i in matched for reason in _of_entry(i, entry, allowed))
    return (*nothing, *_unknown_locations(allowed), *left)


def _matches_none(entry: PoolServerType) -> str:
    return f"{entry} {'match' if entry.pattern is None else 'matches'} no server type"


def _unknown_locations(allowed: AllowedTypes) -> Iterator[Reason]:
    there = {each.location for facts in allowed.types.values() for each in facts}
    missing = [name for name in allowed.pool.spec.locations or () if name not in there]
    if missing and there:
        ref = allowed.pool.spec.template.class_ref
        yield Reason(UNKNOWN_LOCATION, f"locations: {ref} has no server type in {', '.join(missing)}")


def _of_entry(position: int, entry: PoolServerType, allowed: AllowedTypes) -> Iterator[Reason]:
    held = [facts for name, facts in allowed.types.items() if allowed.holders.get(name) == position]
    if not held:
        if entry.name is None:
            yield Reason(NOTHING_LEFT, f"{_place(position)}: earlier entries match each server type of {entry} first")
        else:
            kept = ", so only its min holds" if entry.min else ""
            first = _place(allowed.holders[entry.name])
            yield Reason(NOTHING_LEFT, f"{_place(position)}: {first} matches {entry} first{kept}")
        return
    there = {each.location for facts in held for each in facts}
    missing = [name for name in entry.locations or () if name not in there]
    if missing:
        of_types = f"{entry} is not" if entry.name is not None else f"no server type of {entry} is"
        yield Reason(UNKNOWN_LOCATION, f"{_place(position)}.locations: {of_types} in {', '.join(missing)}")
    elif not any(allowed.allows(each) for facts in held for each in facts):
        yield Reason(NOTHING_LEFT, f"{_place(position)}: nothing of {entry} is in a location that the pool allows")


def _place(position: int) -> str:
    return f"serverTypes[{position}]"


def refusals(
    ref: ClassRef, offerings: Iterable[Offering], pools: Iterable[NodePool], refusal: Callable[[str], str | None]
) -> dict[str, str]:
    """Return the sentence of `refusal` on each type that pools of this class name and that it does not offer."""
    offered = {offering.server_type.lower() for offering in offerings}
    of_class = (pool for pool in pools if pool.spec.template.class_ref == ref)
    named = {entry.name for pool in of_class for entry in pool.spec.server_types if entry.name is not None}
    return {name: sentence for name in sorted(named - offered) if (sentence := refusal(name)) is not None}


def with_refusals(message: str, sentences: Sequence[str]) -> str:
    """Return the message, followed by the first of these sentences."""
    return "; ".join((message, *sentences[:_SENTENCES]))


def with_faults(message: str, found: Sequence[Reason]) -> str:
    """Return the message, which may be empty, followed by the first of these faults and the number of the others."""
    rest = len(found) - _SENTENCES
    told = [each.message for each in found[:_SENTENCES]] + ([f"{rest} more of this kind"] if rest > 0 else [])
    return "; ".join([message, *told] if message else told)
