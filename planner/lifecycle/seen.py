"""Observations of the outside by activities, as small as step functions need: each is kept in a history."""

from datetime import timedelta
from enum import StrEnum
from typing import Any

from pydantic import Field

from api.duration import Duration
from api.meta import Timestamp
from api.model import Payload
from api.v1alpha1.node_removal_request import REPLACED_BY_AT_MOST, NodeRemovalRequestStatus
from api.v1alpha1.node_request import NodeRequestStatus
from planner.lifecycle.step import DecisionKind


class ServerSeen(StrEnum):
    """The state of a server, as the provider reports it."""

    UNKNOWN = "unknown"
    """It was not asked or gave no answer."""
    ABSENT = "absent"
    """NotFound. Believed only some time after the last create call."""
    FOREIGN = "foreign"
    """A server of that name exists, of another request."""
    CREATING = "creating"
    RUNNING = "running"
    BROKEN = "broken"
    DELETING = "deleting"


class NodeSeen(Payload):
    """The Node of a request or removal."""

    name: str
    ready: bool
    missing: str = ""
    """What it lacks for its planned pods beside its readiness; empty when nothing. Seen while some are awaited."""
    unregistered: bool = False
    """It still carries the startup taint."""
    reserved: bool = False
    """It carries the taint of this request's reservation."""
    scale_down: bool = False
    """It carries the scale-down taint."""
    keep: bool = False
    """A person annotated it do-not-remove."""
    kept_by: str = ""
    """The annotation of another autoscaler that keeps it from a policy's drain; empty for other removals."""
    balanced: bool = False
    """Load balancers may send it something: it lacks the label by which they leave it out."""
    excluded: bool = False
    """It carries that label, by Growth."""
    foreign: bool = False
    """It is not the Node of the machine that a removal is about: it must stay as it is."""


class LifecycleObservation(Payload):
    """The observation of an object that every kind of lifecycle makes."""

    exists: bool = True
    """The object with this uid exists."""
    crds_going: bool = False
    """One of our CRDs is gone or going: no provider call, drop the finalizers."""
    deleting: bool = False
    """The object has a deletionTimestamp."""
    pool: str = ""
    """Name of the pool, for the Temporal UI."""
    named_deadline: Timestamp | None = None
    """The deadline that the object names for what it waits for: it may be judged later."""
    status: Any = None
    """The object's status, without its events. Each kind has its own; its phase and reason are shown to people."""


class RequestTimings(Payload):
    """Durations of the pool, or the defaults when the pool is gone."""

    provisioning_timeout: Duration = timedelta(minutes=10)
    join_timeout: Duration = timedelta(minutes=15)
    unavailable_ttl: Duration = timedelta(seconds=120)
    failed_ttl: Duration = timedelta(minutes=30)
    record_ttl: Duration = timedelta(minutes=10)


class RequestObservation(LifecycleObservation):
    """A NodeRequest and what belongs to it."""

    status: NodeRequestStatus = NodeRequestStatus()
    """Without its events, and with deadlines that are later where nobody could see: `clocks.deadlines`."""
    server: ServerSeen = ServerSeen.UNKNOWN
    server_progresses: bool = False
    """While it is created: the provider says that it works on it."""
    server_problem: str = ""
    """What the provider says is wrong with a broken one."""
    node: NodeSeen | None = None
    namesake: str = ""
    """Why the Node of the machine's name is not taken for its own, if one is there."""
    seats: int = 0
    """Pods the machine is kept for."""
    awaited: int = 0
    """Of those, pods that are not bound: waiting, or gone and not yet replaced or dropped by a round."""
    untolerated: int = 0
    """Of those, waiting pods that do not tolerate the reservation yet."""
    tried: bool | None = None
    """The scheduler has tried one of its pods since the Node lets them in; None where that cannot be seen."""
    bound: int = 0
    """Pods bound to the Node, DaemonSet and mirror pods left out."""
    unsettled: int = 0
    """Other requests of the pool whose planned pods are on their way; looked at once this one has all of its own."""
    unneeded: bool = False
    """It was to replace a machine, no server was asked for, and neither a removal nor a pod waits for it."""
    held_by: str = ""
    """The removal whose pods the machine is kept for until they have come, where one names it."""
    others: int = 0
    """Other requests whose machine is on its way or kept for its pods."""
    offering_unavailable_until: Timestamp | None = None
    """The offering turned out to have no capacity."""
    buying_paused_until: Timestamp | None = None
    """The account may not have more: nothing of the class is bought."""
    pause_message: str = ""
    """What the provider said of that."""
    class_barrier: str = ""
    """Why nothing of the class is bought on this cluster; empty where it can be."""
    refused_part: str = ""
    """What of the class cannot be had, where that is not all of it, such as "dedicated cores"."""
    timings: RequestTimings = RequestTimings()


