"""Shares of what machines have that pods ask for: compared in exact integers, so that no rounding moves a bound.

Amounts are per resource, of cpu in thousandths of a core and of memory in bytes. The larger of the two shares counts.
Source: atlassian/escalator, `pkg/controller/util.go`, whose percentages are binary fractions.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from planner.objects.kinds import Pod
from planner.supply.machines import Machine

JUDGED: Final[tuple[str, ...]] = ("cpu", "memory")
"""Resources of which shares are taken."""
_WHOLE: Final = 100
Amounts = Mapping[str, int]


def is_below(asked: Amounts, capacity: Amounts, percent: int) -> bool:
    """Return whether the larger share is below so many percent; never where there is nothing of a resource."""
    return all(is_share_below(name, asked, capacity, percent) for name in JUDGED)


def is_share_below(resource: str, asked: Amounts, capacity: Amounts, percent: int) -> bool:
    """Return whether the share of one resource is below so many percent; equal is not."""
    return _WHOLE * asked.get(resource, 0) < percent * capacity.get(resource, 0)


def is_above(asked: Amounts, capacity: Amounts, percent: int) -> bool:
    """Return whether the larger share is above so many percent; nothing asked for is never above anything."""
    return any(_WHOLE * asked.get(name, 0) > percent * capacity.get(name, 0) for name in JUDGED)


def larger_share(asked: Amounts, capacity: Amounts) -> tuple[Fraction, str]:
    """Return the larger share of those of which there is something, 1 for all of it, and its resource."""
    shares = [(Fraction(asked.get(name, 0), capacity[name]), name) for name in JUDGED if capacity.get(name, 0) > 0]
    return max(shares, key=lambda share: share[0], default=(Fraction(0), JUDGED[0]))


def asked_on(machine: Machine) -> dict[str, int]:
    """Return what the pods on a machine ask for, those that belong to its Node left out: they go with it."""
    return requested(pod for pod in machine.residents if not pod.is_of_node)


def requested(pods: Iterable[Pod]) -> dict[str, int]:
    """Return what pods ask for together."""
    asked: dict[str, int] = dict.fromkeys(JUDGED, 0)
    for pod in pods:
        for name in JUDGED:
            asked[name] += pod.requests.get(name, 0)
    return asked


def capacity_of(machine: Machine) -> dict[str, int]:
    """Return what pods can have on a machine, as its Node says; nothing without a Node."""
    node = machine.node
    return {name: 0 if node is None else node.allocatable.get(name, 0) for name in JUDGED}


def used_share(machine: Machine) -> Fraction:
    """Return the larger share of a machine that its pods ask for."""
    return larger_share(asked_on(machine), capacity_of(machine))[0]


def summed(all_amounts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sums by resource."""
    listed = list(all_amounts)
    return {name: sum(amounts.get(name, 0) for amounts in listed) for name in JUDGED}
