"""What Kubernetes JSON says about an object, for all that read it unparsed: lifecycles, wakes and activities.

Read as plain JSON: a pod that the planner cannot parse still counts on the node that it runs on. The oracle of the
simulator has its own, as it judges the code that uses these.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from api.keys import ANNOTATION_DO_NOT_REMOVE

Object = Mapping[str, Any]

_MIRROR: Final = "kubernetes.io/config.mirror"
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"


def is_terminating(item: Object) -> bool:
    """Return whether the object is being deleted."""
    return "deletionTimestamp" in item["metadata"]


def should_have_ended(pod: Object, now: datetime) -> bool:
    """Return whether the pod was asked to end and its time for that is over: the grace is in the timestamp already."""
    ends_at = pod["metadata"].get("deletionTimestamp")
    return ends_at is not None and datetime.fromisoformat(ends_at) <= now


def generation(item: Object) -> int:
    """Return the generation, 0 for a kind that has none."""
    return item["metadata"].get("generation", 0)


def annotations(item: Object) -> Mapping[str, str]:
    """Return the annotations."""
    return item["metadata"].get("annotations") or {}


def conditions(item: Object) -> Sequence[Mapping[str, Any]]:
    """Return the conditions of the status."""
    return item.get("status", {}).get("conditions") or ()


def is_ready(item: Object) -> bool:
    """Return whether the condition Ready is True."""
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions(item))


def unready_since(item: Object) -> datetime | None:
    """Return when the condition Ready last changed, None where the Node is Ready or does not tell."""
    ready = next((each for each in conditions(item) if each.get("type") == "Ready"), None)
    if ready is None or ready.get("status") == "True" or not ready.get("lastTransitionTime"):
        return None
    return datetime.fromisoformat(ready["lastTransitionTime"])


def keep_reason(item: Object) -> str:
    """Return the reason for which a person keeps this Node or pod; empty if nobody does."""
    return annotations(item).get(ANNOTATION_DO_NOT_REMOVE, "")


def key_of(pod: Object) -> str:
    """Return namespace/name."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def node_of(pod: Object) -> str:
    """Return the name of the Node that the pod is bound to; empty while it is bound to none."""
    return pod.get("spec", {}).get("nodeName") or ""


def nominated_node(pod: Object) -> str:
    """Return the name of the Node that the scheduler keeps for the pod; empty if it keeps none."""
    return pod.get("status", {}).get("nominatedNodeName") or ""


def is_finished(pod: Object) -> bool:
    """Return whether the pod has run to its end and takes no room."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_served(pod: Object) -> bool:
    """Return whether the pod needs no machine any more: it is bound, or has run to its end."""
    return bool(node_of(pod)) or is_finished(pod)


def is_waiting(pod: Object) -> bool:
    """Return whether the pod can still be bound."""
    return not is_served(pod) and not is_terminating(pod)


def is_unschedulable(pod: Object) -> bool:
    """Return whether the scheduler has said that the pod fits nowhere."""
    waits = any(
        one.get("type") == "PodScheduled" and one.get("status") == "False" and one.get("reason") == "Unschedulable"
        for one in conditions(pod)
    )
    return waits and not node_of(pod) and not is_terminating(pod)


def belongs_to_node(pod: Object) -> bool:
    """Return whether the pod is a DaemonSet's, a mirror pod or finished: it goes with its node, unasked."""
    owners = pod["metadata"].get("ownerReferences") or ()
    is_daemon = any(owner.get("controller") and owner["kind"] == "DaemonSet" for owner in owners)
    return is_daemon or is_mirror(pod) or is_finished(pod)


def is_mirror(pod: Object) -> bool:
    """Return whether the pod only shows one that a kubelet runs from a file."""
    return _MIRROR in annotations(pod)


def is_claim_bound(claim: Object) -> bool:
    """Return whether the scheduler takes the claim for bound."""
    return _BIND_COMPLETED in annotations(claim)


def tolerates(pod: Object, key: str, value: str) -> bool:
    """Return whether the pod may land on a node with this taint of the effect NoSchedule."""
    for toleration in pod["spec"].get("tolerations") or ():
        if toleration.get("effect") not in (None, "", "NoSchedule"):
            continue
        if toleration.get("operator") == "Exists":
            if toleration.get("key") in (None, "", key):
                return True
        elif toleration.get("key") == key and toleration.get("value") == value:
            return True
    return False
