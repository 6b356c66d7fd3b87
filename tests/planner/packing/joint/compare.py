"""Plans of small rounds beside the best ones: `python -m tests.planner.packing.joint.compare --seeds 0:400`."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from planner.model.plan import Plan
from planner.packing.fallback.pack import pack
from planner.packing.optimiser.effort import ROUND
from planner.packing.optimiser.solve import solve
from planner.packing.problem import Packer
from planner.plan import plan
from tests.planner.packing.joint.binding import Board
from tests.planner.packing.joint.cheapest import Best, Score, cheapest
from tests.planner.packing.joint.contradictions import contradictions
from tests.planner.packing.joint.ordinary import ordinary
from tests.planner.packing.joint.scheduler import Rules
from tests.planner.packing.joint.small_round import SUMS, Limit, SmallRound, small_round
from tests.planner.selecting import spreads, terms

_SMALL: Final = replace(ROUND, placing=100_000, improving=100_000, improving_a_machine=100_000)
"""Enough for six pods: the same plans as with a round's effort, in an eighth of the time."""
PACKERS: Final[dict[str, Packer]] = {"optimiser": partial(solve, effort=_SMALL), "round": solve, "default": pack}
SAME, DEARER, LEFT_OUT, BETTER, STUCK = (
    "as good",
    "dearer",
    "left out",
    "better than all ways",
    "one that the scheduler does not bind",
)


@dataclass(frozen=True)
class Comparison:
    """A plan beside the best one of its round."""

    seed: int
    given: SmallRound
    best: Best
    made: Plan

    @property
    def score(self) -> Score:
        """Pods without a place by priority, and the cost per hour, as the plan has them."""
        priority = {name: w.priority for w in self.given.workloads for name in w.names}
        missing = Counter(priority[u.pod.partition("/")[2]] for u in self.made.unplaced)
        tiers = sorted({w.priority for w in self.given.workloads}, reverse=True)
        return tuple(missing[tier] for tier in tiers), self.made.cost_per_hour

    @property
    def verdict(self) -> str:
        """Return what is to be said of the plan in few words.

        A domain in which a machine could be bought counts from the start. It need not where the plan's own machines
        meet the limit, and no more can come: who places more pods so, or pays less, has done right.
        """
        is_strict = can_be_bound(self.given, self.made)
        if not is_strict and not can_be_bound(self.given, self.made, at_limits=True):
            return STUCK
        if self.score < self.best.score:
            return BETTER if is_strict else SAME
        if self.score == self.best.score:
            return SAME
        return LEFT_OUT if self.score[0] > self.best.score[0] else DEARER

    def told(self) -> str:
        """Return both plans in words."""
        bought = [
            f"{r.pool}/{r.server_type}/{r.location}: {', '.join(s.name for s in r.seats) or 'nothing'}"
            for r in self.made.requests
        ]
        there = [f"{p.pod.partition('/')[2]} on {p.node or p.request}" for p in self.made.placed]
        left = [f"{u.pod} left out: {u.reasons[0].message}" for u in self.made.unplaced]
        return (
            f"seed {self.seed} ({', '.join(sorted(kinds_of(self.given)))}): the plan is {self.verdict}: "
            f"{_words(self.score)} beside {_words(self.best.score)}\n"
            f"  plan: {'; '.join([*bought, *there, *left])}\n  best: {self.best.told(self.given)}"
        )


def _words(score: Score) -> str:
    return f"{sum(score[0])} left out at {score[1]} an hour"


def compared(seed: int, packer: Packer) -> Comparison:
    """Return the plan that the planner makes with this packer, beside the best one."""
    scene = ordinary(seed)
    given = small_round(scene)
    return Comparison(seed, given, cheapest(given), plan(scene.snapshot(), packer))


