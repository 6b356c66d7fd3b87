"""Server types that pools name and that no class can ever offer: why, beside that the class does not have them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.objects.offering import Offering

_TOLD: Final = 3
"""Sentences in one message."""


def refusals(
    ref: ClassRef, offerings: Iterable[Offering], pools: Iterable[NodePool], refusal: Callable[[str], str | None]
) -> dict[str, str]:
    """Return what `refusal` says of each type that pools of this class name and that it does not offer."""
    offered = {offering.server_type.lower() for offering in offerings}
    named = {t.name for pool in pools if pool.spec.template.class_ref == ref for t in pool.spec.server_types}
    return {name: sentence for name in sorted(named - offered) if (sentence := refusal(name)) is not None}


def with_refusals(message: str, told: Sequence[str]) -> str:
    """Return the message, and behind it the first of these sentences."""
    return "; ".join((message, *told[:_TOLD]))
