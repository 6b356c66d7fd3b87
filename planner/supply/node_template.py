"""The template of a Node: one source for plans, for orders at providers, and for the comparison with the real Node.

A plan is right only for the machine that it was made for, so all three say the same.
Source: docs/design.md#keys; cluster-autoscaler's template nodes, which differ from real ones in silence.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from api.keys import (
    LABEL_HOSTNAME,
    LABEL_POOL,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    LABEL_SERVER_TYPE,
    OLD_LABELS,
)
from api.quantity import rounded_amount
from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import Node, Taint
from planner.objects.offering import Offering, ResourceVector
from planner.objects.predicates import NEW_HOST, OWN_TAINTS

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


def own_labels(pool: str, server_type: str, request: str, uid: str) -> dict[str, str]:
    """Return the labels that tell whose machine it is: its pool and type, its request and the uid of that."""
    return {LABEL_POOL: pool, LABEL_SERVER_TYPE: server_type, LABEL_REQUEST: request, LABEL_REQUEST_UID: uid}


def pool_taints(pool: NodePool) -> tuple[Taint, ...]:
    """Return the taints that the pool gives to its Nodes."""
    return tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.spec.template.taints)


def node_labels(pool: NodePool, offering: Offering, host: str, uid: str = NEW_HOST) -> dict[str, str]:
    """Return all labels of the pool's Node of this offering that is named `host`, as is its request with this uid.

    No selector names a request that does not exist yet, but each can ask whether there is one.
    """
    return with_old_names(
        {
            **offering.labels,
            **pool.spec.template.labels,
            **own_labels(pool.metadata.name, offering.server_type, host, uid),
            LABEL_HOSTNAME: host,
        }
    )


def with_old_names(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels, and those that Kubernetes once named otherwise by both names."""
    return {**{old: labels[label] for label, old in OLD_LABELS.items() if label in labels}, **labels}


def labels_to_set(
    pool: NodePool | None, offering: Offering | None, own: Mapping[str, str], present: Mapping[str, str]
) -> dict[str, str]:
    """Return the labels that a Node which joins is given, besides or in place of those that are `present`.

    They make true what plans count on, whatever the machine's user data told its kubelet and whoever else labels
    Nodes. What a Node tells of its machine by itself stays: `deviations` finds the difference.

    Args:
        pool: None where it is gone.
        offering: None where its class does not tell of it any more.
        own: the labels that tell whose machine it is.
        present: the Node's labels.
    """
    of_offering = {} if offering is None else {k: v for k, v in offering.labels.items() if k not in present}
    given = {**of_offering, **({} if pool is None else pool.spec.template.labels), **own}
    every = with_old_names({**present, **given})
    return {key: value for key, value in every.items() if key in given or key not in present}


def deviations(node: Node, pool: NodePool, offering: Offering, usual: Iterable[Taint] = ()) -> Deviations:
    """Return the differences between a Node that has joined and the one that a plan expected of this offering.

    More of a resource, and labels that nobody planned, are no difference: they keep no planned pod out. Nor are
    learned labels, of which the offering is given here without: a driver sets them some time after the Node is Ready.
    `usual` are taints that the other Nodes have: the plan counted on them, and the Node may get them later.
    """
    expected = set(usual) - set(pool_taints(pool))
    return Deviations(
        room=tuple(_room(node.allocatable, offering.allocatable)),
        taints=tuple(_taints((t for t in node.taints if t not in expected), pool_taints(pool))),
        labels=tuple(_labels(node.labels, _compared(node_labels(pool, offering, node.name)))),
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
    for taint in sorted(wanted - actual_taints, key=written):
        yield f"taint {written(taint)} is missing"
    for taint in sorted(actual_taints - wanted, key=written):
        # A preference keeps nobody out.
        if (
            taint.effect != "PreferNoSchedule"
            and taint.key not in OWN_TAINTS
            and not taint.key.startswith(PASSING_TAINTS)
        ):
            yield f"taint {written(taint)} was not planned"


def _compared(planned: Mapping[str, str]) -> dict[str, str]:
    """Return the labels without those that Growth gives to each Node when it joins, or that only repeat another."""
    left_out = {LABEL_REQUEST, LABEL_REQUEST_UID, *OLD_LABELS.values()}
    return {key: value for key, value in planned.items() if key not in left_out}


def _labels(actual: Mapping[str, str], planned: Mapping[str, str]) -> Iterator[str]:
    for key, value in sorted(planned.items()):
        if key not in actual:
            yield f"label {key} is missing, planned {value}"
        elif actual[key] != value:
            yield f"label {key} is {actual[key] or 'empty'}, planned {value or 'empty'}"


def written(taint: Taint) -> str:
    """Return the taint as kubectl writes it: without a value it has no equals sign."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
