"""Pods, nodes and DaemonSets as the planner needs them: frozen, exact, parsed once from API JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from api.keys import LABEL_HOSTNAME, TAINT_REMOVE_NOW
from planner.objects.offering import ResourceVector
from planner.objects.stays import Stay


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
    added_at: datetime | None = field(default=None, compare=False)
    """Since when, where that is told: two taints are the same whenever they were set."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a selector: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredNodes:
    """A preferred term of node affinity."""

    weight: int
    """1 to 100."""
    term: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A term of pod affinity or anti-affinity."""

    topology_key: str
    selector: tuple[Requirement, ...] | None = None
    """Which pods: None selects none, no requirements select all."""
    namespaces: frozenset[str] = frozenset()
    """Where it looks by name: the pod's own namespace where the term says nothing."""
    namespace_selector: tuple[Requirement, ...] | None = None
    """Where it looks by the labels of namespaces: None is not given, no requirements select all."""


@dataclass(frozen=True, slots=True)
class PreferredPods:
    """A preferred term of pod affinity or anti-affinity."""

    weight: int
    """1 to 100."""
    term: PodTerm


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint."""

    topology_key: str
    max_skew: int
    selector: tuple[Requirement, ...] | None = None
    """Which pods of the namespace count: None counts none, no requirements count all."""
    min_domains: int = 1
    honors_node_affinity: bool = True
    """Only nodes that the pod's nodeSelector and node affinity want make domains."""
    honors_node_taints: bool = False
    """Only nodes whose taints the pod tolerates make domains."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences of a pod: it runs without them, too."""

    nodes: tuple[PreferredNodes, ...] = ()
    near: tuple[PreferredPods, ...] = ()
    apart: tuple[PreferredPods, ...] = ()
    spread: tuple[Spread, ...] = ()
    """With ScheduleAnyway."""

    @property
    def chooses_kinds(self) -> bool:
        """Whether some kinds of machines are preferred to others: preferences over the host name choose none."""
        others = (*(preferred.term for preferred in (*self.near, *self.apart)), *self.spread)
        return bool(self.nodes) or any(other.topology_key != LABEL_HOSTNAME for other in others)


