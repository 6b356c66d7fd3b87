"""Gives every pod its machine: turns a packing back into pods, requests and reservations."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from api.v1alpha1.node_request import Seat
from planner.model.plan import Because, Placed, PlannedRequest, RemovalCancel
from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly
from planner.packing.problem import PackedNode, Packing
from planner.supply.machine_kind import MachineKind
from planner.supply.machines import Machine
from planner.supply.places import Place, Rank
from planner.supply.pod_group import seat_of

SEATS_AT_MOST = 1000
"""As many as a request may name; pods beyond them find room when the reservation ends."""
_CANCEL_NAMES = 5
"""Pods named in a cancel."""


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod with the key of its group."""

    pod: Pod
    key: str


@dataclass(frozen=True, slots=True)
class NewMachine:
    """A machine to buy for pods."""

    kind: MachineKind
    pods: tuple[PlacedPod, ...]
    node: PackedNode
    """The same in numbers."""


@dataclass(slots=True)
class Assignment:
    """Where the pods of a packing go."""

    placed: list[Placed] = field(default_factory=list)
    joined: dict[str, list[PlacedPod]] = field(default_factory=dict)
    """Pods that join a coming machine, by request."""
    used: set[str] = field(default_factory=set)
    """Machines that are there or coming and get pods."""
    held: dict[str, str] = field(default_factory=dict)
    """Machines that are there or coming and that only headroom has room on, and whose: `wish_of`."""
    cancels: list[RemovalCancel] = field(default_factory=list)
    bought: list[NewMachine] = field(default_factory=list)
    left: dict[int, tuple[Pod, ...]] = field(default_factory=dict)
    """Pods without a place, by position of their group."""


def assign(assembly: Assembly, packing: Packing) -> Assignment:
    """Return the pods of every machine; the first pods of a group get existing capacity."""
    queues = [list(group.pods) for group in assembly.given.groups]
    assignment = Assignment()
    for n, pods in assigned_pods(assembly, packing, queues):
        node = packing.nodes[n]
        kind = assembly.given.kinds[node.bin]
        if isinstance(kind, Place):
            _use(assignment, kind, pods)
        else:
            assignment.bought.append(NewMachine(kind, pods, node))
    assignment.left = {i: tuple(queue) for i, queue in enumerate(queues) if queue}
    return assignment


def assigned_pods(
    assembly: Assembly, packing: Packing, queues: Sequence[list[Pod]]
) -> Iterator[tuple[int, tuple[PlacedPod, ...]]]:
    """Yield machines of the packing, by position, with their pods, which leave the queues of their groups."""
    bins, nodes = assembly.problem.bins, packing.nodes
    for n in sorted(range(len(nodes)), key=lambda n: bins[nodes[n].bin].rank):
        yield n, _placed_pods(assembly, nodes[n], queues)


def _placed_pods(assembly: Assembly, node: PackedNode, queues: Sequence[list[Pod]]) -> tuple[PlacedPod, ...]:
    pods: list[PlacedPod] = []
    for k, items in sorted(node.counts.items()):
        for i, of_item in assembly.split.shares[k].pods:
            key, number = assembly.given.groups[i].key, items * of_item
            pods.extend(PlacedPod(pod, key) for pod in queues[i][:number])
            del queues[i][:number]
    return tuple(pods)


def _use(assignment: Assignment, place: Place, all_pods: Sequence[PlacedPod]) -> None:
    machine = place.machine
    pods = [placed_pod for placed_pod in all_pods if not placed_pod.pod.is_headroom]
    if not pods:
        wish = wish_of(machine.pool, [placed_pod.pod for placed_pod in all_pods])
        assignment.held[machine.name] = wish
        assignment.cancels.extend(headroom_cancel(place, wish))
        return
    assignment.used.add(machine.name)
    coming = place.rank is Rank.IN_FLIGHT
    assignment.placed.extend(placed_on(machine, placed_pod.pod, coming=coming) for placed_pod in pods)
    if coming:
        assignment.joined.setdefault(machine.name, []).extend(pods)
    if place.rank is Rank.COOL_OFF and machine.removal is not None:
        names = tuple(placed_pod.pod.key for placed_pod in pods[:_CANCEL_NAMES])
        assignment.cancels.append(RemovalCancel(removal=machine.removal.metadata.name, pods=names))


