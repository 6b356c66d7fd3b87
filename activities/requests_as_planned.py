"""Whether the Node of a request is the machine that was planned, as a condition of the request.

A Node with other labels, taints or less room than its plan counted on cannot take the planned pods, and
nothing else would say why. Source: design §6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from activities.belongings import find_class
from activities.cluster import Object
from activities.effects import tell
from activities.errors import InvalidConfiguration
from activities.events import Recorder
from activities.ports import Ports
from activities.requests_look import RequestSight
from api.conditions import Condition, set_condition
from planner.node_template import Deviations, deviations
from planner.offering import Offering
from planner.parse import UnreadableObject, parse_node

AS_PLANNED: Final = "NodeAsPlanned"
"""The condition."""
NOT_AS_PLANNED: Final = "NodeNotAsPlanned"
"""Reason of the event."""
_ROOM, _TAINTS, _LABELS = "LessRoom", "OtherTaints", "OtherLabels"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, as the condition says it."""

    status: bool | None
    """None: what was planned is not known any more."""
    reason: str
    message: str


async def compare_with_plan(ports: Ports, sight: RequestSight) -> Finding | None:
    """Return whether the Node is as planned, or None while it is not there or not Ready yet.

    Raises:
        Unreachable: the API server does not answer.
    """
    if sight.node is None or sight.seen.node is None or not sight.seen.node.ready:
        return None
    request = sight.record.model
    ref, status = request.spec.class_ref, request.status
    node_class = await find_class(ports, ref)
    if sight.pool is None or node_class is None:
        return Finding(None, "PlanGone", f"NodePool {request.spec.pool} or {ref} does not exist any more")
    if _changed(status.pool_generation, sight.pool.metadata.generation) or _changed(
        status.class_generation, node_class["metadata"].get("generation")
    ):
        text = f"NodePool {request.spec.pool} or {ref} has changed since the machine was asked for"
        return Finding(None, "PlanChanged", text)
    try:
        offering = _offering(ports, node_class, sight)
        node = parse_node(sight.node)
    except (InvalidConfiguration, UnreadableObject) as error:
        return Finding(None, "Unreadable", str(error))
    if offering is None:
        text = f"{ref} has no {request.spec.server_type} in {request.spec.location}"
        return Finding(None, "PlanGone", text)
    return _finding(deviations(node, sight.pool, offering))


def is_as_planned(sight: RequestSight) -> bool:
    """Return whether the request says already that the Node is as planned."""
    return any(c.type == AS_PLANNED and c.status == "True" for c in sight.record.model.status.conditions)


async def tell_deviations(recorder: Recorder, sight: RequestSight, finding: Finding | None) -> None:
    """Tell an event when the Node is not as planned. Never raises."""
    if finding is not None and finding.status is False:
        await tell(recorder, sight.record, NOT_AS_PLANNED, finding.message, warning=True)


def add_finding(
    ports: Ports, sight: RequestSight, conditions: Sequence[Condition], finding: Finding | None
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
        generation=sight.record.model.metadata.generation,
    )


def _finding(found: Deviations) -> Finding:
    if not found.all:
        return Finding(True, "AsPlanned", "The Node has the labels, the taints and the room that were planned")
    reason = _ROOM if found.room else _TAINTS if found.taints else _LABELS
    return Finding(False, reason, "; ".join(found.all))


def _offering(ports: Ports, node_class: Object, sight: RequestSight) -> Offering | None:
    """Return what was bought.

    Raises:
        InvalidConfiguration: the class cannot be read, or no provider serves it.
    """
    spec = sight.record.model.spec
    provider = ports.providers.get(spec.class_ref.kind)
    if provider is None:
        raise InvalidConfiguration(f"No provider serves {spec.class_ref.kind}")
    wanted = spec.server_type.lower(), spec.location
    return next((o for o in provider.offerings(node_class) if (o.server_type.lower(), o.location) == wanted), None)


def _changed(then: int | None, now: int | None) -> bool:
    return then is not None and now is not None and then != now