NO_PREFERENCES: Final = Preferences()


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod takes."""

    port: int
    protocol: str = "TCP"
    ip: str = ""
    """Empty is every address of the node."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of a pod."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What the scheduler said of a pod last, in its condition PodScheduled."""

    is_told: bool = False
    """Whether it said anything yet."""
    since: datetime | None = None
    """When the pod was bound, or since when it is not; a refusal that is repeated does not change it."""
    message: str = ""
    """Its words; they change where another try had another result."""


NOT_YET_SCHEDULED: Final = Scheduled()


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
    nominated_node: str = ""
    """Node that the scheduler keeps for it while it is not bound yet: see `counted_pods.heeded`."""
    phase: str = "Pending"
    owner: Owner | None = None
    node_selector: tuple[Requirement, ...] = ()
    """nodeSelector as In requirements; all must hold."""
    node_affinity: tuple[tuple[Requirement, ...], ...] = ()
    """Required terms: one must hold; empty means no condition."""
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    """Required terms."""
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    """Required terms."""
    spread: tuple[Spread, ...] = ()
    """What must hold (DoNotSchedule)."""
    preferences: Preferences = NO_PREFERENCES
    host_ports: tuple[HostPort, ...] = ()
    claims: tuple[str, ...] = ()
    """Names of the persistent volume claims that it uses, in its namespace."""
    volume_terms: tuple[tuple[tuple[Requirement, ...], ...], ...] = ()
    """For each volume that is tied to some nodes, the terms of which one must hold."""
    attachments: tuple[tuple[str, str], ...] = ()
    """CSI driver and handle of each volume that counts against a node's limit."""
    blocked_by: str = ""
    """Why no node at all can take it now, such as a claim that does not exist."""
    over_budget: str = ""
    """What it asks for more of than a round judges: nothing of it is judged then."""
    priority: int = 0
    deletion_cost: int = 0
    """What its owner says of it beside others, by controller.kubernetes.io/pod-deletion-cost."""
    is_daemon: bool = False
    is_mirror: bool = False
    is_per_node: bool = False
    """It is part of its node, without being a DaemonSet's: see `planner.objects.eviction`."""
    misread: str = ""
    """What its annotations about eviction say that means nothing."""
    stays: tuple[Stay, ...] = ()
    """What keeps it from being evicted, each as long as it holds: see `planner.objects.stays`."""
    is_safe_to_evict: bool = False
    """It says so: it may be evicted whatever it has."""
    is_ready: bool = False
    is_terminating: bool = False
    ends_at: datetime | None = None
    """While it terminates: when its time to end is over."""
    is_gated: bool = False
    is_unschedulable: bool = False
    """The scheduler said so (PodScheduled=False, reason Unschedulable)."""
    scheduler: str = ""
    """Name of its scheduler; empty is the default one."""
    scheduled: Scheduled = NOT_YET_SCHEDULED
    created_at: datetime | None = None
    is_unreadable: bool = False
    """Only its place is known: it takes nobody can tell how much of its node."""
    system: str = ""
    """Operating system (spec.os): the scheduler does not look at it, and the kubelet of another one refuses the pod."""
    unjudged: tuple[str, ...] = ()
    """Constraints that the planner does not judge yet, as field paths: reported, never guessed."""

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_headroom(self) -> bool:
        """Whether it does not exist and stands for room that a pool keeps free: real pods have a namespace."""
        return not self.namespace

    @property
    def lands_on(self) -> str:
        """Name of the node that it is on or on its way to; empty if there is none."""
        return self.node_name or self.nominated_node

    @property
    def is_of_node(self) -> bool:
        """Whether it belongs to the node that it is on, and goes with it: no machine stays for it."""
        return self.is_daemon or self.is_mirror or self.is_per_node

    @property
    def is_finished(self) -> bool:
        """Whether it has ended by itself: it takes nothing any more, and the scheduler does not see it."""
        return self.phase in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """What a Node says of itself, or a program says of it, besides whether it is Ready."""

    type: str
    status: str
    since: str
    """When its status last changed, as the API server has it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node."""

    name: str
    uid: str
    allocatable: ResourceVector
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    capacity: ResourceVector = field(default_factory=dict)
    """Of the machine, as the kubelet tells it: what pods can have is `allocatable`."""
    taints: tuple[Taint, ...] = ()
    is_ready: bool = False
    is_cordoned: bool = False
    is_terminating: bool = False
    provider_id: str = ""
    created_at: datetime | None = None
    ready_since: datetime | None = None
    """When it turned Ready, where it is and tells."""
    unready_since: datetime | None = None
    """When its condition Ready last changed, where it is not Ready and tells."""
    conditions: tuple[NodeCondition, ...] = ()
    """All but Ready."""
    drivers: frozenset[str] = frozenset()
    """CSI drivers that have registered on it."""
    attach_limits: Mapping[str, int] = field(default_factory=dict)
    """How many volumes of each CSI driver can be attached; a driver that is not here has no limit."""
    topology_keys: frozenset[str] = frozenset()
    """Labels by which its CSI drivers say where volumes can be used from."""

    @property
    def remove_now(self) -> str | None:
        """The value of the taint growth.dev/remove-now, None without it."""
        return next((taint.value for taint in self.taints if taint.key == TAINT_REMOVE_NOW), None)

    @property
    def takes_pods(self) -> bool:
        """Whether the scheduler may send pods that its taints and labels let in."""
        return self.is_ready and not self.is_cordoned and not self.is_terminating


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A DaemonSet, with the template of its pods."""

    namespace: str
    name: str
    uid: str
    template: Pod
    generation: int = 0
    """Of its template, 0 where it does not tell: its pods have the same as a label."""
    refusal: str = ""
    """Why the API server takes none of its pods as the template is; empty if it takes them."""
