"""How many machines to buy in which domain: the programme of `stock` with the rules between pods of different machines.

The machines of a bin are one large machine. Where pods of a domain are counted, that is all that rules look at, so a
spread over zones, an affinity and groups apart hold in full; rules by host name are left out. What such machines cost
at least, that costs any plan at least. Pods that no rule ties to a domain are given to machines of a kind, wherever
these are, so the programme hardly grows with the number of zones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Final

from ortools.sat.python import cp_model

from planner.packing.optimiser.guard import guarded, searcher
from planner.packing.optimiser.stock import LARGEST, ROUNDED, add_rows
from planner.packing.optimiser.whole import worth_buying
from planner.packing.optimiser.whole_topology import Slot, add_topology
from planner.packing.problem import PackingProblem
from planner.packing.topology import Topology

_MOST_PARTS: Final = 10_000
"""Groups times bins; with more, nothing is known within the work of a round."""


@dataclass(frozen=True, slots=True)
class JointStock:
    """Machines to use and to buy."""

    numbers: Mapping[int, int]
    """How many by bin; empty where no cheaper stock is known."""
    cost: int
    """Of these machines, in billionths."""
    bound: int
    """What machines for all pods cost at least, as far as it is proven; 0 where room was left to spare."""


def joint_stock_of(
    problem: PackingProblem, *, below: int, work: float, is_over: Callable[[], bool], spare: float = 0.0
) -> JointStock | None:
    """Return the cheapest machines that cost less than `below`, as if pods could be cut, but in whole numbers.

    None where the problem is too large. Where none are cheaper, the bound is `below`. `work` is in the solver's
    deterministic seconds. A share of all machines that is left `spare` lets pods that cannot be cut find a place; then
    there is no bound.
    """
    model = _Model(problem, below)
    return model.solved(work, is_over, spare) if model.is_small else None


def pods_on(problem: PackingProblem, i: int, b: int) -> int:
    """Return how many pods of a group one machine of a bin holds at most."""
    group, machine = problem.groups[i], problem.bins[b]
    fits = (amount // wanted for wanted, amount in zip(group.demand, machine.capacity, strict=True) if wanted)
    return min([group.count, *fits, *([] if group.per_node is None else [group.per_node])]) if b in group.bins else 0


class _Model:
    def __init__(self, problem: PackingProblem, below: int) -> None:
        self._problem = problem
        self._below = below
        self._pods = sum(group.count for group in problem.groups)
        self._largest = problem.most_taken()
        self._topology = _of_domains(problem.topology)
        self._tied = _tied(self._topology)
        wanted = [
            b
            for b in range(len(problem.bins))
            if self._most(b) and any(pods_on(problem, i, b) for i in range(len(problem.groups)))
        ]
        free = [b for b in wanted if not problem.bins[b].price]
        paid = worth_buying(problem, [b for b in wanted if problem.bins[b].price])
        self._kinds = self._alike([*free, *paid])
        self._prices = [problem.bins[bins[0]].price for bins in self._kinds]
        self._unit = gcd(*self._prices)
        largest = max((amount for b in wanted for amount in problem.bins[b].capacity), default=0)
        most_taken = max(self._largest, default=1)
        self.is_small = (
            self._unit > 0
            and len(problem.groups) * (len(free) + len(paid)) <= _MOST_PARTS
            and max(largest * ROUNDED * self._pods, most_taken * self._pods, below) * len(self._kinds) < LARGEST
        )
        self._model = cp_model.CpModel()
        self._parts: list[list[cp_model.IntVar]] = [[] for _ in problem.groups]
        self._slots: list[Slot] = []

    def solved(self, work: float, is_over: Callable[[], bool], spare: float) -> JointStock:
        model, problem = self._model, self._problem
        numbers = [self._bought(bins, spare) for bins in self._kinds]
        for group, parts in zip(problem.groups, self._parts, strict=True):
            model.add(sum(parts) == group.count)
        add_topology(model, replace(problem, topology=self._topology), self._slots)
        takes = [dict(problem.bins[bins[0]].taken) for bins in self._kinds]
        for limit, most in enumerate(problem.limits):
            if self._is_within_reach(limit):
                model.add(sum(one[limit] * n for one, n in zip(takes, numbers, strict=True) if limit in one) <= most)
        cost = sum(price // self._unit * n for price, n in zip(self._prices, numbers, strict=True))
        model.add(cost <= (self._below - 1) // self._unit)
        model.minimize(cost)
        solver = searcher(work, 1)
        # The relaxation is what tells most here.
        solver.parameters.linearization_level = 2
        with guarded(solver, is_over):
            status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return JointStock({}, 0, 0 if spare else self._below)
        bound = 0 if spare else max(0, round(solver.best_objective_bound)) * self._unit
        if status == cp_model.UNKNOWN:
            return JointStock({}, 0, bound)
        used = {b: int(solver.value(n)) for slot in self._slots for b, n in slot.used.items() if solver.value(n)}
        return JointStock(used, int(solver.value(cost)) * self._unit, bound)

    def _most(self, b: int) -> int:
        """Return the number of machines of a bin that limits and the cost allow."""
        machine = self._problem.bins[b]
        most = machine.most(self._problem.limits, self._pods)
        return min(most, (self._below - 1) // machine.price) if machine.price else most

    def _alike(self, bins: Iterable[int]) -> list[list[int]]:
        """Return bins whose machines hold and cost the same and count towards the same limits, together."""
        alike: dict[object, list[int]] = {}
        for b in bins:
            machine = self._problem.bins[b]
            limits = frozenset(one for one in machine.taken if self._is_within_reach(one[0]))
            alike.setdefault((machine.capacity, machine.price, limits), []).append(b)
        return list(alike.values())

    def _is_within_reach(self, limit: int) -> bool:
        """Return whether all pods together can reach a limit: else it is none."""
        return self._problem.limits[limit] < self._pods * self._largest[limit]

    def _bought(self, bins: Sequence[int], spare: float) -> cp_model.IntVar:
        """Return how many machines of some bins that are alike there are, with pods on them."""
        model, problem = self._model, self._problem
        used = {b: model.new_int_var(0, self._most(b), "") for b in bins}
        number = used[bins[0]]
        if len(bins) > 1:
            number = model.new_int_var(0, sum(map(self._most, bins)), "")
            model.add(number == sum(used.values()))
        loose = {
            i
            for i, group in enumerate(problem.groups)
            if len(bins) > 1 and i not in self._tied and group.bins >= {*bins}
        }
        everything: list[tuple[int, cp_model.IntVar]] = []
        for b in bins:
            pods = self._pods_of(b, used[b], [i for i in range(len(problem.groups)) if i not in loose])
            self._slots.append(Slot({b: used[b]}, pods))
            self._hold(b, used[b], [*pods.items()], spare)
            everything += pods.items()
        if len(bins) > 1:
            everything += self._pods_of(bins[0], number, sorted(loose)).items()
            self._hold(bins[0], number, everything, spare)
        return number

    def _pods_of(self, b: int, number: cp_model.IntVar, groups: Iterable[int]) -> dict[int, cp_model.IntVar]:
        """Return how many pods of each of these groups are on so many machines of a bin."""
        pods: dict[int, cp_model.IntVar] = {}
        for i in groups:
            most = pods_on(self._problem, i, b)
            if most:
                pods[i] = self._model.new_int_var(0, self._problem.groups[i].count, "")
                self._model.add(pods[i] <= most * number)
                self._parts[i].append(pods[i])
        return pods

    def _hold(self, b: int, number: cp_model.IntVar, pods: Sequence[tuple[int, cp_model.IntVar]], spare: float) -> None:
        """Let so many machines of a bin have room for the pods on them."""
        groups = self._problem.groups
        for r, capacity in enumerate(self._problem.bins[b].capacity):
            inside = [(groups[i].demand[r], x) for i, x in pods]
            add_rows(self._model, number, capacity, capacity - int(spare * capacity), inside)
        for alone in _cliques(self._problem, b, {i for i, _ in pods}):
            self._model.add(sum(x for i, x in pods if i in alone) <= number)


def _of_domains(topology: Topology) -> Topology:
    """Return the rules that look at domains of several machines."""
    return replace(
        topology,
        spread=tuple(row for row in topology.spread if row.domain_of is not None),
        near=tuple(row for row in topology.near if row.domain_of is not None),
    )


def _tied(topology: Topology) -> set[int]:
    """Return the groups of which it matters in which domain they are."""
    tied = {i for row in topology.spread for i in (row.group, *row.counted)}
    tied.update(i for row in topology.near for i in (row.group, *row.met_by, *row.alike))
    return tied.union(*(row.groups for row in topology.apart))


def _cliques(problem: PackingProblem, b: int, groups: Iterable[int]) -> set[frozenset[int]]:
    """Return sets of groups of which a machine of a bin holds one pod in all."""
    single = [i for i in sorted(groups) if _is_apart(problem, b, i, i)]
    rivals = {i: {j for j in single if j != i and _is_apart(problem, b, i, j)} for i in single}
    cliques: set[frozenset[int]] = set()
    for i in single:
        clique = {i}
        for j in sorted(rivals[i], key=lambda j: (-len(rivals[j]), j)):
            if clique <= rivals[j]:
                clique.add(j)
        if len(clique) > 1:
            cliques.add(frozenset(clique))
    return cliques


def _is_apart(problem: PackingProblem, b: int, i: int, j: int) -> bool:
    """Return whether no machine of a bin holds a pod of each of two groups, or two of one."""
    group, other = problem.groups[i], problem.groups[j]
    if (group.per_node == 1) if i == j else (j in group.apart):
        return True
    amounts = zip(group.demand, other.demand, problem.bins[b].capacity, strict=True)
    return any(first + second > capacity for first, second, capacity in amounts)
