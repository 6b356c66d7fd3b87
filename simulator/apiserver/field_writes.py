"""Who wrote which fields when, as the API server notes it in `managedFields`: only what Growth reads of that.

Source: Kubernetes docs, "Server-Side Apply", field management.
"""

from activities.ports.cluster import NODES, PODS, Object, Resource


def note_write(resource: Resource, before: Object | None, item: Object, subresource: str | None, moment: str) -> None:
    """Note in the item the last write of a pod's status, and of a Node's taints."""
    entry = {"manager": "simulated", "operation": "Update", "time": moment}
    if resource == PODS and subresource == "status":
        item["metadata"]["managedFields"] = [{**entry, "subresource": "status"}]
    elif resource == NODES and item.get("spec", {}).get("taints") != (before or {}).get("spec", {}).get("taints"):
        item["metadata"]["managedFields"] = [{**entry, "fieldsV1": {"f:spec": {"f:taints": {}}}}]
