"""Input and output of a round: snapshot and plan. No solver, no client, no clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from api.meta import Timestamp
from api.model import Payload
from api.v1alpha1.node_pool import ClassRef, NodePool, NodePoolStatus
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest, Seat
from planner.model.node_class import NodeClass
from planner.model.pool_figures import LockFigures, PoolFigures
from planner.model.saving import Potential
from planner.model.usage import ObservedUsage
from planner.objects.capacity_buffer import CapacityBuffer
from planner.objects.disruption_budget import DisruptionBudget
from planner.objects.kinds import DaemonSet, Node, Pod
from planner.objects.storage import Volumes


class PodBackoffState(Payload):
    """How long pods of a class have been without a place."""

    misses: int
    """Consecutive rounds without a place."""
    until: Timestamp | None = None
    """Left out of demand until then."""
    sought: Annotated[str | None, Field(max_length=16)] = None
    """Hash of what its affinity found; a change ends its back-off."""


class PlannerMemory(Payload):
    """The back-off of pods, which the planner workflow carries from round to round (≤ 4 KiB).

    Nothing else belongs here: what a round must remember of an object is on that object.
    Source: docs/decisions/0011-rounds-remember-on-objects.md.
    """

    backoff: Annotated[dict[str, PodBackoffState], Field(max_length=40)] = Field(default_factory=dict)
    """By pod class. Beyond the bound, the ones with the fewest misses are forgotten."""
    supply: str = Field(default="", max_length=64)
    """Hash of everything that could give a backed-off pod a place; a change ends every back-off."""


TOO_MUCH: Final = "TooMuchToJudge"
"""Code of what asks for more than a round judges: it is left out, so that others are planned."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An object that could not be read. Nothing else is stopped by it."""

    kind: str
    name: str
    """With its namespace and a slash in front, if it has one."""
    message: str
    """One line that names the field."""
    uid: str = ""
    reason: str = "Unreadable"
    """Of its event."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a round decides on."""

    now: datetime
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels by name; a namespace that is not here has no label but its name."""
    volumes: Volumes = Volumes()
    disruption_budgets: tuple[DisruptionBudget, ...] | None = ()
    """None where they may not be read: then no pod is evicted by a policy."""
    usage: ObservedUsage = ObservedUsage()
    """What Nodes were seen to use; nothing where no pool asks for it."""
    buffers: tuple[CapacityBuffer, ...] = ()
    """Those that are to be served, and those that should be and cannot; none where they are not defined."""
    buffers_due: datetime | None = None
    """When the next one is to be served that others may answer until then."""
    pools: tuple[NodePool, ...] = ()
    classes: tuple[NodeClass, ...] = ()
    requests: tuple[NodeRequest, ...] = ()
    removals: tuple[NodeRemovalRequest, ...] = ()
    protected_nodes: frozenset[str] = frozenset()
    """Nodes that carry the worker or its Temporal: never removed."""
    watched_since: datetime | None = None
    """Since when Nodes are seen without a break; None does not tell."""
    memory: PlannerMemory = PlannerMemory()
    problems: tuple[Problem, ...] = ()


class PlanResult(StrEnum):
    """The result of a round."""

    ALL_PLACED = "AllPlaced"
    NO_DEMANDS = "NoDemands"
    INCOMPLETE_PLACEMENT = "IncompletePlacement"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a pod has no place."""

    code: str
    """CamelCase, stable: part of the JSON of `growth plan`."""
    message: str
    server_type: str | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another machine that could carry the same pods."""

    server_type: str
    location: str
    pool: str
    price_per_hour: Decimal
    obstacle: Reason | None = None
    """The one thing that keeps it from being bought now."""


@dataclass(frozen=True, slots=True)
class Because:
    """Why a machine is of its type. Empty for one that no pod is on, and that a minimum asks for."""

    shares: Mapping[str, float] = field(default_factory=dict)
    """Shares that its pods use of the amounts left by DaemonSets, by resource, 0 to 1; unused ones are left out."""
    binding: str | None = None
    """The resource with the highest share."""
    runner_up: Alternative | None = None
    """The cheapest other machine that can be bought and holds these pods."""
    cheaper: Alternative | None = None
    """The cheapest one that would be bought instead but for one thing."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A machine to buy."""

    ordinal: int
    """Position in the plan; with round and run it makes the name."""
    pool: str
    pool_uid: str
    server_type: str
    location: str
    class_ref: ClassRef
    price_per_hour: Decimal
    seats: tuple[Seat, ...]
    """The pods it is for: empty for a pool minimum, and for headroom."""
    reserve: bool
    """Whether the pool keeps new machines for their pods; if not, reservedFor stays empty."""
    why: str
    """One sentence."""
    because: Because = Because()
    headroom: int = 0
    """Pods of headroom that it has room for: they have no seats."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod that existing or coming capacity takes, or that the scheduler keeps a node for."""

    pod: str
    """namespace/name."""
    node: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod without a place."""

    pod: str
    uid: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A pod that is to leave its machine for room on another one that exists."""

    pod: str
    """namespace/name."""
    node: str


@dataclass(frozen=True, slots=True)
class PlannedRemoval:
    """A machine whose removal begins now."""

    node: str
    server: str
    provider_id: str | None
    pool: str
    server_type: str
    location: str
    class_ref: ClassRef
    reason: str
    """CamelCase."""
    why: str
    """One sentence."""
    at: datetime
    """End of the cool-off."""
    saving_per_hour: Decimal | None = None
    """Of the step that it is part of, less what the step buys; None where it goes for another reason than its price."""
    replacement: tuple[int, ...] = ()
    """Ordinals of the requests of this plan whose machines must be Ready before its pods are asked to leave."""
    moves: tuple[Move, ...] = ()
    """Its pods that other machines have room for; those for new machines have seats there."""
    step: str = ""
    """The step of this plan that it is part of, with others; empty where it is alone."""


