"""The whole problem as one integer programme: for few pods, of which the optimum is proven.

Machines are slots, each with a bin or none. Places for pods come first, tier by tier, then the cost: all in
one objective, in whole numbers, so that no tolerance mixes the two.
Source: the direct model of this project's study of packing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from ortools.sat.python import cp_model

from planner.packing.optimiser.guard import guarded, keep_apart, searcher
from planner.packing.optimiser.whole_topology import Slot, add_topology, signature
from planner.packing.problem import PackedNode, Packing, PackingProblem, TopUp

_MOST_PODS: Final = 30
_MOST_ALIKE: Final = 75
"""More pods, where there are at most so many shapes of them."""
_MOST_SHAPES: Final = 10
_MOST_SLOTS: Final = 60
_MOST_SIZE: Final = 30_000
"""Slots times bins and groups."""
_LARGEST: Final = 1 << 61
"""Objectives have to fit into 64 bits."""
_MOST_SOLUTIONS: Final = 2_000
"""Looked at where several are wanted."""
_WORKERS: Final = 8
"""Searches that take turns."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What is known of the optimum."""

    packing: Packing
    is_optimal: bool


def whole(problem: PackingProblem, known: Packing, work: float, is_over: Callable[[], bool]) -> Whole | None:
    """Return the best packing found, at least as good as the `known` one; None where the problem is too large.

    `work` is in the solver's own units of deterministic time, about a second each.
    """
    pods = sum(group.count for group in problem.groups)
    if pods > (_MOST_ALIKE if len(problem.groups) <= _MOST_SHAPES else _MOST_PODS):
        return None
    model = _Model(problem, known, pods)
    return model.solved(work, is_over) if model.is_small else None


