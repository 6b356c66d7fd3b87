"""ProvisioningRequests, which Growth does not serve: each is told so once, as nobody else would answer it.

Only those of Cluster Autoscaler's own classes, and only where it has not answered: beside a Cluster Autoscaler that is
there, or another program that serves them, Growth is silent. Other classes are other programs' affair.
Source: Cluster Autoscaler, "Provisioning Request CRD": conditions Accepted, Provisioned and Failed; classes.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from activities.kube.json_patch import guarded, set_field
from activities.ports.cluster import PROVISIONING_REQUESTS, Cluster, Object
from activities.ports.errors import Forbidden, NotFound, Unreachable
from activities.ports.ports import Ports
from activities.round.fence import RoundWrites
from api.meta import format_timestamp, read_moment
from planner.lifecycle.json_predicates import is_terminating

CLASSES: Final = ("check-capacity.autoscaling.x-k8s.io", "best-effort-atomic-scale-up.autoscaling.x-k8s.io")
"""Those that Cluster Autoscaler serves, and that nobody does where Growth is in its place."""
NOT_SERVED: Final = "NotServedByGrowth"
_FAILED: Final = "Failed"
_MESSAGE: Final = (
    "Growth buys machines for pods that wait, and serves no ProvisioningRequest: make the pods, or keep room for them "
    "by spec.headroom of a NodePool or a CapacityBuffer"
)
_ANSWERED_WITHIN: Final = timedelta(minutes=1)
"""Who serves such requests has answered by then: Cluster Autoscaler looks every ten seconds."""


async def answer_provisioning_requests(ports: Ports, writes: RoundWrites, now: datetime) -> None:
    """Tell each ProvisioningRequest that waits for an answer that Growth does not serve it."""
    all_requests: Sequence[Object] = ()
    with suppress(NotFound, Forbidden, Unreachable):
        all_requests = (await ports.reader.list(PROVISIONING_REQUESTS)).items
    await writes.each(
        [item for item in all_requests if is_unanswered(item, now)],
        lambda item: f"condition of ProvisioningRequest {item['metadata'].get('namespace')}/{item['metadata']['name']}",
        lambda item: _answer(ports.cluster, item, now),
    )


def is_unanswered(item: Object, now: datetime) -> bool:
    """Return whether nobody has answered the request, who had the time to: it has no condition at all."""
    spec, status = _map(item.get("spec")), _map(item.get("status"))
    born = read_moment(str(item["metadata"].get("creationTimestamp") or ""))
    return (
        spec.get("provisioningClassName") in CLASSES
        and not status.get("conditions")
        and not is_terminating(item)
        and born is not None
        and now >= born + _ANSWERED_WITHIN
    )


async def _answer(cluster: Cluster, item: Object, now: datetime) -> Object:
    condition = {
        "type": _FAILED,
        "status": "True",
        "reason": NOT_SERVED,
        "message": _MESSAGE,
        "lastTransitionTime": format_timestamp(now.replace(microsecond=0)),
        "observedGeneration": item["metadata"].get("generation", 0),
    }
    # On the very version that had no answer: whoever answers at the same time is not overwritten.
    patch = guarded(item, set_field(item, ("status", "conditions"), [condition]))
    metadata = item["metadata"]
    return await cluster.patch(
        PROVISIONING_REQUESTS, metadata["name"], patch, namespace=metadata.get("namespace"), subresource="status"
    )


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
