"""Machines: each server with its node, request and removal, joined by its one name, and with its price.

A price rise holds for new machines only, so what is there must not be counted at the price of what would be
bought now. Source: Hetzner's price changes of 2026-04-01 and 2026-06-15, which left existing servers alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from api.keys import ANNOTATION_CURRENCY, ANNOTATION_PRICE, LABEL_POOL, LABEL_REGION, LABEL_SERVER_TYPE
from api.quantity import parse_price
from api.v1alpha1.node_pool import ClassRef
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.model.plan import Snapshot
from planner.objects.counted_pods import residents_by_node
from planner.objects.kinds import Node, Pod

READY_GRACE: Final = timedelta(seconds=10)
"""A request is Ready before every cache shows its Node so."""

_UNREADY: Final = frozenset({RequestPhase.PENDING, RequestPhase.PROVISIONING})
_WITH_SERVER: Final = frozenset({*_UNREADY, RequestPhase.READY, RequestPhase.DEPROVISIONING})
"""Phases in which the server exists, may exist or is being asked for."""
Cost = tuple[Decimal, str]
"""Price per hour and currency."""
PriceList = Mapping[tuple[str, str, str], Cost]
"""Prices by class, server type and location."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A server: wished for, coming, there or going. Any node is one too, without a pool if it is not ours."""

    name: str
    """Name of the server, its request and its Node."""
    pool: str = ""
    server_type: str = ""
    location: str = ""
    class_ref: ClassRef | None = None
    node: Node | None = None
    request: NodeRequest | None = None
    removal: NodeRemovalRequest | None = None
    residents: tuple[Pod, ...] = ()
    """Pods on its node that have not finished, and those that the scheduler keeps it for."""

    @property
    def provider_id(self) -> str | None:
        """As its provider names it, by its request; else as its Node names it, which may be by another scheme."""
        of_request = None if self.request is None else self.request.status.provider_id
        return of_request or (None if self.node is None else self.node.provider_id or None)

    @property
    def is_leaving(self) -> bool:
        """Whether it is under removal and the removal is not cancelled; a parked one still is."""
        return self.removal is not None and not _is_cancelled(self.removal)

    @property
    def is_to_go_now(self) -> bool:
        """Whether somebody wants it to go as soon as it is empty: the taint growth.dev/remove-now."""
        return self.node is not None and self.node.remove_now is not None

    @property
    def is_cooling_off(self) -> bool:
        """Whether pods may still be planned onto it, which cancels its removal.

        One that is drained is no place for the pods that leave it, unless they were to have one elsewhere: what finds
        none there after all comes back, and no machine is bought for it.
        """
        if self.removal is None or not self.is_leaving or self.removal.spec.immediate:
            return False
        spec, phase = self.removal.spec, self.removal.status.phase
        is_move = bool(spec.replaced_by or spec.moves)
        return phase is RemovalPhase.PENDING or (phase is RemovalPhase.DRAINING and is_move)

    @property
    def counts(self) -> bool:
        """Whether it counts towards the max of its pool: its server exists or may come to exist."""
        return (
            self.node is not None
            or self.removal is not None
            or (self.request is not None and self.request.status.phase in _WITH_SERVER)
        )

    @property
    def stays(self) -> bool:
        """Whether it counts towards the min of its pool."""
        if self.is_leaving:
            return False
        if self.request is not None and self.request.status.phase in _UNREADY:
            return self.request.metadata.deletion_timestamp is None
        gone = self.request is not None and self.request.status.phase is RequestPhase.DEPROVISIONING
        return self.node is not None and not self.node.is_terminating and not gone

    def is_in_flight(self, now: datetime) -> bool:
        """Return whether it is coming and pods may be planned onto it.

        One that has not started in time is not: its pods may go elsewhere. One whose reservation ended earlier, as its
        pods could not be let onto it, comes all the same. A Ready one is for a moment, until the caches show its Node
        Ready.
        """
        request = self.request
        if request is None or self.is_leaving or request.metadata.deletion_timestamp is not None:
            return False
        if request.status.phase in _UNREADY:
            deadline = request.status.join_deadline
            return request.status.released_at is None or deadline is None or now < deadline
        ready_in_cache = self.node is not None and self.node.is_ready
        return not ready_in_cache and self.is_starting(now)

    def is_starting(self, now: datetime) -> bool:
        """Return whether it is ours and the taints and labels of its Node may still belong to its start.

        Those of its pool count until its Node has been Ready for a moment: only those that others have
        set by then, and not taken back, last.
        """
        if self.request is None:
            return False
        status = self.request.status
        if status.phase is RequestPhase.READY:
            return status.ready_at is not None and now < status.ready_at + READY_GRACE
        return status.phase in _UNREADY

    @property
    def is_ready(self) -> bool:
        """Whether its request saw its Node Ready, and the caches have one that is."""
        ready = self.request is not None and self.request.status.phase is RequestPhase.READY
        return ready and self.node is not None and self.node.is_ready

    @property
    def is_reserved(self) -> bool:
        """Whether its node has joined and is kept for the seats of its request."""
        request = self.request
        return (
            request is not None
            and self.node is not None
            and not self.is_leaving
            and request.metadata.deletion_timestamp is None
            and request.status.phase is RequestPhase.READY
            and request.status.released_at is None
            and bool(request.spec.reserved_for)
        )

    @property
    def has_open_request(self) -> bool:
        """Whether its request has work to do yet: nothing else may touch its node."""
        if self.request is None:
            return False
        status = self.request.status
        return status.phase in {*_UNREADY, RequestPhase.DEPROVISIONING} or (
            status.phase is RequestPhase.READY and status.released_at is None
        )


