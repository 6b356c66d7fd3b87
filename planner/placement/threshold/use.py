"""What of a pool is requested, and what it has: as Escalator counts, but without pods on Nodes that do not count.

A machine counts on both sides unless it is under removal, its Node is cordoned, tainted to go, or being deleted. One
that is coming counts with what its type has. Waiting pods count: those that this round gives a place where that is, all
others in the first of their pools that grows by a threshold and has a machine for such a pod. Pods that belong to
their node do not count, and are not taken off what it has.
Source: Escalator, "Scale up" and "Calculations"; its issues 285 and 288 for pods on tainted and cordoned nodes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from api.keys import TAINT_SCALE_DOWN
from api.v1alpha1.node_pool import NodePool
from planner.model.pool_figures import Use
from planner.objects.kinds import Pod
from planner.objects.offering import ResourceVector
from planner.packing.assemble import fits_kind
from planner.packing.assign import Assignment
from planner.placement.held_back import is_too_young
from planner.placement.known_state import KnownState
from planner.policies.admission import Refused
from planner.policies.utilisation.pool_use import is_kept_open
from planner.policies.utilisation.shares import JUDGED, asked_on, requested
from planner.supply.machines import Machine
from planner.supply.observed.learned import amounts
from planner.supply.pod_group import PodGroup

Amounts = tuple[int, ...]
"""By position in `JUDGED`."""
NOTHING: Amounts = 0, 0


@dataclass(slots=True)
class GrowthUse:
    """What a pool has, and what is requested of it; counts on while machines come to it."""

    requests: Amounts = NOTHING
    capacity: Amounts = NOTHING
    machines: list[Machine] = field(default_factory=list)
    """Those that count."""

    @property
    def counted(self) -> Use:
        """What is counted so far."""
        by_name = [dict(zip(JUDGED, amounts, strict=True)) for amounts in (self.requests, self.capacity)]
        return Use(*by_name)

    def excess(self, threshold: int) -> Amounts:
        """Return by how much 100 times the requests are above `threshold` times the capacity: above 0, it grows."""
        pairs = zip(self.requests, self.capacity, strict=True)
        return tuple(100 * requested - threshold * has for requested, has in pairs)


class GrowthUses:
    """The use of all pools that grow by a threshold.

    Args:
        known: the state of the round.
    """

    def __init__(self, known: KnownState) -> None:
        self._known = known
        self._offerings = {
            (str(each.ref), offering.server_type.lower(), offering.location): offering.allocatable
            for each in known.snapshot.classes
            for offering in each.offerings
        }
        self._tainted = {
            place.machine.name for place in known.supply if any(t.key == TAINT_SCALE_DOWN for t in place.taints)
        }
        self.by_pool = {
            name: GrowthUse()
            for name, found in known.pool_kinds.items()
            if found.pool.spec.scale_up.threshold is not None
        }
        self.pods_seen: set[str] = set()

    def count_machines(self, returning: Iterable[str]) -> None:
        """Count the machines that are there or coming, with the pods on them; those that are `returning`, too."""
        back = set(returning)
        for machine in self._known.machines.values():
            use = self.by_pool.get(machine.pool)
            if use is not None and (machine.name in back or self._counts(machine)):
                self.add(use, machine)

    def add(self, use: GrowthUse, machine: Machine) -> None:
        """Count one machine with its pods."""
        use.machines.append(machine)
        use.capacity = added(use.capacity, self.capacity(machine))
        use.requests = added(use.requests, self.requests(machine))

    def requests(self, machine: Machine) -> Amounts:
        """Return what pods on the machine and those that wait for it request."""
        seated = self._known.seating.seated.get(machine.name, ())
        return added(_by_position(asked_on(machine)), _by_position(requested(seated)))

    def capacity(self, machine: Machine) -> Amounts:
        """Return what the machine has for pods, by its Node; as long as that tells nothing, by its type."""
        request, pool = machine.request, self._known.pool_kinds[machine.pool].pool
        key = str(machine.class_ref or pool.spec.template.class_ref), machine.server_type, machine.location
        planned = None if request is None else request.status.planned_allocatable
        expected: ResourceVector = self._offerings.get(key) or ({} if planned is None else amounts(planned))
        if machine.node is not None and any(machine.node.allocatable.get(name) for name in JUDGED):
            expected = machine.node.allocatable
        return tuple(expected.get(name, 0) for name in JUDGED)

    def count_placed(self, groups: Iterable[PodGroup], assignment: Assignment) -> None:
        """Count pods that this round gives a place, where that is."""
        uids = {pod.key: pod for group in groups for pod in group.pods}
        for placed in assignment.placed:
            machine, pod = self._known.machines.get(placed.node or placed.request or ""), uids.get(placed.pod)
            if machine is not None and pod is not None:
                self._count(machine.pool, pod)
        for bought in assignment.bought:
            for each in bought.pods:
                if not each.pod.is_headroom:
                    self._count(bought.kind.pool.metadata.name, each.pod)

    def count_waiting(self, groups: Iterable[PodGroup]) -> None:
        """Count the pods of these groups without a place."""
        now = self._known.snapshot.now
        for group in groups:
            pools = [pool for pool in self._growing(group) if self._takes(pool, group)]
            for pod in group.pods:
                name = next((pool.metadata.name for pool in pools if not is_too_young(pod, pool, now)), None)
                if name is not None:
                    self._count(name, pod)

    def _growing(self, group: PodGroup) -> Iterator[NodePool]:
        return (self._known.pool_kinds[name].pool for name in group.pools if name in self.by_pool)

    def _takes(self, pool: NodePool, group: PodGroup) -> bool:
        return any(fits_kind(group, kind) for kind in self._known.pool_kinds[pool.metadata.name].kinds)

    def _count(self, pool: str, pod: Pod) -> None:
        use = self.by_pool.get(pool)
        if use is not None and pod.uid not in self.pods_seen:
            self.pods_seen.add(pod.uid)
            use.requests = added(use.requests, _by_position(requested((pod,))))

    def _counts(self, machine: Machine) -> bool:
        if not machine.stays or machine.name in self._tainted:
            return False
        return machine.node is None or is_kept_open(machine.node)


def waiting_for_later(refused: Iterable[Refused]) -> Iterator[PodGroup]:
    """Yield the groups of pods that are left out of this round for a while, and wait all the same."""
    for each in refused:
        if each.reasons[0].code == "BackOff":
            yield each.group


def added(first: Amounts, second: Amounts) -> Amounts:
    """Return the sums of the amounts."""
    return tuple(first[r] + amount for r, amount in enumerate(second))


def _by_position(by_name: Mapping[str, int]) -> Amounts:
    return tuple(by_name[name] for name in JUDGED)
