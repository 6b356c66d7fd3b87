"""A node as the scheduler sees it, and the resources that its pods take."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.objects.counted_pods import residents_by_node
from planner.objects.kinds import HostPort, Node, Pod, Taint
from planner.objects.offering import ResourceVector
from planner.objects.predicates import FIELD_NAME


@dataclass(frozen=True, slots=True)
class Site:
    """A node, or a machine to come, with the pods that are on it.

    A node that is not ready is one that carries the taints of such a node: the scheduler looks at nothing else.
    """

    name: str
    allocatable: ResourceVector
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    attach_limits: Mapping[str, int] = field(default_factory=dict)
    pods: tuple[Pod, ...] = ()
    nominated: tuple[Pod, ...] = ()
    """Pods that the scheduler keeps it for, bound nowhere yet."""


def sites_of(nodes: Iterable[Node], pods: Iterable[Pod]) -> tuple[Site, ...]:
    """Return each node with its pods; terminating ones count until they are gone, finished ones do not."""
    residents = residents_by_node(pods)
    return tuple(
        Site(
            name=node.name,
            allocatable=node.allocatable,
            labels=node.labels,
            taints=node.taints,
            is_cordoned=node.is_cordoned,
            attach_limits=node.attach_limits,
            pods=tuple(pod for pod in residents.get(node.name, ()) if pod.node_name),
            nominated=tuple(pod for pod in residents.get(node.name, ()) if not pod.node_name),
        )
        for node in nodes
    )


class Occupancy:
    """The pods of a site, counted once for many questions.

    Attributes:
        site: the node.
        labels: of the node, and its name as matchFields asks for it.
        pods: by their namespace.
        used: amounts that they request together.
        ports: host ports that they take.
        attached: CSI driver and handle of each volume that they use, once each.
    """

    __slots__ = ("attached", "labels", "pods", "ports", "site", "used")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.labels: Mapping[str, str] = {**site.labels, FIELD_NAME: site.name}
        self.pods: dict[str, list[Pod]] = {}
        self.used: dict[str, int] = {}
        self.ports: set[HostPort] = set()
        self.attached: set[tuple[str, str]] = set()
        for pod in site.pods:
            self.add(pod)

    def add(self, pod: Pod) -> None:
        """Count one more pod."""
        self.pods.setdefault(pod.namespace, []).append(pod)
        for name, amount in pod.requests.items():
            self.used[name] = self.used.get(name, 0) + amount
        self.ports.update(pod.host_ports)
        self.attached.update(pod.attachments)


Occupancies = Sequence[Occupancy]
"""All sites of a cluster."""