def machines_of(snapshot: Snapshot) -> dict[str, Machine]:
    """Return every machine by its name, nodes of no pool included."""
    nodes = {node.name: node for node in snapshot.nodes}
    requests = {request.metadata.name: request for request in snapshot.requests}
    removals = {removal.spec.server_name: removal for removal in snapshot.removals}
    residents = residents_by_node(snapshot.pods)
    return {
        name: _machine(name, nodes.get(name), requests.get(name), removals.get(name), residents)
        for name in sorted({*nodes, *requests, *removals})
    }


def _machine(
    name: str,
    node: Node | None,
    request: NodeRequest | None,
    removal: NodeRemovalRequest | None,
    residents: Mapping[str, list[Pod]],
) -> Machine:
    wish = request.spec if request is not None else removal.spec if removal is not None else None
    labels = {} if node is None else node.labels
    return Machine(
        name=name,
        pool=wish.pool if wish is not None else labels.get(LABEL_POOL, ""),
        server_type=(wish.server_type if wish is not None else labels.get(LABEL_SERVER_TYPE, "")).lower(),
        location=wish.location if wish is not None else labels.get(LABEL_REGION, ""),
        class_ref=None if wish is None else wish.class_ref,
        node=node,
        request=request,
        removal=removal,
        # A watch may show pods on a Node that the watch of Nodes has not shown yet: they have their room all the same.
        residents=tuple(residents.get(name, ())),
    )


def _is_cancelled(removal: NodeRemovalRequest) -> bool:
    # A deletion of the object in its cool-off or drain is a cancel that its workflow has not recorded yet.
    in_time = removal.status.phase.is_reversible and not removal.spec.immediate
    return in_time and (removal.status.cancel is not None or removal.metadata.deletion_timestamp is not None)


def price_list(snapshot: Snapshot) -> dict[tuple[str, str, str], Cost]:
    """Return the prices of all offerings."""
    return {
        (str(c.ref), o.server_type.lower(), o.location): (o.price_per_hour, o.currency)
        for c in snapshot.classes
        for o in c.offerings
    }


def price_paid(machine: Machine) -> Cost | None:
    """Return the price at which the machine was bought, by its Node or its request, or None if neither states it."""
    annotations = {} if machine.node is None else machine.node.annotations
    price, currency = annotations.get(ANNOTATION_PRICE), annotations.get(ANNOTATION_CURRENCY)
    if price and currency:
        try:
            return parse_price(price), currency
        except ValueError:
            # A person may have written anything there.
            pass
    status = None if machine.request is None else machine.request.status
    if status is None or status.price_per_hour is None or status.currency is None:
        return None
    return status.price_per_hour, status.currency


def price_today(machine: Machine, ref: ClassRef | None, prices: PriceList) -> Cost | None:
    """Return the price of one more such machine; `ref` is the class of its pool, for one that names none itself."""
    return prices.get((str(machine.class_ref or ref), machine.server_type, machine.location))


def machine_price(machine: Machine, ref: ClassRef | None, prices: PriceList) -> Cost | None:
    """Return the price of the machine, or None if it is unknown; `ref` is the class of its pool."""
    return price_paid(machine) or price_today(machine, ref, prices)
