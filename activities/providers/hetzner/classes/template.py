"""What the servers of a HetznerNodeClass are made with, for as long as they live: a change of it is drift.

References to Secrets and ConfigMaps count, and what is in them does not: nobody wants each machine replaced because a
join token was renewed. Nor does a snapshot that is newer than the one that a selector chose before. Labels of servers
in the project, which images there are, prices, locations, the token and limits of volumes are no parts of a machine.
"""

from typing import Any, Final

from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from planner.objects.class_template import ClassTemplate

_WHOLE: Final = {"user_data", "kubelet", "enable_ipv4", "enable_ipv6"}
_UNORDERED: Final = {"ssh_keys", "firewalls", "networks"}
_ARCHITECTURES: Final = ("amd64", "arm64")


def class_template(node_class: HetznerNodeClass) -> ClassTemplate:
    """Return the parts of each server, and the image by architecture."""
    spec = node_class.spec
    parts: dict[str, Any] = spec.model_dump(
        mode="json", by_alias=True, include=_WHOLE | _UNORDERED, exclude_defaults=True, exclude_none=True
    )
    parts = {name: sorted(part, key=_order) if isinstance(part, list) else part for name, part in parts.items()}
    if spec.placement.strategy != "none":
        parts["placement"] = spec.placement.strategy
    images = {name: getattr(spec.image_by_architecture, name) or spec.image for name in _ARCHITECTURES}
    return ClassTemplate(
        common={name: part for name, part in parts.items() if part not in ({}, [])},
        by_architecture={
            name: {"image": image.model_dump(mode="json", by_alias=True, exclude_none=True)}
            for name, image in images.items()
        },
    )


def _order(entry: object) -> str:
    return entry if isinstance(entry, str) else str(sorted(entry.items()) if isinstance(entry, dict) else entry)
