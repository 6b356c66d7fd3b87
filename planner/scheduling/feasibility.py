"""Would the default scheduler bind this pod to this node? Asked node by node, apart from any plan.

Mirrors the Filter plugins of kube-scheduler's default profile, in their order. Preferences are not
its subject, nor which pods to preempt; that nodes are kept for pods by preemption is.

Source: kube-scheduler v1.36, `pkg/scheduler/framework/plugins`, and `RunFilterPluginsWithNominatedPods`.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from api.quantity import rounded_amount
from planner.objects.kinds import Pod, Taint
from planner.objects.predicates import is_of_system, selects, untolerated, wants_node
from planner.scheduling.affinity import Namespaces, Neighbours, affinity_obstacle, neighbours_of
from planner.scheduling.conflicts import port_obstacle
from planner.scheduling.site import Occupancy, Site
from planner.scheduling.spread import Evenness, evenness_of, spread_obstacle

_NO_NAMESPACES: Final[Namespaces] = MappingProxyType({})
_UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""Who tolerates it may go to a cordoned node, whether the node carries the taint yet or not."""


@dataclass(frozen=True, slots=True)
class _Question:
    """The counts for a pod that are the same on all nodes."""

    pod: Pod
    neighbours: Neighbours
    evenness: tuple[Evenness, ...]


class Judge:
    """The nodes and pods of a cluster, counted once.

    Args:
        sites: all nodes, each with its pods; others count as absent.
        namespaces: labels by name; one that is missing has its name as its only label.
    """

    def __init__(self, sites: Iterable[Site], namespaces: Namespaces = _NO_NAMESPACES) -> None:
        self._places: dict[str, Occupancy] = {}
        self._namespaces = namespaces
        self._repelling: list[tuple[Pod, Occupancy]] = []
        self._question: _Question | None = None
        for site in sites:
            self._open(site)

    def beside(self, site: Site) -> "Judge":
        """Return a judge of the same sites and one more, such as a machine to come; the others are not counted again.

        A site of the same name is replaced. For asking only: a pod that either seats on a site of both would be known
        half to the other.
        """
        more = copy(self)
        more._places, more._repelling, more._question = {**self._places}, [*self._repelling], None  # noqa: SLF001
        more._open(site)  # noqa: SLF001
        return more

    def verdict(self, pod: Pod, site: Site) -> str | None:
        """Return None where the pod fits, else the first obstacle in one sentence, in the scheduler's words.

        The pod counts as one that is on no node yet. Where the site is kept for others of no lower priority, it must
        fit both beside them and without them, as nobody knows whether they come.

        Raises:
            KeyError: the site is not among those of this judge.
        """
        if obstacle := self._obstacle(pod, site):
            return obstacle
        place = self._places[site.name]
        kept_for = [other for other in place.site.nominated if _comes_first(other, pod)]
        if kept_for:
            residents = (resident for pods in place.pods.values() for resident in pods)
            fuller = self.beside(replace(place.site, pods=(*residents, *kept_for)))
            if obstacle := fuller._obstacle(pod, site):  # noqa: SLF001
                return f"{obstacle} (with the pods on their way to it)"
        return None

    def _obstacle(self, pod: Pod, site: Site) -> str | None:
        place = self._places[site.name]
        return (
            blocked(pod)
            or node_obstacle(pod, place)
            or port_obstacle(pod, place)
            or resource_obstacle(pod, place)
            or volume_obstacle(pod, place)
            or spread_obstacle(place, self._asked(pod).evenness)
            or affinity_obstacle(pod, place, self._asked(pod).neighbours)
        )

    def verdicts(self, pod: Pod) -> Mapping[str, str | None]:
        """Return the verdict of every site, by its name."""
        return {name: self.verdict(pod, place.site) for name, place in self._places.items()}

    def seat(self, pod: Pod, site: Site) -> None:
        """Count the pod as one of the site's from now on.

        Raises:
            KeyError: the site is not among those of this judge.
        """
        place = self._places[site.name]
        place.add(pod)
        if pod.pod_anti_affinity:
            self._repelling.append((pod, place))
        self._question = None

    def _open(self, site: Site) -> None:
        place = Occupancy(site)
        self._places[site.name] = place
        self._repelling += [(pod, place) for pod in site.pods if pod.pod_anti_affinity]

    def _asked(self, pod: Pod) -> _Question:
        """Return the counts for this pod, made once for all nodes, as these are judged one after the other."""
        if self._question is None or self._question.pod is not pod:
            places = tuple(self._places.values())
            self._question = _Question(
                pod=pod,
                neighbours=neighbours_of(pod, places, self._repelling, self._namespaces),
                evenness=evenness_of(pod, places),
            )
        return self._question


def _comes_first(nominated: Pod, pod: Pod) -> bool:
    return nominated.priority >= pod.priority and nominated.uid != pod.uid


def blocked(pod: Pod) -> str | None:
    """Return the obstacle that keeps the pod off every node now, or None; constraints that are not judged count."""
    if pod.is_gated:
        return "the pod is held back by scheduling gates"
    if pod.unjudged:
        return f"the pod cannot be judged: {', '.join(pod.unjudged)}"
    return pod.blocked_by or None


def node_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the property of the node itself that keeps the pod out, or None: name, cordon, taints or labels.

    Source: kube-scheduler's plugins NodeName, NodeUnschedulable, TaintToleration and NodeAffinity.
    """
    site = place.site
    if site.is_cordoned and untolerated(pod.tolerations, (_UNSCHEDULABLE,)):
        return "the node is unschedulable (cordoned)"
    if pod.node_name not in ("", site.name):
        return f"the node didn't match the requested node name {pod.node_name}"
    if taint := untolerated(pod.tolerations, site.taints):
        value = f"={taint.value}" if taint.value else ""
        return f"the node had untolerated taint {taint.key}{value}:{taint.effect}"
    if not wants_node(pod, place.labels):
        return "the node didn't match the pod's node affinity/selector"
    if not is_of_system(pod, place.labels):
        return f"the pod is for {pod.system} (spec.os), which the node's kubelet does not run"
    return None


def resource_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the first resource of which too little is free, or None; others than the requested may be short.

    Beside a pod that cannot be read nobody can tell.
    Source: kube-scheduler's plugin NodeResourcesFit.
    """
    unknown = next((other for pods in place.pods.values() for other in pods if other.is_unreadable), None)
    if unknown is not None:
        return f"what is free on the node is not known: pod {unknown.key} on it cannot be read"
    for name, amount in sorted(pod.requests.items()):
        free = place.site.allocatable.get(name, 0) - place.used.get(name, 0)
        if amount > free and amount > 0:
            if name == "pods":
                return f"Too many pods: the node takes {place.site.allocatable.get(name, 0)}"
            requested, left = rounded_amount(name, amount), rounded_amount(name, max(free, 0))
            return f"Insufficient {name}: {requested} requested, {left} free"
    return None


def volume_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the obstacle to reaching or attaching one of the pod's volumes from the node, or None.

    Obstacles that are the same for all nodes, such as a missing claim, are in `Pod.blocked_by`.
    Source: kube-scheduler's plugins NodeVolumeLimits, VolumeBinding and VolumeZone.
    """
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
