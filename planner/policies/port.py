"""The port of policies: candidates for removal, proposals, and refusals by safety checks.

A policy is one file in this folder and one entry of `planner.plan.POLICIES`. It proposes and decides nothing: whether a
machine goes is decided in one place (`planner.policies.departures`), by the checks and by its pool's minimums.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Protocol

from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model.plan import BlockedMachine, DueMachines, Move, PlannedRequest, Reason
from planner.model.usage import ObservedUsage
from planner.objects.class_template import ClassTemplate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.policies.utilisation.remaining import RemainingUse
from planner.supply.allowed_types import AllowedTypes
from planner.supply.machines import Machine, PriceList


class MachineAction(StrEnum):
    """How a machine goes."""

    REMOVE = "Remove"
    """A removal begins with its cool-off."""
    CANCEL = "Cancel"
    """Its request is deleted: no server was asked for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine that its pool lets go."""

    machine: Machine
    pool: NodePool
    action: MachineAction
    """The one way in which it can go now."""

    @property
    def class_ref(self) -> ClassRef:
        """The class that its server is of."""
        return self.machine.class_ref or self.pool.spec.template.class_ref

    def blocked(self, trigger: str, reason: str, why: str) -> BlockedMachine:
        """Return the machine as one that stays, although it would go for the reason `trigger`."""
        machine, node = self.machine, self.machine.node
        return BlockedMachine(machine.pool, machine.name, "" if node is None else node.uid, trigger, reason, why)


@dataclass(frozen=True, slots=True)
class Quota:
    """A bound on the proposals that name it: so many of them may be granted in a round, the first that can be."""

    name: str
    most: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A machine that a policy wants to go."""

    machine: str
    action: MachineAction
    reason: str
    """CamelCase, stable: the reason of the removal."""
    why: str
    """One sentence."""
    at: datetime
    """From when on it holds; a later time than now wakes the planner then."""
    below_minimum: bool = False
    """It goes also where a minimum would keep it: it is no machine that a minimum can count on."""
    evicts: bool = False
    """Its pods are asked to leave: only in pools whose mode is `drain`, and within the budgets for such reasons."""
    renews: bool = False
    """Its machine is worn out: no pods move onto it any more, and where a minimum keeps it, another is bought first."""
    quota: Quota | None = None
    step: str = ""
    """Proposals of one step go all together, or none of them; empty for one that goes alone."""
    saving_per_hour: Decimal | None = None
    """Of the step, less what it buys; None where it goes for another reason than its price."""
    replacement: tuple[int, ...] = ()
    """Ordinals of the requests of this plan whose machines must be Ready before its pods are asked to leave."""
    moves: tuple[Move, ...] = ()
    """Its pods that other machines have room for."""
    shrinks: bool = False
    """It goes as too little is used: only while its pool buys nothing, and if the others can carry the rest."""


@dataclass(frozen=True, slots=True)
class PolicyView:
    """The part of a round that policies see."""

    now: datetime
    candidates: tuple[Candidate, ...]
    """Without those that go already by an earlier policy."""
    refusals: Mapping[str, str]
    """Why a check refuses a candidate, by the machine's name: a proposal about it has no effect."""
    prices: PriceList
    """What classes ask today."""
    blocker: Callable[[Candidate], Blocked | None] = lambda _: None
    """What keeps a candidate from being emptied of its pods. A policy proposes one that it would empty but for that all
    the same, alone: so it is told of."""
    pools: Sequence[NodePool] = ()
    machines: Collection[Machine] = ()
    """All there are, also those that go."""
    watched_since: datetime | None = None
    """Since when Nodes are seen without a break; None does not tell."""
    is_moving: bool = False
    """Whether pods leave machines by an earlier policy of this round: their new room is not known to others."""
    allowance: Callable[[str, str], int | None] = lambda _pool, _reason: None
    """Returns how many machines of a pool may begin to go now for a reason; None has no bound."""
    billing_periods: Mapping[str, timedelta] = field(default_factory=dict)
    """In which machines are billed, by class; none for a class that does not tell."""
    class_templates: Mapping[str, ClassTemplate] = field(default_factory=dict)
    """What machines are made with, by class, of those where it is known."""
    allowed: Mapping[str, AllowedTypes] = field(default_factory=dict)
    """What pools may buy of their class, by pool."""
    worn: Collection[str] = ()
    """Machines that earlier policies renew one after the other and that wait for their turn: pods that move there move
    once more."""
    remaining: RemainingUse | None = None
    """How much is used of pools, and what remains of them; None where no pool asks for it."""
    spares: Callable[[Candidate], Blocked | None] = lambda _: None
    """What keeps a candidate from going as too little is used."""
    usage: ObservedUsage = ObservedUsage()
    """What Nodes were seen to use."""
    shrunk_at: Mapping[str, datetime] = field(default_factory=dict)
    """When a removal last began by itself, by pool, of those that wait after that."""
    held: Collection[str] = ()
    """Machines that stay for headroom alone: they do not go for want of pods, and for any other reason only once other
    ones have room for it, where these can be had."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer of a policy in a round."""

    proposals: tuple[Proposal, ...] = ()
    """In the order in which they are granted while a minimum keeps some."""
    idle_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes; None removes it."""
    underused_since: Mapping[str, datetime | None] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes; None removes it."""
    dead_nodes: Mapping[str, Reason] = field(default_factory=dict)
    """What to report of dead Nodes, by pool."""
    requests: tuple[PlannedRequest, ...] = ()
    """What is bought in place of the machines, each only if all that name it in `replacement` go."""
    pods_since: Mapping[str, str] = field(default_factory=dict)
    """New value of the node annotation by node, only where it changes."""
    consolidation: Mapping[str, ConsolidationStatus] = field(default_factory=dict)
    """What to report of consolidation, by pool."""
    wake_at: datetime | None = None
    """When time alone may change the answer, beside the proposals of later."""
    template_hashes: Mapping[str, str] = field(default_factory=dict)
    """New value of the annotation by node, only where it changes."""
    blocked: tuple[BlockedMachine, ...] = ()
    """Machines that it would empty and that have no way out."""
    due: Mapping[str, tuple[DueMachines, ...]] = field(default_factory=dict)
    """What to report of the machines that should go by now, by pool."""
    worn: Mapping[str, str] = field(default_factory=dict)
    """Machines that are to be renewed by now, each with the reason, whether this round begins or not."""


class Policy(Protocol):
    """A rule by which machines go."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines to remove, now or later, and the annotations of nodes to write for later rounds."""
        ...


class SafetyCheck(Protocol):
    """A rule that keeps a machine, whichever policy proposes it."""

    by: ClassVar[BlockedBy]
    """What a machine is told to be kept by that a policy would empty."""

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason to keep the machine, as the rest of a sentence, or None if this check lets it go."""
        ...


class EvictionCheck(Protocol):
    """A rule that keeps a machine from being emptied of its pods."""

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine, None if this check lets it go."""
        ...
