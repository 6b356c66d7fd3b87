"""Whether the pod's requests fit beside those of the pods that are there.

Source: kube-scheduler's plugin NodeResourcesFit.
"""

from planner.amounts import shown
from planner.judge.site import Occupancy
from planner.objects import Pod


def resource_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the first resource of which too little is free, or None; what is not requested may be short."""
    for name, amount in sorted(pod.requests.items()):
        free = place.site.allocatable.get(name, 0) - place.used.get(name, 0)
        if amount > free and amount > 0:
            if name == "pods":
                return f"Too many pods: the node takes {place.site.allocatable.get(name, 0)}"
            return f"Insufficient {name}: {shown(name, amount)} requested, {shown(name, max(free, 0))} free"
    return None
