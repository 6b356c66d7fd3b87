"""What a pool names and cannot have: a class of a kind that no provider serves, a server type that no class offers."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model.plan import NodeClass
from planner.objects.offering import Offering

_SENTENCES: Final = 3
"""Sentences in one message."""


def unserved(pools: Iterable[NodePool], kinds: Collection[str]) -> tuple[NodeClass, ...]:
    """Return each class that pools name and whose kind is none of `kinds`, with the problem that it has."""
    refs = dict.fromkeys(pool.spec.template.class_ref for pool in pools)
    known = " and ".join(kinds) or "none"
    return tuple(
        NodeClass(ref=ref, offerings=(), problem=f"no provider serves the kind {ref.kind}; known: {known}")
        for ref in refs
        if ref.kind not in kinds
    )


def refusals(
    ref: ClassRef, offerings: Iterable[Offering], pools: Iterable[NodePool], refusal: Callable[[str], str | None]
) -> dict[str, str]:
    """Return what `refusal` says of each type that pools of this class name and that it does not offer."""
    offered = {offering.server_type.lower() for offering in offerings}
    named = {t.name for pool in pools if pool.spec.template.class_ref == ref for t in pool.spec.server_types}
    return {name: sentence for name in sorted(named - offered) if (sentence := refusal(name)) is not None}


def with_refusals(message: str, sentences: Sequence[str]) -> str:
    """Return the message, followed by the first of these sentences."""
    return "; ".join((message, *sentences[:_SENTENCES]))
