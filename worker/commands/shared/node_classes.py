"""Node classes of every kind as plans see them, read from the object alone: no cloud is asked, no client loaded."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from activities.ports.catalogue import ClassCatalogue
from activities.ports.errors import InvalidConfiguration
from activities.ports.provider_kind import NodeClassModel, ProviderKind
from activities.providers.kinds import provider_kinds
from api.meta import READY
from api.v1alpha1.class_parts.billing import billing_period
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.lifecycle.request import REAL_CLUSTER
from planner.model.node_class import NodeClass
from planner.objects.offering import Offering
from planner.supply.type_faults import refusals


def kind_of(node_class: NodeClassModel) -> ProviderKind[Any]:
    """Return the registration for the kind of the class."""
    return next(kind for kind in provider_kinds() if kind.kind == node_class.kind)


def ref_of(node_class: NodeClassModel) -> ClassRef:
    """Return the class as pools name it."""
    return ClassRef(kind=node_class.kind, name=node_class.metadata.name)


def as_planned(node_class: NodeClassModel, pools: Iterable[NodePool], now: datetime) -> NodeClass:
    """Return the class with its offerings at this time, or with the problem why it has none.

    Args:
        node_class: with its status.
        pools: those that may name types which no class of its kind can ever offer.
        now: decides what is sold no more.
    """
    kind = kind_of(node_class)
    offered: tuple[Offering, ...] = ()
    problem = ""
    try:
        offered = kind.offerings(node_class, now)
    except InvalidConfiguration as error:
        problem = str(error)
    ref = ref_of(node_class)
    return NodeClass(
        ref=ref,
        offerings=offered,
        status=node_class.status,
        generation=node_class.metadata.generation or 0,
        problem=problem,
        barrier=_barrier(kind, node_class),
        refusals=refusals(ref, offered, pools, kind.refusal),
        billing_period=billing_period(getattr(node_class.spec, "billing", None)),
        template=kind.template(node_class),
    )


def _barrier(kind: ProviderKind[Any], node_class: NodeClassModel) -> str:
    """Return why the worker of a cluster, whose objects these are, buys nothing of the class; empty where it does."""
    if kind.is_simulated is None:
        return ""
    ready = (each for each in node_class.status.conditions if each.type == READY)
    return next((each.message for each in ready if each.status == "False" and each.reason == REAL_CLUSTER), "")


def as_listed(node_class: NodeClassModel, now: datetime) -> ClassCatalogue:
    """Return the offerings of the class at this time as people are told of them, usable or not."""
    return kind_of(node_class).catalogue(node_class, now)


def unread(node_classes: Iterable[NodeClassModel], now: datetime) -> Iterator[str]:
    """Yield a line for each class of some files whose prices nobody has read: a plan can buy nothing of it."""
    for node_class in node_classes:
        if as_listed(node_class, now).is_unread:
            yield (
                f"{ref_of(node_class)}: its prices have not been read yet: dump it from a cluster where Growth runs "
                f"(`kubectl get {kind_of(node_class).definition.plural} -o yaml`), for they stand in its status"
            )
