"""`limits.perNamespace`: pods for which a pool buys nothing, as their namespace has come to its bound there.

The bounds are on what is bought and reserved. A pod above them may still have room on a Node that is there, as the
scheduler binds it there whatever a plan says; no machine is bought, kept from going or reserved for it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from api.quantity import parse_millis, rounded_amount
from planner.model.plan import Reason
from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly, fits_kind
from planner.packing.assign import PlacedPod, assigned_pods
from planner.packing.domains.landing import check_landing
from planner.packing.problem import Packing
from planner.placement.known_state import KnownState
from planner.placement.settle import Trim
from planner.placement.shares.namespace_use import NamespaceUse, cpu_of, namespace_of, namespace_use
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup

NAMESPACE_LIMIT = "NamespaceLimit"
"""Reason of pods for which nothing is bought, as their namespace has come to its bound."""


class NamespaceBounds:
    """Which pods may not be bought for in which pools; more of them with each packing that goes too far."""

    def __init__(self, known: KnownState) -> None:
        bounds = {name: found.pool.spec.limits.per_namespace for name, found in known.pool_kinds.items()}
        self._cpu = {name: parse_millis(one.cpu) for name, one in bounds.items() if one and one.cpu is not None}
        self._machines = {name: one.machines for name, one in bounds.items() if one and one.machines is not None}
        self._known = known
        self._use = NamespaceUse({}, {})
        if self._cpu or self._machines:
            pools = frozenset((*self._cpu, *self._machines))
            self._use = namespace_use(known.machines.values(), known.seating.seated, pools)
        self._barred: dict[str, dict[str, str]] = {}
        """Sentences by pod and pool."""
        self._beside: dict[str, str] = {}
        """Sentences by pod that was to be on a machine that another namespace may not have; of the last packing."""

    @property
    def trim_of_machines(self) -> Trim | None:
        """What takes machines above a bound off a packing; None where no pool bounds them."""
        return self._trim if self._machines else None

    def bar_by_cpu(self, groups: Sequence[PodGroup]) -> None:
        """Bar the pods whose cpu is above what is left to their namespace: those of low priority first, then young."""
        for pool, most in self._cpu.items():
            taken = Counter({name: n for (of, name), n in self._use.cpu.items() if of == pool})
            for pod in sorted(self._asking(groups, pool), key=_precedence):
                cpu, has = cpu_of(pod), taken[pod.namespace]
                if cpu and has + cpu > most:
                    with_planned = rounded_amount("cpu", has)
                    own = f"its pods there, with those of this round, request {with_planned}"
                    asks = f"and this one {rounded_amount('cpu', cpu)}"
                    self._bar(pod, pool, f"cpu is {rounded_amount('cpu', most)}, {own}, {asks}")
                else:
                    taken[pod.namespace] += cpu

    def bar_by_machines(self, groups: Sequence[PodGroup]) -> None:
        """Bar the pods of namespaces for which as many machines count as may."""
        for pool, most in self._machines.items():
            number = Counter(
                namespace_of(pods) for name, pods in self._use.pods.items() if self._known.machines[name].pool == pool
            )
            for pod in self._asking(groups, pool):
                if number[pod.namespace] >= most:
                    self._bar(pod, pool, f"machines is {most}, and {number[pod.namespace]} count for it")

    @property
    def number_barred(self) -> int:
        """How many pods are barred from a pool."""
        return len(self._barred)

    def applied(self, groups: Sequence[PodGroup]) -> list[PodGroup]:
        """Return the groups, parted by the pools that may still buy for their pods.

        Where machines are bounded, by namespaces, too: what is planned for a group is dealt to its pods afterwards.
        """
        if not self._barred and not self._machines:
            return list(groups)
        parted: list[PodGroup] = []
        for group in groups:
            alike: dict[tuple[str, tuple[str, ...]], list[Pod]] = defaultdict(list)
            for pod in group.pods:
                barred = self._barred.get(pod.uid, {})
                pools = tuple(name for name in group.pools if name not in barred)
                alike[pod.namespace if self._machines else "", pools].append(pod)
            parted += [replace(group, pods=tuple(pods), pools=pools) for (_, pools), pods in alike.items()]
        return parted

    def reasons(self, pod: Pod) -> tuple[Reason, ...]:
        """Return why pools buy nothing for the pod that would without their bounds."""
        beside = (self._beside[pod.uid],) if pod.uid in self._beside else ()
        return tuple(Reason(NAMESPACE_LIMIT, text) for text in (*self._barred.get(pod.uid, {}).values(), *beside))

    def unbarred(self, group: PodGroup, pod: Pod) -> PodGroup:
        """Return the group of a pod with those pools again that buy nothing for it."""
        barred = self._barred.get(pod.uid)
        return replace(group, pools=tuple(dict.fromkeys((*group.pools, *barred)))) if barred else group

    def _trim(self, assembly: Assembly, packing: Packing) -> Packing:
        """Return the packing without machines above a namespace's bound, whose pods of that namespace are barred.

        Those are kept on which its pods request most cpu. Who else was to be on the others has no place either.
        """
        self._beside = {}
        dropped: dict[int, tuple[str, str]] = {}
        planned = dict(assigned_pods(assembly, packing, [list(group.pods) for group in assembly.given.groups]))
        for pool, most in self._machines.items():
            number, new = self._machines_after(pool, assembly, packing, planned)
            for namespace, nodes in new.items():
                nodes.sort(key=lambda n, of=namespace: -sum(cpu_of(p.pod) for p in planned[n] if p.pod.namespace == of))
                dropped |= dict.fromkeys(nodes[max(0, most - number[namespace]) :], (pool, namespace))
        if not dropped:
            return packing
        unplaced = Counter(packing.unplaced)
        for n in dropped:
            unplaced.update(packing.nodes[n].counts)
        remaining = tuple(node for n, node in enumerate(packing.nodes) if n not in dropped)
        # What was proven is proven of more pods.
        trimmed = replace(packing, nodes=remaining, unplaced=dict(unplaced), proven=0, others=())
        if assembly.is_related:
            # Others may have been let land by those that are gone.
            idle = assembly.idle_machines(trimmed)
            trimmed, _ = check_landing(assembly.given, assembly.split, trimmed, self._known.pod_counts, idle)
        self._tell(assembly, assembly.placed(trimmed.unplaced), set(dropped.values()))
        return trimmed

    def _tell(self, assembly: Assembly, placed: Sequence[int], exceeded: Collection[tuple[str, str]]) -> None:
        """Bar the pods without a place whose namespace had more machines planned than may count; note it for others."""
        for pool in sorted({pool for pool, _ in exceeded}):
            most, kinds = self._machines[pool], self._known.pool_kinds[pool].kinds
            own = {namespace for of, namespace in exceeded if of == pool}
            # Of thousands of namespaces, a pod is told of one: the last, or the one before where that is its own.
            last_two = sorted(own, reverse=True)[:2]
            for group, number in zip(assembly.given.groups, placed, strict=True):
                if number == group.count or not any(fits_kind(group, kind) for kind in kinds):
                    continue
                for pod in group.pods[number:]:
                    if pod.namespace in own:
                        self._bar(pod, pool, f"machines is {most}, and so many count for it")
                    other = next((namespace for namespace in last_two if namespace != pod.namespace), None)
                    if other is not None:
                        self._beside[pod.uid] = (
                            f"limits.perNamespace.machines of pool {pool} is {most}: machines that were too many for "
                            f"namespace {other} are taken off the plan, and a later round plans for their room"
                        )

    def _machines_after(
        self,
        pool: str,
        assembly: Assembly,
        packing: Packing,
        planned: Mapping[int, Sequence[PlacedPod]],
    ) -> tuple[Counter[str], dict[str, list[int]]]:
        """Return the number of machines that count whatever is planned, and those that count by the plan alone.

        Both are by namespace; the latter as positions in the packing. On a Node that is open, the scheduler decides.
        """
        owners = {
            name: namespace_of(pods) for name, pods in self._use.pods.items() if self._known.machines[name].pool == pool
        }
        new: dict[str, list[int]] = defaultdict(list)
        for n, placed in planned.items():
            kind = assembly.given.kinds[packing.nodes[n].bin]
            # Headroom is of no namespace.
            pods = [each.pod for each in placed if not each.pod.is_headroom]
            if isinstance(kind, Place):
                name = kind.machine.name
                if kind.rank is Rank.NODE or name not in owners:
                    continue
                owner = namespace_of((*self._use.pods[name], *pods))
                is_new = owner != owners.pop(name)
                if not is_new and owner is not None:
                    owners[name] = owner
            else:
                owner, is_new = namespace_of(pods), kind.pool.metadata.name == pool
            if is_new and owner is not None:
                new[owner].append(n)
        return Counter(owner for owner in owners.values() if owner is not None), new

    def _asking(self, groups: Sequence[PodGroup], pool: str) -> Iterator[Pod]:
        """Yield the pods for which the pool has machines."""
        kinds = self._known.pool_kinds[pool].kinds
        for group in groups:
            if pool in group.pools and any(fits_kind(group, kind) for kind in kinds):
                yield from group.pods

    def _bar(self, pod: Pod, pool: str, why: str) -> None:
        sentence = f"pool {pool} buys no more for namespace {pod.namespace}: limits.perNamespace.{why}"
        self._barred.setdefault(pod.uid, {}).setdefault(pool, sentence)


def _precedence(pod: Pod) -> tuple[int, bool, float, str]:
    born = pod.created_at
    return -pod.priority, born is None, 0.0 if born is None else born.timestamp(), pod.key
