"""What a Node's provider id says beside that of its server: a condition of the request, where they differ.

Growth goes by its own marks then, and deletes the server by the server's own id. Others do not: a cloud's controller or
volume driver looks for the server that the Node names.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from activities.objects.nodes import marks_of
from activities.objects.record import Record
from activities.ports.cluster import Object
from api.keys import LABEL_REQUEST_UID, TAINT_UNREGISTERED
from api.meta import Condition, set_condition
from api.v1alpha1.node_request import NodeRequest
from planner.objects.provider_ids import has_other_scheme

OWN_PROVIDER_ID: Final = "NodeNamesServer"
"""The condition: whether the Node's provider id is that of its server. Absent while they were never seen to differ."""


def with_provider_id(
    record: Record[NodeRequest], node: Object | None, conditions: Sequence[Condition], now: datetime
) -> Sequence[Condition]:
    """Return the conditions with whether the request's Node names the request's server."""
    own = record.model.status.provider_id or ""
    named = "" if node is None else marks_of(node).provider_id
    differs = has_other_scheme(named, own)
    if not differs and (not named or all(condition.type != OWN_PROVIDER_ID for condition in conditions)):
        return conditions
    return set_condition(
        conditions,
        OWN_PROVIDER_ID,
        status=not differs,
        reason="OtherScheme" if differs else "SameServer",
        message=_differing(named, own, record.name) if differs else f"The Node's providerID is {own}",
        now=now,
        generation=record.model.metadata.generation,
    )


def _differing(named: str, own: str, name: str) -> str:
    return (
        f"Node {name} has the providerID {named}, and its server is {own}. The Node is used, as its name and its label "
        f"{LABEL_REQUEST_UID} are this request's, and the server goes by its own id. A cloud's controller or "
        f"volume driver does not find the server by that providerID: let the kubelet register with {own}"
    )


def why_another(node: Object, *, request_uid: str, provider_id: str | None) -> str:
    """Return in a sentence why the Node of this name is not taken for the machine's, and what helps."""
    marks, name = marks_of(node), node["metadata"]["name"]
    if marks.request_uid and marks.request_uid != request_uid:
        return f"Node {name} bears the label {LABEL_REQUEST_UID} of another machine ({marks.request_uid})"
    if has_other_scheme(marks.provider_id, provider_id or ""):
        return (
            f"Node {name} has the providerID {marks.provider_id} instead of {provider_id}, and neither the label "
            f"{LABEL_REQUEST_UID} nor the taint {TAINT_UNREGISTERED} of this machine: it is not used. If it is this "
            "machine's, let its user data set labels and taints as the template does"
        )
    return f"Node {name} is of another server: its providerID is {marks.provider_id}, not {provider_id}"
