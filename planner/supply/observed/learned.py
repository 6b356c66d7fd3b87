"""What Nodes teach about machines to come: labels that others set on them, and the amounts that pods really get.

*Labels.* A CSI driver states by labels of its own, such as csi.hetzner.cloud/location, where its volumes can be used
from. It sets them when it registers on a Node, so no class states them; but where the Nodes of a place agree, the next
one gets the same. So does the zone that a cloud-controller-manager gives to the Nodes of a region, where a class
states none. It is a prediction: the labels of an offering, of a pool and of the Node itself come first.
Source: Kubernetes CSI docs, "CSI Topology Feature"; Kubernetes API reference, CSINode, topologyKeys.

*Amounts.* A catalogue advertises memory that a machine does not have, so a pod that fits by the catalogue alone would
make a round buy the same type again and again. The image counts too: kernels keep different amounts.
Source: kubernetes/autoscaler issue 5756; karpenter-provider-hetzner issue 68.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from api.keys import (
    LABEL_HOSTNAME,
    LABEL_INSTANCE_TYPE,
    LABEL_REGION,
    LABEL_SERVER_TYPE,
    LABEL_ZONE,
)
from api.quantity import format_amount, parse_amount
from api.v1alpha1.node_class_status import LearnedAllocatable
from planner.model.node_class import NodeClass
from planner.objects.kinds import Node
from planner.objects.offering import Offering, ResourceVector
from planner.supply.observed.agreement import has_start_taint

_WHERE: Final = (LABEL_REGION, LABEL_ZONE)
_Spot = tuple[str | None, ...]
"""Values of `_WHERE`."""
_Seen = Mapping[_Spot, Mapping[str, Mapping[str, set[str]]]]
"""Values by spot, server type and label."""
RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")
"""What a kubelet states itself. Extended resources come from device plugins, some time after the Node is Ready."""
MOST_ENTRIES: Final = 200
"""As the class's definition bounds them: some 100 types with two images."""

Entries = tuple[LearnedAllocatable, ...]


def with_learned_labels(classes: Iterable[NodeClass], nodes: Iterable[Node]) -> tuple[NodeClass, ...]:
    """Return the classes, whose offerings have the labels too that drivers have set on all Nodes at the same place.

    Nodes of the same server type say it alone, if there are any, as drivers may look at the type. A label about
    which they differ is not learned.
    """
    every_node = tuple(nodes)
    seen = _seen(every_node)
    return tuple(_of_class(one, seen, _labels_not_set(one, every_node)) for one in classes)


def _of_class(node_class: NodeClass, seen: _Seen, not_set: Container[str]) -> NodeClass:
    offerings = tuple(_with_labels(offering, seen, not_set) for offering in node_class.offerings)
    is_same = all(now is then for now, then in zip(offerings, node_class.offerings, strict=True))
    return node_class if is_same else replace(node_class, offerings=offerings)


def _labels_not_set(node_class: NodeClass, nodes: Iterable[Node]) -> set[str]:
    """Return the usual labels of the class that Ready Nodes at its places lack: nobody sets them in this cluster."""
    usual = {offering.labels.get(LABEL_REGION): offering.usual_labels for offering in node_class.offerings}
    if not any(usual.values()):
        return set()
    return {
        key
        for node in nodes
        if node.is_ready and not has_start_taint(node)
        for key in usual.get(node.labels.get(LABEL_REGION), ())
        if key not in node.labels
    }


def _seen(nodes: Iterable[Node]) -> _Seen:
    values: dict[_Spot, dict[str, dict[str, set[str]]]] = {}
    for node in nodes:
        for key in (*node.topology_keys, LABEL_ZONE):
            value = node.labels.get(key)
            # A value that names the Node is about its own disks, and says nothing of others.
            if value is not None and value not in (node.name, node.labels.get(LABEL_HOSTNAME)):
                here = values.setdefault(tuple(node.labels.get(label) for label in _WHERE), {})
                here.setdefault(_server_type(node), {}).setdefault(key, set()).add(value)
    return values


def _server_type(node: Node) -> str:
    return (node.labels.get(LABEL_SERVER_TYPE) or node.labels.get(LABEL_INSTANCE_TYPE, "")).lower()


def _with_labels(offering: Offering, seen: _Seen, not_set: Container[str]) -> Offering:
    usual = {key: value for key, value in offering.usual_labels.items() if key not in not_set}
    learned = {**usual, **dict(_learned(offering, seen))}
    return replace(offering, labels={**learned, **offering.labels}) if learned else offering


def _learned(offering: Offering, seen: _Seen) -> Iterator[tuple[str, str]]:
    alike: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    for spot, by_type in seen.items():
        if not _is_at(offering, spot):
            continue
        for server_type, labels in by_type.items():
            learned_values = alike if server_type == offering.server_type.lower() else others
            for key, values in labels.items():
                learned_values.setdefault(key, set()).update(values)
    for key, values in {**others, **alike}.items():
        if len(values) == 1:
            yield key, next(iter(values))


def _is_at(offering: Offering, spot: _Spot) -> bool:
    """Return whether region and zone are the same, as far as both sides tell them, which is one of them at least."""
    both = [
        (there, offering.labels[label])
        for label, there in zip(_WHERE, spot, strict=True)
        if there is not None and label in offering.labels
    ]
    return bool(both) and all(there == wanted for there, wanted in both)


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
