"""Pairs in which having more asks for more: left out of the comparison, each by a rule with a name and its reason."""

from collections.abc import Callable
from typing import Final

from tests.planner.packing.joint.small_round import SmallRound, small_round
from tests.planner.packing.monotony.pairs import Pair
from tests.planner.reading import is_demand
from tests.planner.selecting import HOSTNAME, spreads


def _a_domain_more(pair: Pair, less: SmallRound, full: SmallRound) -> bool:
    """Return whether pods that must be spread have a domain more to be spread over.

    Each domain in which a machine can be bought counts from the start, as the scheduler counts it from the first
    machine on: who may buy in a third zone has to.
    """
    keys = {c["topologyKey"] for p in pair.full.pods if is_demand(p) for c in spreads(p)} - {HOSTNAME}
    return any(_values(less, key) != _values(full, key) for key in keys)


def _values(given: SmallRound, key: str) -> set[str]:
    return {spot.labels[key] for spot in (*given.there, *given.kinds) if key in spot.labels}


def _two_hosts_at_least(pair: Pair, less: SmallRound, full: SmallRound) -> bool:
    """Return whether pods that must be spread over hosts get two machines, as limits allow them now, and did not."""
    is_spread = any(c["topologyKey"] == HOSTNAME for p in pair.full.pods if is_demand(p) for c in spreads(p))
    return is_spread and _machines(less) < 2 <= _machines(full)


def _machines(given: SmallRound) -> int:
    """Return how many machines limits allow at most."""
    pools = {pool for pool, _ in given.left}
    kinds = {(spot.limits[0][0], spot.limits[1]) for spot in given.kinds}
    return sum(
        min(given.left[pool, ""], sum(given.left.get(limit, 1000) for own, limit in kinds if own == pool))
        for pool in pools
    )


def _a_minimum_more(pair: Pair, less: SmallRound, full: SmallRound) -> bool:
    """Return whether a minimum of what is more buys machines, wanted or not."""
    return less.missing != full.missing


RULES: Final[dict[str, Callable[[Pair, SmallRound, SmallRound], bool]]] = {
    "a domain more to be spread over": _a_domain_more,
    "two hosts at least where limits allow them": _two_hosts_at_least,
    "a minimum more": _a_minimum_more,
}


def contradictions(pair: Pair) -> list[str]:
    """Return the names of the rules that a pair falls under."""
    less, full = small_round(pair.less), small_round(pair.full)
    return [name for name, rule in RULES.items() if rule(pair, less, full)]
