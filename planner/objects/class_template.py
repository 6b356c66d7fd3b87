"""What a machine is made with, by its class and its pool, and the hash of it that its Node bears.

In the hash is what a machine has for life: what the class says of its servers (image, user data, networks), and labels
and taints of the pool's template. Not in it are prices, what is in stock, status, how machines come and go, and the
order of lists. A field that is at its default is left out, so that a field which a new version adds changes no hash:
what the hash of some objects is must never change under one version of it.
Source: Karpenter docs, "Disruption: Drift", whose hash of NodePool and NodeClass has a version, too.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from api.v1alpha1.node_pool import ClassRef, NodePool

HASH_VERSION: Final = "v1"
_HASH: Final = re.compile(f"{HASH_VERSION}:[0-9a-f]{{16}}")
_CHARACTERS: Final = 16
Parts = Mapping[str, Any]
"""JSON by names of the API, without what is at its default; lists whose order means nothing are sorted."""


@dataclass(frozen=True, slots=True)
class ClassTemplate:
    """What the servers of a class are made with."""

    common: Parts = field(default_factory=dict)
    """Of each."""
    by_architecture: Mapping[str, Parts] = field(default_factory=dict)
    """Further ones, by the value of the Node label kubernetes.io/arch."""
    by_type: Mapping[str, Parts] = field(default_factory=dict)
    """Further ones, by server type in lower case."""


def template_hash(
    pool: NodePool, class_ref: ClassRef, made_with: ClassTemplate, server_type: str, architecture: str
) -> str:
    """Return the hash of what a machine of this type and class is made with now, after its version."""
    template = pool.spec.template
    whole = {
        "class": str(class_ref),
        "labels": dict(template.labels),
        "taints": sorted([taint.key, taint.value, taint.effect] for taint in template.taints),
        "made": made_with.common,
        "architecture": made_with.by_architecture.get(architecture, {}),
        "type": made_with.by_type.get(server_type.lower(), {}),
    }
    text = json.dumps({name: part for name, part in whole.items() if part}, sort_keys=True, separators=(",", ":"))
    return f"{HASH_VERSION}:{sha256(text.encode()).hexdigest()[:_CHARACTERS]}"


def unlisted(hashed: str) -> str:
    """Return the hash of a Node that took today's while its type was not among those of its pool any more.

    Such a type is no drift of it: it has been so since before drift was judged.
    """
    return f"{HASH_VERSION}:{sha256(f'{hashed} unlisted'.encode()).hexdigest()[:_CHARACTERS]}"


def is_comparable(text: str | None) -> bool:
    """Return whether a Node's hash is of today's version; one that is of another, or none at all, says nothing."""
    return text is not None and _HASH.fullmatch(text) is not None
