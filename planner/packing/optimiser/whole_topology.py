"""Rules between pods of different machines as constraints of the whole problem.

Of every rule it has what is necessary: whether pods can be bound in some order is checked by whoever binds them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from planner.packing.problem import PackingProblem
from planner.packing.topology import NO_DOMAIN, ApartRow, NearRow, SpreadRow, Topology


@dataclass(frozen=True, slots=True)
class Slot:
    """A machine that may be there."""

    used: dict[int, cp_model.IntVar]
    """Whether it is of a bin, by bin; one at most."""
    pods: dict[int, cp_model.IntVar]
    """How many of a group are on it, by group that may be."""


def add_topology(model: cp_model.CpModel, problem: PackingProblem, slots: Sequence[Slot]) -> None:
    """Add all rows of the problem's topology to the model."""
    topology = problem.topology
    rules = _Rules(model, problem, slots)
    for spread in topology.spread:
        rules.add_spread(spread)
    for near in topology.near:
        rules.add_near(near)
    for apart in topology.apart:
        rules.add_apart(apart)


@dataclass(frozen=True, slots=True)
class _Part:
    """A slot as far as it is of some bins, which are alike to all rows."""

    slot: int
    bin: int
    """One of them."""
    used: cp_model.LinearExpr
    pods: Mapping[int, cp_model.IntVar]
    """By group."""


def signature(topology: Topology, b: int) -> tuple[object, ...]:
    """Return what tells a bin from others in the rows: machines of bins with the same are alike to all of them."""
    return (
        *(row.domain_of and row.domain_of[b] for row in (*topology.spread, *topology.near, *topology.apart)),
        *(row.counts[b] for row in topology.spread),
        *(b in minimum.bins for minimum in topology.minimums),
        *(row.present[b] for row in (*topology.spread, *topology.near) if row.domain_of is None),
    )


Domains = tuple[int, ...] | None
"""Domain by bin; of the host name, each slot is a domain."""


