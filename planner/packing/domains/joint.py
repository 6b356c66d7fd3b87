"""The problem before any split: where pods go and which machines are bought are one decision.

For rounds that are small enough to be solved so. What comes back becomes a split, as if pods had been given
those domains.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from api.keys import LABEL_HOSTNAME
from planner.objects.predicates import NEW_HOST
from planner.packing.domains.domain_counts import DomainCounts, SpreadCount
from planner.packing.domains.domains import Cell, PackingInput, Share, Split, Unplaceable, host_of
from planner.packing.domains.hostname_rules import is_near, rules_of_exclusion
from planner.packing.domains.levels import hosts_at_least
from planner.packing.domains.pod_counts import Host, PodCounts, host_counts
from planner.packing.problem import GroupRow, PackedNode, Packing
from planner.packing.topology import NO_DOMAIN, ApartRow, Minimum, NearRow, SpreadRow, Topology
from planner.supply.machine_kind import MachineKind
from planner.supply.places import Place


class JointProblem:
    """The groups of a round, not split, with the rules between their pods as rows.

    Args:
        given: the groups and kinds.
        split: what the packing was made by; what it knows of groups on one machine holds for any split.
        pod_counts: the pods that are there.
        top_up: machines that pools keep beyond minimums of single types, with numbers.
    """

    def __init__(
        self, given: PackingInput, split: Split, pod_counts: PodCounts, top_up: Sequence[tuple[MachineKind, int]] = ()
    ) -> None:
        self._given, self._split = given, split
        self._pods = [group.example for group in given.groups]
        self._hosts = [given.host(b) for b in range(len(given.bins))]
        new = [
            [self._hosts[b] for b in bins if given.is_new(b) and given.copies[b]] if pod.spread else []
            for pod, bins in zip(self._pods, given.holders, strict=True)
        ]
        self._minimums = tuple(self._all_minimums(given, top_up))
        known = None if split.domain_counts is None else split.domain_counts.known
        self._domain_counts = DomainCounts(self._pods, pod_counts, new, effects=known)
        self._bins = [self._open_bins(i) for i in range(len(self._pods))]

    def rows(self, relaxed: Iterable[GroupRow]) -> tuple[GroupRow, ...]:
        """Return the rows of groups without the bins that a rule about pods that are there closes for them."""
        return tuple(replace(row, bins=frozenset(bins)) for row, bins in zip(relaxed, self._bins, strict=True))

    def topology(self) -> Topology:
        """Return the rules between pods of different machines, as far as they bind whatever the order of binding."""
        standing = frozenset(b for b in range(len(self._hosts)) if not self._given.is_new(b))
        rows = tuple(self._spread()), tuple(self._near()), tuple(self._apart())
        return Topology(*rows, standing, tuple(minimum for minimum, _ in self._minimums))

    def in_groups(self, packing: Packing) -> Packing:
        """Return a packing of the split's shares as one of groups."""
        shares, counts = self._split.shares, [group.count for group in self._given.groups]
        nodes: list[PackedNode] = []
        for node in packing.nodes:
            pods: Counter[int] = Counter()
            for k, items in node.counts.items():
                for i, number in shares[k].pods:
                    pods[i] += items * number
                    counts[i] -= items * number
            nodes.append(PackedNode(node.bin, dict(pods)))
        return Packing(tuple(nodes), {i: n for i, n in enumerate(counts) if n})

    def split_of(self, packing: Packing) -> tuple[Split, Packing]:
        """Return the split that gives pods the domains of this packing of groups, and the packing of its shares."""
        cells = self._cells()
        totals: Counter[tuple[int, Cell]] = Counter()
        for node in packing.nodes:
            totals.update({(i, cells[node.bin]): n for i, n in node.counts.items()})
        unplaceable: dict[int, Unplaceable] = {}
        unplaced: dict[tuple[int, Cell], int] = {}
        for i, n in packing.unplaced.items():
            if i in self._split.unplaceable:
                unplaceable[i] = replace(self._split.unplaceable[i], count=n)
            else:
                # Room or limits are short, wherever it goes.
                part = next((part for part in totals if part[0] == i), (i, ()))
                totals[part] += n
                unplaced[part] = n
        parts = {part: k for k, part in enumerate(sorted(totals, key=lambda part: (part[0], str(part[1]))))}
        shares = [
            Share(i, totals[i, cell], self._bins_in(i, cell, cells), cell or None, is_first=True) for i, cell in parts
        ]
        nodes = [
            PackedNode(node.bin, {parts[i, cells[node.bin]]: n for i, n in node.counts.items()})
            for node in packing.nodes
        ]
        split = replace(
            self._split,
            shares=shares,
            per_node=[1 if shuns else None for shuns in self._split.shuns_itself],
            apart_as_split=[set(others) for others in self._split.apart],
            rations=[],
            unplaceable=unplaceable,
            is_plain=False,
        )
        return split, Packing(tuple(nodes), {parts[part]: n for part, n in unplaced.items()}, packing.proven)

    def _bins_in(self, i: int, cell: Cell, cells: Sequence[Cell]) -> frozenset[int]:
        return frozenset(b for b in self._bins[i] if not cell or cells[b] == cell)

    def _cells(self) -> list[Cell]:
        keys = sorted({key for i in range(len(self._pods)) for key in self._keys(i)} - {LABEL_HOSTNAME})
        return [tuple(host.labels.get(key) for key in keys) for host in self._hosts]

    def _keys(self, i: int) -> Iterable[str]:
        pod = self._pods[i]
        yield from (spread.topology_key for spread in pod.spread)
        yield from (term.topology_key for term in (*pod.pod_affinity, *pod.pod_anti_affinity))
        yield from self._domain_counts.group_counts[i].apart

    def _open_bins(self, i: int) -> list[int]:
        pod, counts = self._pods[i], self._domain_counts.group_counts[i]
        rules = rules_of_exclusion(i, pod, self._given.holders[i], self._given.kinds, self._domain_counts)
        needed = [constraint.topology_key for constraint in (*pod.spread, *pod.pod_affinity)]
        return [
            b
            for b in rules.bins
            if all(key in self._hosts[b].labels for key in needed)
            and not any(there.get(self._hosts[b].labels.get(key, ""), 0) for key, there in counts.apart.items())
        ]

    def _spread(self) -> Iterable[SpreadRow]:
        counted: dict[tuple[int, int], set[int]] = {}
        for j in range(len(self._pods)):
            for effect in self._domain_counts.effects(j):
                for k in effect.spreads:
                    counted.setdefault((effect.on, k), set()).add(j)
        for i, counts in enumerate(self._domain_counts.group_counts):
            for k, count in enumerate(counts.spreads):
                yield self._spread_row(i, count, counted.get((i, k), set()))

    def _spread_row(self, i: int, count: SpreadCount, counted: set[int]) -> SpreadRow:
        key, pod = count.spread.topology_key, self._pods[i]
        values = [host.labels.get(key) for host in self._hosts]
        counts = tuple(host_counts(pod, count.spread, host) for host in self._hosts)
        pods_by_domain = {value: n for value, n in count.counts.items() if value != NEW_HOST}
        least = min((n for value, n in pods_by_domain.items() if value not in values), default=None)
        before = frozenset({i} if count.own else ())
        if key == LABEL_HOSTNAME:
            present = tuple(pods_by_domain.get(value or "", 0) for value in values)
            idle = [k for k, (_, host) in enumerate(self._minimums) if host_counts(pod, count.spread, host)]
            free = [self._minimums[k][0] for k in idle]
            at_least = hosts_at_least(self._given, self._bins[i], is_any_there=bool(pods_by_domain))
            coming = sum(one.number for one in free if all(not self._given.bins[b].price for b in one.bins))
            return SpreadRow(
                group=i,
                counted=frozenset(counted),
                before=before,
                max_skew=count.spread.max_skew,
                domain_of=None,
                present=present,
                counts=counts,
                least=least,
                missing=max(0, max(count.spread.min_domains, at_least) - len(pods_by_domain) - coming),
                idle=frozenset(idle),
            )
        domains = {
            value: d for d, value in enumerate(sorted(set(pods_by_domain) & {v for v in values if v is not None}))
        }
        return SpreadRow(
            group=i,
            counted=frozenset(counted),
            before=before,
            max_skew=count.spread.max_skew,
            domain_of=_numbered(values, domains),
            present=tuple(pods_by_domain[value] for value in domains),
            counts=counts,
            least=least,
            missing=max(0, count.spread.min_domains - len(pods_by_domain)),
        )

    @staticmethod
    def _all_minimums(given: PackingInput, top_up: Sequence[tuple[MachineKind, int]]) -> Iterator[tuple[Minimum, Host]]:
        """Yield the machines that come in any case, each with one of them as it is without pods."""
        bins: dict[int, list[int]] = {}
        for b, kind in enumerate(given.kinds):
            if not isinstance(kind, Place) and kind.is_minimum:
                bins.setdefault(given.bins[b].limits[0], []).append(b)
        for same in bins.values():
            yield Minimum(frozenset(same), max(given.copies[b] for b in same)), given.host(same[0])
        for kind, number in top_up:
            yield Minimum(in_pool(given, kind), number), host_of(kind)

    def _near(self) -> Iterable[NearRow]:
        met_by: dict[int, set[int]] = {}
        for j in range(len(self._pods)):
            for effect in self._domain_counts.effects(j):
                if effect.near:
                    met_by.setdefault(effect.on, set()).add(j)
        alike: dict[object, set[int]] = {}
        for i, pod in enumerate(self._pods):
            if pod.pod_affinity and self._domain_counts.group_counts[i].meets_itself:
                alike.setdefault((pod.namespace, pod.pod_affinity), set()).add(i)
        for i, pod in enumerate(self._pods):
            counts = self._domain_counts.group_counts[i]
            same = frozenset(alike.get((pod.namespace, pod.pod_affinity), ())) if counts.meets_itself else frozenset()
            may_begin = counts.meets_itself and not counts.near
            for key in dict.fromkeys(term.topology_key for term in pod.pod_affinity):
                if key == LABEL_HOSTNAME:
                    domain_of = None
                    present = tuple(is_near(pod, kind, self._domain_counts, counts) for kind in self._given.kinds)
                else:
                    values, domain_of = self._domains(key)
                    present = tuple(counts.near[key, value] > 0 for value in values)
                yield NearRow(i, frozenset(met_by.get(i, ())), same, domain_of, present, may_begin)

    def _apart(self) -> Iterable[ApartRow]:
        pairs: dict[tuple[int, int, str], None] = {}
        for j in range(len(self._pods)):
            for effect in self._domain_counts.effects(j):
                for key in effect.apart:
                    if key != LABEL_HOSTNAME:
                        pairs[min(j, effect.on), max(j, effect.on), key] = None
        for i, j, key in pairs:
            _, domain_of = self._domains(key)
            yield ApartRow((i, j), domain_of)

    def _domains(self, key: str) -> tuple[list[str], tuple[int, ...]]:
        """Return the values of a topology key on all machines, and the position of its value by bin."""
        of_bins = [host.labels.get(key) for host in self._hosts]
        values = sorted({value for value in of_bins if value is not None})
        return values, _numbered(of_bins, {value: d for d, value in enumerate(values)})


def in_pool(given: PackingInput, kind: MachineKind) -> frozenset[int]:
    """Return the bins that cost something of the kind's pool."""
    return frozenset(
        b
        for b, other in enumerate(given.kinds)
        if not isinstance(other, Place) and given.bins[b].price and other.pool.metadata.name == kind.pool.metadata.name
    )


def _numbered(values: Sequence[str | None], domains: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(NO_DOMAIN if value is None else domains.get(value, NO_DOMAIN) for value in values)


def in_any_order(topology: Topology) -> Topology:
    """Return stricter rules, by which pods of other groups may also come first."""
    return replace(
        topology,
        spread=tuple(replace(row, before=row.counted | row.before) for row in topology.spread),
    )
