"""Pods, nodes and DaemonSets as the planner needs them: frozen, exact, parsed once from API JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from planner.offering import ResourceVector


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a pod puts up with. An empty key with Exists tolerates everything."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Taint:
    """What a node asks pods to tolerate."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a selector: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of a pod."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod."""

    namespace: str
    name: str
    uid: str
    requests: ResourceVector
    """Effective request: containers, init containers and overhead, plus pods: 1."""
    labels: Mapping[str, str] = field(default_factory=dict)
    node_name: str = ""
    phase: str = "Pending"
    owner: Owner | None = None
    node_selector: tuple[Requirement, ...] = ()
    """nodeSelector as In requirements; all must hold."""
    node_affinity: tuple[tuple[Requirement, ...], ...] = ()
    """Required terms: one must hold; empty means no condition."""
    tolerations: tuple[Toleration, ...] = ()
    hostname_anti_affinity: tuple[tuple[Requirement, ...], ...] = ()
    """Required anti-affinity over kubernetes.io/hostname within its namespace, as label selectors."""
    priority: int = 0
    is_daemon: bool = False
    is_mirror: bool = False
    is_terminating: bool = False
    is_gated: bool = False
    is_unschedulable: bool = False
    """The scheduler said so (PodScheduled=False, reason Unschedulable)."""
    created_at: datetime | None = None
    unjudged: tuple[str, ...] = ()
    """Constraints that the planner does not judge yet, as field paths: reported, never guessed."""

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node."""

    name: str
    uid: str
    allocatable: ResourceVector
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_ready: bool = False
    is_cordoned: bool = False
    is_terminating: bool = False
    provider_id: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A DaemonSet: what it will take from every node that its pods run on."""

    namespace: str
    name: str
    uid: str
    template: Pod