class _Model:
    def __init__(self, problem: PackingProblem, known: Packing, pods: int) -> None:
        self.problem = problem
        self._known = known
        self._pods = pods
        self._free = [
            b
            for b, one in enumerate(problem.bins)
            if not one.price and any(b in group.bins for group in problem.groups)
            for _ in range(self._copies(b))
        ]
        self._paid = worth_buying(problem, [b for b, one in enumerate(problem.bins) if one.price and self._copies(b)])
        self._bought = self._slots()
        size = (self._bought + len(self._free)) * (len(self._paid) + len(problem.groups))
        self._weights = self._tier_weights()
        self.is_small = len(self._free) <= _MOST_SLOTS and size <= _MOST_SIZE and self._weights is not None

    def _copies(self, b: int) -> int:
        return self.problem.bins[b].most(self.problem.limits, self._pods)

    def _slots(self) -> int:
        """Return the number of machines that a better plan buys at most: no dearer than the known one, or one a pod."""
        if not self._paid:
            return 0
        if self._known.unplaced:
            return self._pods
        cheapest = min(self.problem.bins[b].price for b in self._paid)
        return min(self._pods, self.problem.cost(self._known.nodes) // cheapest)

    def _tier_weights(self) -> dict[int, int] | None:
        """Return the cost of a pod without a place by tier: more than all machines and all pods of lower tiers."""
        weight = 1 + self._bought * max((self.problem.bins[b].price for b in self._paid), default=0)
        weight += sum(one.price * one.number for one in self.problem.top_ups)
        weights: dict[int, int] = {}
        for tier in sorted({group.tier for group in self.problem.groups}):
            weights[tier] = weight
            weight *= 1 + sum(group.count for group in self.problem.groups if group.tier <= tier)
        return weights if weight < _LARGEST else None

    def solved(self, work: float, is_over: Callable[[], bool]) -> Whole:
        model, problem, weights = cp_model.CpModel(), self.problem, self._weights or {}
        groups = problem.groups
        slots = self._made(model)
        for slot in slots:
            model.add_at_most_one(slot.used.values())
            for r in range(len(groups[0].demand)):
                model.add(sum(groups[i].demand[r] * x for i, x in slot.pods.items()) <= self._capacity([slot], r))
            self._keep_company(model, slot)
        self._order(model, slots)
        add_topology(model, problem, slots)
        amounts = [dict(one.taken) for one in problem.bins]
        for k, most in enumerate(problem.limits):
            counted = [amounts[b][k] * y for slot in slots for b, y in slot.used.items() if k in amounts[b]]
            model.add(sum(counted) <= most)
        # Where all pods have a place, only what is cheaper is looked for: that there is nothing is the proof.
        is_full = not self._known.unplaced
        missing = [model.new_int_var(0, 0 if is_full else group.count, "") for group in groups]
        for i, group in enumerate(groups):
            model.add(sum(slot.pods[i] for slot in slots if i in slot.pods) + missing[i] == group.count)
        beside = [one.price * self._short(model, slots, one) for one in problem.top_ups]
        cost = cp_model.LinearExpr.sum([self._price(slots), *beside])
        if is_full:
            model.add(cost <= problem.cost(self._known.nodes) - 1)
            # That all machines together have room for all pods follows from the rest, but bounds sooner.
            for r in range(len(groups[0].demand)):
                model.add(self._capacity(slots, r) >= sum(group.demand[r] * group.count for group in groups))
            model.minimize(cost)
        else:
            model.minimize(sum([*(weights[g.tier] * s for g, s in zip(groups, missing, strict=True)), cost]))
            self._hint(model, slots, missing)
        solver = searcher(work, _WORKERS)
        with guarded(solver, is_over):
            status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Whole(self._known, is_full and status == cp_model.INFEASIBLE)
        packing = self.packing(solver.value, slots)
        if self._objective(packing) >= self._objective(self._known):
            return Whole(self._known, status == cp_model.OPTIMAL)
        if problem.answers > 1:
            model.clear_objective()
            model.add(cost <= problem.cost(packing.nodes))
            for i, variable in enumerate(missing):
                model.add(variable == packing.unplaced.get(i, 0))
            packing = replace(packing, others=self._others(model, slots, work, is_over))
        return Whole(packing, status == cp_model.OPTIMAL)

    def _others(
        self, model: cp_model.CpModel, slots: Sequence[Slot], work: float, is_over: Callable[[], bool]
    ) -> tuple[Packing, ...]:
        """Return solutions of the model, no two of them the same machines."""
        solver = searcher(work, 1)
        solver.parameters.enumerate_all_solutions = True
        solutions = _Solutions(self, slots)
        with guarded(solver, is_over):
            solver.solve(model, solutions)
        return tuple(solutions.packings.values())

    def _made(self, model: cp_model.CpModel) -> list[Slot]:
        choices = [[b] for b in self._free] + [self._paid] * self._bought
        # All of one kind before the next: the search depends on the order in which variables are made.
        uses = [{b: model.new_bool_var("") for b in bins} for bins in choices]
        return [Slot(used, self._numbers(model, used)) for used in uses]

    def _numbers(self, model: cp_model.CpModel, bins: Iterable[int]) -> dict[int, cp_model.IntVar]:
        numbers: dict[int, cp_model.IntVar] = {}
        for i, group in enumerate(self.problem.groups):
            if not group.bins.isdisjoint(bins):
                most = group.count if group.per_node is None else min(group.count, group.per_node)
                numbers[i] = model.new_int_var(0, most, "")
        return numbers

    def _price(self, slots: Sequence[Slot]) -> cp_model.LinearExprT:
        """Return the cost of all slots together."""
        return sum(self.problem.bins[b].price * y for slot in slots for b, y in slot.used.items())

    def _short(self, model: cp_model.CpModel, slots: Sequence[Slot], top_up: TopUp) -> cp_model.IntVar:
        """Return the number of machines that are bought beside the slots."""
        short = model.new_int_var(0, top_up.number, "")
        used = sum(y for slot in slots for b, y in slot.used.items() if b in top_up.bins)
        model.add(short >= top_up.number - used)
        return short

    def _capacity(self, slots: Sequence[Slot], r: int) -> cp_model.LinearExprT:
        """Return the amount of a resource that the slots have together."""
        return sum(self.problem.bins[b].capacity[r] * y for slot in slots for b, y in slot.used.items())

    def _order(self, model: cp_model.CpModel, slots: Sequence[Slot]) -> None:
        """Let of plans that differ only in the order of machines one be left."""
        first = len(self._free)
        prices = [self._price([slot]) for slot in slots[first:]]
        for dearer, cheaper in pairwise(prices):
            model.add(dearer >= cheaper)
        for left, right in pairwise(slots[:first]):
            for b, used in left.used.items():
                if b in right.used:
                    model.add(used >= right.used[b])

    def _keep_company(self, model: cp_model.CpModel, slot: Slot) -> None:
        """Keep groups off bins that may not hold them, and off each other."""
        groups = self.problem.groups
        is_on: dict[int, cp_model.IntVar] = {}
        for i, x in slot.pods.items():
            may = [y for b, y in slot.used.items() if b in groups[i].bins]
            if len(may) < len(slot.used) or groups[i].apart:
                is_on[i] = model.new_bool_var("")
                model.add(x <= groups[i].count * is_on[i])
                model.add(is_on[i] <= sum(may))
        keep_apart(model, is_on, {i: groups[i].apart for i in is_on})

    def _hint(self, model: cp_model.CpModel, slots: Sequence[Slot], missing: Sequence[cp_model.IntVar]) -> None:
        bins = self.problem.bins
        nodes = sorted(self._known.nodes, key=lambda node: -bins[node.bin].price)
        for slot in slots:
            node = next((node for node in nodes if node.bin in slot.used), None)
            if node is not None:
                nodes.remove(node)
            for b, y in slot.used.items():
                model.add_hint(y, node is not None and node.bin == b)
            for i, x in slot.pods.items():
                model.add_hint(x, 0 if node is None else node.counts.get(i, 0))
        for i, s in enumerate(missing):
            model.add_hint(s, self._known.unplaced.get(i, 0))

    def _objective(self, packing: Packing) -> int:
        weights, groups = self._weights or {}, self.problem.groups
        missing = sum(weights[groups[i].tier] * n for i, n in packing.unplaced.items())
        return self.problem.cost(packing.nodes) + missing

    def packing(self, value: Callable[[cp_model.IntVar], int], slots: Sequence[Slot]) -> Packing:
        """Return the packing that a solution is."""
        nodes: list[PackedNode] = []
        for slot in slots:
            counts = {i: value(x) for i, x in slot.pods.items() if value(x)}
            if counts:
                nodes.append(PackedNode(next(b for b, y in slot.used.items() if value(y)), counts))
        unplaced = {i: group.count for i, group in enumerate(self.problem.groups)}
        for node in nodes:
            for i, n in node.counts.items():
                unplaced[i] -= n
        return Packing(tuple(nodes), {i: n for i, n in unplaced.items() if n})


class _Solutions(cp_model.CpSolverSolutionCallback):
    """Keeps solutions that are different plans: those that differ in the order of machines are one."""

    def __init__(self, model: _Model, slots: Sequence[Slot]) -> None:
        super().__init__()
        self._model, self._slots = model, slots
        self.packings: dict[object, Packing] = {}
        self._left = _MOST_SOLUTIONS

    def on_solution_callback(self) -> None:
        packing = self._model.packing(self.value, self._slots)
        key = frozenset(Counter((node.bin, frozenset(node.counts.items())) for node in packing.nodes).items())
        self.packings.setdefault(key, packing)
        self._left -= 1
        if not self._left or len(self.packings) >= self._model.problem.answers:
            self.stop_search()


def worth_buying(problem: PackingProblem, bins: Iterable[int]) -> list[int]:
    """Return those of some bins that no other can always stand for: as large, no dearer, and as free to be bought."""
    pods = sum(group.count for group in problem.groups)
    # A limit that all pods together cannot reach is none.
    largest = problem.most_taken()
    binding = {k for k, most in enumerate(problem.limits) if most < pods * largest[k]}
    held = {b: frozenset(i for i, group in enumerate(problem.groups) if b in group.bins) for b in bins}
    limits = {b: {k: amount for k, amount in problem.bins[b].taken if k in binding} for b in held}
    alike: dict[object, list[int]] = {}
    for b in sorted(held, key=lambda b: (problem.bins[b].price, problem.bins[b].rank, b)):
        if held[b]:
            counts = tuple(b in one.bins for one in problem.top_ups)
            rivals = alike.setdefault((counts, signature(problem.topology, b)), [])
            if not any(
                held[b] <= held[a]
                and all(amount <= limits[b].get(k, 0) for k, amount in limits[a].items())
                and all(
                    more >= most for more, most in zip(problem.bins[a].capacity, problem.bins[b].capacity, strict=True)
                )
                for a in rivals
            ):
                rivals.append(b)
    return sorted(b for rivals in alike.values() for b in rivals)
