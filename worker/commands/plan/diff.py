"""What changes from one plan to another: machines to buy, pods with and without a place, what leaves. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

from planner.model.plan import Placed, Plan, PlannedRemoval, PlannedRequest, Reason, Unplaced
from worker.commands.plan.document import request_name

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MachineChange:
    """Machines to buy of one type, of one pool, in one location and at one price."""

    pool: str
    server_type: str
    location: str
    price_per_hour: Decimal
    """Of one."""
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class NewlyPlaced:
    """A pod that has a place only in the plan after."""

    pod: str
    node: str | None
    request: str | None
    """A request that exists already, or the name of a machine to buy."""
    reasons: tuple[Reason, ...]
    """Why it had no place before; empty if it was not asked for."""


@dataclass(frozen=True, slots=True)
class PlanChange(Generic[T]):
    """What only one of the plans has."""

    dropped: tuple[T, ...]
    """Only the plan before."""
    added: tuple[T, ...]
    """Only the plan after."""


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """What changes from one plan to another, in an order that depends on the plans alone."""

    before: Plan
    after: Plan
    machines: tuple[MachineChange, ...]
    """All machines to buy, also those that both plans buy; by pool, type, location and price."""
    placed: tuple[NewlyPlaced, ...]
    unplaced: tuple[Unplaced, ...]
    """Pods without a place, only in the plan after."""
    removals: PlanChange[PlannedRemoval]
    cancelled: PlanChange[str]
    """Names of requests that are given up."""
    cancelled_removals: PlanChange[str]
    """Names of removals that are cancelled."""

    @property
    def cost_difference(self) -> Decimal | None:
        """By how much the plan after costs more per hour, below zero if less; None between two currencies."""
        before, after = self.before, self.after
        if before.currency != after.currency and before.requests and after.requests:
            return None
        return after.cost_per_hour - before.cost_per_hour

    @property
    def is_empty(self) -> bool:
        """Whether both plans buy the same at the same price, place as many pods, and let the same leave."""
        changes = (self.removals, self.cancelled, self.cancelled_removals)
        return not (
            any(machines.before != machines.after for machines in self.machines)
            or self.placed
            or self.unplaced
            or any(change.dropped or change.added for change in changes)
            or counts(self.before) != counts(self.after)
            or self.before.currency != self.after.currency
        )


def compare(before: Plan, after: Plan) -> PlanDiff:
    """Return the changes from one plan to the other."""
    had = set(_places(before))
    missed = {entry.pod: entry.reasons for entry in before.unplaced}
    return PlanDiff(
        before=before,
        after=after,
        machines=_machines(before, after),
        placed=tuple(
            NewlyPlaced(pod, place.node, place.request, missed.get(pod, ()))
            for pod, place in sorted(_places(after).items())
            if pod not in had
        ),
        unplaced=tuple(entry for entry in sorted(after.unplaced, key=lambda e: e.pod) if entry.pod not in missed),
        removals=_change(before.removals, after.removals, lambda r: (r.node, r.reason, r.at)),
        cancelled=_change(before.cancelled, after.cancelled, str),
        cancelled_removals=_change(
            [cancel.removal for cancel in before.removal_cancels],
            [cancel.removal for cancel in after.removal_cancels],
            str,
        ),
    )


def counts(plan: Plan) -> tuple[int, int]:
    """Return the number of pods with a place on new or other machines, and of those without one."""
    return len(_places(plan)), len(plan.unplaced)


def _places(plan: Plan) -> dict[str, Placed]:
    """Return the place of each pod that the plan places; a machine to buy goes by its name in the plan."""
    on_new = {
        f"{seat.namespace}/{seat.name}": Placed(f"{seat.namespace}/{seat.name}", request=request_name(request))
        for request in plan.requests
        for seat in request.seats
    }
    return on_new | {placed.pod: placed for placed in plan.placed}


def _machines(before: Plan, after: Plan) -> tuple[MachineChange, ...]:
    old, new = Counter(map(_kind, before.requests)), Counter(map(_kind, after.requests))
    return tuple(MachineChange(*kind, before=old[kind], after=new[kind]) for kind in sorted(old | new))


def _kind(request: PlannedRequest) -> tuple[str, str, str, Decimal]:
    return request.pool, request.server_type, request.location, request.price_per_hour


def _change(before: Iterable[T], after: Iterable[T], key: Callable[[T], object]) -> PlanChange[T]:
    old, new = {key(one): one for one in before}, {key(one): one for one in after}
    return PlanChange(
        dropped=tuple(one for name, one in old.items() if name not in new),
        added=tuple(one for name, one in new.items() if name not in old),
    )
