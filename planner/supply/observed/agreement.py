"""What the Nodes of a pool and type agree in: labels and taints that others set on all, so on the next one too.

Node-feature-discovery, roles, and whatever else labels or taints Nodes beside Growth is in no class and no pool. But
what all Ready Nodes of the same pool and type have, a new one will have. It is a prediction, made anew in each round of
the Nodes that are there: one Ready Node without it ends it.
Source: Cluster Autoscaler's template nodes, made of a Node of the group (`SanitizedTemplateNodeInfoFromNodeInfo`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from api.keys import (
    GROUP,
    LABEL_ARCH,
    LABEL_HOSTNAME,
    LABEL_INSTANCE_TYPE,
    LABEL_OS,
    LABEL_POOL,
    LABEL_REGION,
    LABEL_SERVER_TYPE,
    LABEL_ZONE,
    OLD_LABELS,
    TAINT_UNREGISTERED,
)
from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import Node, Taint
from planner.objects.offering import Offering
from planner.supply.machines import READY_GRACE
from planner.supply.node_template import PASSING_TAINTS
from planner.supply.startup import startup_taints

WITNESSES: Final = 2
"""A label on one Node may be that Node's own."""
TAINT_LASTS_AFTER: Final = timedelta(minutes=10)
"""A taint that is younger may belong to the start of its Node."""
_OWN: Final = f"{GROUP}/"
_OF_THE_MACHINE: Final = frozenset(
    {
        *(LABEL_HOSTNAME, LABEL_ARCH, LABEL_OS, LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE),
        *OLD_LABELS.values(),
        "node.kubernetes.io/exclude-from-external-load-balancers",
    }
)
"""Stated by offerings, learned by place, or set on a Node that leaves."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Labels and taints that all Ready Nodes of a pool and type have, beside those of Growth and of the machine."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    of_a_place: frozenset[str] = frozenset()
    """Labels whose value is the Nodes' region or zone: elsewhere they are others."""

    def labels_at(self, offering: Offering) -> dict[str, str]:
        """Return the labels for a machine of this offering."""
        here = {offering.labels.get(LABEL_REGION), offering.labels.get(LABEL_ZONE)}
        return {key: value for key, value in self.labels.items() if key not in self.of_a_place or value in here}

    def taints_beside(self, own: Iterable[Taint]) -> tuple[Taint, ...]:
        """Return the pool's `own` taints, and the others."""
        given = tuple(own)
        known = {(taint.key, taint.effect) for taint in given}
        return (*given, *(taint for taint in self.taints if (taint.key, taint.effect) not in known))


NO_AGREEMENT: Final = Agreement()


class Agreements:
    """The agreements of all pools and types, each made when it is first asked for."""

    def __init__(self, nodes: Iterable[Node], now: datetime, pools: Iterable[NodePool] = ()) -> None:
        self._now = now
        of_name = {pool.metadata.name: pool for pool in pools}
        self._nodes: dict[tuple[str, str], list[Node]] = {}
        self._known: dict[tuple[str, str], Agreement] = {}
        for node in nodes:
            kind = pool_and_type(node)
            if kind is not None and node.is_ready and not is_starting(node, now, of_name.get(kind[0])):
                self._nodes.setdefault(kind, []).append(node)

    def of(self, pool: str, server_type: str) -> Agreement:
        """Return what the Ready Nodes of this pool and type agree in; one that has hardly started does not count."""
        key = pool, server_type.lower()
        if key not in self._known:
            self._known[key] = _agreement(self._nodes.get(key, []), self._now)
        return self._known[key]


def is_starting(node: Node, now: datetime, pool: NodePool | None = None) -> bool:
    """Return whether the Node is so new that others have not labelled it yet, nor started its static pods."""
    is_new = node.ready_since is not None and now < node.ready_since + READY_GRACE
    return is_new or has_start_taint(node, pool)


def has_start_taint(node: Node, pool: NodePool | None = None) -> bool:
    """Return whether the Node is not registered by Growth yet, or has a taint of its start: labels may be missing."""
    return any(taint.key == TAINT_UNREGISTERED for taint in node.taints) or bool(startup_taints(node.taints, pool))


def pool_and_type(node: Node) -> tuple[str, str] | None:
    """Return pool and server type of a Node that tells both, the type in small letters."""
    pool, server_type = node.labels.get(LABEL_POOL), node.labels.get(LABEL_SERVER_TYPE)
    return (pool, server_type.lower()) if pool and server_type else None


def _agreement(nodes: list[Node], now: datetime) -> Agreement:
    # One that is cordoned or goes may have labels and taints of that; it can only end an agreement.
    witnesses = [node for node in nodes if node.takes_pods]
    if len(witnesses) < WITNESSES:
        return NO_AGREEMENT
    first = witnesses[0]
    drivers = frozenset(key for node in nodes for key in node.topology_keys)
    labels = {
        key: value
        for key, value in first.labels.items()
        if not key.startswith(_OWN)
        and key not in _OF_THE_MACHINE
        and key not in drivers
        and all(node.labels.get(key) == value for node in nodes)
    }
    taints = tuple(
        taint
        for taint in dict.fromkeys(first.taints)
        if taint.effect != "PreferNoSchedule"
        and not taint.key.startswith((_OWN, *PASSING_TAINTS))
        and all(taint in node.taints for node in nodes)
        and sum(_lasts(taint, node, now) for node in witnesses) >= WITNESSES
    )
    places = {first.labels.get(LABEL_REGION), first.labels.get(LABEL_ZONE)}
    return Agreement(labels, taints, frozenset(key for key, value in labels.items() if value in places))


def _lasts(taint: Taint, node: Node, now: datetime) -> bool:
    """Return whether the Node has had the taint for long; of a Node that does not tell since when, it has."""
    own = next(each for each in node.taints if each == taint)
    since = own.added_at or node.ready_since or node.created_at
    return since is None or now >= since + TAINT_LASTS_AFTER
