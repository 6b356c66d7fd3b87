"""Whether the pod's volumes can be reached from the node and attached to it.

What is the same for all nodes, such as a missing claim, stands in `Pod.blocked_by`.

Source: kube-scheduler's plugins NodeVolumeLimits, VolumeBinding and VolumeZone.
"""

from planner.objects.kinds import Pod
from planner.objects.predicates import selects
from planner.scheduling.site import Occupancy


def volume_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return why the node cannot have one of the pod's volumes, or None."""
    return _over_limit(pod, place) or _elsewhere(pod, place)


def _over_limit(pod: Pod, place: Occupancy) -> str | None:
    limits = place.site.attach_limits
    new = {volume for volume in pod.attachments if volume not in place.attached and volume[0] in limits}
    for driver in sorted({driver for driver, _ in new}):
        count = sum(volume[0] == driver for volume in place.attached) + sum(volume[0] == driver for volume in new)
        if count > limits[driver]:
            return f"the node exceeds max volume count: {limits[driver]} of {driver}"
    return None


def _elsewhere(pod: Pod, place: Occupancy) -> str | None:
    for terms in pod.volume_terms:
        if not any(selects(term, place.labels) for term in terms):
            return "the node had volume node affinity conflict"
    return None