def can_be_bound(given: SmallRound, made: Plan, *, at_limits: bool = False) -> bool:
    """Return whether the scheduler binds all pods where the plan has them, in some order.

    With `at_limits`, domains do not count where no more machines can be bought beside those of the plan.
    """
    of_pod = {name: i for i, w in enumerate(given.workloads) for name in w.names}
    names = {spot.name: k for k, spot in enumerate((*given.there, *given.kinds))}
    homes = {spot.name: [0] * len(given.workloads) for spot in given.there}
    spots = list(range(len(given.there)))
    for number, bought in enumerate(made.requests):
        spots.append(names[f"{bought.pool}/{bought.server_type}/{bought.location}"])
        homes[f"bought {number}"] = [0] * len(given.workloads)
        for seat in bought.seats:
            homes[f"bought {number}"][of_pod[seat.name]] += 1
    for placed in made.placed:
        name = placed.pod.partition("/")[2]
        if name in of_pod:
            homes[str(placed.node or placed.request)][of_pod[name]] += 1
    goal = tuple(tuple(content) for content in homes.values())
    bought_of = Counter(limit for r in made.requests for limit in ((r.pool, ""), (r.pool, r.server_type)))
    counted = {limit: left for limit, left in given.left.items() if limit[1] not in SUMS}
    met = [limit for limit, left in counted.items() if bought_of[limit] >= left] if at_limits else []
    met += _met_sums(given, made) if at_limits else ()
    return Board(Rules(given, met), spots).order(goal) is not None


def _met_sums(given: SmallRound, made: Plan) -> Iterator[Limit]:
    """Yield a limit of its own for each kind of machine of which a sum allows none beside the plan's."""
    taken = Counter[Limit]()
    by_name = {spot.name: spot for spot in given.kinds}
    for bought in made.requests:
        taken.update(by_name[f"{bought.pool}/{bought.server_type}/{bought.location}"].sums)
    for spot in given.kinds:
        if any(given.left[limit] - taken[limit] < amount for limit, amount in spot.sums.items()):
            yield ("", spot.name)


def kinds_of(given: SmallRound) -> set[str]:
    """Return what the pods of a round ask of others, by kind of constraint and topology key."""
    found: set[str] = set()
    for workload in given.workloads:
        pod = workload.example
        keys = sorted(c["topologyKey"].rpartition("/")[2] for c in spreads(pod))
        found |= {f"spread over {' and '.join(keys)}"} if keys else set()
        for kind, word in (("podAffinity", "near"), ("podAntiAffinity", "apart")):
            found |= {f"{word} by {term['topologyKey'].rpartition('/')[2]}" for term in terms(pod, kind)}
    return found or {"nothing"}


def report(seeds: Iterable[int], packer: str = "optimiser", *, told: int = 0) -> None:
    """Print how many plans are as good as the best, and for those that are not, by what their pods ask of others."""
    verdicts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    factors: list[float] = []
    worse: list[int] = []
    for seed in seeds:
        if found := contradictions(ordinary(seed)):
            verdicts.update(f"excluded: {rule}" for rule in found)
            continue
        one = compared(seed, PACKERS[packer])
        verdict = one.verdict
        verdicts[verdict] += 1
        for kind in kinds_of(one.given):
            kinds.setdefault(kind, Counter())[verdict] += 1
        if verdict != SAME:
            worse.append(seed)
            if len(worse) <= told:
                print(one.told())
        if verdict == DEARER and one.best.score[1]:
            factors.append(float(one.score[1] / one.best.score[1]))
    judged = sum(n for word, n in verdicts.items() if not word.startswith("excluded"))
    for word, number in verdicts.most_common():
        print(f"{number:6} {word} ({100 * number / max(1, judged):.1f} %)")
    if factors:
        factors.sort()
        print(f"dearer: median {factors[len(factors) // 2]:.2f} times the least, most {factors[-1]:.2f} times")
    for kind, counts in sorted(kinds.items(), key=lambda item: -(sum(item[1].values()) - item[1][SAME])):
        others = ", ".join(f"{n} {word}" for word, n in counts.most_common() if word != SAME)
        print(f"  rounds with {kind}: {sum(counts.values())}, of which {others or 'all as good'}")
    print(f"not as good: {' '.join(map(str, worse))}")


def main() -> None:
    """Read the arguments and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:400", help="first and last but one, as 0:400")
    parser.add_argument("--packer", choices=sorted(PACKERS), default="optimiser")
    parser.add_argument("--tell", type=int, default=0, help="so many of the plans that are not as good, in full")
    given = parser.parse_args()
    first, _, last = given.seeds.partition(":")
    report(range(int(first), int(last)), given.packer, told=given.tell)


if __name__ == "__main__":
    main()
