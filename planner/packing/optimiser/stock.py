"""How many machines of each bin to buy: an integer programme in which the machines of a bin are one large machine.

It says which machines would do if pods could be cut, and so what any machines cost at least: numbers of machines are
whole, and a pod that fills more than half of one counts as the whole. With few machines, that is most of what parts
of machines hide. Source of the rows for large pods: dual feasible functions (Fekete and Schepers; rounding).
"""

from dataclasses import dataclass
from math import gcd
from typing import Final

from ortools.sat.python import cp_model

from planner.packing.optimiser.arrays import Ints, Prices
from planner.packing.optimiser.guard import guarded, searcher
from planner.packing.optimiser.kinds import Kinds, kinds_of
from planner.packing.optimiser.lots import Lot, lots_of
from planner.packing.optimiser.question import Question

_FUNCTIONS: Final = 3
"""Roundings of what pods take of a machine."""
_THRESHOLDS: Final = 4
"""Sizes between a quarter and half of a machine, beside which a larger pod has it for itself."""
ROUNDED: Final = _FUNCTIONS * (_FUNCTIONS + 1)
"""By how much roundings make numbers larger, at most."""
LARGEST: Final = 1 << 61
"""Sums have to fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class Stock:
    """Machines to buy."""

    numbers: dict[tuple[int, ...], int]
    """How many of some bins together; empty where no cheaper stock is known."""
    cost: float
    """Of these machines."""
    is_cheapest: bool
    """Whether no other stock costs less."""
    bound: float
    """What machines for the pods cost at least, as far as it is proven; 0 where pods were taken together."""


def stock_of(
    question: Question, prices: Prices, pods: Ints, room: Ints, *, below: float, work: float, spare: float = 0.0
) -> Stock | None:
    """Return the cheapest machines that cost less than `below`, as if pods could be cut.

    None where sums are too large, or some pods may be nowhere. Where none are cheaper, the bound is `below`. `work` is
    in the solver's deterministic seconds. A share of all machines that is left `spare` lets pods that cannot be cut
    find a place; then there is no bound.
    """
    kinds = kinds_of(question.yard, prices, pods, room)
    if not kinds.bins:
        return None
    most = max(float(pods.sum()), below / float(kinds.price.min()))
    largest = max([float(kinds.capacity.max()) * ROUNDED, *(float(n) for one in kinds.taken for n in one.values())])
    if max(largest * most, below) * len(kinds.bins) >= LARGEST:
        return None
    lots, is_each = lots_of(question.yard, kinds, pods)
    if not all(lot.most for lot in lots):
        return None
    unit = gcd(*(int(price) for price in kinds.price))
    model = cp_model.CpModel()
    bought = [model.new_int_var(0, int(below // price), "") for price in kinds.price]
    _add_pods(model, kinds, lots, bought, spare)
    for limit, most in enumerate(room.tolist()):
        counted = [taken[limit] * y for taken, y in zip(kinds.taken, bought, strict=True) if limit in taken]
        model.add(sum(counted) <= most)
    cost = sum(int(price) // unit * y for price, y in zip(kinds.price, bought, strict=True))
    model.add(cost <= (int(below) - 1) // unit)
    model.minimize(cost)
    solver = searcher(work, 1)
    # The relaxation is what tells most here.
    solver.parameters.linearization_level = 2
    with guarded(solver, question.is_over):
        status = solver.solve(model)
    is_proof = is_each and not spare
    if status == cp_model.INFEASIBLE:
        return Stock({}, 0.0, True, below if is_proof else 0.0)
    bound = max(0.0, solver.best_objective_bound * unit) if is_proof else 0.0
    if status == cp_model.UNKNOWN:
        return Stock({}, 0.0, False, bound)
    numbers = {bins: int(solver.value(y)) for bins, y in zip(kinds.bins, bought, strict=True) if solver.value(y)}
    return Stock(numbers, float(solver.value(cost) * unit), status == cp_model.OPTIMAL, bound)


def _add_pods(
    model: cp_model.CpModel, kinds: Kinds, lots: list[Lot], bought: list[cp_model.IntVar], spare: float
) -> None:
    """Let all pods be on machines that are bought."""
    inside: list[list[tuple[Lot, cp_model.IntVar]]] = [[] for _ in bought]
    for lot in lots:
        parts = {k: model.new_int_var(0, lot.count, "") for k in lot.most}
        model.add(sum(parts.values()) == lot.count)
        for k, x in parts.items():
            model.add(x <= min(lot.count, lot.most[k]) * bought[k])
            inside[k].append((lot, x))
    for k, y in enumerate(bought):
        for r, capacity in enumerate(kinds.capacity[k].tolist()):
            used = capacity - int(spare * capacity)
            add_rows(model, y, capacity, used, [(int(lot.demand[r]), x) for lot, x in inside[k]])


def add_rows(
    model: cp_model.CpModel,
    bought: cp_model.IntVar,
    capacity: int,
    used: int,
    inside: list[tuple[int, cp_model.IntVar]],
) -> None:
    """Let what pods take of a resource be no more than the machines have, rounded in several ways."""
    inside = [(demand, x) for demand, x in inside if demand]
    if not inside:
        return
    takes = [demand for demand, _ in inside]
    rows = [(used, takes)]
    rows += [(k * (k + 1), [_rounded(demand, capacity, k) for demand in takes]) for k in range(1, _FUNCTIONS + 1)]
    middle = sorted({demand for demand in takes if capacity < 4 * demand <= 2 * capacity}, reverse=True)
    rows += [
        (capacity, [capacity if d > capacity - least else d if d >= least else 0 for d in takes])
        for least in middle[:: max(1, -(-len(middle) // _THRESHOLDS))]
    ]
    for n, (whole, parts) in enumerate(rows):
        # A rounding that counts no pod for more says nothing new.
        if n == 0 or any(part * capacity > demand * whole for part, demand in zip(parts, takes, strict=True)):
            model.add(cp_model.LinearExpr.weighted_sum([*(x for _, x in inside), bought], [*parts, -whole]) <= 0)


def _rounded(demand: int, capacity: int, k: int) -> int:
    """Return what a pod takes of a machine, in parts of which it has `k * (k + 1)`."""
    whole = (k + 1) * demand // capacity
    return demand * k * (k + 1) // capacity if (k + 1) * demand == whole * capacity else whole * (k + 1)
