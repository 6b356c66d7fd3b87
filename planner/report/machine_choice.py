"""Why a machine is of its type: what its pods use of it, what would do next, and what would do but for one thing.

Other machines are asked whether they hold exactly the pods that the plan puts on this one, together
and in the domains that it gave them; that the rest of the plan might be made otherwise is not asked.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import floor
from typing import Final

from api.money import format_price
from planner.model.plan import Alternative, Because, Reason
from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly, fits_offer
from planner.packing.assign import Bought
from planner.report.unplaced import limit_reached
from planner.scheduling.attachments import amount_of, attachable
from planner.supply.limits import Limits
from planner.supply.offers import Offer, PoolOffers

_FIRST: Final = ("cpu", "memory", "ephemeral-storage")
"""The order in which resources are named; others follow by name."""
_TOLD: Final = ("cpu", "memory")
"""Resources of which a sentence always names the share."""
_OBSTACLE_CHARACTERS: Final = 120
"""A failed request may tell a long story, and the sentence goes into events."""


class MachineChoices:
    """Machines with the same pods cost one look, however many they are.

    Args:
        assembly: the problem that was packed.
        offers: all that pools could buy.
        limits: what limits still allow after the plan.
    """

    def __init__(self, assembly: Assembly, offers: Mapping[str, PoolOffers], limits: Limits) -> None:
        self._assembly = assembly
        self._limits = limits
        self._known: dict[object, Because] = {}
        problem, sources = assembly.problem, assembly.sources
        priced = [(b, s.offer) for b, s in enumerate(sources) if s.offer is not None and not s.is_minimum]
        self._priced = sorted(priced, key=lambda one: problem.bins[one[0]].price)
        self._blocked = sorted(_blocked(offers), key=lambda one: one[0].offering.price_per_hour)
        """Offers that cannot be bought for one reason that is no limit, with the reason, the cheapest first."""
        self._fits: dict[tuple[int, int], bool] = {}

    def because(self, bought: Bought) -> Because:
        """Return why this machine is of its type."""
        key = (bought.bin, frozenset(bought.counts.items()))
        if key not in self._known:
            self._known[key] = self._looked_at(bought)
        return self._known[key]

    def told(self, bought: Bought) -> tuple[str, Because]:
        """Return why this machine is of its type, as a sentence and as data."""
        because = self.because(bought)
        is_minimum = self._assembly.sources[bought.bin].is_minimum
        return sentence(bought, because, is_minimum=is_minimum), because

    def _looked_at(self, bought: Bought) -> Because:
        used = _used([placed_pod.pod for placed_pod in bought.pods])
        shares = _shares(used, bought.offer)
        binding = max(shares, key=lambda name: shares[name], default=None)
        if self._assembly.sources[bought.bin].is_minimum:
            return Because(shares, binding)
        return Because(shares, binding, self._runner_up(bought), self._cheaper(bought, used))

    def _runner_up(self, bought: Bought) -> Alternative | None:
        chosen = bought.offer
        twins: list[Alternative] = []
        others: list[Alternative] = []
        for offer, obstacles in self._holding(bought):
            if others and offer.offering.price_per_hour > others[0].price_per_hour:
                break
            if not obstacles:
                # Another place of the same type at the same price says nothing about the type.
                (twins if _is_twin(offer, chosen) else others).append(_alternative(offer))
        return min(others or twins, key=lambda one: _nearness(one, chosen), default=None)

    def _cheaper(self, bought: Bought, used: Mapping[str, int]) -> Alternative | None:
        chosen = bought.offer
        found: list[Alternative] = []
        for offer, obstacles in self._holding(bought):
            if offer.offering.price_per_hour >= chosen.offering.price_per_hour:
                break
            if len(obstacles) == 1:
                found.append(_alternative(offer, obstacles[0]))
        for position, (offer, reason) in enumerate(self._blocked):
            if offer.offering.price_per_hour >= chosen.offering.price_per_hour:
                break
            if not self._limits_reached(offer, chosen) and self._would_hold(bought, position, used):
                found.append(_alternative(offer, reason))
        return min(found, key=lambda one: _nearness(one, chosen), default=None)

    def _holding(self, bought: Bought) -> Iterator[tuple[Offer, list[Reason]]]:
        """Yield the other offers of the problem that hold these pods, with the limits in their way, cheapest first."""
        problem = self._assembly.problem
        allowed = frozenset.intersection(*(problem.groups[k].bins for k in bought.counts))
        load = _load(self._assembly, bought.counts)
        for b, offer in self._priced:
            capacity = problem.bins[b].capacity
            if b != bought.bin and b in allowed and all(capacity[r] >= amount for r, amount in load):
                yield offer, self._limits_reached(offer, bought.offer)

    def _limits_reached(self, offer: Offer, chosen: Offer) -> list[Reason]:
        """Return the limits that forbid to buy `offer` in the place of `chosen`, which counts towards its own."""
        own = {key for key, _ in self._limits.rows(chosen)}
        return [limit_reached(offer, key) for key in self._limits.exhausted(offer) if key not in own]

    def _would_hold(self, bought: Bought, position: int, used: Mapping[str, int]) -> bool:
        """Return whether an offer that is not in the problem would hold these pods."""
        offer, _ = self._blocked[position]
        if any(amount_of(offer.usable, name) < amount for name, amount in used.items()):
            return False
        shares, wishes = self._assembly.shares, self._assembly.wishes
        asks = {i for k in bought.counts for i, _ in shares[k].pods}
        if any(shares[k].cell is not None for k in bought.counts) and _is_elsewhere(
            offer, bought.offer, [wish.pod for wish in wishes]
        ):
            return False
        return all(self._fits_offer(i, position) for i in asks)

    def _fits_offer(self, i: int, position: int) -> bool:
        if (i, position) not in self._fits:
            self._fits[i, position] = fits_offer(self._assembly.asks[i], self._blocked[position][0])
        return self._fits[i, position]


def sentence(bought: Bought, because: Because, *, is_minimum: bool) -> str:
    """Return one short sentence: for whom a machine is bought, how full it is, and what would do instead."""
    chosen, number = bought.offer, len(bought.pods)
    told = [*_TOLD, *([because.binding] if because.binding not in (None, *_TOLD) else [])]
    shares = ", ".join(f"{name} {percent(because.shares[name])} %" for name in told if name in because.shares)
    pool = chosen.pool.metadata.name
    parts = [f"For {number} {'pod' if number == 1 else 'pods'} of pool {pool}: {shares}"]
    if is_minimum:
        return "; ".join((*parts, f"the minimum of pool {pool} asks for it"))
    if because.cheaper is not None:
        parts.append(missed(because.cheaper, chosen.offering.price_per_hour))
    other = because.runner_up
    them = "it" if number == 1 else "them"
    parts.append(
        f"nothing else that can be bought holds {them}"
        if other is None
        else f"next: {named(other, chosen.offering.location, pool)}"
    )
    return "; ".join(parts)


def missed(cheaper: Alternative, price: Decimal) -> str:
    """Return by how much a machine would be cheaper than one of this price, and what keeps it from being bought."""
    place = f"{cheaper.server_type} in {cheaper.location}"
    obstacle = "" if cheaper.obstacle is None else cheaper.obstacle.message.removeprefix(f"{place} ")
    return f"{place} would be {format_price(price - cheaper.price_per_hour)} cheaper, but {_cut(obstacle)}"


def percent(share: float) -> int:
    """Return a share in whole percent, rounded down: 100 % means that nothing is left."""
    return floor(round(100 * share, 6))


def named(other: Alternative, location: str, pool: str) -> str:
    """Return another machine and its price, with its place only where they are not in this location and pool."""
    where = "" if other.location == location else f" in {other.location}"
    whose = "" if other.pool == pool else f" of pool {other.pool}"
    return f"{other.server_type}{where}{whose} for {format_price(other.price_per_hour)}"


def _used(pods: Sequence[Pod]) -> dict[str, int]:
    """Return what the pods take together; a volume that several of them use counts once."""
    used = Counter[str]()
    for pod in pods:
        used.update(pod.requests)
    drivers = {driver for pod in pods for driver, _ in pod.attachments}
    return {**used, **{name: -left for name, left in attachable(dict.fromkeys(drivers, 0), pods).items()}}


def _shares(used: Mapping[str, int], offer: Offer) -> dict[str, float]:
    """Return the used shares, in the order in which resources are named."""
    names = [*(name for name in _FIRST if name in used), *sorted(used.keys() - set(_FIRST))]
    return {name: used[name] / offer.usable[name] for name in names if used[name] and offer.usable.get(name, 0) > 0}


def _load(assembly: Assembly, counts: Mapping[int, int]) -> list[tuple[int, int]]:
    demands = [(assembly.problem.groups[k].demand, number) for k, number in counts.items()]
    totals = (sum(demand[r] * number for demand, number in demands) for r in range(len(demands[0][0])))
    return [(r, total) for r, total in enumerate(totals) if total]


def _blocked(offers: Mapping[str, PoolOffers]) -> Iterator[tuple[Offer, Reason]]:
    for found in offers.values():
        for offer in found.offers:
            match [reason for reason in (found.obstacle, offer.obstacle) if reason is not None]:
                case [reason]:
                    yield offer, reason
                case _:
                    pass


def _is_twin(offer: Offer, chosen: Offer) -> bool:
    one, other = offer.offering, chosen.offering
    return (one.server_type, one.price_per_hour) == (other.server_type, other.price_per_hour)


def _is_elsewhere(offer: Offer, chosen: Offer, pods: Sequence[Pod]) -> bool:
    """Return whether the two may be in different domains of what these pods ask of others."""
    keys = {one.topology_key for pod in pods for one in (*pod.spread, *pod.pod_affinity, *pod.pod_anti_affinity)}
    same_place = offer.offering.location == chosen.offering.location
    return not same_place or any(offer.labels.get(key) != chosen.labels.get(key) for key in keys)


def _alternative(offer: Offer, obstacle: Reason | None = None) -> Alternative:
    one = offer.offering
    return Alternative(one.server_type, one.location, offer.pool.metadata.name, one.price_per_hour, obstacle)


def _nearness(other: Alternative, chosen: Offer) -> tuple[object, ...]:
    """Return an order: the cheapest first, of those the one that is most like the chosen one."""
    return (
        other.price_per_hour,
        other.location != chosen.offering.location,
        other.pool != chosen.pool.metadata.name,
        other.server_type,
        other.location,
        other.pool,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _OBSTACLE_CHARACTERS else f"{text[: _OBSTACLE_CHARACTERS - 1]}…"
