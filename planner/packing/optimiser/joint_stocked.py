"""Places the pods of a joint problem on machines that are given, under all rules between machines.

With the machines known, where pods go is a small programme: mostly it is known at once whether they all fit.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from ortools.sat.python import cp_model

from planner.packing.optimiser.effort import Effort
from planner.packing.optimiser.guard import guarded, keep_apart, searcher
from planner.packing.optimiser.joint_stock import joint_stock_of, pods_on
from planner.packing.optimiser.part import is_divisible
from planner.packing.optimiser.whole_topology import Slot, add_topology
from planner.packing.problem import PackedNode, Packing, PackingProblem

_MOST_STOCKS: Final = 3
_MOST_FAILURES: Final = 2
"""Stocks on which not all pods are placed."""
_LATER: Final = 0.6
"""Of the work for the first stock, which also proves something, what each of the others gets."""
_MOST_SLOTS: Final = 60


def by_joint_stock(problem: PackingProblem, known: Packing, effort: Effort, is_over: Callable[[], bool]) -> Packing:
    """Return the known packing, or a cheaper one, and what all cost at least, as far as it is proven.

    The first stock has no room to spare, so that it proves something; where pods do not fit into it, the next has half
    as much to spare as there is between its cost and the best one's.
    """
    if known.unplaced or not effort.domains or not is_divisible(problem):
        return known
    best, least, spare, failures = known, 0, 0.0, 0
    for k in range(_MOST_STOCKS):
        below = problem.cost(best.nodes)
        if is_over() or least >= below or failures == _MOST_FAILURES:
            break
        work = _LATER * effort.domains if k else effort.domains
        stock = joint_stock_of(problem, below=below, work=work, is_over=is_over, spare=spare)
        if stock is None:
            break
        least = max(least, stock.bound)
        if not stock.numbers:
            break
        other = placed_on(problem, stock.numbers, effort.seating, is_over)
        if other is None:
            failures += 1
            # Machines that are there cost nothing, so a stock of them alone does not either.
            spare += (below / max(stock.cost, below / 2) - 1) / 2
        else:
            best = other
            spare /= 2
    return best if best is known and not least else replace(best, proven=least)


def placed_on(
    problem: PackingProblem, numbers: Mapping[int, int], work: float, is_over: Callable[[], bool]
) -> Packing | None:
    """Return a packing of all pods on so many machines by bin and on any that are free; None where none is found.

    `work` is in the solver's deterministic seconds.
    """
    pods = sum(group.count for group in problem.groups)
    free = [
        b
        for b, one in enumerate(problem.bins)
        if not one.price and any(b in group.bins for group in problem.groups)
        for _ in range(one.most(problem.limits, pods))
    ]
    paid = [b for b, n in sorted(numbers.items()) if problem.bins[b].price for _ in range(n)]
    if len(free) + len(paid) > _MOST_SLOTS:
        return None
    model = cp_model.CpModel()
    is_there = model.new_constant(1)
    slots = [Slot({b: is_there}, _pods(model, problem, b)) for b in (*free, *paid)]
    for i, group in enumerate(problem.groups):
        model.add(sum(slot.pods[i] for slot in slots if i in slot.pods) == group.count)
    add_topology(model, problem, slots)
    # Machines in no order: that one packing is left of those that differ in it makes it harder to meet.
    solver = searcher(work, 1)
    # That pods do not fit shows soonest in the relaxation.
    solver.parameters.linearization_level = 2
    with guarded(solver, is_over):
        status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    packed = ((slot, {i: int(solver.value(x)) for i, x in slot.pods.items() if solver.value(x)}) for slot in slots)
    return Packing(tuple(PackedNode(b, counts) for slot, counts in packed if counts for b in slot.used))


def _pods(model: cp_model.CpModel, problem: PackingProblem, b: int) -> dict[int, cp_model.IntVar]:
    """Return how many pods of each group are on a machine of a bin, no more than it holds."""
    groups = problem.groups
    numbers = {i: model.new_int_var(0, most, "") for i in range(len(groups)) if (most := pods_on(problem, i, b))}
    for r, capacity in enumerate(problem.bins[b].capacity):
        model.add(sum(groups[i].demand[r] * x for i, x in numbers.items()) <= capacity)
    is_on = {i: model.new_bool_var("") for i in numbers if groups[i].apart}
    for i, here in is_on.items():
        model.add(numbers[i] <= groups[i].count * here)
    keep_apart(model, is_on, {i: groups[i].apart for i in is_on})
    return numbers
