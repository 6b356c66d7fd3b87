"""Is there an order in which the scheduler binds given numbers of pods to given machines? Found by trying all."""

from collections.abc import Iterator, Sequence

from tests.planner.packing.joint.scheduler import Affinity, Content, Rules, Spread
from tests.planner.selecting import HOSTNAME

State = tuple[Content, ...]
"""Pods by machine and workload."""


class Board:
    """Machines that are there together before the first pod is bound.

    Args:
        rules: of the round.
        spots: the machines, each as the position of its spot; equal ones stand side by side.
        is_relaxed: hosts need not be even: what fails then fails with fewer machines of these kinds, too.
    """

    def __init__(self, rules: Rules, spots: Sequence[int], *, is_relaxed: bool = False) -> None:
        self._rules = rules
        self.spots = tuple(spots)
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
        there = len(rules.given.there)
        self._twins = [m > 0 and spots[m] == spots[m - 1] and spots[m] >= there for m in self._machines]
        self._is_new = [spot >= there for spot in spots]

    def _values(self, key: str) -> list[str | None]:
        """Return the domain of each machine; each is a host of its own."""
        if key == HOSTNAME:
            return [str(m) for m in self._machines]
        return [self._rules.spots[s].labels.get(key) for s in self.spots]

    def _laid_out(self, spread: Spread) -> tuple[Spread, list[str | None], list[int], dict[str, int]]:
        """Return a constraint with the domain of each machine, machines that count, and the pods that are there."""
        values = self._values(spread.key)
        counting = [m for m in self._machines if spread.eligible[self.spots[m]]]
        base = dict.fromkeys(spread.may_come, 0)
        for m in counting:
            value = str(values[m])
            base[value] = base.get(value, 0) + spread.residents[self.spots[m]]
        return spread, values, counting, base

    def end(self, wanted: Content, goal: State | None = None, unneeded: int | None = None) -> State | None:
        """Return a state in which so many pods of each workload are bound, or None if no order leads to one.

        Args:
            wanted: pods by workload.
            goal: where each must go; anywhere, without it.
            unneeded: new machines that may stay empty: with more of them there is a cheaper way. Any, without it.
        """
        nothing = (0,) * len(wanted)
        if goal is None and not self._has_room(wanted, (nothing,) * len(self.spots), unneeded):
            return None
        start: State = (nothing,) * len(self.spots)
        seen = {start}
        stack = [(start, wanted)]
        while stack:
            state, left = stack.pop()
            if not any(left):
                return state
            for i, m in self._moves(state, left, goal):
                content = state[m]
                new = (*content[:i], content[i] + 1, *content[i + 1 :])
                after = self._sorted((*state[:m], new, *state[m + 1 :]), m) if goal is None else (*state[:m], new, *state[m + 1 :])
                if after not in seen:
                    seen.add(after)
                    rest = (*left[:i], left[i] - 1, *left[i + 1 :])
                    if goal is not None or self._has_room(rest, after, unneeded):
                        stack.append((after, rest))
        return None

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

    def _may_go(self, i: int, state: State):
        """Return the verdict on each machine for a pod of workload `i`, as far as other machines matter."""
        open_ = [_open_values(spread, values, counting, base, state) for spread, values, counting, base in self._spreads[i]]
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

    def _company(self, affinity: Affinity, keyed: list[list[str | None]], state: State):
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


def _open_values(
    spread: Spread, values: list[str | None], counting: list[int], base: dict[str, int], state: State
) -> tuple[list[str | None], set[str | None]]:
    """Return the domain of each machine, and the domains where one more pod keeps the skew small enough."""
    counts = dict(base)
    if spread.counted:
        for m in counting:
            content = state[m]
            for j in spread.counted:
                if content[j]:
                    counts[str(values[m])] += content[j]
    least = min(counts.values(), default=0) if len(counts) >= spread.min_domains else 0
    return values, {
        value for value in set(values) if counts.get(str(value), 0) + spread.own - least <= spread.max_skew
    }
