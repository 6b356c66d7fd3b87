"""What remains of a pool when a machine goes as too little is used: never so little that the others are too full."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from activities.ports.cluster import PODS, Object
from api.keys import LABEL_POOL
from simulator.apiserver.cluster import MemoryCluster
from simulator.campaign.judging.departures.facts import Facts
from simulator.campaign.judging.recorder import Witness, is_daemon, labels_of
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.pod_request import amounts, occupies, pod_request

_USUAL: Final = 85
_OF_THRESHOLD: Final = 70
_WHOLE: Final = 100


def too_full(
    removal: Object, specs: Sequence[Object], witness: Witness, cluster: MemoryCluster, facts: Facts
) -> Iterator[str]:
    """Yield each resource of which the others would have too little, by all of these specs of the pool.

    Pods count that each round knows; as room, all Nodes count but those that each round knows to go.
    """
    pool, gone = removal["spec"]["pool"], removal["spec"]["nodeName"]
    most = max(map(_most, specs), default=None)
    nodes = {name: node for name, node in witness.nodes.items() if labels_of(node).get(LABEL_POOL) == pool}
    if most is None or gone not in nodes:
        return
    going = {name for name in nodes if name in witness.removals and facts.is_known(("goes", name))}
    others = [
        amounts(node.get("status", {}).get("allocatable") or {})
        for name, node in nodes.items()
        if name != gone and name not in going and not facts.is_known(("not ready", name))
    ]
    asked = [
        pod_request(pod)
        for pod in cluster.peek(PODS)
        if pod["spec"].get("nodeName") in nodes.keys() - going and _counts(pod, facts)
    ]
    for resource in ("cpu", "memory"):
        total = sum(request.get(resource, 0) for request in asked)
        room = sum(node.get(resource, 0) for node in others)
        if Fraction(total) * _WHOLE > Fraction(most) * room:
            yield f"{total} of {room} {resource} would be asked for of the others, and {most} % may be"


def bound_since(pod: Object) -> tuple[str, str]:
    """Return the claim that the pod is on its Node."""
    return "bound", pod["metadata"]["uid"]


def is_bound(pod: Object) -> bool:
    """Return whether the pod is on a Node and takes room there."""
    return bool(pod["spec"].get("nodeName")) and occupies(pod) and "deletionTimestamp" not in pod["metadata"]


def is_unready(node: Object) -> bool:
    """Return whether a Node is not Ready."""
    return condition_status(node, "Ready") != "True"


def _counts(pod: Object, facts: Facts) -> bool:
    return is_bound(pod) and not is_daemon(pod) and facts.is_known(bound_since(pod))


def _most(spec: Object) -> int:
    """Return what may be asked for of the others, in percent."""
    most, up = spec["scaleDown"].get("maxRemainingPercent", _USUAL), spec["scaleUp"]
    if "threshold" in (up.get("estimators") or ()):
        return min(most, up.get("thresholdPercent", _OF_THRESHOLD))
    return most
