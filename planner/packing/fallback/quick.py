"""The quick answer for a few pods: kept where it is proven that there is no better one."""

from planner.packing.fallback.pack import is_small, pack
from planner.packing.problem import Packing, PackingProblem


def quick_answer(problem: PackingProblem) -> Packing | None:
    """Return the fallback's answer where pods are few enough for it to look at all ways, None with more."""
    return pack(problem) if is_small(problem) else None


def is_proven(problem: PackingProblem, packing: Packing) -> bool:
    """Return whether no packing places more or costs less, as far as the packing itself tells."""
    cost = problem.cost(packing.nodes)
    if cost:
        return packing.proven == cost
    # Nothing is bought, so all that could be better is a place for more.
    return not any(problem.groups[i].bins for i in packing.unplaced)
