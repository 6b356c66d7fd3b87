"""The search for the machines whose going saves most for the pods that it moves.

Which machines go decides everything: where their pods go then, and what is bought, the packer says. Of few machines
every set is looked at. Of many, those that cost most beside what their pods are worth come first, in sets that double
until they bring no more; then machines are left out or added where that brings more.
No more machines of a pool are looked at together than its budgets let go: a small step waits for no larger one.
Each look packs the pods of a few machines, and their number falls with the size of the cluster: the work is linear.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Final

from planner.consolidation.fleet import Fleet, Member
from planner.consolidation.step import ConsolidationStep, net, steps_of
from planner.consolidation.worth import worths
from planner.displacement.displace import Displacer
from planner.displacement.displaced import Misfit
from planner.packing.assemble import buyable
from planner.packing.problem import Packer
from planner.supply.machine_kind import PoolKinds

_FEWEST_LOOKS: Final = 12
_MOST_LOOKS: Final = 128
"""Every set of seven machines."""
_WORK: Final = 12_000
"""Machines and pods that looks go over: some second of work, or more where the fewest looks are larger."""
LARGEST_SHARE: Final = 10
"""At most one in so many machines goes in one round, and at least four: as many as budgets let go."""
_LEAST: Final = 4


@dataclass(frozen=True, slots=True)
class ChosenSteps:
    """Machines that go, in steps."""

    steps: tuple[ConsolidationStep, ...] = ()

    @property
    def brings(self) -> Decimal:
        """The saving per hour, less what the moves cost."""
        return net(self.steps)

    @property
    def names(self) -> frozenset[str]:
        """Of the machines that go."""
        return frozenset[str]().union(*(step.names for step in self.steps))


class Search:
    """Looks at sets of machines, each once.

    Args:
        displacer: answers where their pods would go.
        fleet: of which they are.
        pool_kinds: what may be bought in their place.
        packer: for looking.
        share: at most one in so many machines goes.
        looks: at most so many sets of machines are looked at.
    """

    def __init__(
        self,
        displacer: Displacer,
        fleet: Fleet,
        pool_kinds: Mapping[str, PoolKinds],
        packer: Packer,
        *,
        share: int = LARGEST_SHARE,
        looks: int = _MOST_LOOKS,
    ) -> None:
        self._displacer = displacer
        self._fleet = fleet
        self._pool_kinds = pool_kinds
        self._packer = packer
        self._share = share
        self._members = {m.machine.name: m for m in fleet.members if displacer.fixed(m.machine.name) is None}
        self._allowances = fleet.allowances
        self._seen: dict[frozenset[str], ChosenSteps] = {}
        self._blocked: set[str] = set()
        size = len(displacer.places) + sum(len(member.pods) for member in self._members.values())
        self._left = max(_FEWEST_LOOKS, min(looks, _WORK // max(1, size)))

    def best(self) -> ChosenSteps:
        """Return the best choice of the looks that the work allows; one without steps if nothing is worth it."""
        order = self._order()
        if 2 ** len(order) - 1 <= self._left:
            sets = (frozenset(names) for n in range(1, len(order) + 1) for names in combinations(order, n))
            return max((self._look(names) for names in sets), key=lambda one: one.brings, default=ChosenSteps())
        best = self._doubling(order)
        return self._improved(best, order) if best.steps else best

    def again(self, choice: ChosenSteps, packer: Packer) -> ChosenSteps:
        """Return the choice as another packer has it, or itself where that is not better."""
        other = self._asked(choice.names, packer)
        return max(choice, other, key=lambda one: one.brings)

    def _order(self) -> list[str]:
        """Return the machines, those first that cost most beside what their pods are worth and their moves cost."""
        groups = self._displacer.groups
        worth = worths(groups, buyable(self._pool_kinds))

        def use(member: Member) -> tuple[Decimal, str]:
            positions = (self._displacer.group_of(pod) for pod in member.pods)
            of_pods = sum((worth[i] for i in positions if i is not None), Decimal(0))
            return (of_pods + member.cost_of_moves) / max(member.price, Decimal("1e-9")), member.machine.name

        return [name for _, name in sorted(map(use, self._members.values()))]

    def _doubling(self, order: Sequence[str]) -> ChosenSteps:
        """Return the best of the first 1, 2, 4, … machines in order; where none saves, of those behind them."""
        most = self._most(order)
        best, rest = ChosenSteps(), list(order)
        while rest and self._left > 0 and not best.steps:
            number, tried = 1, list[str]()
            while self._left > 0:
                tried = self._first(rest, min(number, most))
                choice = self._look(frozenset(tried)) if tried else ChosenSteps()
                best = max(best, choice, key=lambda one: one.brings)
                if number >= min(most, len(rest)):
                    break
                number *= 2
            rest = [name for name in rest if name not in tried and name not in self._blocked]
        return best

    def _most(self, order: Sequence[str]) -> int:
        """Return how many machines go at most, whichever pools they are of."""
        numbers = Counter(self._members[name].machine.pool for name in order)
        allowed = sum(min(number, self._allowances.get(pool, number)) for pool, number in numbers.items())
        return min(allowed, max(_LEAST, -(-len(order) // self._share)))

    def _first(self, names: Iterable[str], number: int) -> list[str]:
        """Return the first of these that nothing keeps, no more of a pool than may go."""
        chosen: list[str] = []
        of_pool = Counter[str]()
        for name in names:
            pool = self._members[name].machine.pool
            if len(chosen) == number:
                break
            if name not in self._blocked and of_pool[pool] < self._allowances.get(pool, number):
                of_pool[pool] += 1
                chosen.append(name)
        return chosen

    def _may_go(self, names: Iterable[str]) -> bool:
        """Return whether so many of each pool may go."""
        of_pool = Counter(self._members[name].machine.pool for name in names)
        return all(of_pool[pool] <= most for pool, most in self._allowances.items())

    def _improved(self, best: ChosenSteps, order: Sequence[str]) -> ChosenSteps:
        """Return a choice at least as good: machines are left out, or added, while looks are left."""
        is_better = True
        while is_better and self._left > 0:
            is_better = False
            for names in self._neighbours(best.names, order):
                if self._left <= 0:
                    break
                choice = self._look(names)
                if choice.brings > best.brings:
                    best, is_better = choice, True
                    break
        return best

    def _neighbours(self, names: frozenset[str], order: Sequence[str]) -> Iterator[frozenset[str]]:
        most = self._most(order)
        out = [name for name in order if name not in names and name not in self._blocked]
        within = [name for name in reversed(order) if name in names]
        if len(names) < most:
            yield from (names | {name} for name in out)
        yield from (names - {name} for name in within if len(names) > 1)
        yield from (names - {old} | {new} for old in within for new in out)

    def _look(self, names: frozenset[str]) -> ChosenSteps:
        if not self._may_go(names):
            return ChosenSteps()
        if names not in self._seen:
            self._left -= 1
            self._seen[names] = self._asked(names, self._packer)
        return self._seen[names]

    def _asked(self, names: Iterable[str], packer: Packer) -> ChosenSteps:
        made = self._displacer.displace(tuple(names), packer, self._pool_kinds, keeps_headroom=True)
        if isinstance(made, Misfit):
            self._blocked.add(made.machine)
            return ChosenSteps()
        return ChosenSteps(steps_of(made, self._members, self._fleet.currency))
