"""A node class as a round sees it: what it offers, and what is known of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import ClassRef
from planner.objects.class_template import ClassTemplate
from planner.objects.offering import Offering


@dataclass(frozen=True, slots=True)
class NodeClass:
    """A class as the planner sees it, whatever its kind."""

    ref: ClassRef
    offerings: tuple[Offering, ...]
    status: NodeClassStatus = NodeClassStatus()
    generation: int = 0
    problem: str = ""
    """Why its offerings cannot be used; empty when they can."""
    barrier: str = ""
    """Why nothing of it is bought on this cluster, though its offerings can be read; empty where it can be."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """Why it can never have a server type that a pool names, a sentence by type; only where something is known."""
    billing_period: timedelta | None = None
    """The time that each machine is billed for as soon as it begins, from its creation on; None if that is unknown."""
    template: ClassTemplate | None = None
    """What its machines are made with; None where that cannot be told, so that none of them drifts."""