class RemovalTimings(Payload):
    """Durations of the pool, or the defaults when the pool is gone."""

    soft_grace: Duration = timedelta(minutes=1)
    hard_grace: Duration | None = None
    """From the beginning of a person's drain; None is never."""
    drain_timeout: Duration | None = None
    """Of a drain that a round began; None is the default."""
    termination_grace_period: Duration | None = None
    """From the beginning of a drain that a round began; None is never."""
    max_attempts: int = 5
    retry: Duration = timedelta(seconds=30)
    parked_retry: Duration = timedelta(hours=4)


class DecisionSeen(Payload):
    """What a person wrote on a removal with the annotation `growth.dev/decision`."""

    word: str = Field(max_length=64)
    """What is asked for: perhaps none of the words that there are."""
    reason: str = Field(default="", max_length=512)
    """Why, from `growth.dev/decision-reason`."""
    by: str = Field(default="Annotation", max_length=64)
    """The field manager that wrote it, such as kubectl-annotate, if known."""

    @property
    def kind(self) -> DecisionKind | None:
        """The decision that the word means, None if it means none."""
        word = self.word.lower()
        return DecisionKind(word) if word in set(DecisionKind) else None


class Blocker(StrEnum):
    """What keeps a pod where it is: reason of the removal meanwhile. The first one of them is told."""

    ANNOTATION = "BlockedByAnnotation"
    """A person annotated it do-not-remove, or it says that it is not safe to evict."""
    BARE_POD = "BlockedByBarePod"
    """No controller would start it again elsewhere."""
    LOCAL_STORAGE = "BlockedByLocalStorage"
    """What it keeps on the node would be lost."""
    TERMINATING = "BlockedByTerminating"
    """It has been asked to end, its time is over, and it is still there."""


class DrainLimit(StrEnum):
    """What ends the patience of a drain that a round began, the first of those that are due first."""

    GIVEN_UP = "given up"
    TELL = "tell"
    """Pods and Node hear of the deadline."""
    FORCE = "force"
    """A pod is deleted, whatever keeps it, to end by the deadline."""


class DrainSeen(Payload):
    """The pods on a node that is drained."""

    in_turn: int = 0
    """Pods that shall leave now, system-critical ones once all others are gone."""
    terminating: int = 0
    """Pods that leave."""
    blocker: Blocker | None = None
    """What blocks the drain."""
    blockers: tuple[str, ...] = Field(default=(), max_length=6)
    """Pods that block it, each with its reason; the first five, then how many more."""
    limit: DrainLimit | None = None
    """What comes next of the limits of a drain that a round began."""
    limit_at: Timestamp | None = None
    """When that comes."""
    deadline: Timestamp | None = None
    """By when the last pods have ended, whatever keeps them."""
    daemons: int = 0
    """DaemonSet pods that are to leave after all others, or have their time to end."""
    is_told: bool = False
    """The removal says so already."""


class PodsAwaited(Payload):
    """Pods that end by themselves: none on the node is asked to leave until then."""

    until: Timestamp | None = None
    """From when on they are deleted; None is never."""
    is_told: bool = False
    """The removal says so already."""


class VolumesSeen(Payload):
    """The volumes attached to a machine that goes, those left out that pods on it still use."""

    count: int = 0
    names: tuple[str, ...] = Field(default=(), max_length=6)
    """The first five, then how many more."""
    is_told: bool = False
    """The removal says so already."""
    problem: str = ""
    """Why they cannot be seen; empty when they can."""


