"""Node classes of every kind as plans see them, read from the object alone: no cloud is asked, no client loaded."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from activities.ports.errors import InvalidConfiguration
from activities.providers.hetzner.classes.catalogue import offerings as hetzner_offerings
from activities.providers.hetzner.classes.catalogue import refusal
from activities.providers.kwok.catalogue import offerings as kwok_offerings
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.hetzner_node_class_status import HetznerNodeClassStatus
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model.plan import NodeClass
from planner.objects.offering import Offering
from planner.supply.refused_types import refusals

AnyNodeClass = KwokNodeClass | HetznerNodeClass
MODELS: Final = (KwokNodeClass, HetznerNodeClass)
"""As `activities.ports.cluster.NODE_CLASSES` lists their kinds."""


def ref_of(node_class: AnyNodeClass) -> ClassRef:
    """Return the class as pools name it."""
    return ClassRef(kind=node_class.kind, name=node_class.metadata.name)


def as_planned(node_class: AnyNodeClass, pools: Iterable[NodePool], now: datetime) -> NodeClass:
    """Return the class with its offerings at this time, or with the problem why it has none.

    Args:
        node_class: with its status.
        pools: those that may name types which no class of its kind can ever offer.
        now: decides what is sold no more.
    """
    offered: tuple[Offering, ...] = ()
    problem = ""
    try:
        offered = _offerings(node_class, now)
    except InvalidConfiguration as error:
        problem = str(error)
    ref = ref_of(node_class)
    return NodeClass(
        ref=ref,
        offerings=offered,
        status=node_class.status,
        generation=node_class.metadata.generation or 0,
        problem=problem,
        refusals=refusals(ref, offered, pools, refusal) if isinstance(node_class, HetznerNodeClass) else {},
    )


def unread(classes: Iterable[NodeClass]) -> Iterator[str]:
    """Yield a line for each class of some files whose prices nobody has read: a plan can buy nothing of it."""
    for node_class in classes:
        if isinstance(node_class.status, HetznerNodeClassStatus) and node_class.status.read_at is None:
            yield (
                f"{node_class.ref}: its prices have not been read yet: dump it from a cluster where Growth runs "
                "(`kubectl get hetznernodeclasses -o yaml`), for they stand in its status"
            )


def _offerings(node_class: AnyNodeClass, now: datetime) -> tuple[Offering, ...]:
    if isinstance(node_class, KwokNodeClass):
        return kwok_offerings(node_class)
    return hetzner_offerings(node_class, now)
