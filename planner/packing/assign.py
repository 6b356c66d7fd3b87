"""Gives every pod its machine: turns a packing back into pods, requests and reservations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from api.v1alpha1.node_request import Seat
from planner.model.plan import Because, Placed, PlannedRequest, RemovalCancel
from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly
from planner.packing.problem import PackedNode, Packing
from planner.supply.limits import offering_key
from planner.supply.machines import Machine
from planner.supply.offers import Offer
from planner.supply.places import Place, Rank
from planner.supply.pod_class import seat_of

SEATS_AT_MOST = 1000
"""As many as a request may name; pods beyond them find room when the reservation ends."""
_CANCEL_NAMES = 5
"""Pods named in a cancel."""


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod with the hash of its class."""

    pod: Pod
    key: str


@dataclass(frozen=True, slots=True)
class Bought:
    """A machine to buy for pods."""

    offer: Offer
    pods: tuple[PlacedPod, ...]
    bin: int
    """Its kind in the problem."""
    counts: Mapping[int, int]
    """What is on it in the problem: items by share."""


@dataclass(slots=True)
class Assignment:
    """Where the pods of a packing go."""

    placed: list[Placed] = field(default_factory=list)
    joined: dict[str, list[PlacedPod]] = field(default_factory=dict)
    """Pods that join a coming machine, by request."""
    used: set[str] = field(default_factory=set)
    """Machines that are there or coming and get pods."""
    cancels: list[RemovalCancel] = field(default_factory=list)
    bought: list[Bought] = field(default_factory=list)
    left: dict[int, tuple[Pod, ...]] = field(default_factory=dict)
    """Pods without a place, by index of their class."""


def assign(assembly: Assembly, packing: Packing) -> Assignment:
    """Return the pods of every machine; the first pods of a class get what is there already."""
    queues = [list(ask.pod_class.pods) for ask in assembly.asks]
    assignment = Assignment()
    for n, pods in assigned_pods(assembly, packing, queues):
        node = packing.nodes[n]
        source = assembly.sources[node.bin]
        if source.place is not None:
            _use(assignment, source.place, pods)
        elif source.offer is not None:
            assignment.bought.append(Bought(source.offer, pods, node.bin, node.counts))
    assignment.left = {i: tuple(queue) for i, queue in enumerate(queues) if queue}
    return assignment


def assigned_pods(
    assembly: Assembly, packing: Packing, queues: Sequence[list[Pod]]
) -> Iterator[tuple[int, tuple[PlacedPod, ...]]]:
    """Yield machines of the packing, by position, with their pods, which leave the queues of their classes."""
    bins, nodes = assembly.problem.bins, packing.nodes
    for n in sorted(range(len(nodes)), key=lambda n: bins[nodes[n].bin].rank):
        yield n, _placed_pods(assembly, nodes[n], queues)


def _placed_pods(assembly: Assembly, node: PackedNode, queues: Sequence[list[Pod]]) -> tuple[PlacedPod, ...]:
    pods: list[PlacedPod] = []
    for k, items in sorted(node.counts.items()):
        for i, of_item in assembly.shares[k].pods:
            key, number = assembly.asks[i].pod_class.key, items * of_item
            pods.extend(PlacedPod(pod, key) for pod in queues[i][:number])
            del queues[i][:number]
    return tuple(pods)


def _use(assignment: Assignment, place: Place, pods: Sequence[PlacedPod]) -> None:
    machine = place.machine
    assignment.used.add(machine.name)
    coming = place.rank is Rank.IN_FLIGHT
    assignment.placed.extend(placed_on(machine, placed_pod.pod, coming=coming) for placed_pod in pods)
    if coming:
        assignment.joined.setdefault(machine.name, []).extend(pods)
    if place.rank is Rank.COOL_OFF and machine.removal is not None:
        names = tuple(placed_pod.pod.key for placed_pod in pods[:_CANCEL_NAMES])
        assignment.cancels.append(RemovalCancel(removal=machine.removal.metadata.name, pods=names))


def placed_on(machine: Machine, pod: Pod, *, coming: bool) -> Placed:
    """Return that the pod goes to this machine: its request while it is `coming` and not Ready, else its node."""
    if machine.node is None or (coming and not machine.is_ready):
        return Placed(pod=pod.key, request=machine.name)
    return Placed(pod=pod.key, node=machine.node.name)


def unused_minimum(assembly: Assembly, packing: Packing, minimum: Iterable[tuple[Offer, int]]) -> list[Offer]:
    """Return the machines that a minimum asks for and that no pod of the packing is on."""
    filled = Counter(
        (offer.pool.metadata.name, offering_key(offer))
        for node in packing.nodes
        if (source := assembly.sources[node.bin]).is_minimum and (offer := source.offer) is not None
    )
    return [
        offer
        for offer, number in minimum
        for _ in range(number - filled[offer.pool.metadata.name, offering_key(offer)])
    ]


def requests_of(
    bought: Sequence[Bought], ahead: Sequence[Offer], why: Callable[[Bought], tuple[str, Because]]
) -> tuple[PlannedRequest, ...]:
    """Return the machines to buy, the most useful first: those for pods of high priority, for many pods, cheap ones.

    `ahead` are machines without pods, for a minimum; they come last. `why` tells of each that is bought for pods.
    """

    def usefulness(one: Bought) -> tuple[object, ...]:
        offering, pods = one.offer.offering, one.pods
        highest = max(placed_pod.pod.priority for placed_pod in pods)
        return -highest, -len(pods), offering.price_per_hour, offering.server_type, pods[0].pod.key

    planned = [(one.offer, one.pods, *why(one)) for one in sorted(bought, key=usefulness)]
    planned += [
        (offer, (), f"The minimum of pool {offer.pool.metadata.name} asks for it", Because()) for offer in ahead
    ]
    return tuple(
        PlannedRequest(
            ordinal=ordinal,
            pool=offer.pool.metadata.name,
            pool_uid=offer.pool.metadata.uid,
            server_type=offer.offering.server_type,
            location=offer.offering.location,
            class_ref=offer.class_ref,
            price_per_hour=offer.offering.price_per_hour,
            seats=tuple(seat_of(placed_pod.pod, placed_pod.key) for placed_pod in pods[:SEATS_AT_MOST]),
            reserve=offer.pool.spec.scale_up.reserve,
            why=sentence,
            because=because,
        )
        for ordinal, (offer, pods, sentence, because) in enumerate(planned)
    )


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
