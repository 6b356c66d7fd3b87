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

from planner.objects.kinds import Pod
from planner.scheduling.affinity import Namespaces, Neighbours, affinity_obstacle, neighbours_of
from planner.scheduling.conflicts import port_obstacle
from planner.scheduling.node import node_obstacle
from planner.scheduling.resources import resource_obstacle
from planner.scheduling.site import Occupancy, Site
from planner.scheduling.spread import Evenness, evenness_of, spread_obstacle
from planner.scheduling.volumes import volume_obstacle

_NO_NAMESPACES: Final[Namespaces] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Question:
    """What is the same for a pod on all nodes."""

    pod: Pod
    neighbours: Neighbours
    evenness: tuple[Evenness, ...]


class Judge:
    """The nodes and pods of a cluster, counted once.

    Args:
        sites: all nodes, each with its pods; what is not among them is not there.
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
        """Return a judge of the same sites and one more, such as a machine to come; what is there is not counted again.

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
            there = (resident for residents in place.pods.values() for resident in residents)
            fuller = self.beside(replace(place.site, pods=(*there, *kept_for)))
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
        """Return what was counted for this pod: once for all nodes, as they are asked one after the other."""
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
    """Return why no node at all can take the pod now, or None; what nobody judges counts as an obstacle."""
    if pod.is_gated:
        return "the pod is held back by scheduling gates"
    if pod.unjudged:
        return f"the pod cannot be judged: {', '.join(pod.unjudged)}"
    return pod.blocked_by or None
