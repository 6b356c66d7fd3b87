"""The cheapest machines that cover what is missing of several resources, as far as limits allow.

Exact for as much work as a round has time for: branch and bound over the kinds, with the price of the resource that is
dearest to cover as the bound. Beyond that, the best that was found stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_MOST_LOOKS: Final = 20_000
"""Branches: some 50 ms."""

Amounts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """Machines of one kind."""

    price: int
    amounts: Amounts
    """What one machine has, by resource."""
    limits: Mapping[int, int]
    """What one machine takes of each limit, by its position; at least 1."""


def cheapest_cover(missing: Amounts, offers: Sequence[Offer], left: Sequence[int]) -> tuple[int, ...] | None:
    """Return the number of machines of each offer that cover `missing` for the least money; None if limits forbid it.

    Of equally cheap covers the one with the fewest machines, then that with most of the earlier offers.

    Args:
        missing: by resource; one of 0 or less is covered.
        offers: the preferred ones of equals first.
        left: what each limit leaves.
    """
    search = _Search(missing, offers)
    search.descend(0, missing, tuple(left), (), 0)
    return search.best


def largest_cover(missing: Amounts, offers: Sequence[Offer], left: Sequence[int]) -> tuple[int, ...]:
    """Return the number of machines of each offer that limits allow where they do not allow to cover `missing`.

    One after the other, always the kind that covers most of the resource that is missing most.
    """
    counts, room = [0] * len(offers), list(left)
    rest, whole = list(missing), list(missing)
    while open_ := [k for k, offer in enumerate(offers) if _fits(offer, room) and _helps(offer, rest)]:
        needed = [r for r, amount in enumerate(rest) if amount > 0 and any(offers[k].amounts[r] > 0 for k in open_)]
        scarcest = max(needed, key=lambda r: (rest[r] / whole[r], -r))
        k = max(open_, key=lambda k: (min(rest[scarcest], offers[k].amounts[scarcest]), -offers[k].price, -k))
        counts[k] += 1
        for row, amount in offers[k].limits.items():
            room[row] -= amount
        rest = [amount - has for amount, has in zip(rest, offers[k].amounts, strict=True)]
    return tuple(counts)


class _Search:
    def __init__(self, missing: Amounts, offers: Sequence[Offer]) -> None:
        self.best: tuple[int, ...] | None = None
        self._worth: tuple[int, int] = (0, 0)
        """Price and number of machines of the best."""
        self._looks = 0
        self._offers = offers
        # Kinds that give most for their price first, so that the first cover is a good one.
        self._order = sorted(range(len(offers)), key=lambda k: (_price_of_all(offers[k], missing), k))

    def descend(self, depth: int, rest: Amounts, room: Amounts, counts: tuple[int, ...], price: int) -> None:
        """Look at all covers that begin with these counts."""
        if all(amount <= 0 for amount in rest):
            self._see(counts, price)
            return
        self._looks += 1
        if depth == len(self._order) or self._looks > _MOST_LOOKS or self._is_hopeless(depth, rest, counts, price):
            return
        offer = self._offers[self._order[depth]]
        allowed = min((room[row] // amount for row, amount in offer.limits.items()), default=_needed(offer, rest))
        most = min(allowed, _needed(offer, rest))
        # With the last kind left, fewer machines than most cover nothing.
        least = most if depth + 1 == len(self._order) else 0
        for number in range(most, least - 1, -1):
            if self._looks > _MOST_LOOKS:
                return
            after = tuple(amount - number * has for amount, has in zip(rest, offer.amounts, strict=True))
            taken = tuple(left - number * offer.limits.get(row, 0) for row, left in enumerate(room))
            self.descend(depth + 1, after, taken, (*counts, number), price + number * offer.price)

    def _see(self, counts: tuple[int, ...], price: int) -> None:
        worth = price, sum(counts)
        made = [0] * len(self._offers)
        for k, number in zip(self._order, counts, strict=False):
            made[k] = number
        if self.best is None or worth < self._worth or (worth == self._worth and tuple(made) > self.best):
            self.best, self._worth = tuple(made), worth

    def _is_hopeless(self, depth: int, rest: Amounts, counts: tuple[int, ...], price: int) -> bool:
        """Return whether nothing below can be covered, or only for more than the best costs."""
        left = [self._offers[k] for k in self._order[depth:]]
        least = fewest = 0
        for r, amount in enumerate(rest):
            if amount <= 0:
                continue
            having = [offer for offer in left if offer.amounts[r] > 0]
            if not having:
                return True
            least = max(least, min(-(-amount * offer.price // offer.amounts[r]) for offer in having))
            fewest = max(fewest, min(-(-amount // offer.amounts[r]) for offer in having))
        return self.best is not None and (price + least, sum(counts) + fewest) > self._worth


def _needed(offer: Offer, rest: Amounts) -> int:
    """Return the most machines of the offer that can be of use."""
    return max((-(-n // has) for n, has in zip(rest, offer.amounts, strict=True) if n > 0 and has > 0), default=0)


def _price_of_all(offer: Offer, missing: Amounts) -> float:
    shares = [n / has if has > 0 else float("inf") for n, has in zip(missing, offer.amounts, strict=True) if n > 0]
    return max(shares, default=0.0) * max(1, offer.price)


def _fits(offer: Offer, room: Sequence[int]) -> bool:
    return all(room[row] >= amount for row, amount in offer.limits.items())


def _helps(offer: Offer, rest: Sequence[int]) -> bool:
    return any(amount > 0 and has > 0 for amount, has in zip(rest, offer.amounts, strict=True))
