"""Pods of a spread that may be in several domains without a word from the others: the slack of its maxSkew.

Ten pods over three zones are three in each, and one that may be in any: that is decided with the machines.
Source: kube-scheduler's plugin PodTopologySpread: the fullest domain has at most maxSkew pods more than the emptiest.
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from planner.packing.domains.domain_counts import SpreadCount
from planner.packing.domains.domains import Cell

_MOST_DOMAINS: Final = 20
"""With more, one of them has hardly more pods than all machines have room for."""


@dataclass(frozen=True, slots=True)
class Slack:
    """Pods that are tied to no domain."""

    taken: Mapping[str, int]
    """Pods that each domain has less of than it was given."""
    open_to: frozenset[str]
    """Domains that all of them may be in, even if all are in the same."""

    @property
    def number(self) -> int:
        """How many pods they are."""
        return sum(self.taken.values())


NONE = Slack({}, frozenset())


def slack_of(spread_count: SpreadCount, given: Mapping[str, int], *, turn: int) -> Slack:
    """Return the pods that can be tied to no domain, so that any distribution of them keeps the skew.

    Args:
        spread_count: with the pods of all domains at the end, those given now among them.
        given: pods given now by domain, those that get none too where they may be given some.
        turn: of equally full domains, which gives first: groups that take turns leave no zone fuller than the others.
    """
    max_skew = spread_count.spread.max_skew
    order = sorted(given)
    order = order[turn % len(order) :] + order[: turn % len(order)] if order else order
    levels, taken, best = dict(spread_count.counts), dict.fromkeys(order, 0), NONE
    worth = 0
    for number in range(1, min(max_skew, sum(given.values())) + 1):
        fullest = max((d for d in order if given[d] > taken[d]), key=lambda d: levels[d])
        levels[fullest] -= 1
        taken[fullest] += 1
        most = max_skew + (0 if spread_count.is_short else min(levels.values()))
        open_to = frozenset(d for d in order if levels[d] + number <= most)
        if max(levels.values()) > most:
            break
        if number * (len(open_to) - 1) > worth:
            worth, best = number * (len(open_to) - 1), Slack({d: n for d, n in taken.items() if n}, open_to)
    return best


def cells_by_domain(spread_count: SpreadCount | None, labels: Mapping[Cell, Mapping[str, str]]) -> dict[str, Cell]:
    """Return the cell of each domain; none where there is no spread, or where cells and domains are not the same."""
    if spread_count is None:
        return {}
    key = spread_count.spread.topology_key
    open_to = [cell for cell, of_cell in labels.items() if key in of_cell]
    cells = {labels[cell][key]: cell for cell in open_to}
    return cells if len(cells) == len(open_to) and cells.keys() <= spread_count.counts.keys() else {}


def most_together(spread_count: SpreadCount, open_to: Collection[str], number: int) -> int:
    """Return how many of `number` pods can be in one domain at most, if all of them find a place.

    Args:
        spread_count: with the pods of all domains before they come.
        open_to: the domains that they may be in.
        number: of the pods.
    """
    if len(open_to) > _MOST_DOMAINS:
        return number
    counts = spread_count.counts
    closed = min((n for domain, n in counts.items() if domain not in open_to), default=None)

    def skew(domain: str, here: int) -> int:
        """Return the least skew of a domain that gets so many: the others are filled up evenly with the rest."""
        full = counts[domain] + here
        if spread_count.is_short:
            return full
        levels = [counts[other] for other in open_to if other != domain]
        lowest = min(levels, default=full)
        lift = bisect_right(
            range(number - here + 1), number - here, key=lambda by: sum(max(0, lowest + by - n) for n in levels)
        )
        emptiest = lowest + lift - 1 if levels else full
        return full - min(emptiest, full if closed is None else closed)

    def most(domain: str) -> int:
        return bisect_right(range(1, number + 1), spread_count.spread.max_skew, key=lambda here: skew(domain, here))

    return max(map(most, open_to), default=0)
