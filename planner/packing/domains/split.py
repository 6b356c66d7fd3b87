"""Splits pod groups over topology domains before they are packed, so that a packer need not know of domains.

A group that must be spread, or kept away from others, or brought together, is given its domains pod
by pod, each where all its constraints hold at that moment, the emptiest domain first and of those
the cheapest. Every machine that can be bought counts as a domain from the start: a plan never makes
a skew that its own machines would turn into a violation.
Source: the zone splitting of this project's study of packing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.keys import LABEL_HOSTNAME
from planner.packing.domains.colocation import Follower, colocate
from planner.packing.domains.domain_counts import NEAR, WAITS, DomainCounts
from planner.packing.domains.domains import (
    NO_LIMIT,
    Ceilings,
    Cell,
    GroupPart,
    PackingInput,
    Share,
    Split,
    Unplaceable,
)
from planner.packing.domains.hostname_rules import (
    MachineRules,
    apart,
    counted_on_machines,
    keep_counted_away,
    machine_rules,
    rations,
)
from planner.packing.domains.levels import Levels, too_small
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.domains.slack import cells_by_domain, most_together, slack_of
from planner.supply.pod_group import PodGroup


@dataclass(slots=True)
class _Stock:
    """What a cell still has for one group."""

    bins: list[int]
    free: int
    """Pods that fit on machines that cost nothing."""
    room: int
    """Pods that fit in all."""
    price: float
    """Of a pod on the best machine that can be bought."""
    labels: Mapping[str, str]


def split(
    given: PackingInput,
    pod_counts: PodCounts,
    ceilings: Ceilings,
    levels: Levels,
) -> Split:
    """Return the shares of each group: parts, each with the kinds that it may go to.

    Args:
        given: the groups, in the order in which they are decided, and the kinds.
        pod_counts: the pods that are there.
        ceilings: most pods of parts of classes, known from a packing that left some out.
        levels: pods that each machine has at least of groups that are spread over machines.
    """
    return _Splitter(given, pod_counts, ceilings, levels).run()


class _Splitter:
    def __init__(
        self,
        given: PackingInput,
        pod_counts: PodCounts,
        ceilings: Ceilings,
        levels: Levels,
    ) -> None:
        self._given = given
        self._groups = given.groups
        self._ceilings = ceilings
        self._pod_counts = pod_counts
        pods = [group.example for group in given.groups]
        hosts = {b: given.host(b) for b in range(len(given.bins)) if given.is_new(b) and given.copies[b]}
        new = [
            [hosts[b] for b in bins if b in hosts] if pod.spread else []
            for pod, bins in zip(pods, given.holders, strict=True)
        ]
        self._domain_counts = DomainCounts(pods, pod_counts, new, hidden=(LABEL_HOSTNAME,))
        small = too_small(given, levels)
        self._rules = [
            machine_rules(
                i,
                pod,
                [b for b in given.holders[i] if b not in small] if small else given.holders[i],
                given.kinds,
                self._domain_counts,
                level=levels.get(i, 0),
            )
            for i, pod in enumerate(pods)
        ]
        self._keys = self._topology_keys()
        self._cells: list[Cell] = [tuple(kind.labels.get(k) for k in self._keys) for kind in given.kinds]
        self._cells_of: dict[int, frozenset[Cell]] = {}
        self._usable: dict[int, tuple[Sequence[int], Sequence[int]]] = {}
        """Bins that limits leave machines of, by the identity of the bins of some rules, which are kept with them."""
        self._watchers = self._watched()
        looking = {i for watchers in self._watchers for i in watchers}
        followers = frozenset(i for i in looking if self._rules[i].beside)
        self._without_room: set[int] = set()
        """Groups that can have no machine, whatever else is decided."""
        self._answer = Split(domain_counts=self._domain_counts, followers=followers)

    def run(self) -> Split:
        answer = self._answer
        answer.per_node = [rules.per_node for rules in self._rules]
        answer.shuns_itself = [rules.shuns_itself for rules in self._rules]
        answer.apart = apart(self._groups, self._domain_counts.index)
        answer.apart_as_split = [set(others) for others in answer.apart]
        counted = counted_on_machines(self._groups, self._domain_counts)
        keep_counted_away(answer.apart_as_split, self._rules, counted)
        answer.rations = list(rations(self._rules, counted))
        waiting = list(range(len(self._groups)))
        while waiting:
            ready = [i for i in waiting if not self._waits(i, waiting)] or waiting
            # One at a time: each decision may be what the next one waits for.
            for i in ready:
                self._decide(i)
            waiting = sorted(set(waiting).difference(ready))
        answer.is_plain = (
            len(answer.shares) == len(self._groups)
            and all(share.count == group.count for share, group in zip(answer.shares, self._groups, strict=True))
            and not answer.rations
            and answer.apart_as_split == answer.apart
            and all(rules.per_node in {None, 1 if rules.shuns_itself else None} for rules in self._rules)
            and all(s.pods == ((k, 1),) for k, s in enumerate(answer.shares))
            and all(len(s.bins) == len(self._given.holders[s.group]) for s in answer.shares)
        )
        return answer

    def _topology_keys(self) -> list[str]:
        keys: set[str] = set()
        for group_counts, group in zip(self._domain_counts.group_counts, self._groups, strict=True):
            keys.update(group_counts.apart)
            keys.update(s.topology_key for s in group.example.spread)
            keys.update(t.topology_key for t in (*group.example.pod_affinity, *group.example.pod_anti_affinity))
        return sorted(keys - {LABEL_HOSTNAME})

    def _watched(self) -> list[list[int]]:
        """Return for each group the others whose affinity over a domain looks for it."""
        watchers: list[list[int]] = [[] for _ in self._groups]
        for i, group in enumerate(self._groups):
            if group.example.pod_affinity:
                for j in self._domain_counts.index.meeting(group.example.pod_affinity):
                    if i != j:
                        watchers[j].append(i)
        return watchers

    def _waits(self, i: int, waiting: Sequence[int]) -> bool:
        group_counts = self._domain_counts.group_counts[i]
        if not self._groups[i].example.pod_affinity:
            return False
        if i not in self._answer.followers and (group_counts.near or group_counts.meets_itself):
            return False
        return any(i in self._watchers[j] for j in waiting if j != i)

    def _is_pinned(self, i: int) -> bool:
        """Return whether it must be known where each of its pods goes."""
        pod, domain_counts = self._groups[i].example, self._domain_counts
        if any(s.topology_key != LABEL_HOSTNAME for s in pod.spread):
            return True
        return any(key != LABEL_HOSTNAME for e in domain_counts.effects(i) for key in (*e.near, *e.apart))

    def _decide(self, i: int) -> None:
        group, rules = self._groups[i], self._rules[i]
        if not rules.is_bundle and not (self._keys and self._is_pinned(i)):
            self._leave_open(i, group, rules)
            return
        stocks = self._stocks(i, rules)
        if not stocks and rules.obstacle is None:
            # Not a matter of other pods: what it is, is told by the reasons for labels, taints, room and limits.
            self._without_room.add(i)
            self._answer.shares.append(Share(i, group.count, frozenset(rules.bins)))
        elif not rules.bins and rules.obstacle is not None:
            self._rest(i, group.count, rules.obstacle)
        elif rules.is_bundle:
            self._bundle(i, stocks)
        else:
            self._pin(i, stocks)

    def _leave_open(self, i: int, group: PodGroup, rules: MachineRules) -> None:
        """Let each pod go wherever no rule is broken: nobody looks where it is, so no stock is taken."""
        bins = self._with_copies(rules.bins)
        if group.example.attachments:
            # Of all other resources, one pod fits where its group is held.
            bins = [b for b in bins if self._fitting(i, b)]
        if not bins and rules.obstacle is None:
            self._without_room.add(i)
            self._answer.shares.append(Share(i, group.count, frozenset(rules.bins)))
            return
        if not rules.bins and rules.obstacle is not None:
            self._rest(i, group.count, rules.obstacle)
            return
        codes = self._codes(i, bins)
        closed = {cell for cell, code in codes.items() if code is not None}
        if closed and len(closed) == len(codes):
            self._record_unplaceable(i, group.count, next(iter(codes.values())))
            return
        if closed:
            bins = [b for b in bins if self._cells[b] not in closed]
        held = self._given.holder_sets[i] if bins is self._given.holders[i] else frozenset(bins)
        most = min(group.count, self._ceilings.get(GroupPart(i), group.count))
        self._share(Share(i, most, held, is_first=bool(group.example.spread)), group.count, rules.obstacle)

    def _with_copies(self, bins: Sequence[int]) -> Sequence[int]:
        """Return the bins that limits leave machines of, the very object that is given where that is all."""
        if id(bins) not in self._usable:
            left = [b for b in bins if self._given.copies[b]]
            self._usable[id(bins)] = bins, bins if len(left) == len(bins) else left
        return self._usable[id(bins)][1]

    def _codes(self, i: int, bins: Sequence[int]) -> dict[Cell, str | None]:
        """Return by cell of these bins the code of the rule that closes it to the group, None where none does."""
        group_counts = self._domain_counts.group_counts[i]
        if not (group_counts.spreads or group_counts.apart or self._groups[i].example.pod_affinity):
            return {}
        # Without a key, all machines are in one cell.
        cells = dict.fromkeys(self._cells[b] for b in (bins if self._keys else bins[:1]))
        return {cell: self._domain_counts.obstacle(i, self._labels(cell)) for cell in cells}

    def _share(self, share: Share, wanted: int, code: str | None) -> None:
        if share.count:
            self._answer.shares.append(share)
        left = wanted - share.count * share.size
        if left:
            self._rest(share.group, left, code)

    def _rest(self, i: int, count: int, code: str | None) -> None:
        """Let pods that find no place by themselves go along with others, and tell of those that cannot."""
        left = count - self._colocated(i, min(count, self._ceilings.get(GroupPart(i, is_beside=True), count)))
        if left:
            self._record_unplaceable(i, left, code)

    def _colocated(self, i: int, count: int) -> int:
        answer, rules, domain_counts = self._answer, self._rules[i], self._domain_counts
        if i not in answer.followers:
            return 0
        avoided = {i, *answer.apart_as_split[i]}
        leaders = [
            k
            for k, share in enumerate(answer.shares)
            if any(i in self._watchers[j] for j, _ in share.pods) and avoided.isdisjoint(j for j, _ in share.pods)
        ]

        def settle(cell: Cell) -> None:
            domain_counts.add(i, self._labels(cell))

        follower = Follower(
            group=i,
            count=count,
            bins=frozenset(b for b in rules.beside if self._given.copies[b]),
            per_node=count if rules.per_node is None else rules.per_node,
            may_go=lambda cell: domain_counts.obstacle(i, self._labels(cell)) is None,
            settle=settle if self._keys and self._is_pinned(i) else None,
        )
        return colocate(answer, leaders, follower, self._given, self._cells)

    def _labels(self, cell: Cell) -> dict[str, str]:
        return {key: value for key, value in zip(self._keys, cell, strict=True) if value is not None}

    def _record_unplaceable(self, i: int, count: int, code: str | None) -> None:
        if code is None:
            return
        wanted = [j for j, watchers in enumerate(self._watchers) if i in watchers] if code == NEAR else []
        placed = {j for share in self._answer.shares if share.bins for j, _ in share.pods}
        is_near = placed.intersection(wanted) or self._domain_counts.group_counts[i].near
        waits = code == NEAR and wanted and not is_near
        others = tuple(self._groups[j].example.key for j in wanted)
        self._answer.unplaceable[i] = Unplaceable(count, WAITS if waits else code, others)

    def _code(self, i: int, stocks: Mapping[Cell, _Stock]) -> str | None:
        """Return the code of the rule that closes cells to the group; None where only room is short."""
        codes = [self._domain_counts.obstacle(i, stock.labels) for stock in stocks.values()]
        return next((code for code in codes if code is not None), None)

    def _pin(self, i: int, stocks: dict[Cell, _Stock]) -> None:
        """Give each pod its cell."""
        group, domain_counts = self._groups[i], self._domain_counts
        spread_count = domain_counts.spread_alone(i)
        cell_of = cells_by_domain(spread_count, {cell: stock.labels for cell, stock in stocks.items()})
        if spread_count is not None and cell_of:
            self._answer.most_together[i] = max(1, most_together(spread_count, cell_of, group.count))
        given: Counter[Cell] = Counter()
        code: str | None = None
        for k in range(group.count):
            open_ = [c for c, stock in stocks.items() if stock.room and domain_counts.obstacle(i, stock.labels) is None]
            if not open_:
                code = self._code(i, stocks)
                break
            cell = min(open_, key=lambda c: self._preference(i, c, stocks[c], group.count - k, is_used=bool(given[c])))
            stock = stocks[cell]
            stock.room -= 1
            stock.free = max(0, stock.free - 1)
            given[cell] += 1
            domain_counts.add(i, stock.labels)
        placed = given.total()
        if spread_count is not None and cell_of and not any(part.group == i for part in self._ceilings):
            slack = slack_of(spread_count, {value: given[cell] for value, cell in cell_of.items()}, turn=i)
            given.subtract({cell_of[value]: number for value, number in slack.taken.items()})
            open_to = frozenset(b for value in slack.open_to for b in stocks[cell_of[value]].bins)
            self._share(Share(i, slack.number, open_to, is_first=True), slack.number, None)
        for cell, number in given.items():
            self._share(Share(i, number, frozenset(stocks[cell].bins), cell, is_first=True), number, None)
        left = group.count - placed
        if left:
            self._record_unplaceable(i, left, code)

    def _preference(self, i: int, cell: Cell, stock: _Stock, left: int, *, is_used: bool) -> tuple[object, ...]:
        """Return the score of a cell for the next pod, the smaller the better."""
        group_counts = self._domain_counts.group_counts[i]
        crowd = sum(
            spread_count.counts.get(stock.labels[spread_count.spread.topology_key], 0)
            for spread_count in group_counts.spreads
            if spread_count.own and spread_count.spread.topology_key != LABEL_HOSTNAME
        )
        lost = sum(cell not in self._cells_for(j) for j in self._watchers[i])
        short = max(0, left - stock.room)
        to_buy = max(0, min(left, stock.room) - stock.free)
        is_even = any(spread_count.spread.topology_key != LABEL_HOSTNAME for spread_count in group_counts.spreads)
        if is_even:
            # One pod at a time: what the next one costs is what matters.
            return lost, crowd, stock.free <= 0, stock.price if stock.free <= 0 else 0.0
        return lost, short, not is_used, to_buy * stock.price, stock.price

    def _bundle(self, i: int, stocks: Mapping[Cell, _Stock]) -> None:
        """Put all pods of a group on one machine, or as many as one can take."""
        group, domain_counts = self._groups[i], self._domain_counts
        leaders = {j for share in self._answer.shares for j, _ in share.pods} - self._without_room
        if any(i in self._watchers[j] for j in leaders):
            # Its place is beside one of those, on a machine that has no name yet.
            self._rest(i, group.count, NEAR)
            return
        open_ = [stock for stock in stocks.values() if domain_counts.obstacle(i, stock.labels) is None]
        most = max((self._fitting(i, b) for stock in open_ for b in stock.bins), default=0)
        size = min(group.count, most, self._ceilings.get(GroupPart(i), group.count))
        if not size:
            self._record_unplaceable(i, group.count, self._code(i, stocks))
            return
        large = [(stock, b) for stock in open_ for b in stock.bins if self._fitting(i, b) >= size]
        if self._is_pinned(i):
            best = min(large, key=lambda item: (self._given.bins[item[1]].price, item[1]))[0]
            large = [(stock, b) for stock, b in large if stock is best]
            wanted, size = size, 0
            while size < wanted and domain_counts.obstacle(i, best.labels) is None:
                domain_counts.add(i, best.labels)
                size += 1
        bins = frozenset(b for _, b in large)
        self._share(Share(i, 1 if size else 0, bins, size=max(1, size), is_first=True), group.count, NEAR)

    def _cells_for(self, j: int) -> frozenset[Cell]:
        """Return the cells of the bins that may take a pod of group `j`."""
        if j not in self._cells_of:
            self._cells_of[j] = frozenset(self._cells[b] for b in self._rules[j].bins)
        return self._cells_of[j]

    def _stocks(self, i: int, rules: MachineRules) -> dict[Cell, _Stock]:
        stocks: dict[Cell, _Stock] = {}
        bins, copies_of, cells, most = self._given.bins, self._given.copies, self._cells, rules.most or {}
        # Machines of the same room hold as many: thousands of Nodes have a few kinds of it.
        known: dict[tuple[int, ...], int] = {}
        for b in rules.bins:
            row, copies = bins[b], copies_of[b]
            if (fits := known.get(row.capacity)) is None:
                fits = known[row.capacity] = self._fitting_into(i, row.capacity)
            fits = min(fits, most.get(b, fits))
            if not fits or not copies:
                continue
            cell = cells[b]
            stock = stocks.get(cell)
            if stock is None:
                stock = stocks[cell] = _Stock([], 0, 0, float("inf"), self._labels(cell))
            stock.bins.append(b)
            stock.room = min(NO_LIMIT, stock.room + fits * copies)
            if row.price:
                stock.price = min(stock.price, row.price / fits)
            else:
                stock.free += fits * copies
        for cell, stock in stocks.items():
            stock.room = min(stock.room, self._ceilings.get(GroupPart(i, cell), stock.room))
        return stocks

    def _fitting(self, i: int, b: int) -> int:
        fits = self._fitting_into(i, self._given.bins[b].capacity)
        return min(fits, (self._rules[i].most or {}).get(b, fits))

    def _fitting_into(self, i: int, capacity: Sequence[int]) -> int:
        fits = [c // d for c, d in zip(capacity, self._given.demands[i], strict=True) if d]
        most = self._rules[i].per_node
        return min(fits if most is None else [*fits, most], default=NO_LIMIT)
