"""What node classes offer: each server type in each location, its price, and whether it is to be had.

A class that cannot be used now is told of with its prices all the same: a person looks at them before anything runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from activities.ports.catalogue import CatalogueRow, Standing
from activities.ports.provider_kind import NodeClassModel
from api.meta import Condition
from api.v1alpha1.node_class_status import BuyingPause, PartialPause
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.supply.allowed_types import allowed_types, types_of
from planner.supply.type_facts import TypeInLocation
from planner.supply.unavailable import part_in_force, pause_in_force
from worker.commands.shared.node_classes import as_listed, as_planned, kind_of, ref_of


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a class offers."""

    ref: ClassRef
    provider: str
    """Name of the cloud, such as Hetzner."""
    currency: str
    has_ipv4: bool
    """Whether the prices are with that of a public IPv4 address."""
    read_at: datetime | None
    """When the prices were read; None where the class itself states them, or nobody has read them."""
    problem: str
    """Why nothing of it is bought; empty when it can be."""
    conditions: tuple[Condition, ...]
    """Those that are not fine, besides the problem."""
    pause: BuyingPause | None
    """While the quota of the account is used up; None else."""
    rows: tuple[CatalogueRow, ...]
    """The cheapest first."""
    elsewhere: tuple[str, ...] = ()
    """Locations of the project where the class does not buy."""
    parts: tuple[PartialPause, ...] = ()
    """What of it is refused now, where that is not all."""


def catalogue_of(node_class: NodeClassModel, pools: Iterable[NodePool], now: datetime) -> Catalogue:
    """Return the offerings of the class, the cheapest first, those without a price last."""
    status = node_class.status
    ref = ref_of(node_class)
    planned = as_planned(node_class, (), now)
    problem = planned.problem or planned.barrier
    listed = as_listed(node_class, now)
    buyers = _buyers(ref, pools, listed.rows)
    unmet = {(one.server_type.lower(), one.location): one.until for one in status.unavailable if now < one.until}
    parts = status.partial_pauses
    offered = [
        replace(_as_met(row, unmet, parts, now), pools=tuple(buyers.get((row.server_type, row.location), ())))
        for row in listed.rows
    ]
    offered.sort(key=lambda row: (row.price_per_hour is None, row.price_per_hour, row.server_type, row.location))
    return Catalogue(
        ref=ref,
        provider=kind_of(node_class).name,
        currency=listed.currency,
        has_ipv4=listed.has_ipv4,
        read_at=listed.read_at,
        problem=problem,
        conditions=tuple(
            one for one in status.conditions if one.status != "True" and not (problem and one.type == "Ready")
        ),
        pause=pause_in_force(status.pause, now),
        rows=tuple(offered),
        elsewhere=listed.elsewhere,
        parts=tuple(part for part in parts if now < part.until),
    )


def _buyers(ref: ClassRef, pools: Iterable[NodePool], rows: Iterable[CatalogueRow]) -> dict[tuple[str, str], list[str]]:
    """Return the pools that may buy each server type of a class in each location."""
    facts = {(row.server_type, row.location): _facts_of(row) for row in rows}
    types = types_of(facts.values())
    buyers: dict[tuple[str, str], list[str]] = {}
    for pool in sorted(pools, key=lambda pool: pool.metadata.name):
        if pool.spec.template.class_ref == ref and pool.metadata.deletion_timestamp is None:
            allowed = allowed_types(pool, types)
            for place, of_row in facts.items():
                if allowed.allows(of_row):
                    buyers.setdefault(place, []).append(pool.metadata.name)
    return buyers


def _facts_of(row: CatalogueRow) -> TypeInLocation:
    return TypeInLocation(
        server_type=row.server_type.lower(),
        location=row.location,
        architecture=row.architecture,
        cores=row.millicores // 1000,
        memory=row.memory_bytes,
        dedicated=row.is_dedicated,
        price=row.price_per_hour,
    )


def _as_met(
    row: CatalogueRow, unmet: Mapping[tuple[str, str], datetime], parts: Iterable[PartialPause], now: datetime
) -> CatalogueRow:
    """Return the row as the last misses leave it: what is gone for good, or cannot be priced, stays that."""
    part = part_in_force(parts, row.server_type, row.location, now)
    moments = (unmet.get((row.server_type.lower(), row.location)), None if part is None else part.until)
    until = max((moment for moment in moments if moment is not None), default=None)
    if until is None or row.standing not in (Standing.AVAILABLE, Standing.DOUBTFUL):
        return row
    return replace(row, standing=Standing.UNMET, at=until)