def wish_of(pool: str, headroom: Iterable[Pod]) -> str:
    """Return whose headroom needs the room of a machine of this pool: the end of a sentence."""
    names = (
        f"the headroom of pool {pool}" if pod.owner is None else f"{pod.owner.kind} {pod.owner.name}"
        for pod in headroom
    )
    owners = list(dict.fromkeys(names))
    return f"{' and '.join(owners)} {'needs' if len(owners) == 1 else 'need'} its room"


def headroom_cancel(place: Place, wish: str) -> Iterator[RemovalCancel]:
    """Yield the end of the removal of a machine that headroom needs, if it is in its cool-off; `wish` says whose."""
    removal = place.machine.removal
    if place.rank is Rank.COOL_OFF and removal is not None:
        yield RemovalCancel(removal=removal.metadata.name, why=wish[:1].upper() + wish[1:])


def placed_on(machine: Machine, pod: Pod, *, coming: bool) -> Placed:
    """Return the place of the pod on this machine: its request while it is `coming` and not Ready, else its node."""
    if machine.node is None or (coming and not machine.is_ready):
        return Placed(pod=pod.key, request=machine.name)
    return Placed(pod=pod.key, node=machine.node.name)


def requests_of(
    bought: Sequence[NewMachine], ahead: Sequence[MachineKind], why: Callable[[NewMachine], tuple[str, Because]]
) -> tuple[PlannedRequest, ...]:
    """Return the machines to buy, the most useful first: those for pods of high priority, for many pods, cheap ones.

    `ahead` are machines without pods, for a minimum; they come last. `why` tells of each that is bought for pods.
    """

    def usefulness(machine: NewMachine) -> tuple[object, ...]:
        offering, pods = machine.kind.offering, machine.pods
        highest = max(placed_pod.pod.priority for placed_pod in pods)
        return -highest, -len(pods), offering.price_per_hour, offering.server_type, pods[0].pod.key

    planned = [(machine.kind, machine.pods, *why(machine)) for machine in sorted(bought, key=usefulness)]
    planned += [(kind, (), f"The minimum of pool {kind.pool.metadata.name} asks for it", Because()) for kind in ahead]
    return tuple(
        replace(
            request_of(kind, ordinal, sentence),
            seats=_seats(pods),
            because=because,
            headroom=sum(placed_pod.pod.is_headroom for placed_pod in pods),
        )
        for ordinal, (kind, pods, sentence, because) in enumerate(planned)
    )


def request_of(kind: MachineKind, ordinal: int, why: str) -> PlannedRequest:
    """Return the purchase of a machine that no pod is on."""
    return PlannedRequest(
        ordinal=ordinal,
        pool=kind.pool.metadata.name,
        pool_uid=kind.pool.metadata.uid,
        server_type=kind.offering.server_type,
        location=kind.offering.location,
        class_ref=kind.class_ref,
        price_per_hour=kind.offering.price_per_hour,
        seats=(),
        reserve=kind.pool.spec.scale_up.reserve,
        why=why,
    )


def _seats(pods: Iterable[PlacedPod]) -> tuple[Seat, ...]:
    real = [placed_pod for placed_pod in pods if not placed_pod.pod.is_headroom]
    return tuple(seat_of(placed_pod.pod, placed_pod.key) for placed_pod in real[:SEATS_AT_MOST])


def reservations(
    before: Mapping[str, Sequence[Seat]],
    settled: Mapping[str, tuple[Seat, ...]],
    joined: Mapping[str, Sequence[PlacedPod]],
    reserving: Iterable[str],
) -> dict[str, tuple[Seat, ...]]:
    """Return the seats that each request should name, only where they differ from those `before`.

    Pods join only the machines of pools that reserve, whose names are `reserving`.
    """
    keeps = set(reserving)
    changed: dict[str, tuple[Seat, ...]] = {}
    for name, seats in settled.items():
        new = tuple(seat_of(g.pod, g.key) for g in joined.get(name, ())) if name in keeps else ()
        wanted = (*seats, *new)[:SEATS_AT_MOST]
        if wanted != tuple(before.get(name, ())):
            changed[name] = wanted
    return changed
