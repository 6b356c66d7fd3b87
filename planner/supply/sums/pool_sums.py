"""What machines count with towards the limits of a pool in cores, memory and money, and what these are.

A machine counts with the capacity of its type, not with what pods can have or ask for, and with the price that is
recorded for it: a later rise of the list is none of its own.
Source: Karpenter's `limits`, which sum up the capacity of Nodes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from api.quantity import format_price, parse_amount, parse_price, rounded_amount
from api.v1alpha1.node_pool import NodePool
from planner.objects.offering import Offering
from planner.supply.allowed_types import AllowedTypes
from planner.supply.machines import Machine, price_paid
from planner.supply.sums.price_units import price_of, price_units
from planner.supply.type_facts import TypeInLocation, facts_of

CPU: Final = "cpu"
MEMORY: Final = "memory"
MONEY: Final = "pricePerHour"


@dataclass(frozen=True, slots=True)
class PoolSum:
    """A limit of a pool in cores, memory or money, and what its machines come to."""

    name: str
    """Its field in the pool's `limits`."""
    most: int
    used: int
    """By machines that are there or coming, of which it is known."""
    least: int
    """What the smallest or cheapest machine that the pool may buy counts with."""
    currency: str
    unknown: str = ""
    """Name of a machine of which it is not known, the first one: nothing is bought, as the sum could be above."""

    @property
    def left(self) -> int:
        """What is left for machines; below 0 where those that are there have more."""
        return min(0, self.most - self.used) if self.unknown else self.most - self.used


@dataclass(frozen=True, slots=True)
class SumStanding:
    """How such a limit stands while a round plans."""

    of: PoolSum
    used: int
    left: int


def sums_of(allowed: AllowedTypes, machines: Sequence[Machine], offerings: Iterable[Offering]) -> Iterator[PoolSum]:
    """Yield the limits that the pool has.

    Args:
        allowed: what the pool may buy, with the types of its class.
        machines: of the pool, that count.
        offerings: that the pool may buy.
    """
    kinds = [amounts_of(facts_of(offering)) for offering in offerings]
    for name, most in sums_limited(allowed.pool).items():
        amounts = {machine.name: amount_of_machine(machine, name, allowed) for machine in machines}
        yield PoolSum(
            name=name,
            most=most,
            used=sum(amount for amount in amounts.values() if amount is not None),
            least=min((each[name] for each in kinds), default=0),
            currency=min(currencies(allowed), default=""),
            unknown=min((machine for machine, amount in amounts.items() if amount is None), default=""),
        )


def sums_limited(pool: NodePool) -> dict[str, int]:
    """Return the limits of the pool by field, those that it has: millicores, bytes, billionths of the currency."""
    limits = pool.spec.limits
    amounts = {name: parse_amount(name, text) for name, text in ((CPU, limits.cpu), (MEMORY, limits.memory)) if text}
    return (
        amounts if limits.price_per_hour is None else amounts | {MONEY: price_units(parse_price(limits.price_per_hour))}
    )


def amounts_of(facts: TypeInLocation) -> dict[str, int]:
    """Return what a new machine of the type counts with by field, in the same units."""
    price = Decimal(0) if facts.price is None else facts.price
    return {CPU: facts.millicores, MEMORY: facts.capacity_bytes, MONEY: price_units(price)}


def amount_of_machine(machine: Machine, name: str, allowed: AllowedTypes) -> int | None:
    """Return what a machine of the pool counts with in a field; None if that is not known in the class's currency."""
    facts = _facts(machine, allowed)
    if name == MONEY:
        if (paid := price_paid(machine)) is not None:
            price, currency = paid
            return price_units(price) if currency in currencies(allowed) else None
        is_here = facts is not None and facts.location == machine.location and facts.price is not None
        return amounts_of(facts)[MONEY] if facts is not None and is_here else None
    if facts is not None:
        return amounts_of(facts)[name]
    return None if machine.node is None else machine.node.capacity.get(name)


def currencies(allowed: AllowedTypes) -> frozenset[str]:
    """Return the currencies in which the pool's class has prices: one, as a rule."""
    return frozenset(each.currency for facts in allowed.types.values() for each in facts)


def written(name: str, amount: int) -> str:
    """Return an amount of a field as text, without the currency."""
    return format_price(price_of(amount)) if name == MONEY else rounded_amount(name, amount)


def limit_written(of: PoolSum) -> str:
    """Return the limit as text: "32 cpu", "64Gi memory", "0.25 EUR per hour"."""
    unit = f"{of.currency} per hour" if of.name == MONEY else of.name
    return f"{written(of.name, of.most)} {unit}"


def above_limit(of: PoolSum) -> str:
    """Return what machines above the limit come to: "machines of 40 cpu, more than limits.cpu, 32"."""
    used = limit_written(replace(of, most=of.used))
    return f"machines of {used}, more than limits.{of.name}, {written(of.name, of.most)}"


def is_full(pool: str, standing: SumStanding, server_type: str, amount: int) -> str:
    """Return the sentence that the limit has no room for a machine of the type, which counts with `amount`."""
    of, name = standing.of, standing.of.name
    has, take = ("cost", "costs") if name == MONEY else ("have", "has")
    begin = f"pool {pool} is at its limit of {limit_written(of)}"
    if of.unknown:
        missing = (
            f"what machine {of.unknown} costs in {of.currency}" if name == MONEY else f"the {name} of {of.unknown}"
        )
        return f"{begin}: {missing} is not known"
    clauses = [f"its machines {has} {written(name, standing.used)}"] if standing.used else []
    if of.least > standing.left > 0:
        fewer = "fewer" if name == CPU else "less"
        clauses.append(f"no allowed machine {take} {written(name, standing.left)} or {fewer}")
    elif standing.left:
        clauses.append(f"{server_type} {take} {written(name, amount)}")
    return f"{begin}: {', and '.join(clauses)}"


def _facts(machine: Machine, allowed: AllowedTypes) -> TypeInLocation | None:
    """Return the facts of the machine's type, of its location if the class has it there."""
    if machine.class_ref not in (None, allowed.pool.spec.template.class_ref):
        return None
    in_class = allowed.types.get(machine.server_type, ())
    return next((one for one in in_class if one.location == machine.location), next(iter(in_class), None))
