"""Runs Growth, Karpenter's scheduler and Cluster Autoscaler's rules on the file of one problem."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import growth_program
from benchmarks.answer import PackingAnswer
from benchmarks.checker import WrongPurchase, check
from benchmarks.generator import Recipe, draw
from benchmarks.instance import problem_of_instance, spread_problem_of
from benchmarks.peers import karpenter_program
from benchmarks.problem_file import read, write
from benchmarks.side_by_side_row import Run, SideBySideRow, Way
from planner.packing.cost import lower_bound
from planner.supply.sums.price_units import price_of
from simulator.peers.cluster_autoscaler import EXPANDERS, Expander, cluster_autoscaler
from simulator.peers.problem import PeerProblem, Purchase

GROWTH: Final = "Growth"
_ALWAYS_REPEATED: Final = 1000
"""Pods up to which every side gets all its runs, however long they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffort:
    """How often a plan is made again."""

    repetitions: int = 5
    patience: float = 30.0
    """Above 1,000 pods, seconds of planning after which a side does not begin another run."""

    def is_spent(self, recipe: Recipe, answers: list[PackingAnswer]) -> bool:
        """Return whether a side has had its runs."""
        seconds = sum(answer.seconds for answer in answers)
        return len(answers) >= self.repetitions or (recipe.pods > _ALWAYS_REPEATED and seconds >= self.patience)


def measure(recipe: Recipe, effort: SideEffort) -> SideBySideRow:
    """Return the purchases of all sides for the problem of a recipe.

    Raises:
        BuildError: there is no Go to build Karpenter's scheduler with.
        WrongPurchase: a plan breaks a rule of the problem, or costs less than is possible.
    """
    instance = draw(recipe)
    asked = spread_problem_of(instance) if recipe.zonal or recipe.hosts else problem_of_instance(instance)
    with tempfile.TemporaryDirectory(prefix="growth-benchmark-") as folder:
        path = Path(folder) / "problem.json"
        write(path, asked, instance.machines, karpenter_program.set_ups(asked, instance.machines))
        problem = read(path)
        programs: Mapping[str, Callable[[int], PackingAnswer]] = {
            GROWTH: lambda _: growth_program.run(path, read(path)),
            **{
                f"Karpenter, {set_up}": partial(karpenter_program.run, path, read(path), set_up)
                for set_up in karpenter_program.SET_UPS
            },
        }
        answers = {side: _repeated(recipe, side, ask, effort) for side, ask in programs.items()}
    least = _Least(problem, max(answer.purchase.packing.proven for answer in answers[GROWTH]))
    return SideBySideRow(
        recipe,
        (
            *(_program(side, given, least) for side, given in answers.items()),
            *(_rules(recipe, problem, name, least) for name in EXPANDERS),
        ),
    )


def _repeated(
    recipe: Recipe, side: str, ask: Callable[[int], PackingAnswer], effort: SideEffort
) -> list[PackingAnswer]:
    answers: list[PackingAnswer] = []
    while not effort.is_spent(recipe, answers):
        sys.stderr.write(f"{recipe}: {side}, run {len(answers) + 1}\n")
        answers.append(ask(len(answers)))
        check(answers[-1].purchase, f"{recipe}: {side}")
    return answers


class _Least:
    """What no plan for the same pods costs less than."""

    def __init__(self, problem: PeerProblem, proven: int) -> None:
        self._problem = problem
        counts = tuple(group.count for group in problem.packing.groups)
        self._known = {counts: max(proven, lower_bound(problem.packing, counts))}
        """By how many pods of each class are placed."""

    def run(self, purchase: Purchase) -> Run:
        """Return the figures of a purchase."""
        groups = self._problem.packing.groups
        placed = tuple(group.count - purchase.packing.unplaced.get(i, 0) for i, group in enumerate(groups))
        if placed not in self._known:
            self._known[placed] = lower_bound(self._problem.packing, placed)
        least = price_of(self._known[placed])
        if purchase.cost_per_hour < least:
            raise WrongPurchase(f"a plan costs {purchase.cost_per_hour} an hour, less than the lower bound {least}")
        return Run(
            placed=purchase.placed,
            machines=purchase.machines,
            cost_per_hour=purchase.cost_per_hour,
            least_per_hour=least,
        )


def _program(side: str, answers: list[PackingAnswer], least: _Least) -> Way:
    runs = [
        replace(least.run(answer.purchase), seconds=answer.seconds, peak_bytes=answer.peak_bytes, is_cut=answer.is_cut)
        for answer in answers
    ]
    return Way(side=side, runs=tuple(runs), versions=answers[0].versions)


def _rules(recipe: Recipe, problem: PeerProblem, expander: Expander, least: _Least) -> Way:
    side = f"Cluster Autoscaler's rules, {expander}"
    purchase = cluster_autoscaler(problem, expander=expander)
    check(purchase, f"{recipe}: {side}")
    return Way(side=side, runs=(least.run(purchase),), is_program=False)