class _Rules:
    def __init__(self, model: cp_model.CpModel, problem: PackingProblem, slots: Sequence[Slot]) -> None:
        self._model, self._problem, self._slots = model, problem, slots
        self._has: dict[tuple[int, Domains, int], cp_model.IntVar] = {}
        self._parts = [part for s in range(len(slots)) for part in self._parts_of(s)]

    def _parts_of(self, s: int) -> list[_Part]:
        slot, topology = self._slots[s], self._problem.topology
        alike: dict[tuple[object, ...], list[int]] = {}
        for b in slot.used:
            alike.setdefault(signature(topology, b), []).append(b)
        if len(alike) == 1:
            return [_Part(s, b, _total(slot.used.values()), slot.pods) for b in list(slot.used)[:1]]
        parts: list[_Part] = []
        for bins in alike.values():
            used = _total(slot.used[b] for b in bins)
            pods: dict[int, cp_model.IntVar] = {}
            for i in slot.pods:
                if not self._problem.groups[i].bins.isdisjoint(bins):
                    most = self._problem.groups[i].count
                    pods[i] = self._model.new_int_var(0, most, "")
                    self._model.add(pods[i] <= most * used)
            parts.append(_Part(s, bins[0], used, pods))
        for i, x in slot.pods.items():
            self._model.add(_total(part.pods[i] for part in parts if i in part.pods) == x)
        return parts

    def add_spread(self, row: SpreadRow) -> None:
        """Keep every domain with a pod of the group within the skew of the emptiest one."""
        model, most = self._model, sum(self._problem.groups[j].count for j in row.counted)
        later = row.later or (0,) * len(row.present)
        highest = max([0, row.fullest, *map(sum, zip(row.present, later, strict=True))]) + most
        least = model.new_int_var(max(0, row.fullest - row.max_skew), highest, "")
        if row.least is not None:
            model.add(least <= row.least)
        if row.domain_of is None:
            new = self._bound_by_machines(row, least, highest)
            if row.missing:
                is_enough = model.new_bool_var("")
                model.add(_total(new) >= row.missing).only_enforce_if(is_enough)
                model.add(least <= highest * is_enough)
        else:
            for d, present in enumerate(row.present):
                model.add(least <= present + later[d] + self._counted(row, row.counted, d))
            if row.missing:
                model.add(least == 0)
        for d in self._domains(row.domain_of):
            present = row.present[self._slot_bin(d) if row.domain_of is None else d]
            has = self._is_in(row.group, row.domain_of, d)
            before = self._counted(row, row.before, d)
            if row.domain_of is not None and d in row.held:
                model.add(present + before - least <= row.max_skew)
            elif has is not None:
                model.add(present + before - least <= row.max_skew).only_enforce_if(has)

    def _bound_by_machines(self, row: SpreadRow, least: cp_model.IntVar, highest: int) -> list[cp_model.LinearExpr]:
        """Let no machine have fewer pods than `least`; return whether each machine is a new domain."""
        new: list[cp_model.LinearExpr] = []
        for position in sorted(row.idle):
            minimum = self._problem.topology.minimums[position]
            is_filled = self._model.new_bool_var("")
            parts = [part.used for part in self._parts if part.bin in minimum.bins]
            self._model.add(_total(parts) >= minimum.number).only_enforce_if(is_filled)
            self._model.add(least <= highest * is_filled)
        for part in self._parts:
            if not row.counts[part.bin]:
                continue
            pods = row.present[part.bin] + _total(part.pods[j] for j in sorted(row.counted) if j in part.pods)
            if part.bin in self._problem.topology.standing:
                self._model.add(least <= pods)
            else:
                self._model.add(least <= pods + highest - highest * part.used)
                # What costs nothing comes in any case, and was counted.
                new += [part.used] if self._problem.bins[part.bin].price else []
        return new

    def add_near(self, row: NearRow) -> None:
        """Let pods of the group be only where one that they look for is; where there is none at all, one begins."""
        begins: list[cp_model.IntVar] = []
        for d in self._domains(row.domain_of):
            has = self._is_in(row.group, row.domain_of, d)
            if has is None or (row.domain_of is not None and row.present[d]):
                continue
            others = row.met_by - row.alike if row.group in row.alike else row.met_by - {row.group}
            begin = self._begin(row, d)
            begins += [] if begin is None else [begin]
            beside = [self._pods(j, row.domain_of, d) for j in sorted(others)]
            if row.domain_of is None:
                beside += [part.used for part in self._in(None, d) if row.present[part.bin]]
            self._model.add(has <= _total([*beside, *([] if begin is None else [begin])]))
        if begins:
            self._model.add_at_most_one(begins)

    def _begin(self, row: NearRow, d: int) -> cp_model.IntVar | None:
        """Return whether the group, or one with the same terms, begins in this domain."""
        if not row.may_begin:
            return None
        key = (-1 - min(row.alike), row.domain_of, d)
        if key not in self._has:
            self._has[key] = self._model.new_bool_var("")
        return self._has[key]

    def add_apart(self, row: ApartRow) -> None:
        """Let two groups never share a domain; of a group that shuns itself, let one pod be in each."""
        i, j = row.groups
        for d in self._domains(row.domain_of):
            if i == j:
                self._model.add(self._pods(i, row.domain_of, d) <= 1)
                continue
            one_is, other_is = self._is_in(i, row.domain_of, d), self._is_in(j, row.domain_of, d)
            if one_is is not None and other_is is not None:
                self._model.add_at_most_one(one_is, other_is)

    def _domains(self, domain_of: Domains) -> Iterable[int]:
        if domain_of is None:
            return range(len(self._slots))
        return sorted({*domain_of} - {NO_DOMAIN})

    def _slot_bin(self, s: int) -> int:
        """Return a bin of the slot; all that a slot may be of are alike as long as nothing is on them."""
        return next(iter(self._slots[s].used))

    def _counted(self, row: SpreadRow, groups: Iterable[int], d: int) -> cp_model.LinearExpr:
        """Return the number of pods of these groups in a domain, on machines that count."""
        wanted = [part for part in self._in(row.domain_of, d) if row.counts[part.bin]]
        return _total(part.pods[j] for part in wanted for j in sorted(groups) if j in part.pods)

    def _in(self, domain_of: Domains, d: int) -> list[_Part]:
        if domain_of is None:
            return [part for part in self._parts if part.slot == d]
        return [part for part in self._parts if domain_of[part.bin] == d]

    def _pods(self, i: int, domain_of: Domains, d: int) -> cp_model.LinearExpr:
        return _total(part.pods[i] for part in self._in(domain_of, d) if i in part.pods)

    def _is_in(self, i: int, domain_of: Domains, d: int) -> cp_model.IntVar | None:
        """Return whether any pod of the group is in the domain; None where none can be."""
        if not any(i in part.pods for part in self._in(domain_of, d)):
            return None
        key = (i, domain_of, d)
        if key not in self._has:
            has = self._model.new_bool_var("")
            self._model.add(self._pods(i, domain_of, d) <= self._problem.groups[i].count * has)
            self._has[key] = has
        return self._has[key]


def _total(terms: Iterable[cp_model.LinearExpr]) -> cp_model.LinearExpr:
    return cp_model.LinearExpr.sum([*terms])
