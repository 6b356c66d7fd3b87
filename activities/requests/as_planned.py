"""The condition NodeAsPlanned of a request: its Node is the machine that was planned, or how it deviates.

A Node with other labels, taints or less room than its plan counted on cannot take the planned pods, and
nothing else would say why. Source: docs/design.md#reservations.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from activities.objects.events import Recorder, tell
from activities.objects.related import find_class
from activities.ports.cluster import NODES, Object
from activities.ports.errors import InvalidConfiguration
from activities.ports.ports import Ports
from activities.requests.look import RequestObjects
from api.keys import LABEL_POOL
from api.meta import Condition, set_condition
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequestSpec
from planner.objects.kinds import Node
from planner.objects.offering import Offering
from planner.parsing.objects import UnreadableObject, parse_node
from planner.supply.node_template import Deviations, deviations
from planner.supply.observed.agreement import Agreement, Agreements
from planner.supply.observed.learned import amounts, quantities

AS_PLANNED: Final = "NodeAsPlanned"
"""The condition."""
NOT_AS_PLANNED: Final = "NodeNotAsPlanned"
"""Reason of the event."""
_DIGITS: Final = 9
"""`api.quantity.Price` has no more after the point."""
_ROOM, _TAINTS, _LABELS = "LessRoom", "OtherTaints", "OtherLabels"


@dataclass(frozen=True, slots=True)
class Deviation:
    """The condition's status, reason and message."""

    status: bool | None
    """None: what was planned is not known any more."""
    reason: str
    message: str


async def compare_with_plan(ports: Ports, observed: RequestObjects) -> Deviation | None:
    """Return the comparison of the Node with its plan, or None while it does not exist or is not Ready yet.

    Raises:
        Unreachable: the API server does not answer.
    """
    if observed.node is None or not has_ready_node(observed):
        return None
    request = observed.record.model
    ref, status = request.spec.class_ref, request.status
    node_class = await find_class(ports, ref)
    if observed.pool is None or node_class is None:
        return Deviation(None, "PlanGone", f"NodePool {request.spec.pool} or {ref} does not exist any more")
    if has_changed(status.pool_generation, observed.pool.metadata.generation) or has_changed(
        status.class_generation, node_class["metadata"].get("generation")
    ):
        text = f"NodePool {request.spec.pool} or {ref} has changed since the machine was asked for"
        return Deviation(None, "PlanChanged", text)
    try:
        offering = find_offering(ports, node_class, request.spec)
        node = parse_node(observed.node)
    except (InvalidConfiguration, UnreadableObject) as error:
        return Deviation(None, "Unreadable", str(error))
    if offering is None:
        text = f"{ref} has no {request.spec.server_type} in {request.spec.location}"
        return Deviation(None, "PlanGone", text)
    if status.planned_allocatable is not None:
        # By now the class may have learned better, from this very Node.
        offering = replace(offering, allocatable=amounts(status.planned_allocatable))
    differences = deviations(node, observed.pool, offering)
    if differences.taints:
        usual = await _agreement(ports, request.spec, observed.pool)
        differences = deviations(node, observed.pool, offering, usual.taints)
    return _finding(differences)


async def _agreement(ports: Ports, spec: NodeRequestSpec, pool: NodePool) -> Agreement:
    """Return what the other Nodes of the pool and type have, as rounds count on it."""
    mark = LABEL_POOL, spec.pool
    peers: list[Node] = []
    for item in (await ports.reader.list(NODES)).items:
        if mark in (item["metadata"].get("labels") or {}).items():
            # One that cannot be read takes no pods: it is no witness.
            with suppress(UnreadableObject):
                peers.append(parse_node(item))
    return Agreements(peers, ports.now(), [pool]).of(spec.pool, spec.server_type)


def planned_fields(ports: Ports, node_class: Object, spec: NodeRequestSpec) -> dict[str, Any]:
    """Return the status fields of a request that keep what is planned now: price, room and image of its machine.

    None of them where the class does not offer the machine: the provider's refusal says why.
    """
    try:
        offering = find_offering(ports, node_class, spec)
    except InvalidConfiguration:
        return {}
    if offering is None:
        return {}
    return {
        # A provider may divide the price of a month: a status that is refused would stop the lifecycle.
        "price_per_hour": round(offering.price_per_hour, _DIGITS),
        "currency": offering.currency,
        "planned_allocatable": quantities(offering.allocatable),
        "planned_image": ports.providers[spec.class_ref.kind].image(node_class, offering),
    }


def has_ready_node(observed: RequestObjects) -> bool:
    """Return whether the machine's Node is there and Ready."""
    return observed.node is not None and observed.seen.node is not None and observed.seen.node.ready


def is_as_planned(observed: RequestObjects) -> bool:
    """Return whether the request says already that the Node is as planned."""
    return any(c.type == AS_PLANNED and c.status == "True" for c in observed.record.model.status.conditions)


async def tell_deviations(recorder: Recorder, observed: RequestObjects, finding: Deviation | None) -> None:
    """Tell an event when the Node is not as planned. Never raises."""
    if finding is not None and finding.status is False:
        await tell(recorder, observed.record, NOT_AS_PLANNED, finding.message, warning=True)


def add_finding(
    ports: Ports, observed: RequestObjects, conditions: Sequence[Condition], finding: Deviation | None
) -> Sequence[Condition]:
    """Return the conditions with what was found."""
    if finding is None:
        return conditions
    return set_condition(
        conditions,
        AS_PLANNED,
        status=finding.status,
        reason=finding.reason,
        message=finding.message,
        now=ports.now(),
        generation=observed.record.model.metadata.generation,
    )


def _finding(differences: Deviations) -> Deviation:
    if not differences.all:
        return Deviation(True, "AsPlanned", "The Node has the labels, the taints and the room that were planned")
    reason = _ROOM if differences.room else _TAINTS if differences.taints else _LABELS
    return Deviation(False, reason, "; ".join(differences.all))


def find_offering(ports: Ports, node_class: Object, spec: NodeRequestSpec) -> Offering | None:
    """Return the offering that the request buys, as the class offers it now, or None if it has no such offering.

    Raises:
        InvalidConfiguration: the class cannot be read, or no provider serves it.
    """
    provider = ports.providers.get(spec.class_ref.kind)
    if provider is None:
        raise InvalidConfiguration(f"No provider serves {spec.class_ref.kind}")
    wanted = spec.server_type.lower(), spec.location
    return next((o for o in provider.offerings(node_class) if (o.server_type.lower(), o.location) == wanted), None)


def has_changed(then: int | None, now: int | None) -> bool:
    """Return whether two generations of an object differ, as far as both are known."""
    return then is not None and now is not None and then != now
