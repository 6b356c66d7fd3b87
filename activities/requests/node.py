"""A request's Node: registered and kept for its planned pods, marked on its way, opened for all at the end.

A reservation is two parts, the taint on the Node and the tolerations on the pods. The end of it is
written on the request before the taint goes, so a taint that is left over is seen and lifted. What a Node turned
out to have for pods is written into the status of its class.
Source: docs/design.md#request, and docs/design.md#reservations.
"""

import logging
from collections.abc import Mapping
from typing import Any

from activities.objects.events import Recorder, tell
from activities.objects.node_classes import change_class_status, note_success
from activities.objects.nodes import (
    change_node,
    has_taint,
    lift_taint,
    own_labels,
    reserved,
    taints_of,
    template_taints,
)
from activities.objects.pods import tolerate
from activities.objects.record import conditions_with, still_as_read, write_status, write_step
from activities.objects.related import find_class
from activities.ports.cluster import Object
from activities.ports.errors import Conflict, GrowthError, InvalidConfiguration
from activities.ports.ports import Ports
from activities.requests.as_planned import (
    add_finding,
    compare_with_plan,
    find_offering,
    has_changed,
    has_ready_node,
    is_as_planned,
    tell_deviations,
)
from activities.requests.failed_purchase import note_failed_purchase
from activities.requests.look import RequestObjects
from activities.requests.provider_id import with_provider_id
from activities.requests.scale_up_failed import tell_scale_up_failed
from activities.requests.template import hash_of_node
from api.keys import ANNOTATION_CURRENCY, ANNOTATION_PRICE, TAINT_RESERVED, TAINT_UNREGISTERED
from api.meta import READY
from api.quantity import format_price
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_request import NodeRequestSpec, NodeRequestStatus, RequestPhase
from planner.lifecycle.arrival.reservation import NOT_TRIED, RELEASE_TIMEOUT
from planner.lifecycle.json_predicates import is_ready
from planner.lifecycle.request import STARTUP_TIMEOUT
from planner.lifecycle.step import Act, shortened
from planner.objects.offering import Offering
from planner.parsing.json_part import FieldError, Part
from planner.supply.node_template import labels_to_set
from planner.supply.observed.learned import learned

PODS_REFUSED = "PodsRefused"
"""The planned pods cannot be let onto the reserved Node, so that the reservation would only keep them out."""

log = logging.getLogger(__name__)


