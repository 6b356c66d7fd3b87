"""The template of a Node: one source for plans, for orders at providers, and for the comparison with the real Node.

A plan is right only for the machine that it was made for, so all three say the same.
Source: docs/design.md#keys; cluster-autoscaler's template nodes, which differ from real ones in silence.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from api.keys import LABEL_HOSTNAME, LABEL_POOL, LABEL_SERVER_TYPE
from api.quantity import rounded_amount
from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import Node, Taint
from planner.objects.offering import Offering, ResourceVector
from planner.objects.predicates import OWN_TAINTS

PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Kubernetes sets and lifts taints of these prefixes itself, as the node's state changes."""


@dataclass(frozen=True, slots=True)
class Deviations:
    """The differences of a Node from its plan: a sentence part for each."""

    room: tuple[str, ...] = ()
    """Less of a resource than planned."""
    taints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All differences, the worst kind first."""
        return (*self.room, *self.taints, *self.labels)


def marks(pool: str, server_type: str) -> dict[str, str]:
    """Return the labels that tell of which pool and server type a machine is."""
    return {LABEL_POOL: pool, LABEL_SERVER_TYPE: server_type}


def pool_labels(pool: NodePool, server_type: str) -> dict[str, str]:
    """Return the labels that the pool gives to its Nodes of this type."""
    return {**pool.spec.template.labels, **marks(pool.metadata.name, server_type)}


def pool_taints(pool: NodePool) -> tuple[Taint, ...]:
    """Return the taints that the pool gives to its Nodes."""
    return tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.spec.template.taints)


def node_labels(pool: NodePool, offering: Offering, host: str) -> dict[str, str]:
    """Return all labels of the pool's Node of this offering that is named `host`."""
    return {**offering.labels, **pool_labels(pool, offering.server_type), LABEL_HOSTNAME: host}


def deviations(node: Node, pool: NodePool, offering: Offering) -> Deviations:
    """Return the differences between a Node that has joined and the one that a plan expected of this offering.

    More of a resource, and labels that nobody planned, are no difference: they keep no planned pod out. Nor are
    learned labels, of which the offering is given here without: a driver sets them some time after the Node is Ready.
    """
    return Deviations(
        room=tuple(_room(node.allocatable, offering.allocatable)),
        taints=tuple(_taints(node.taints, pool_taints(pool))),
        labels=tuple(_labels(node.labels, node_labels(pool, offering, node.name))),
    )


def _room(actual: ResourceVector, planned: ResourceVector) -> Iterator[str]:
    for resource, amount in planned.items():
        actual_amount = actual.get(resource, 0)
        if actual_amount < amount:
            texts = rounded_amount(resource, actual_amount), rounded_amount(resource, amount)
            # Amounts that round to the same text are told in full.
            usable, wanted = texts if texts[0] != texts[1] else (str(actual_amount), str(amount))
            yield f"{resource} {usable} usable, planned {wanted}"


def _taints(actual: Iterable[Taint], planned: Iterable[Taint]) -> Iterator[str]:
    actual_taints, wanted = set(actual), set(planned)
    for taint in sorted(wanted - actual_taints, key=_written):
        yield f"taint {_written(taint)} is missing"
    for taint in sorted(actual_taints - wanted, key=_written):
        # A preference keeps nobody out.
        if (
            taint.effect != "PreferNoSchedule"
            and taint.key not in OWN_TAINTS
            and not taint.key.startswith(PASSING_TAINTS)
        ):
            yield f"taint {_written(taint)} was not planned"


def _labels(actual: Mapping[str, str], planned: Mapping[str, str]) -> Iterator[str]:
    for key, value in sorted(planned.items()):
        if key not in actual:
            yield f"label {key} is missing, planned {value}"
        elif actual[key] != value:
            yield f"label {key} is {actual[key] or 'empty'}, planned {value or 'empty'}"


def _written(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
