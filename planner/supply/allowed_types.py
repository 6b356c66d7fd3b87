"""What a pool may buy of its class: for each server type the entry of `serverTypes` that holds, and in which locations.

The first entry that matches a type holds, wherever that type can be had: the entry's locations and the pool's then
restrict where it is bought, and no later entry takes over what they leave out. A type matches requirements if it meets
them in some location; where it costs more than they allow, it is not bought.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.pool_server_type import PoolServerType
from planner.model.node_class import NodeClass
from planner.objects.offering import Offering
from planner.supply.type_facts import PRICE, TypeInLocation, facts_of, meets

ClassTypes = Mapping[str, tuple[TypeInLocation, ...]]
"""The facts of each type of a class, by its name in lower case: one for each of its locations."""


@dataclass(frozen=True, slots=True)
class AllowedTypes:
    """The server types that a pool may buy, by the entry that holds for each."""

    pool: NodePool
    types: ClassTypes
    """Of its class."""
    holders: Mapping[str, int]
    """Position of the entry that holds, by type, of those that any entry matches."""

    def holder(self, server_type: str) -> int | None:
        """Return the position of the entry that holds for the type, or None.

        Of a type that the class does not have, no requirement is known to be met: names and patterns are asked. An
        empty type is not known.
        """
        name = server_type.lower()
        if not name:
            return None
        return self.holders.get(name) if name in self.types else holders(self.pool, _alone(name)).get(name)

    def entry(self, position: int) -> PoolServerType:
        """Return the entry at the position."""
        return self.pool.spec.server_types[position]

    def allows(self, facts: TypeInLocation) -> bool:
        """Return whether this type may be bought in this location."""
        position = self.holders.get(facts.server_type)
        if position is None or not self._is_place(self.entry(position), facts.location):
            return False
        return _matches(self.entry(position), facts) is True

    def among(self, offerings: Iterable[Offering]) -> Iterator[Offering]:
        """Yield those that may be bought, in their order."""
        for offering in offerings:
            # Most are of types that the pool does not have: their facts are not laid out.
            if offering.server_type.lower() in self.holders and self.allows(facts_of(offering)):
                yield offering

    def objection(self, server_type: str, location: str) -> str:
        """Return why a machine that is there is none of the pool's any more, as the rest of a sentence; empty if it is.

        Requirements speak against it only by what is known, and never by its price. A location that is not known,
        which is empty, is not judged.
        """
        name = server_type.lower()
        known = self.types.get(name) or _alone(name)[name]
        may_match = False
        for entry in self.pool.spec.server_types:
            answers = {_matches(entry, facts, with_price=False) for facts in known}
            if answers == {False}:
                continue
            may_match = True
            if not location or self._is_place(entry, location):
                return ""
            if True in answers and not _asks_for_price(entry):
                break
        if may_match:
            return f"its location {location} is no longer among those that the pool has for {server_type}"
        return f"its type {server_type} is no longer among the pool's serverTypes"

    def _is_place(self, entry: PoolServerType, location: str) -> bool:
        return all(names is None or location in names for names in (entry.locations, self.pool.spec.locations))


def types_of(facts: Iterable[TypeInLocation]) -> ClassTypes:
    """Return the facts by type."""
    by_type: dict[str, list[TypeInLocation]] = {}
    for each in facts:
        by_type.setdefault(each.server_type, []).append(each)
    return {name: tuple(of_type) for name, of_type in by_type.items()}


def allowed_types(pool: NodePool, types: ClassTypes) -> AllowedTypes:
    """Return what the pool allows of the class that has these types."""
    return AllowedTypes(pool, types, holders(pool, types))


def allowed_by_pool(classes: Iterable[NodeClass], pools: Iterable[NodePool]) -> dict[str, AllowedTypes]:
    """Return what each pool allows of its class, by the pool's name; nothing of a class that does not exist."""
    offerings: dict[ClassRef, tuple[Offering, ...]] = {each.ref: each.offerings for each in classes}
    types: dict[ClassRef, ClassTypes] = {}
    allowed: dict[str, AllowedTypes] = {}
    for pool in pools:
        ref = pool.spec.template.class_ref
        if ref not in types:
            types[ref] = types_of(map(facts_of, offerings.get(ref, ())))
        allowed[pool.metadata.name] = allowed_types(pool, types[ref])
    return allowed


def holders(pool: NodePool, types: ClassTypes) -> dict[str, int]:
    """Return the position of the first entry that matches, by type, of those that any entry matches."""
    named: dict[str, int] = {}
    general: list[tuple[int, PoolServerType]] = []
    for position, entry in enumerate(pool.spec.server_types):
        if entry.name is None:
            general.append((position, entry))
        else:
            named[entry.name] = position
    held: dict[str, int] = {}
    for name, facts in types.items():
        by_name = named.get(name, len(pool.spec.server_types))
        earlier = (position for position, entry in general if position < by_name and matches_type(entry, facts))
        position = next(earlier, by_name)
        if position < len(pool.spec.server_types):
            held[name] = position
    return held


def matches_type(entry: PoolServerType, facts: Iterable[TypeInLocation]) -> bool:
    """Return whether the entry matches the type, of which these are the facts by location, in some location."""
    return any(_matches(entry, each) is True for each in facts)


def _alone(name: str) -> ClassTypes:
    return {name: (TypeInLocation(name, ""),)}


def _asks_for_price(entry: PoolServerType) -> bool:
    return any(each.key == PRICE for each in entry.requirements or ())


def _matches(entry: PoolServerType, facts: TypeInLocation, *, with_price: bool = True) -> bool | None:
    """Return whether the entry matches; None if a fact that decides it is not known."""
    if entry.name is not None:
        return entry.name == facts.server_type
    if entry.pattern is not None:
        return fnmatchcase(facts.server_type, entry.pattern)
    answers = {meets(facts, each) for each in entry.requirements or () if with_price or each.key != PRICE}
    return False if False in answers else None if None in answers else True
