"""Is there an order in which the scheduler binds given numbers of pods to given machines? Found by trying all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.planner.packing.joint.scheduler import Affinity, Content, Rules, Spread
from tests.planner.selecting import HOSTNAME

State = tuple[Content, ...]
"""Pods by machine and workload."""


@dataclass(frozen=True)
class _LaidOut:
    """A spread constraint for certain machines."""

    spread: Spread
    values: list[str | None]
    """The domain of each machine."""
    counting: list[int]
    """Machines that count."""
    base: dict[str | None, int]
    """Pods that are there by domain."""
    has_enough: bool
    """Whether there are as many domains as wanted."""

    def open_values(self, state: State) -> set[str | None]:
        """Return the domains where one more pod keeps the skew small enough."""
        counts = dict(self.base)
        for m in self.counting if self.spread.counted else ():
            for j in self.spread.counted:
                if state[m][j]:
                    counts[self.values[m]] = counts.get(self.values[m], 0) + state[m][j]
        least = min(counts.values(), default=0) if self.has_enough else 0
        most = self.spread.max_skew + least - self.spread.own
        return {value for value in set(self.values) if counts.get(value, 0) <= most}


class Board:
    """Machines that are there together before the first pod is bound.

    Args:
        rules: of the round.
        spots: the machines, each as the position of its spot; equal ones stand side by side.
        is_relaxed: what fails then fails with fewer of the new machines, too: hosts need not be even, and a new machine
            makes no domain but by its pods.
    """

    def __init__(self, rules: Rules, spots: Sequence[int], *, is_relaxed: bool = False) -> None:
        self._rules = rules
        self.spots = tuple(spots)
        there = len(rules.given.there)
        self._is_new = [spot >= there for spot in spots]
        self._is_relaxed = is_relaxed
        self._machines = range(len(spots))
        self._spreads = [
            [self._laid_out(s) for s in own if not (is_relaxed and s.key == HOSTNAME)] for own in rules.spreads
        ]
        self._apart = [
            [
                (self._values(key), tuple(j for j in range(len(rules.workloads)) if (i, j) in pairs))
                for key, pairs in rules.apart.items()
                if key != HOSTNAME
            ]
            for i in range(len(rules.workloads))
        ]
        self._near = [a and (a, [self._values(key) for key in a.keys]) for a in rules.affinities]
        self._twins = [m > 0 and spots[m] == spots[m - 1] and spots[m] >= there for m in self._machines]

    def _values(self, key: str) -> list[str | None]:
        """Return the domain of each machine; each is a host of its own."""
        if key == HOSTNAME:
            return [str(m) for m in self._machines]
        return [self._rules.spots[s].labels.get(key) for s in self.spots]

    def _laid_out(self, spread: Spread) -> _LaidOut:
        values = self._values(spread.key)
        counting = [m for m in self._machines if spread.eligible[self.spots[m]]]
        base: dict[str | None, int] = dict.fromkeys(spread.may_come, 0)
        for m in counting:
            if not (self._is_relaxed and self._is_new[m]):
                base[values[m]] = base.get(values[m], 0) + spread.residents[self.spots[m]]
        number = len(base.keys() | {values[m] for m in counting})
        return _LaidOut(spread, values, counting, base, has_enough=number >= spread.min_domains)

    def end(self, wanted: Content, unneeded: int | None = None) -> State | None:
        """Return a state in which so many pods of each workload are bound, or None if no order leads to one.

        `unneeded` new machines may stay empty: with more of them there is a cheaper way. Any may, without it.
        """
        return next(iter(self._way(wanted, None, unneeded)), None)

    def order(self, goal: State) -> list[tuple[int, int]] | None:
        """Return an order in which the scheduler binds these pods, as workloads and machines, or None without one."""
        states = self._way(tuple(map(sum, zip(*goal, strict=True))), goal, None)[::-1]
        return [_difference(one, other) for one, other in pairwise(states)] if states else None

    def _way(self, wanted: Content, goal: State | None, unneeded: int | None) -> list[State]:
        """Return states from the end to the start, each with one pod more than the next one, or none at all.

        Equal machines are in one order, where there is no goal.
        """
        start: State = ((0,) * len(wanted),) * len(self.spots)
        before: dict[State, State | None] = {start: None}
        stack = [(start, wanted)] if goal is not None or self._has_room(wanted, start, unneeded) else []
        while stack:
            state, left = stack.pop()
            if not any(left):
                way: list[State] = []
                at: State | None = state
                while at is not None:
                    way.append(at)
                    at = before[at]
                return way
            for i, m in self._moves(state, left, goal):
                content = state[m]
                after = (*state[:m], (*content[:i], content[i] + 1, *content[i + 1 :]), *state[m + 1 :])
                if goal is None:
                    after = self._sorted(after, m)
                if after not in before:
                    before[after] = state
                    rest = (*left[:i], left[i] - 1, *left[i + 1 :])
                    if goal is not None or self._has_room(rest, after, unneeded):
                        stack.append((after, rest))
        return []

    def _sorted(self, state: State, m: int) -> State:
        """Return the state with equal machines in one order."""
        first, last = m, m + 1
        while self._twins[first]:
            first -= 1
        while last < len(state) and self._twins[last]:
            last += 1
        if last - first == 1:
            return state
        return (*state[:first], *sorted(state[first:last], reverse=True), *state[last:])

    def _has_room(self, left: Content, state: State, unneeded: int | None) -> bool:
        """Return whether room alone allows the rest, and each new machine that is bought for pods can get one."""
        if unneeded is not None:
            empty = sum(new and not any(content) for new, content in zip(self._is_new, state, strict=True))
            if empty - unneeded > sum(left):
                return False
        more = [self._rules.more(spot, content) for spot, content in zip(self.spots, state, strict=True)]
        return all(not n or sum(one[i] for one in more) >= n for i, n in enumerate(left))

    def _moves(self, state: State, left: Content, goal: State | None) -> Iterator[tuple[int, int]]:
        """Yield workloads and machines of pods that may be bound next, the most promising last.

        Pods that nobody looks at and that look at nobody who comes are bound at the end: when does not matter.
        """
        waiting = [i for i, n in enumerate(left) if n]
        ordered = [i for i in waiting if self._rules.ordered[i]]
        for i in ordered or waiting[:1]:
            may = self._may_go(i, state)
            found = [
                m
                for m in self._machines
                if self._rules.more(self.spots[m], state[m])[i]
                and (goal is None or goal[m][i] > state[m][i])
                and not (goal is None and self._twins[m] and state[m] == state[m - 1])
                and may(m)
            ]
            yield from ((i, m) for m in sorted(found, key=lambda m: -sum(state[m])))

    def _may_go(self, i: int, state: State) -> Callable[[int], bool]:
        """Return the verdict on each machine for a pod of workload `i`, as far as other machines matter."""
        open_ = [(spread.values, spread.open_values(state)) for spread in self._spreads[i]]
        closed = [
            (values, {values[m] for m, content in enumerate(state) if any(content[j] for j in met)})
            for values, met in self._apart[i]
            if met
        ]
        near = self._near[i] and self._company(*self._near[i], state)

        def may(m: int) -> bool:
            return (
                all(values[m] in fine for values, fine in open_)
                and not any(values[m] is not None and values[m] in taken for values, taken in closed)
                and (near is None or all(values[m] in found for values, found in near))
            )

        return may

    def _company(
        self, affinity: Affinity, keyed: list[list[str | None]], state: State
    ) -> list[tuple[list[str | None], set[str | None]]] | None:
        """Return the domains with company for each term; None if the pod is the first of those that it looks for."""
        hosts = [
            m
            for m, content in enumerate(state)
            if affinity.residents[self.spots[m]] or any(content[j] for j in affinity.met_by)
        ]
        found = [(values, {values[m] for m in hosts} - {None}) for values in keyed]
        if affinity.meets_itself and not any(domains for _, domains in found):
            return None
        return found


def _difference(one: State, other: State) -> tuple[int, int]:
    """Return the workload and the machine of the pod that the other state has more."""
    return next(
        (i, m)
        for m, (few, many) in enumerate(zip(one, other, strict=True))
        for i, (less, more) in enumerate(zip(few, many, strict=True))
        if more > less
    )
