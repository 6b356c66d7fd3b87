"""Displaces the pods of machines: where they would go if the machines went, by the rules that hold for waiting pods.

The machines are gone from supply, and their pods wait like any other pod: same packer, same domains, ports, volumes,
taints and limits. What differs is that new machines come while the old ones are still there, so a pool's max counts
both, and that a pod takes room only on Nodes that are Ready and stay.
Source: docs/design.md#departures.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from api.keys import TAINT_SCALE_DOWN
from planner.displacement.displaced import Displacement, Misfit
from planner.model.plan import Move, PlannedRequest, Reason
from planner.model.stages import unwatched
from planner.objects.kinds import NOT_YET_SCHEDULED, Pod, Taint
from planner.packing.assign import Assignment
from planner.packing.domains.pod_counts import PodCounts, count_pods
from planner.packing.problem import Packer
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.placement.settle import Supply, settle
from planner.policies.admission import Refused, admit
from planner.policies.class_budget import MOST_OF_ROUND, within_budget
from planner.policies.expendable import Expendables
from planner.report.unplaced import why_unplaced
from planner.scheduling.attachments import asked
from planner.supply.limits import Limits, limits_left
from planner.supply.lost_places import LostPlacesByClass
from planner.supply.machine_kind import PoolKinds
from planner.supply.machines import Machine
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup, pod_groups

_GOING: Final = Taint(TAINT_SCALE_DOWN)
_UNREADABLE: Final = "Unreadable"
_BELOW_MINIMUM: Final = "BelowMinimum"
"""Codes of machines that cannot go whatever room there is."""


class Displacer:
    """Answers where pods of machines would go after a round has decided on those that wait.

    Args:
        known: the state of the round.
        machines: those that it may be asked about; pods of no other one move.
        decided: where the round puts the pods that wait: their room is taken, and what it buys counts towards limits.
            Without it, no pod is waiting, and nothing is bought.
        closed: further machines that are no place, such as those that go already.
    """

    def __init__(
        self,
        known: KnownState,
        machines: Iterable[str],
        decided: Decided | None = None,
        closed: Collection[str] = (),
    ) -> None:
        self._known = known
        self._requests = () if decided is None else decided.requests
        self._headroom = () if decided is None else decided.headroom.on_nodes
        places = _places_left(known, None if decided is None else decided.assignment)
        self._places = tuple(place for place in places if place.machine.name not in closed)
        expendables = Expendables(known.snapshot.pools)
        self._residents = {
            name: tuple(pod for pod in movable(known.machines[name]) if pod not in expendables) for name in machines
        }
        pods = [waiting(pod) for name in self._residents for pod in self._residents[name]]
        lost_places = LostPlacesByClass(known.refused_placements.by_pool, known.snapshot.now)
        groups = pod_groups(pods, known.keys, known.snapshot.pods, lost_places)
        admitted, refused = admit(groups, known.snapshot.pools, {}, known.pool_kinds, known.limits)
        self._groups = tuple(admitted)
        self._refused = {pod.uid: each for each in refused for pod in each.pods}
        self._group_of = {pod.uid: i for i, group in enumerate(admitted) for pod in group.pods}
        self._copies = {pod.uid: pod for pod in pods}

    @property
    def places(self) -> tuple[Place, ...]:
        """The Nodes that pods may move onto, with the room that the round leaves."""
        return self._places

    @property
    def groups(self) -> tuple[PodGroup, ...]:
        """All pods that may move, those alike together."""
        return self._groups

    def residents(self, machine: str) -> tuple[Pod, ...]:
        """Return the pods of a machine that have to go elsewhere if it goes: expendable ones may wait."""
        return self._residents[machine]

    def group_of(self, pod: Pod) -> int | None:
        """Return the position of the pod's group, None for one that is not judged."""
        return self._group_of.get(pod.uid)

    def fixed(self, machine: str) -> Misfit | None:
        """Return why the machine cannot go, whatever room there is; None if its pods may have another place."""
        known = self._known.machines[machine]
        unreadable = next((pod for pod in known.residents if pod.is_unreadable and not pod.is_of_node), None)
        if unreadable is not None:
            return Misfit(machine, unreadable.key, (Reason(_UNREADABLE, "nobody can tell what it needs"),))
        if any(request.pool == known.pool and not (request.seats or request.headroom) for request in self._requests):
            return Misfit(machine, "", (Reason(_BELOW_MINIMUM, f"pool {known.pool} lacks machines of its minimum"),))
        refused = next((pod for pod in self._residents[machine] if pod.uid in self._refused), None)
        return None if refused is None else Misfit(machine, refused.key, self._refused[refused.uid].reasons)

    def displace(
        self,
        machines: Collection[str],
        packer: Packer,
        pool_kinds: Mapping[str, PoolKinds] | None = None,
        *,
        keeps_headroom: bool = False,
    ) -> Displacement | Misfit:
        """Return where the pods of these machines would go if all of them went, or one that has no other place.

        Headroom on the Nodes that are there gets other room, too, if it can be had.

        Args:
            machines: names of some of those that this was made for.
            packer: decides, as it does for waiting pods.
            pool_kinds: what may be bought, where that is not all that the round may buy.
            keeps_headroom: whether headroom without other room is in the way.
        """
        going = frozenset(machines)
        for name in sorted(going):
            if (fixed := self.fixed(name)) is not None:
                return fixed
        pods = [pod for name in sorted(going) for pod in self._residents[name]]
        by_uid = {pod.uid: pod for pod in pods}
        supply = self._without(going, self._known.pool_kinds if pool_kinds is None else pool_kinds)
        groups, over = within_budget(self._groups_of(pods), supply.pod_counts, most_of_round=MOST_OF_ROUND)
        if over:
            return _misfit(over[0], by_uid)
        groups = [*groups, *self._headroom]
        settled = settle(groups, supply, packer, unwatched)
        for i, left in settled.assignment.left.items():
            reasons = why_unplaced(groups[i], supply.pool_kinds, supply.limits)
            if not left[0].is_headroom:
                return _misfit(Refused(groups[i], reasons, left), by_uid)
            if keeps_headroom:
                return Misfit("", "", reasons)
        moves = tuple(Move(each.pod, each.node) for each in settled.assignment.placed if each.node is not None)
        return Displacement(going, tuple(pods), moves, settled, supply)

    def _groups_of(self, pods: Iterable[Pod]) -> list[PodGroup]:
        members: dict[int, list[Pod]] = {}
        for pod in pods:
            members.setdefault(self._group_of[pod.uid], []).append(self._copies[pod.uid])
        return [replace(self._groups[i], pods=tuple(members[i])) for i in sorted(members)]

    def _without(self, going: frozenset[str], pool_kinds: Mapping[str, PoolKinds]) -> Supply:
        """Return the supply without the machines that go: their room is gone, and limits count them to the last."""
        known = self._known
        places = tuple(place for place in self._places if place.machine.name not in going)
        limits = limits_left(known.machines.values(), known.pool_kinds)
        _take(limits, self._requests, known.pool_kinds)
        return Supply(
            places=places,
            pool_kinds=pool_kinds,
            limits=limits,
            pod_counts=self._counts(going, places),
            machines={name: machine for name, machine in known.machines.items() if name not in going},
        )

    def _counts(self, going: frozenset[str], places: Iterable[Place]) -> PodCounts:
        # A machine that goes is a domain until it is gone, with none but the pods that go with it. What other removals
        # move counts where it will be by the time that these pods leave.
        known = self._known
        leaving = {pod.uid for pods in known.seating.moving.values() for pod in pods}
        machines = [
            _emptied(m) if name in going else _without_pods(m, leaving) if m.is_leaving else m
            for name, m in known.machines.items()
        ]
        others = [place for place in known.supply if place.rank is not Rank.NODE and place.machine.name not in going]
        hosts = (*places, *others)
        if leaving:
            hosts = tuple(_arrived(place, leaving) for place in hosts)
        return count_pods(machines, hosts, known.seating.seated, known.snapshot.namespaces)


