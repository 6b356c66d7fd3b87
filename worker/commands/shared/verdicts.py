"""For one pod, the obstacle on every node and on every machine that could be bought, grouped by reason."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.model.plan import Snapshot
from planner.objects.kinds import Node, Pod
from planner.objects.predicates import NEW_HOST
from planner.report.unplaced import limit_reached
from planner.scheduling.attachments import limits_in
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import Site, sites_of
from planner.scheduling.volume_places import resolve
from planner.supply.limits import Limits, limits_left
from planner.supply.lost_places import LostPlaces, LostPlacesByClass, remembered_of
from planner.supply.machine_kind import MachineKind, PoolKinds, kinds_of_pools
from planner.supply.machines import machines_of
from planner.supply.pod_group import GroupKeys, choose_pools
from worker.commands.shared.tables import count, money, names

FITS: Final = "it fits"
_REFUSED: Final = "it fits as far as is known, but the scheduler did not bind such pods there"


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """Nodes or offerings that are alike to the pod."""

    reason: str
    """The first obstacle, or `FITS`."""
    example: str
    """Details of the first of them: figures that differ, the price of an offering that fits; else empty."""
    members: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether there is no obstacle."""
        return self.reason == FITS


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Where a pod could go and where not, as the scheduler would judge: what fits first, then the most frequent."""

    nodes: tuple[VerdictGroup, ...]
    offerings: tuple[VerdictGroup, ...]

    def lines(self) -> Iterator[str]:
        """Yield sentences for people."""
        yield from _told("node", self.nodes) if self.nodes else ("There is no node.",)
        yield from _told("offering", self.offerings) if self.offerings else ("No pool has an offering.",)

    def document(self) -> dict[str, Any]:
        """Return JSON types."""
        return {"nodes": _listed(self.nodes), "offerings": _listed(self.offerings)}


def verdicts(pod: Pod, snapshot: Snapshot) -> Verdicts:
    """Return the verdict of each node and offering on the pod, as if it were on no node."""
    resolved = {each.uid: each for each in resolve(snapshot.pods, snapshot.volumes, snapshot.problems)}
    free = replace(resolved.pop(pod.uid, pod), node_name="")
    others = tuple(resolved.values())
    judge = Judge(sites_of(snapshot.nodes, others), snapshot.namespaces)
    nodes = {node.name: node for node in snapshot.nodes}
    lost_places = lost_places_of(free, snapshot)
    on_nodes = judge.verdicts(free)
    return Verdicts(
        nodes=_grouped((name, obstacle or _welcome(nodes[name], lost_places)) for name, obstacle in on_nodes.items()),
        offerings=_grouped(_offerings(free, snapshot, judge, lost_places)),
    )


def lost_places_of(pod: Pod, snapshot: Snapshot) -> LostPlaces:
    """Return where the scheduler did not bind pods of this class although plans had room for them."""
    known = LostPlacesByClass(remembered_of(snapshot.pools), snapshot.now).of(pod.namespace, GroupKeys().of(pod))
    return known or LostPlaces()


def _welcome(node: Node, lost_places: LostPlaces) -> str:
    """Return whether a node that the scheduler would choose is one to wait for."""
    if lost_places.loses_node(node.name, node.created_at):
        return _REFUSED
    if node.is_terminating:
        return "the node is being deleted"
    # The scheduler looks at the taint that follows from this, and a plan at the condition itself.
    return FITS if node.is_ready else "the node is not Ready"


def _offerings(pod: Pod, snapshot: Snapshot, judge: Judge, lost_places: LostPlaces) -> Iterator[tuple[str, str]]:
    pool_kinds = kinds_of_pools(snapshot)
    limits = limits_left(machines_of(snapshot).values(), pool_kinds)
    chosen = choose_pools(pod, snapshot.pools).pools
    for name, offers in sorted(pool_kinds.items()):
        for kind in sorted(offers.kinds, key=lambda kind: kind.offering.price_per_hour):
            shown = f"{kind.offering.server_type} in {kind.offering.location} of {name}"
            if name not in chosen:
                yield shown, f"pool {name} is not for it"
                continue
            machine = Site(
                NEW_HOST,
                kind.offering.allocatable,
                kind.labels,
                kind.taints,
                attach_limits=limits_in(kind.usable),
                pods=kind.daemons,
            )
            verdict = judge.beside(machine).verdict(pod, machine)
            if lost_places.stops_buying(name, kind.offering.server_type):
                verdict = verdict or _REFUSED
            yield shown, verdict or _market(kind, offers, limits)


def _market(kind: MachineKind, offers: PoolKinds, limits: Limits) -> str:
    """Return why a machine that would do cannot be bought now, or that it fits and its price."""
    for reason in (offers.obstacle, kind.obstacle):
        if reason is not None:
            return reason.message
    sums = [key for key in limits.exhausted(kind) if limits.standing(key) is not None]
    if sums:
        return limit_reached(kind, sums[0], limits).message
    if limits.exhausted(kind):
        return f"pool {offers.pool.metadata.name} has reached its limit of such machines"
    return f"{FITS}: {money(kind.offering.price_per_hour)} {kind.offering.currency} per hour"


def _grouped(verdicts: Iterable[tuple[str, str]]) -> tuple[VerdictGroup, ...]:
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, text in verdicts:
        # Figures follow the scheduler's words, and differ from node to node.
        alike.setdefault(text.partition(": ")[0], []).append((name, text))
    groups = [_group(reason, offers) for reason, offers in alike.items()]
    return tuple(sorted(groups, key=lambda group: (not group.fits, -len(group.members), group.reason)))


def _group(reason: str, verdicts: Sequence[tuple[str, str]]) -> VerdictGroup:
    texts = {text for _, text in verdicts}
    members = tuple(name for name, _ in verdicts)
    if len(texts) == 1 and reason != FITS:
        return VerdictGroup(texts.pop(), "", members)
    return VerdictGroup(reason, verdicts[0][1].partition(": ")[2], members)


def _told(noun: str, groups: Sequence[VerdictGroup]) -> Iterator[str]:
    total = sum(len(group.members) for group in groups)
    yield f"{count(total, noun)}:"
    for group in groups:
        example = f" ({group.members[0]}: {group.example})" if group.example else ""
        yield f"  {len(group.members)} x {group.reason}{example}: {names(group.members)}"


def _listed(groups: Sequence[VerdictGroup]) -> list[dict[str, Any]]:
    return [
        {"fits": group.fits, "reason": group.reason, "example": group.example or None, "members": list(group.members)}
        for group in groups
    ]
