"""Dry run: pools whose rounds only tell what they would do.

A round plans as if such a pool could neither buy nor give up a machine, so what it would buy keeps no pod from a
machine that another pool does buy. Then it plans once more, with those pools open, for what they tell. Nothing is
written for them: what is under way ends as it began, and what a person orders goes on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final, TypeVar

from api.keys import ANNOTATION_IDLE_SINCE, ANNOTATION_UNDERUSED_SINCE, LABEL_POOL
from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from planner.lifecycle.step import shortened
from planner.model.plan import DryRun, Plan, PlannerMemory, Reason, Snapshot
from planner.objects.kinds import Node
from planner.policies.port import Candidate
from planner.policies.safety.blocked import BlockedBy
from planner.supply.machine_kind import DRY_RUN
from planner.supply.machines import Machine
from planner.supply.places import Place, Rank

_NAMED: Final = 5
"""Machines that a message names; the rest is counted."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DryPool:
    """Keeps the machines and requests of pools in dry run, whoever proposes them."""

    by: ClassVar = BlockedBy.DRY_RUN

    def refuses(self, candidate: Candidate) -> str | None:
        """Return the reason if its pool is in dry run."""
        name = candidate.pool.metadata.name
        return f"pool {name} says spec.dryRun: true" if candidate.pool.spec.dry_run else None


def dry_pools(snapshot: Snapshot) -> frozenset[str]:
    """Return the names of the pools in dry run that are not being deleted."""
    return frozenset(pool.metadata.name for pool in snapshot.pools if _is_dry(pool))


def opened(snapshot: Snapshot) -> Snapshot | None:
    """Return the snapshot as if no pool were in dry run, None where none is.

    Nothing was written on their Nodes, so since when these are idle is not known: they count so since they are there.
    Nor were pods left out that had no place: the back-off is of what could be bought.
    """
    dry = dry_pools(snapshot)
    if not dry:
        return None
    pools = tuple(_open(pool) if pool.metadata.name in dry else pool for pool in snapshot.pools)
    nodes = tuple(_idle(node, snapshot.now) if node.labels.get(LABEL_POOL) in dry else node for node in snapshot.nodes)
    return replace(snapshot, pools=pools, nodes=nodes, memory=PlannerMemory())


def without_dry_cool_offs(supply: Sequence[Place], dry: Collection[str]) -> tuple[Place, ...]:
    """Return the places without machines in their cool-off of pools in dry run: these end as they began."""
    return tuple(place for place in supply if place.rank is not Rank.COOL_OFF or place.machine.pool not in dry)


def tried(dry: Collection[str], plan: Plan) -> tuple[DryRun, ...]:
    """Return what pools in dry run do in a plan of `opened`, by name."""
    return tuple(
        DryRun(
            pool=name,
            requests=tuple(request for request in plan.requests if request.pool == name),
            removals=tuple(removal for removal in plan.removals if removal.pool == name),
        )
        for name in sorted(dry)
    )


def dry_run_reasons(dry_runs: Iterable[DryRun]) -> dict[str, Reason]:
    """Return what pools in dry run report, by name."""
    return {each.pool: Reason(DRY_RUN, shortened(f"{_bought(each)}, and {_removed(each)}")) for each in dry_runs}


def written(values: Mapping[str, T], machines: Mapping[str, Machine], dry: Collection[str]) -> Mapping[str, T]:
    """Return what is written on Nodes or requests, by their name, without those of pools in dry run."""
    if not dry:
        return values
    return {name: value for name, value in values.items() if name not in machines or machines[name].pool not in dry}


def _is_dry(pool: NodePool) -> bool:
    return bool(pool.spec.dry_run) and pool.metadata.deletion_timestamp is None


def _open(pool: NodePool) -> NodePool:
    return pool.model_copy(update={"spec": pool.spec.model_copy(update={"dry_run": None})})


def _idle(node: Node, now: datetime) -> Node:
    since = format_timestamp((node.created_at or now).replace(microsecond=0))
    marks = {ANNOTATION_IDLE_SINCE: since, ANNOTATION_UNDERUSED_SINCE: since}
    return replace(node, annotations=marks | dict(node.annotations))


def _bought(dry_run: DryRun) -> str:
    if not dry_run.requests:
        return "It would buy nothing"
    numbers: dict[str, int] = {}
    for request in dry_run.requests:
        kind = f"{request.server_type} in {request.location}"
        numbers[kind] = numbers.get(kind, 0) + 1
    kinds = [f"{number} of {kind}" for kind, number in sorted(numbers.items())]
    return f"It would buy {_count(len(dry_run.requests))} ({_listed(kinds)})"


def _removed(dry_run: DryRun) -> str:
    if not dry_run.removals:
        return "remove none"
    names = sorted(f"{removal.node}: {removal.reason}" for removal in dry_run.removals)
    return f"remove {_count(len(dry_run.removals))} ({_listed(names)})"


def _count(number: int) -> str:
    return "1 machine" if number == 1 else f"{number} machines"


def _listed(words: Sequence[str]) -> str:
    rest = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
