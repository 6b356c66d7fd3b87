"""Whether a Node is one that KWOK plays, or a real one: by its provider id, else KWOK's annotation, else its kubelet.

Source: KWOK docs, "Manage Nodes and Pods"; its stage node-initialize, which fills in a missing version of the kubelet.
"""

from typing import Final

from activities.ports.cluster import Object
from activities.providers.kwok.startup import FAKE

_SCHEME: Final = "kwok"
"""Growth's ids and Karpenter's begin with `kwok://`, Cluster Autoscaler's with `kwok:`, and those of Karpenter's
provider for AWS with `kwok-aws://`."""
_FAKE_KUBELET: Final = "fake"
"""Version of the kubelet in KWOK's own examples, and of the Nodes that `kwokctl scale` makes."""


def is_simulated(node: Object) -> bool:
    """Return whether the Node runs nothing.

    A provider id of any other scheme is a cloud's, whatever else the Node says. Without an id, an annotated Node may
    have the kubelet version of the machine that it was copied from; a Node without any version has no kubelet.
    """
    provider_id = (node.get("spec") or {}).get("providerID") or ""
    if provider_id:
        scheme = provider_id.partition(":")[0]
        return scheme == _SCHEME or scheme.startswith(f"{_SCHEME}-")
    if FAKE.items() <= (node["metadata"].get("annotations") or {}).items():
        return True
    info = (node.get("status") or {}).get("nodeInfo") or {}
    kubelet = info.get("kubeletVersion") or ""
    return not kubelet or kubelet == _FAKE_KUBELET or kubelet.startswith(f"{_SCHEME}-")
