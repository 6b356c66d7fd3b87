"""Conflicts between pods of one machine: hostname anti-affinity, both ways, and host ports.

Source: kube-scheduler's plugins InterPodAffinity and NodePorts.
"""

from collections.abc import Container, Iterable
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import HostPort, Pod
from planner.scheduling.affinity import Namespaces, meets_all, term_matches
from planner.scheduling.site import Occupancy
from planner.scheduling.spread import is_counted

_EVERY_ADDRESS: Final = ("", "0.0.0.0")  # noqa: S104 - names what a pod asked for, opens nothing


def keep_apart(pod: Pod, other: Pod, namespaces: Namespaces) -> str | None:
    """Return the code of the rule that forbids two pods to share a machine, or None.

    The scheduler looks at the terms of the pod it places and at those of pods that are there.
    """
    if repel_each_other(pod, other, (LABEL_HOSTNAME,), namespaces):
        return "AntiAffinity"
    return "HostPortTaken" if ports_meet(pod, (other,)) else None


class TakenPorts:
    """Ports of a node that pods take, so that a pod with a thousand is not compared port by port."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._addresses: dict[tuple[int, str], set[str]] = {}
        for pod in pods:
            for taken in pod.host_ports:
                self._addresses.setdefault((taken.port, taken.protocol), set()).add(taken.ip)

    def meet(self, pod: Pod) -> bool:
        """Return whether the pod asks for one of them."""
        return any(map(self._conflicts, pod.host_ports))

    def _conflicts(self, wanted: HostPort) -> bool:
        addresses = self._addresses.get((wanted.port, wanted.protocol))
        if addresses is None:
            return False
        return wanted.ip in _EVERY_ADDRESS or wanted.ip in addresses or not addresses.isdisjoint(_EVERY_ADDRESS)


def ports_meet(pod: Pod, others: Iterable[Pod]) -> bool:
    """Return whether the pod asks for a port of the node that another one takes."""
    return bool(pod.host_ports) and TakenPorts(others).meet(pod)


def looks_at(pod: Pod, other: Pod, namespaces: Namespaces) -> bool:
    """Return whether it matters to the pod's affinity or spread where the other one is."""
    return meets_all(pod.pod_affinity, other, namespaces) or (
        pod.namespace == other.namespace and any(is_counted(spread, other) for spread in pod.spread)
    )


def repel_each_other(pod: Pod, other: Pod, keys: Container[str], namespaces: Namespaces) -> bool:
    """Return whether a term of either, over one of these topology keys, forbids the other in the same domain."""
    return any(
        term.topology_key in keys and term_matches(term, there, namespaces)
        for here, there in ((pod, other), (other, pod))
        for term in here.pod_anti_affinity
    )


def port_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the first host port that is taken, or None; the pod's own ports never stand against each other."""
    for wanted in pod.host_ports:
        if any(ports_conflict(wanted, taken) for taken in place.ports):
            address = f"{wanted.ip}:" if wanted.ip not in _EVERY_ADDRESS else ""
            return (
                f"the node didn't have free ports for the requested pod ports: {address}{wanted.port}/{wanted.protocol}"
            )
    return None


def ports_conflict(port: HostPort, other: HostPort) -> bool:
    """Return whether two pods with these ports cannot share a node.

    An address that stands for all of them meets every other; `::` is an address like any, as for the scheduler.
    """
    return (
        port.port == other.port
        and port.protocol == other.protocol
        and (port.ip == other.ip or port.ip in _EVERY_ADDRESS or other.ip in _EVERY_ADDRESS)
    )
