"""What a pod uses besides resources: ports of its node, and volumes.

Source: Kubernetes docs, "Pod: hostPort", "Sidecar containers", "Ephemeral volumes"; the scheduler's GetHostPorts.
"""

from collections.abc import Iterator
from typing import Final

from planner.objects.kinds import HostPort
from planner.parsing.json_part import Part

_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared with, not listened on
_INLINE_DISKS: Final = (
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "gcePersistentDisk",
    "iscsi",
    "portworxVolume",
    "rbd",
)
"""Disks named in the pod itself, of old plugins: they count against a node's limit, or may be mounted once only."""


def host_ports(spec: Part) -> tuple[HostPort, ...]:
    """Return the ports of the node that containers and sidecars take; with hostNetwork these are all their ports.

    Only "" and 0.0.0.0 are every address, as for the scheduler: `::` is an address like others.

    Raises:
        FieldError: a field cannot be read.
    """
    on_host = spec.flag("hostNetwork")
    ports: list[HostPort] = []
    for container in _lasting(spec):
        for part in container.parts("ports"):
            # The API server fills in hostPort on the host network; pods from files and templates lack that.
            number = part.number("hostPort") or (part.number("containerPort") if on_host else 0)
            if number > 0:
                ip = part.text("hostIP")
                ip = "" if ip == _EVERY_ADDRESS else ip
                ports.append(HostPort(port=number, protocol=part.text("protocol") or "TCP", ip=ip))
    return tuple(dict.fromkeys(ports))


def claims(spec: Part, pod: str) -> tuple[str, ...]:
    """Return the names of the persistent volume claims that the pod of this name uses.

    Raises:
        FieldError: a field cannot be read.
    """
    names: list[str] = []
    for volume in spec.parts("volumes"):
        if volume.has("persistentVolumeClaim"):
            names.append(volume.part("persistentVolumeClaim").name("claimName"))
        elif volume.has("ephemeral"):
            names.append(f"{pod}-{volume.name('name')}")
    return tuple(dict.fromkeys(names))


def inline_disks(spec: Part) -> Iterator[str]:
    """Yield the paths of volumes that the planner does not judge.

    Raises:
        FieldError: a field cannot be read.
    """
    for volume in spec.parts("volumes"):
        yield from (volume.where(kind) for kind in _INLINE_DISKS if volume.has(kind))


def _lasting(spec: Part) -> Iterator[Part]:
    """Yield the containers that run as long as the pod does."""
    yield from (c for c in spec.parts("initContainers") if c.text("restartPolicy") == "Always")
    yield from spec.parts("containers")