async def mark_unmet(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Write that the machine is not available now, without a call: another request's was refused."""
    await write_step(
        ports.cluster,
        observed.record,
        act,
        now=ports.now(),
        phase=RequestPhase.UNMET,
        expires_at=act.until or ports.now() + observed.seen.timings.unavailable_ttl,
    )
    await tell(recorder, observed.record, act.reason, act.message, warning=True)
    await tell_scale_up_failed(recorder, observed.record, act.reason, act.message)


async def mark_running(ports: Ports, observed: RequestObjects, act: Act) -> None:
    """Write that the server runs, and the deadline for its Node to be Ready."""
    now = ports.now()
    await write_step(
        ports.cluster,
        observed.record,
        act,
        now=now,
        running_at=now,
        join_deadline=act.until or now + observed.seen.timings.join_timeout,
    )


async def register_node(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Label the Node, swap its startup taint for the reservation, and let its pods onto it.

    Its price, the hash of what it was made with and the pool's annotations are written on it in the same write.

    Killed in between, the Node is registered and the request does not say so: then the next
    execution finds nothing left to change and writes it down.

    Raises:
        Conflict: request or Node have changed since they were read.
    """
    record = observed.record
    node = _node_of(observed)
    status = record.model.status
    taints = [taint for taint in taints_of(node) if taint["key"] != TAINT_UNREGISTERED]
    annotations = _price_paid(status) | hash_of_node(status)
    if observed.pool is not None and has_taint(node, TAINT_UNREGISTERED):
        # Once it is registered they are other people's: an edit of the pool between two executions changes nothing.
        annotations = {**observed.pool.spec.template.annotations, **annotations}
    labels = labels_to_set(
        observed.pool,
        await _bought(ports, record.model.spec),
        own_labels(record.model),
        node["metadata"].get("labels") or {},
    )
    if observed.pool is not None and status.registered_at is None:
        present = {(taint["key"], taint["effect"]) for taint in taints}
        taints += [t for t in template_taints(observed.pool) if (t["key"], t["effect"]) not in present]
    if _keeps(observed):
        taints = _with_reservation(taints, record.name)
    # One write swaps the taints: between two, any pod could land. The planned pods tolerate the new one only after it.
    await _change_as_read(ports, observed, taints, labels, annotations)
    refusal = await tolerate(ports.cluster, observed.untolerated, record.name) if status.released_at is None else ""
    now = ports.now()
    registered = conditions_with(record, "Registered", status=True, reason=act.reason, message=act.message, now=now)
    await write_step(
        ports.cluster,
        record,
        act,
        now=now,
        node_name=node["metadata"]["name"],
        registered_at=status.registered_at or now,
        conditions=with_provider_id(record, node, registered, now),
    )
    if refusal:
        await tell(recorder, record, PODS_REFUSED, refusal, warning=True)
    else:
        await tell(recorder, record, act.reason, act.message)


async def tolerate_pods(ports: Ports, recorder: Recorder, observed: RequestObjects) -> None:
    """Let pods that were planned later onto the Node. If they cannot be, end the reservation, which keeps them out.

    Raises:
        Conflict: the request, the Node or a pod have changed since they were read.
    """
    record = observed.record
    node = _node_of(observed)
    if _keeps(observed) and not is_ready(node):
        # Once it is Ready, other pods may be there already: then it is too late to reserve.
        await _change_as_read(ports, observed, _with_reservation(taints_of(node), record.name))
    refusal = await tolerate(ports.cluster, observed.untolerated, record.name)
    if refusal:
        await _end_reservation(ports, observed, PODS_REFUSED, refusal)
        await tell(recorder, record, PODS_REFUSED, refusal, warning=True)


async def mark_ready(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Write that the Node is Ready, whether it is the one that was planned, and until when it is kept for its pods."""
    record = observed.record
    finding = await compare_with_plan(ports, observed)
    # Before the request says Ready: from then on pods that do not fit are planned anew.
    await note_allocatable(ports, observed)
    now = ports.now()
    released = record.model.status.released_at is not None
    ready = conditions_with(
        record,
        READY,
        status=observed.seen.node is not None and observed.seen.node.ready,
        reason=act.reason,
        message=act.message,
        now=now,
    )
    await write_step(
        ports.cluster,
        record,
        act,
        now=now,
        phase=RequestPhase.READY,
        ready_at=now,
        release_by=act.until,
        expires_at=now + observed.seen.timings.record_ttl if released else None,
        conditions=add_finding(ports, observed, with_provider_id(record, observed.node, ready, now), finding),
    )
    has_started = observed.seen.node is not None and not observed.seen.node.missing
    if record.model.status.create_attempt_at is not None and has_started:
        # Only now: a server that was had and never became a machine speaks against the offering.
        await note_success(ports, record.model.spec, record.model.status.create_attempt_at)
    await tell(recorder, record, act.reason, act.message)
    await tell_deviations(recorder, observed, finding)


async def mark_tried(ports: Ports, observed: RequestObjects, act: Act) -> None:
    """Write that the scheduler has tried the planned pods, and until when they have the Node for themselves."""
    now = ports.now()
    await write_step(ports.cluster, observed.record, act, now=now, tried_at=now, release_by=act.until)


async def tell_delay(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Write that a deadline which the request names has passed, why it is still awaited, and until when."""
    await write_step(ports.cluster, observed.record, act, now=ports.now())
    await tell(recorder, observed.record, act.reason, act.message, warning=True)


async def mark_settled(ports: Ports, observed: RequestObjects, act: Act) -> None:
    """Write that all planned pods are there, so that no other machine waits for this one."""
    now = ports.now()
    await write_step(
        ports.cluster,
        observed.record,
        act,
        now=now,
        settled_at=now,
    )


async def release_node(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Open the Node for all pods.

    Raises:
        Conflict: request or Node have changed since they were read.
    """
    record = observed.record
    if record.model.status.released_at is None:
        # Before the taint is lifted: killed in between, a look sees the taint of an ended reservation and lifts it.
        await _end_reservation(ports, observed, act.reason, act.message)
        late = act.reason in {RELEASE_TIMEOUT, NOT_TRIED, STARTUP_TIMEOUT}
        await tell(recorder, record, act.reason, act.message, warning=late)
        if act.reason == STARTUP_TIMEOUT and observed.seen.awaited:
            # Without a memory of it, the same offering would be bought for these pods after each time-out.
            await note_failed_purchase(ports, observed, act)
    await lift_reservation(ports, observed)


async def lift_reservation(ports: Ports, observed: RequestObjects) -> None:
    """Take the reservation's taint off the Node, if it is there.

    Raises:
        Conflict: the Node has changed since it was read.
    """
    if observed.node is not None:
        await lift_taint(ports.cluster, observed.node, TAINT_RESERVED, observed.record.name)


async def _end_reservation(ports: Ports, observed: RequestObjects, reason: str, message: str) -> None:
    status = observed.record.model.status
    now = ports.now()
    changes: dict[str, Any] = {"released_at": now, "reason": reason, "message": shortened(message)}
    if status.phase is RequestPhase.READY:
        changes["expires_at"] = now + observed.seen.timings.record_ttl
        if not is_as_planned(observed):
            # A startup taint of another controller, or a label of a slow one, may have been all.
            changes["conditions"] = add_finding(
                ports, observed, status.conditions, await compare_with_plan(ports, observed)
            )
            await note_allocatable(ports, observed)
    await write_status(ports.cluster, observed.record, now=now, event=reason, because=message, **changes)


async def _change_as_read(
    ports: Ports,
    observed: RequestObjects,
    taints: list[dict[str, str]],
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> None:
    if not await still_as_read(ports.cluster, observed.record):
        raise Conflict(f"NodeRequest {observed.record.name} has changed since it was read")
    await change_node(ports.cluster, _node_of(observed), taints=taints, labels=labels, annotations=annotations)


def _price_paid(status: NodeRequestStatus) -> dict[str, str]:
    """Return the annotations that tell what the machine costs, for as long as its Node exists."""
    if status.price_per_hour is None or status.currency is None:
        return {}
    return {ANNOTATION_PRICE: format_price(status.price_per_hour), ANNOTATION_CURRENCY: status.currency}


def _with_reservation(taints: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    taint = reserved(name)
    return taints if taint in taints else [*taints, taint]


async def _bought(ports: Ports, spec: NodeRequestSpec) -> Offering | None:
    """Return what was bought, or None where class and provider do not tell any more: the machine joins all the same."""
    node_class = await find_class(ports, spec.class_ref)
    if node_class is None:
        return None
    try:
        return find_offering(ports, node_class, spec)
    except InvalidConfiguration:
        return None


def _keeps(observed: RequestObjects) -> bool:
    """Return whether the Node is to be kept for planned pods."""
    request = observed.record.model
    reserve = observed.pool is None or observed.pool.spec.scale_up.reserve
    return reserve and bool(request.spec.reserved_for) and request.status.released_at is None


def _node_of(observed: RequestObjects) -> Object:
    if observed.node is None:
        # The step function asks for this only when it has seen one.
        raise Conflict(f"The Node of NodeRequest {observed.record.name} is gone")
    return observed.node


async def note_allocatable(ports: Ports, observed: RequestObjects) -> None:
    """Record what the request's Node has for pods, if it is Ready and its class does not state that exactly.

    Never raises: a machine that came must not wait for a note about the next one.
    """
    if not has_ready_node(observed):
        return
    try:
        await _write(ports, observed)
    except (GrowthError, FieldError) as error:
        log.warning("what Node %s has for pods was not noted: %s", observed.record.name, error)


async def _write(ports: Ports, observed: RequestObjects) -> None:
    request = observed.record.model
    spec, image = request.spec, request.status.planned_image
    if image is None:
        return
    allocatable = Part(observed.node).part("status").amounts("allocatable")

    def learnt(node_class: Object, status: NodeClassStatus) -> NodeClassStatus:
        if has_changed(request.status.class_generation, node_class["metadata"].get("generation")):
            # What the kubelet keeps may have changed: this Node says nothing of the next one.
            return status
        offering = find_offering(ports, node_class, spec)
        if offering is None:
            return status
        # Not the image as it is now: a newer one may have been made since this machine was asked for.
        entries = learned(status.learned, offering.server_type, image, allocatable, ports.now())
        return status.model_copy(update={"learned": entries})

    await change_class_status(ports, spec.class_ref, learnt)
