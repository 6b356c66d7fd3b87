"""Whether the pod's requests fit beside those of the pods that are there.

Source: kube-scheduler's plugin NodeResourcesFit.
"""

from planner.objects.amounts import shown
from planner.objects.kinds import Pod
from planner.scheduling.site import Occupancy


def resource_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the first resource of which too little is free, or None; what is not requested may be short.

    Beside a pod that cannot be read nobody can tell.
    """
    unknown = next((other for pods in place.pods.values() for other in pods if other.is_unreadable), None)
    if unknown is not None:
        return f"what is free on the node is not known: pod {unknown.key} on it cannot be read"
    for name, amount in sorted(pod.requests.items()):
        free = place.site.allocatable.get(name, 0) - place.used.get(name, 0)
        if amount > free and amount > 0:
            if name == "pods":
                return f"Too many pods: the node takes {place.site.allocatable.get(name, 0)}"
            return f"Insufficient {name}: {shown(name, amount)} requested, {shown(name, max(free, 0))} free"
    return None
