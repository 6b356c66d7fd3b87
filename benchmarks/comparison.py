"""Growth's plan and what its peers' published rules buy, for the same instance."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Final

from benchmarks.from_snapshot import problem_of
from benchmarks.generator import Recipe, draw
from benchmarks.instance import problem_of_instance
from benchmarks.objects import snapshot_of, unjudged_pods
from benchmarks.peers.cluster_autoscaler import EXPANDERS, cluster_autoscaler
from benchmarks.peers.karpenter import karpenter
from benchmarks.problem import Problem, Purchase
from planner.assemble import price_of
from planner.bound import lower_bound
from planner.model import Snapshot
from planner.pack import pack
from planner.plan import plan

_CHEAP: Final = ("cx", "cax")
"""Families that a person who knows the prices would write into a pool."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one way of buying comes to."""

    who: str
    placed: int
    """Pods that get a machine."""
    machines: int
    cost_per_hour: Decimal
    seconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ways of buying for one instance, Growth first."""

    recipe: Recipe
    lines: tuple[Line, ...]
    lower_bound_per_hour: Decimal
    """No plan for the pods that Growth places costs less."""
    unjudged: int
    """Pods with constraints that Growth's planner does not judge from objects yet."""

    def ratio(self, cost_per_hour: Decimal) -> float:
        """Return a cost over that of Growth's plan."""
        return float(cost_per_hour / self.lines[0].cost_per_hour)


def compare(recipe: Recipe) -> Comparison:
    """Return the comparison for an instance.

    Growth plans from Kubernetes objects, and its peers are given the pods and offerings that it reads from
    them. Where the objects hold a constraint that the planner does not judge yet, it would buy nothing
    for those pods, so Growth's packer is given the same numbers as its peers instead.
    """
    instance = draw(recipe)
    unjudged = unjudged_pods(instance)
    if unjudged:
        problem = problem_of_instance(instance)
        growth, bound = _from_numbers(problem)
    else:
        snapshot = snapshot_of(instance)
        problem = problem_of(snapshot)
        growth, bound = _from_objects(snapshot)
    rules: dict[str, Callable[[], Purchase]] = {
        "Karpenter's rules, one pool of all types": partial(karpenter, problem),
        "Karpenter's rules, one pool of cx and cax": partial(karpenter, problem, preferred=_CHEAP),
    }
    for name in EXPANDERS:
        rules[f"Cluster Autoscaler's rules, {name}"] = partial(cluster_autoscaler, problem, expander=name)
    peers = [_timed(who, rule)[0] for who, rule in rules.items()]
    return Comparison(recipe, (growth, *peers), bound, unjudged)


def _from_objects(snapshot: Snapshot) -> tuple[Line, Decimal]:
    began = time.monotonic()
    made = plan(snapshot)
    seconds = time.monotonic() - began
    placed = len(snapshot.pods) - len(made.unplaced)
    line = Line("Growth's plan, from objects", placed, len(made.requests), made.cost_per_hour, seconds)
    return line, made.lower_bound_per_hour


def _from_numbers(problem: Problem) -> tuple[Line, Decimal]:
    line, bought = _timed("Growth's packer, from numbers", lambda: Purchase(problem, pack(problem.packing)))
    unplaced = bought.packing.unplaced
    placed = [group.count - unplaced.get(i, 0) for i, group in enumerate(problem.packing.groups)]
    return line, price_of(max(bought.packing.proven, lower_bound(problem.packing, placed)))


def _timed(who: str, buy: Callable[[], Purchase]) -> tuple[Line, Purchase]:
    began = time.monotonic()
    bought = buy()
    seconds = time.monotonic() - began
    return Line(who, bought.placed, bought.machines, bought.cost_per_hour, seconds), bought