def movable(machine: Machine) -> tuple[Pod, ...]:
    """Return the pods that need another place if the machine goes: none that belong to it, and none that end."""
    return tuple(pod for pod in machine.residents if not (pod.is_of_node or pod.is_terminating))


def waiting(pod: Pod) -> Pod:
    """Return the pod as it is when it has been evicted and its successor waits."""
    return replace(
        pod,
        node_name="",
        nominated_node="",
        phase="Pending",
        is_unschedulable=True,
        scheduled=NOT_YET_SCHEDULED,
    )


def _places_left(known: KnownState, assignment: Assignment | None) -> tuple[Place, ...]:
    """Return the Ready Nodes that stay, with the room that is left beside the pods which the round puts there."""
    by_key = {pod.key: pod for pod in known.demand}
    coming: dict[str, list[Pod]] = {}
    for placed in () if assignment is None else assignment.placed:
        if placed.node is not None:
            coming.setdefault(placed.node, []).append(by_key[placed.pod])
    return tuple(
        _filled(place, coming.get(place.machine.name, ())) for place in known.supply if place.rank is Rank.NODE
    )


def _filled(place: Place, pods: Sequence[Pod]) -> Place:
    if not pods:
        return place
    free = dict(place.free)
    for pod in pods:
        for name, amount in asked(pod).items():
            free[name] = free.get(name, 0) - amount
    return replace(place, free=free, pods=(*place.pods, *pods))


def _emptied(machine: Machine) -> Machine:
    node = machine.node
    return replace(
        _without_pods(machine, {pod.uid for pod in movable(machine)}),
        node=None if node is None else replace(node, taints=(*node.taints, _GOING)),
    )


def _without_pods(machine: Machine, gone: Collection[str]) -> Machine:
    return replace(machine, residents=tuple(pod for pod in machine.residents if pod.uid not in gone))


def _arrived(place: Place, leaving: Collection[str]) -> Place:
    """Return the place with the pods that are to move there, and without those that are to leave it."""
    staying = tuple(pod for pod in place.pods if pod.uid not in leaving)
    return replace(place, pods=(*staying, *place.moving), moving=())


def _take(limits: Limits, requests: Iterable[PlannedRequest], pool_kinds: Mapping[str, PoolKinds]) -> None:
    for request in requests:
        for kind in pool_kinds[request.pool].kinds:
            if (kind.offering.server_type, kind.offering.location) == (request.server_type, request.location):
                limits.take(kind)


def _misfit(refused: Refused, pods: Mapping[str, Pod]) -> Misfit:
    first = refused.pods[0]
    return Misfit(pods[first.uid].lands_on, first.key, refused.reasons)
