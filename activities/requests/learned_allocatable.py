"""Writes what Nodes turned out to have for pods into the status of their class."""

import logging

from activities.objects.class_status import change_class_status
from activities.ports.cluster import Object
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.requests.as_planned import find_offering, has_changed, has_ready_node
from activities.requests.look import RequestSight
from api.v1alpha1.node_class_status import NodeClassStatus
from planner.parsing.json_part import FieldError, Part
from planner.supply.learned_allocatable import learned

log = logging.getLogger(__name__)


async def note_allocatable(ports: Ports, sight: RequestSight) -> None:
    """Record what the request's Node has for pods, if it is Ready and its class does not state that exactly.

    Never raises: a machine that came must not wait for a note about the next one.
    """
    if not has_ready_node(sight):
        return
    try:
        await _write(ports, sight)
    except (GrowthError, FieldError) as error:
        log.warning("what Node %s has for pods was not noted: %s", sight.record.name, error)


async def _write(ports: Ports, sight: RequestSight) -> None:
    request = sight.record.model
    spec, image = request.spec, request.status.planned_image
    if image is None:
        return
    allocatable = Part(sight.node).part("status").amounts("allocatable")

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
