"""A model of kube-scheduler with its default profile: which node each waiting pod is bound to.

Filters are the planner's independent judge. Scores are those of the two plugins that tell nodes of an instance apart;
all others give each node the same. Every pod must ask for some cpu and some memory: what the scheduler assumes for
those that do not is not modelled. Nor are preemption and preferences.

Source: kube-scheduler v1.36, `framework/plugins/noderesources` (`leastResourceScorer`, `balancedResourceScorer`) and
`schedule_one.go` (`numFeasibleNodesToFind`, `selectHost`).
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final

from planner.objects.kinds import Pod
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import Site

_SCORED: Final = ("cpu", "memory")
_MOST: Final = 100
"""What a plugin gives to the best node."""
_FEWEST_LOOKED_AT: Final = 100
"""In a cluster of more nodes, the scheduler stops its search when it has found enough that fit."""


class DefaultScheduler:
    """Binds waiting pods to nodes that are Ready.

    Args:
        seed: decides in which order pods of the same priority come up, and between nodes that score alike.
    """

    def __init__(self, seed: int) -> None:
        self._judge = Judge(())
        self._sites: list[Site] = []
        self._used: dict[str, dict[str, int]] = {}
        self._refused: dict[str, int] = {}
        """How many nodes, the first ones, have refused a pod, by its uid."""
        self._start = 0
        self._random = Random(seed)  # noqa: S311 - it is to be repeatable, not secret

    def open(self, site: Site) -> None:
        """Let a node be Ready from now on, with the pods that are on it."""
        self._judge = self._judge.beside(site)
        self._sites.append(site)
        self._used[site.name] = {name: sum(pod.requests.get(name, 0) for pod in site.pods) for name in _SCORED}

    def bind(self, waiting: Iterable[Pod]) -> dict[str, str]:
        """Try each pod once, and return the node by uid of those that are bound."""
        queue = list(waiting)
        self._random.shuffle(queue)
        queue.sort(key=lambda pod: -pod.priority)
        bound: dict[str, str] = {}
        for pod in queue:
            feasible = self._feasible(pod)
            if feasible:
                bound[pod.uid] = self._bind(pod, feasible)
            else:
                self._refused[pod.uid] = len(self._sites)
        return bound

    def _feasible(self, pod: Pod) -> list[Site]:
        # Pods only come here, and what keeps a pod off a node stays, except where it waits for others to come.
        begin = 0 if pod.spread or pod.pod_affinity else self._refused.get(pod.uid, 0)
        nodes, enough = self._sites[begin:], _looked_at(len(self._sites))
        feasible: list[Site] = []
        for i in range(len(nodes)):
            site = nodes[(self._start + i) % len(nodes)]
            if self._judge.verdict(pod, site) is None:
                feasible.append(site)
                if len(feasible) == enough:
                    self._start += i + 1
                    break
        return feasible

    def _bind(self, pod: Pod, feasible: Sequence[Site]) -> str:
        scores = [score(pod, site, self._used[site.name]) for site in feasible]
        best = max(scores)
        site = self._random.choice([one for one, points in zip(feasible, scores, strict=True) if points == best])
        self._judge.seat(pod, site)
        for name in _SCORED:
            self._used[site.name][name] += pod.requests.get(name, 0)
        return site.name


def score(pod: Pod, site: Site, used: Mapping[str, int]) -> int:
    """Return the sum of the plugins' scores for a node of which so much is used: 0 to 200."""
    allocatable = [site.allocatable[name] for name in _SCORED]
    before = [used[name] for name in _SCORED]
    after = [taken + pod.requests.get(name, 0) for name, taken in zip(_SCORED, before, strict=True)]
    return _least_allocated(after, allocatable) + _balanced(before, after, allocatable)


def _least_allocated(after: Sequence[int], allocatable: Sequence[int]) -> int:
    return sum((has - taken) * _MOST // has for taken, has in zip(after, allocatable, strict=True)) // len(allocatable)


def _balanced(before: Sequence[int], after: Sequence[int], allocatable: Sequence[int]) -> int:
    """Return more for a node that the pod makes more even, and less for one that it makes less even."""
    return _MOST // 2 + (_MOST // 2 + _evenness(after, allocatable) - _evenness(before, allocatable)) // 2


def _evenness(taken: Sequence[int], allocatable: Sequence[int]) -> int:
    cpu, memory = (min(1.0, amount / has) for amount, has in zip(taken, allocatable, strict=True))
    return int((1 - abs(cpu - memory) / 2) * _MOST)


def _looked_at(nodes: int) -> int:
    """Return the number of fitting nodes at which the scheduler stops looking, in a cluster of so many."""
    return max(_FEWEST_LOOKED_AT, nodes * max(5, 50 - nodes // 125) // 100)