@dataclass(frozen=True, slots=True)
class KeptMachine:
    """A machine without pods that stays for the data that is on it."""

    node: str
    uid: str
    """Of its Node."""
    why: str
    """The rest of a sentence."""


@dataclass(frozen=True, slots=True)
class DueMachines:
    """The machines of a pool that should go by now for a reason."""

    trigger: str
    """The reason of their removals."""
    condition: str
    """Type of the pool's condition that reports them."""
    number: int
    report: Reason


@dataclass(frozen=True, slots=True)
class BlockedMachine:
    """A machine that a policy would let go now and that is kept for the time being."""

    pool: str
    node: str
    uid: str
    """Of its Node."""
    trigger: str
    """Reason of the removal that does not begin."""
    reason: str
    """What keeps it: CamelCase, stable."""
    why: str
    """The rest of a sentence about the machine."""


@dataclass(frozen=True, slots=True)
class RemovalCancel:
    """A cool-off that returning demand ends."""

    removal: str
    pods: tuple[str, ...] = ()
    """The first pods that want the node, as namespace/name."""
    why: str = ""
    """A sentence, where no pods want it."""


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """A Kubernetes Event to write."""

    kind: str
    name: str
    namespace: str | None
    uid: str
    reason: str
    message: str
    warning: bool = False
    machine: str = ""
    """What it is about, such as a machine, where that is not the object: one about another is another event."""


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How many machines of a pool may go at once for a reason, by the strictest budget that is open."""

    reason: str
    allowed: int | None
    """Most machines under removal at once; None has no limit."""
    used: int
    """Those under removal that count."""
    opens_at: datetime | None = None
    """When it next allows any, where it allows none."""

    @property
    def left(self) -> int | None:
        """How many more may begin, None has no limit."""
        return None if self.allowed is None else max(0, self.allowed - self.used)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a pool in dry run would do in this round."""

    pool: str
    requests: tuple[PlannedRequest, ...] = ()
    removals: tuple[PlannedRemoval, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolReport:
    """A pool after the round."""

    name: str
    status: NodePoolStatus
    delta: int
    """Machines bought less machines whose removal began."""
    utilisation: Mapping[str, float] = field(default_factory=dict)
    """Requested share of the allocatable cpu and memory of its ready nodes, 0 to 1; for display only."""
    budget: tuple[BudgetState, ...] = ()
    """By reason; none for a pool that is being deleted."""
    due: Mapping[str, int] = field(default_factory=dict)
    """Machines that should go by now for each reason that replaces them, also those that may not yet."""
    bounds: str = ""
    """Its bounds in words while a window of its schedule is open, else empty."""
    lock: LockFigures | None = None
    """None in a pool without one, or that has not bought yet."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions of a round. So specific that carrying them out needs no further one."""

    result: PlanResult
    requests: tuple[PlannedRequest, ...] = ()
    placed: tuple[Placed, ...] = ()
    nominated: tuple[Placed, ...] = ()
    """Pods that the scheduler keeps a node for, by preemption or while it binds volumes: they are no demand."""
    unplaced: tuple[Unplaced, ...] = ()
    reservations: Mapping[str, tuple[Seat, ...]] = field(default_factory=dict)
    """New reservedFor by request name, only where it changes."""
    removals: tuple[PlannedRemoval, ...] = ()
    removal_cancels: tuple[RemovalCancel, ...] = ()
    cancelled: tuple[str, ...] = ()
    """Requests without a server and without demand: delete them."""
    kept_machines: tuple[KeptMachine, ...] = ()
    """Machines without pods that stay for the data that is on them."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Machines without pods that stay for headroom, by name, and whose: the end of a sentence."""
    buffers: tuple[CapacityBuffer, ...] = ()
    """Those of the snapshot."""
    short_buffers: Mapping[str, Reason] = field(default_factory=dict)
    """Why CapacityBuffers have less room than they ask for, by namespace/name."""
    blocked: tuple[BlockedMachine, ...] = ()
    """Machines that policies would let go now and that are kept, each once."""
    template_hashes: Mapping[str, str] = field(default_factory=dict)
    """New value of the annotation with the hash of its template by node name, only where it changes."""
    idle_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the node annotation by node name, only where it changes; None removes it."""
    underused_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the node annotation by node name, only where it changes; None removes it."""
    pods_since: Mapping[str, str] = field(default_factory=dict)
    """New value of the node annotation by node name, only where it changes."""
    potential: Potential | None = None
    """What pools would save that do not consolidate; None in a round that has not looked."""
    pools: tuple[PoolReport, ...] = ()
    figures: Callable[[], Mapping[str, PoolFigures]] = field(default=dict, compare=False, repr=False)
    """What was counted of each pool, by name: for whoever shows it, as no decision needs all of it."""
    dry_runs: tuple[DryRun, ...] = ()
    """What pools in dry run would do, and do not."""
    events: tuple[PlannedEvent, ...] = ()
    problems: tuple[Problem, ...] = ()
    memory: PlannerMemory = PlannerMemory()
    wake_at: datetime | None = None
    """The next moment at which time alone changes the answer (idle, back-off, Unmet)."""
    cost_per_hour: Decimal = Decimal(0)
    """Of `requests`."""
    lower_bound_per_hour: Decimal = Decimal(0)
    """No plan for the same demand on new machines, chosen as priorities say, can cost less."""
    choice_costs_per_hour: Decimal = Decimal(0)
    """What the machines cost more than those that price alone would buy for the same pods."""
    optimal: bool = False
    """Cost and bound are equal."""
    currency: str = ""
