"""What Nodes of a server type and image turned out to have for pods: the least that was seen.

A catalogue advertises memory that a machine does not have, so a pod that fits by the catalogue alone would
make a round buy the same type again and again. The image counts too: kernels keep different amounts.
Source: kubernetes/autoscaler issue 5756; karpenter-provider-hetzner issue 68.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from api.quantity import format_amount, parse_amount
from api.v1alpha1.node_class_status import LearnedAllocatable
from planner.objects.offering import ResourceVector

RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")
"""What a kubelet states itself. Extended resources come from device plugins, some time after the Node is Ready."""
MOST_ENTRIES: Final = 200
"""As the class's definition bounds them: some 100 types with two images."""

Entries = tuple[LearnedAllocatable, ...]


def learned(
    entries: Iterable[LearnedAllocatable], server_type: str, image: str, allocatable: ResourceVector, now: datetime
) -> Entries:
    """Return the entries after a Node of this type and image was seen with these amounts.

    They are the same ones when it had no less than was known.
    """
    before = tuple(entries)
    # A kubelet that has not measured its disk yet states 0 of it: that is not what pods will find.
    seen = {name: allocatable[name] for name in RESOURCES if allocatable.get(name, 0) > 0}
    entry = next((e for e in before if e.server_type == server_type and e.image == image), None)
    known = {} if entry is None else amounts(entry.allocatable)
    least = {name: min(amount, known.get(name, amount)) for name, amount in (known | seen).items()}
    if least == known:
        return before
    noted = LearnedAllocatable(server_type=server_type, image=image, allocatable=quantities(least), last_seen_at=now)
    others = sorted((e for e in before if e is not entry), key=lambda e: e.last_seen_at)
    return (*others[-(MOST_ENTRIES - 1) :], noted)


def quantities(vector: ResourceVector) -> dict[str, str]:
    """Return amounts (cpu in millicores, all else in whole units) as exact quantities."""
    return {name: format_amount(name, amount) for name, amount in vector.items()}


def amounts(texts: Mapping[str, str]) -> dict[str, int]:
    """Return quantities as amounts: cpu in millicores, all else in whole units."""
    return {name: parse_amount(name, text) for name, text in texts.items()}