class LocalDataSeen(Payload):
    """Data that is on the machine alone and would go with its server."""

    count: int = 0
    """How many names there are."""
    names: tuple[str, ...] = Field(default=(), max_length=4)
    """The first volumes in words, then how many more."""
    ends_removal: bool = False
    """A round made the removal, and makes another once the data is gone."""
    is_told: bool = False
    """The removal says so already."""


class PerNodePodsSeen(Payload):
    """Pods that belong to the node and may be evicted."""

    refusal: str = ""
    """Why one of them may not be now; empty if they may, or were not asked about."""
    is_told: bool = False
    """The removal says so already."""


class ReplacementSeen(Payload):
    """The machines that are to take the place of one that goes, until its point of no return."""

    names: tuple[str, ...] = Field(default=(), max_length=REPLACED_BY_AT_MOST)
    is_ready: bool = False
    """All of them are."""
    awaited: tuple[str, ...] = Field(default=(), max_length=REPLACED_BY_AT_MOST)
    """Those that are not Ready, each with where it stands."""
    lost: str = ""
    """Why one of them does not come, as a sentence; empty while all may."""
    within: Duration = timedelta(minutes=25)
    """How long they have to become Ready, by their pools."""
    judged_at: Timestamp | None = None
    """From when on those that are late may be given up, where nobody could see them for a while."""
    unready_since: Timestamp | None = None
    """During a drain: since when one that was Ready is not."""


class SuccessorsSeen(Payload):
    """Pods that take over for those that have left an empty machine, and that are bound nowhere."""

    count: int = 0
    names: tuple[str, ...] = Field(default=(), max_length=5)
    """The first of them, as namespace/name."""
    since: Timestamp | None = None
    """When the oldest of them was created."""


class RemovalObservation(LifecycleObservation):
    """A NodeRemovalRequest and what belongs to it."""

    immediate: bool = False
    """No cool-off, no look for pods."""
    create_attempt_at: Timestamp | None = None
    """When the server was asked for."""
    status: NodeRemovalRequestStatus = NodeRemovalRequestStatus()
    """Without its events."""
    decision: DecisionSeen | None = None
    """What a person asks for by annotation; it stays there until it is answered."""
    server: ServerSeen = ServerSeen.UNKNOWN
    server_problem: str = ""
    """What the provider says is wrong with a broken one, such as a deletion that it began and that failed."""
    node: NodeSeen | None = None
    occupants: tuple[str, ...] = Field(default=(), max_length=5)
    """Pods on the node that count, or on their way to it by nomination, as namespace/name; the first five."""
    occupant_count: int = 0
    """How many there are."""
    may_drain: bool = False
    """Pods that are on the node after the cool-off are asked to leave. Else the node stays for them."""
    drain: DrainSeen = DrainSeen()
    """Those pods, once the node is drained."""
    awaited: PodsAwaited | None = None
    """Pods that are on the node after the cool-off are waited for, as the mode of the pool is `wait`; else None."""
    withdrawn: str = ""
    """Why nobody wants the machine to go any more, as a sentence; empty where somebody does."""
    alive: str = ""
    """Why a machine that goes as a dead one is none, as a sentence; empty for all others."""
    judged_at: Timestamp | None = None
    """From when on a machine that goes as a dead one counts as dead."""
    gone_pods: int = 0
    """Pods on a dead Node that should have ended: they count as gone with its server, and are no occupants."""
    volumes: VolumesSeen = VolumesSeen()
    """What is attached to it, from the point of no return until the first delete call."""
    local_data: LocalDataSeen = LocalDataSeen()
    """Data that keeps the machine before its point of no return, unless a person lets it go."""
    per_node_pods: PerNodePodsSeen = PerNodePodsSeen()
    """Of a node without other pods, asked about before its cool-off and before its point of no return."""
    replacement: ReplacementSeen | None = None
    """The machines that replace it; None if none does."""
    moves: int = 0
    """Its pods that other machines have room for."""
    ahead: str = ""
    """The removal of the same step whose machine is emptied first; empty if it is this one's turn."""
    cut_off: bool = False
    """It has not begun, and others of its step were never written, or have ended."""
    successors: SuccessorsSeen = SuccessorsSeen()
    """Once pods that were to move have left it."""
    others: int = 0
    """Other removals that are under way."""
    timings: RemovalTimings = RemovalTimings()
