"""Whether the host ports that a pod asks for are free on the node.

Source: kube-scheduler's plugin NodePorts.
"""

from typing import Final

from planner.objects.kinds import HostPort, Pod
from planner.scheduling.site import Occupancy

_EVERY_ADDRESS: Final = ("", "0.0.0.0")  # noqa: S104 - names what a pod asked for, opens nothing


def port_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return the first host port that is taken, or None; the pod's own ports never stand against each other."""
    for wanted in pod.host_ports:
        if any(ports_conflict(wanted, taken) for taken in place.ports):
            address = f"{wanted.ip}:" if wanted.ip not in _EVERY_ADDRESS else ""
            return (
                f"the node didn't have free ports for the requested pod ports: {address}{wanted.port}/{wanted.protocol}"
            )
    return None


def ports_conflict(one: HostPort, other: HostPort) -> bool:
    """Return whether two pods with these ports cannot share a node.

    An address that stands for all of them meets every other; `::` is an address like any, as for the scheduler.
    """
    return (
        one.port == other.port
        and one.protocol == other.protocol
        and (one.ip == other.ip or one.ip in _EVERY_ADDRESS or other.ip in _EVERY_ADDRESS)
    )
