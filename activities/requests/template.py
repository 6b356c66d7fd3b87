"""The hash of what a machine is bought with, kept on its request from the create call until its Node bears it.

So a class or a pool that is edited while the machine is on its way makes a difference to it, as to any older one.
"""

from activities.objects.node_classes import read_template
from activities.ports.cluster import Object
from activities.ports.errors import InvalidConfiguration
from activities.ports.ports import Ports
from activities.requests.as_planned import find_offering
from api.keys import ANNOTATION_TEMPLATE_HASH, LABEL_ARCH
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest, NodeRequestStatus
from planner.objects.class_template import template_hash


def hash_to_keep(ports: Ports, pool: NodePool, node_class: Object, request: NodeRequest) -> str | None:
    """Return the hash that the request keeps as its server is asked for; None where nothing can be told.

    An earlier call of unknown outcome may have made the server: then what that one asked for stays.
    """
    status, spec = request.status, request.spec
    if status.template_hash is not None and status.attempts > status.refusals:
        return status.template_hash
    made_with = read_template(ports, spec.class_ref.kind, node_class)
    try:
        offering = find_offering(ports, node_class, spec)
    except InvalidConfiguration:
        offering = None
    if made_with is None or offering is None:
        return None
    return template_hash(pool, spec.class_ref, made_with, spec.server_type, offering.labels.get(LABEL_ARCH, ""))


def hash_of_node(status: NodeRequestStatus) -> dict[str, str]:
    """Return the annotation of a Node that registers; none for a request that an earlier version has made."""
    return {} if status.template_hash is None else {ANNOTATION_TEMPLATE_HASH: status.template_hash}
