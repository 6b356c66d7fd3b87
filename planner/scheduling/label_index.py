"""An index of pods by namespace and label: who a selector means is found without a look at all pods.

2,000 pods with a rule each would otherwise be four million comparisons in every round.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from planner.objects.kinds import Pod, PodTerm, Requirement
from planner.objects.predicates import selects
from planner.scheduling.affinity import Namespaces, looks_in, meets_all


class _Members:
    """The pods of one namespace, by position."""

    def __init__(self) -> None:
        self.all: list[int] = []
        self.by_label: dict[tuple[str, str], list[int]] = {}


class LabelIndex:
    """Pods, which are known by their positions.

    Args:
        pods: all that may be looked for.
        namespaces: labels by name of the namespace.
    """

    def __init__(self, pods: Sequence[Pod], namespaces: Namespaces) -> None:
        self._pods = pods
        self._namespaces = namespaces
        self._members: dict[str, _Members] = {}
        self._spaces: dict[tuple[frozenset[str], tuple[Requirement, ...] | None], tuple[str, ...]] = {}
        for position, pod in enumerate(pods):
            members = self._members.setdefault(pod.namespace, _Members())
            members.all.append(position)
            for label in pod.labels.items():
                members.by_label.setdefault(label, []).append(position)

    def meant_by(self, term: PodTerm) -> Iterator[int]:
        """Yield the positions of the pods that a term means, those of one namespace after the other."""
        if term.selector is not None:
            for namespace in self._looked_in(term):
                yield from self.selected(namespace, term.selector)

    def meeting(self, terms: Sequence[PodTerm]) -> Iterator[int]:
        """Yield the positions of the pods that meet all affinity terms at once, of which there is one at least."""
        if terms:
            # The one that means fewest is asked first.
            first = min(terms, key=self.reach)
            for position in self.meant_by(first):
                if len(terms) == 1 or meets_all(terms, self._pods[position], self._namespaces):
                    yield position

    def selected(self, namespace: str, selector: Sequence[Requirement]) -> Iterator[int]:
        """Yield the positions of the pods of a namespace that meet all requirements, ascending."""
        for position in self._candidates(namespace, selector):
            if selects(selector, self._pods[position].labels):
                yield position

    def reach(self, term: PodTerm) -> int:
        """Return how many pods are looked at to find those that a term means."""
        return sum(self.reach_of(namespace, term.selector) for namespace in self._looked_in(term))

    def reach_of(self, namespace: str, selector: Sequence[Requirement] | None) -> int:
        """Return how many pods of a namespace are looked at to find those that a selector means."""
        return 0 if selector is None else len(self._candidates(namespace, selector))

    def looked_at(self, terms: Iterable[PodTerm]) -> list[int]:
        """Return for each pod how many of the terms look at it to find those that they mean."""
        lists: dict[int, tuple[Sequence[int], int]] = {}
        for term in terms:
            if term.selector is None:
                continue
            for namespace in self._looked_in(term):
                candidates = self._candidates(namespace, term.selector)
                # Thousands of terms look at the same few lists. What is counted here is kept, so that no id is reused.
                lists[id(candidates)] = candidates, lists.get(id(candidates), (candidates, 0))[1] + 1
        numbers = [0] * len(self._pods)
        for candidates, number in lists.values():
            for position in candidates:
                numbers[position] += number
        return numbers

    def _looked_in(self, term: PodTerm) -> tuple[str, ...]:
        key = term.namespaces, term.namespace_selector
        if key not in self._spaces:
            named = (name for name in sorted(term.namespaces) if name in self._members)
            self._spaces[key] = tuple(
                named
                if term.namespace_selector is None
                else (name for name in self._members if looks_in(term, name, self._namespaces))
            )
        return self._spaces[key]

    def _candidates(self, namespace: str, selector: Sequence[Requirement]) -> Sequence[int]:
        members = self._members.get(namespace)
        if members is None:
            return ()
        best = members.all
        for requirement in selector:
            if requirement.operator != "In":
                continue
            named = [members.by_label.get((requirement.key, value), ()) for value in dict.fromkeys(requirement.values)]
            if sum(map(len, named)) < len(best):
                best = named[0] if len(named) == 1 else sorted(chain.from_iterable(named))
        return best
