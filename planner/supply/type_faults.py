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
from planner.supply.sums.pool_sums import MONEY, amounts_of, sums_limited, written
from planner.supply.type_facts import TypeInLocation

UNKNOWN_TYPE: Final = "UnknownServerType"
UNKNOWN_LOCATION: Final = "UnknownLocation"
NOTHING_LEFT: Final = "EntryWithoutTypes"
LIMIT_TOO_LOW: Final = "LimitTooLow"
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
    matched = {i for i, entry in entries if _matches_any(entry, allowed)}
    nothing = (
        Reason(UNKNOWN_TYPE, f"{_place(i)}: {_matches_none(entry)} of {ref}")
        for i, entry in entries
        if i not in matched and entry.name is None
    )
    held: dict[int, list[tuple[TypeInLocation, ...]]] = {}
    for name, position in allowed.holders.items():
        held.setdefault(position, []).append(allowed.types[name])
    left = (reason for i in sorted(matched) for reason in _of_entry(i, held.get(i, []), allowed))
    return (*nothing, *_unknown_locations(allowed), *left, *_low_limits(allowed))


def _matches_any(entry: PoolServerType, allowed: AllowedTypes) -> bool:
    if entry.name is not None:
        return entry.name in allowed.types
    return any(matches_type(entry, facts) for facts in allowed.types.values())


def _matches_none(entry: PoolServerType) -> str:
    return f"{entry} {'match' if entry.pattern is None else 'matches'} no server type"


def _unknown_locations(allowed: AllowedTypes) -> Iterator[Reason]:
    locations = {each.location for facts in allowed.types.values() for each in facts}
    missing = [name for name in allowed.pool.spec.locations or () if name not in locations]
    if missing and locations:
        ref = allowed.pool.spec.template.class_ref
        yield Reason(UNKNOWN_LOCATION, f"locations: {ref} has no server type in {', '.join(missing)}")


def _of_entry(position: int, held: Sequence[tuple[TypeInLocation, ...]], allowed: AllowedTypes) -> Iterator[Reason]:
    """Yield what comes to nothing of an entry that matches something and holds for these types."""
    entry = allowed.entry(position)
    if not held:
        if entry.name is None:
            yield Reason(NOTHING_LEFT, f"{_place(position)}: earlier entries match each server type of {entry} first")
        else:
            further = ", so only its min holds" if entry.min else ""
            first = _place(allowed.holders[entry.name])
            yield Reason(NOTHING_LEFT, f"{_place(position)}: {first} matches {entry} first{further}")
        return
    locations = {each.location for facts in held for each in facts}
    missing = [name for name in entry.locations or () if name not in locations]
    if missing:
        of_types = f"{entry} is not" if entry.name is not None else f"no server type of {entry} is"
        yield Reason(UNKNOWN_LOCATION, f"{_place(position)}.locations: {of_types} in {', '.join(missing)}")
    elif not any(allowed.allows(each) for facts in held for each in facts):
        yield Reason(NOTHING_LEFT, f"{_place(position)}: nothing of {entry} is in a location that the pool allows")


def _low_limits(allowed: AllowedTypes) -> Iterator[Reason]:
    """Yield the limits in cores, memory and money that are below what any machine of the pool counts with."""
    facts = [each for name in allowed.holders for each in allowed.types[name] if allowed.allows(each)]
    for name, most in sums_limited(allowed.pool).items() if facts else ():
        smallest = min(facts, key=lambda each: (amounts_of(each)[name], each.server_type))
        least = amounts_of(smallest)[name]
        if least > most:
            amount, limit = written(name, least), f"limits.{name}: {written(name, most)} is below"
            begin, end = ("cheapest", "at") if name == MONEY else ("smallest", "with")
            machine = f"the {begin} machine, {smallest.server_type} {end} {amount}"
            yield Reason(LIMIT_TOO_LOW, f"{limit} {machine}, so nothing can be bought")


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


def with_faults(message: str, reasons: Sequence[Reason]) -> str:
    """Return the message, which may be empty, followed by the first of these faults and the number of the others."""
    rest = len(reasons) - _SENTENCES
    sentences = [each.message for each in reasons[:_SENTENCES]] + ([f"{rest} more of this kind"] if rest > 0 else [])
    return "; ".join([message, *sentences] if message else sentences)
