"""Karpenter's NodePools and node classes as pools and classes of ours.

Source: karpenter.sh/docs/concepts/nodepools and nodeclasses, of v1.14.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from api.duration import parse_duration
from api.quantity import parse_quantity
from worker.commands.convert.fields import BadSetting, Fields, is_zero, quoted
from worker.commands.convert.inputs import PeerDocument
from worker.commands.convert.names import NamesInUse, class_names, pool_names
from worker.commands.convert.peer_setting import Remarks
from worker.commands.convert.peers.disruption import read_disruption
from worker.commands.convert.peers.requirements import read_requirements
from worker.commands.convert.pools import (
    USUAL_MAX,
    ClassChoice,
    annotations,
    hetzner_class,
    labels,
    pool,
    some,
    taints,
)
from worker.commands.convert.tables.karpenter import EC2_CLASS, OTHER_CLASS, POOL
from worker.commands.convert.writing import Conversion, ConvertedObject, Json

_GROUP: Final = "karpenter.sh/"
_VERSION: Final = "karpenter.sh/v1"
_OTHER_CLOUDS: Final = (
    "karpenter.k8s.aws",
    "eks.amazonaws.com",
    "karpenter.azure.com",
    "karpenter.k8s.gcp",
    "karpenter.k8s.alibabacloud",
)
"""Groups of classes whose names of types and places say nothing here."""
_USUAL_AGE: Final = "720h"
_LEAST_AGE: Final = "1m"
_NEVER: Final = "Never"
_MOST: Final = 999_999_999
"""Of limits.cpu in thousandths, and of limits.memory in any unit."""
_UNITS: Final = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage")
_FOREVER: Final = "a budget holds age back here, and the new machine is bought before the old one goes"


def convert_karpenter(read: Sequence[PeerDocument], choice: ClassChoice) -> Conversion:
    """Return a pool for each NodePool, and a class for each node class that a file has or a pool names.

    Raises:
        CommandError: an object cannot be converted; names file, key and reason.
    """
    names, of_classes = pool_names(), class_names()
    passed_over: list[str] = []
    pools: list[ConvertedObject] = []
    classes: dict[str, ConvertedObject] = {}
    for document in read:
        try:
            if document.kind == "EC2NodeClass" or (
                document.kind.endswith("NodeClass") and "karpenter" in document.group
            ):
                _add_class(document, classes, of_classes, choice)
            elif document.group.startswith(_GROUP) and document.kind in ("NodePool", "Provisioner"):
                pools.append(_pool(document, names, choice))
            else:
                passed_over.append(f"{document.file}: {document.shown}")
        except BadSetting as error:
            raise document.bad(str(error)) from None
    if not pools and not classes:
        raise read[0].bad(f"kind: {quoted(read[0].kind)} is no NodePool of {_VERSION}, and no file has any")
    if choice.given is None:
        for each in pools:
            name = each.item["spec"]["template"]["classRef"]["name"]
            if name not in classes:
                classes[name] = hetzner_class(
                    name, f"no setting: the class of {each.shown} is in no file", "", Remarks({})
                )
    return Conversion([*pools, *classes.values()], (), passed_over)


def _pool(document: PeerDocument, names: NamesInUse, choice: ClassChoice) -> ConvertedObject:
    if document.kind != "NodePool" or document.group != _VERSION:
        reason = f"{quoted(document.group)} must be {_VERSION}: convert older objects with Karpenter's own tool first"
        raise BadSetting("apiVersion", reason)
    remarks = Remarks(POOL)
    whole = Fields(document.value, remarks)
    name = names.of_peer(whole.inner("metadata"), "name")
    whole.take("spec", is_required=True)
    spec = whole.inner("spec")
    spec.take("template", is_required=True)
    template = spec.inner("template")
    of_nodes = template.inner("spec")
    class_ref, is_other = _class_ref(of_nodes, remarks)
    chosen = read_requirements(of_nodes, is_of_other_cloud=is_other)
    metadata = template.inner("metadata")
    replicas, limits = spec.whole("replicas", 0), spec.inner("limits")
    its_labels = {**chosen.labels, **(labels(metadata, "labels") or {})}
    down = read_disruption(spec.inner("disruption"), is_static=replicas is not None)
    made: Json = {
        "serverTypes": chosen.server_types,
        "locations": chosen.locations,
        "priority": spec.whole("weight", 1, 100),
        "limits": _limits(limits, replicas),
        "matchUnselectedPods": True,
        "paused": True if _buys_nothing(limits, replicas) else None,
        "template": {"classRef": choice.ref(class_ref)}
        | some(
            labels=its_labels or None,
            annotations=annotations(metadata, "annotations"),
            taints=taints(of_nodes, "taints") or None,
        ),
        "scaleUp": some(startupTaints=taints(of_nodes, "startupTaints") or None),
        "scaleDown": down | some(terminationGracePeriod=_grace(of_nodes)),
        "rotation": _rotation(of_nodes, remarks),
    }
    if of_nodes.given.get("startupTaints"):
        reason = "Growth waits until others have taken them off: the user data sets them on the Node"
        remarks.differs(of_nodes.key_of("startupTaints"), reason)
    spec.finish()
    return ConvertedObject(pool(name, made), document.shown, document.file, remarks.entries)


def _class_ref(of_nodes: Fields, remarks: Remarks) -> tuple[str, bool]:
    """Return the name of the class, and whether it is of a cloud that Growth has no class of."""
    of_nodes.take("nodeClassRef", is_required=True)
    ref = of_nodes.inner("nodeClassRef")
    wanted = ref.text("name", is_required=True) or ""
    group = ref.text("group") or ""
    ref.take("kind")
    name = class_names().take(wanted, lambda reason: remarks.differs(ref.key_of("name"), reason))
    return name, group in _OTHER_CLOUDS


def _limits(limits: Fields, replicas: int | None) -> Json:
    most = limits.take("nodes")
    cpu, memory = limits.take("cpu"), limits.take("memory")
    for resource in limits.given:
        if resource not in ("nodes", "cpu", "memory"):
            limits.take(resource)
            limits.remarks.no_equal(limits.key_of(resource), POOL["spec.limits"].why)
    read = some(cpu=_cores(limits.key_of("cpu"), cpu), memory=_memory(limits.key_of("memory"), memory))
    if replicas is not None:
        return {**({"min": replicas} if replicas else {}), "max": replicas or 1, **read}
    if most is None:
        limits.remarks.differs(limits.key_of("nodes"), f"not set: limits.max is {USUAL_MAX}, as every pool has one")
        return {"max": USUAL_MAX, **read}
    number = _quantity(limits.key_of("nodes"), most)
    if number.denominator != 1 or not 0 <= number <= 100_000:  # noqa: PLR2004 - the most of limits.max
        raise BadSetting(limits.key_of("nodes"), f"{quoted(most)} must be a whole number from 0 to 100000")
    return {"max": int(number) or 1, **read}


def _buys_nothing(limits: Fields, replicas: int | None) -> bool:
    """Return whether a limit of 0 stops the pool, as people stop Karpenter's."""
    stopped = [part for part in ("cpu", "memory", "nodes") if limits.take(part) is not None]
    stopped = [part for part in stopped if not _quantity(limits.key_of(part), limits.given[part])]
    for part in stopped:
        limits.remarks.differs(limits.key_of(part), "0 buys nothing: paused here, as a limit is above 0")
    return bool(stopped) or replicas == 0


def _quantity(key: str, value: object) -> Fraction:
    try:
        number = parse_quantity(value)
    except ValueError:
        raise BadSetting(key, f"{quoted(value)} is no quantity") from None
    if number < 0:
        raise BadSetting(key, f"{quoted(value)} is below 0")
    return number


def _cores(key: str, value: object) -> str | None:
    """Return cores as limits.cpu has them; thousandths are the smallest part."""
    if value is None or not _quantity(key, value):
        return None
    millis = int(_quantity(key, value) * 1000)
    if not 0 < millis <= _MOST:
        raise BadSetting(key, f"{quoted(value)} must be 1m at least and at most 999999 cores")
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def _memory(key: str, value: object) -> str | None:
    """Return memory in the largest unit that says it in whole numbers, or in Ki, rounded down."""
    if value is None or not _quantity(key, value):
        return None
    amount = int(_quantity(key, value))
    for unit, size in _UNITS:
        if amount and amount % size == 0 and amount // size <= _MOST:
            return f"{amount // size}{unit}"
    if not 1 <= amount // 2**10 <= _MOST:
        raise BadSetting(key, f"{quoted(value)} must be 1Ki at least and at most 999999999Gi")
    return f"{amount // 2**10}Ki"


def _grace(of_nodes: Fields) -> str | None:
    grace = of_nodes.duration("terminationGracePeriod")
    return None if grace is None or is_zero(grace) else grace


def _rotation(of_nodes: Fields, remarks: Remarks) -> Json | None:
    key = of_nodes.key_of("expireAfter")
    if of_nodes.given.get("expireAfter") == _NEVER:
        of_nodes.take("expireAfter")
        return None
    age = of_nodes.duration("expireAfter") or _USUAL_AGE
    if parse_duration(age) < parse_duration(_LEAST_AGE):
        raise BadSetting(key, f"{age} must be one minute at least, or Never")
    remarks.differs(key, _FOREVER)
    return {"maxNodeAge": age}


def _add_class(
    document: PeerDocument, classes: dict[str, ConvertedObject], names: NamesInUse, choice: ClassChoice
) -> None:
    """Add the class that a node class becomes, and remark what it cannot say."""
    is_ec2 = document.kind == "EC2NodeClass"
    remarks = Remarks(EC2_CLASS if is_ec2 else OTHER_CLASS)
    whole = Fields(document.value, remarks)
    name = names.of_peer(whole.inner("metadata"), "name")
    settings: Json = {}
    if is_ec2:
        spec = whole.inner("spec")
        kubelet = spec.inner("kubelet")
        its_kubelet = some(
            maxPods=kubelet.whole("maxPods", 1, 1000),
            kubeReserved=_reserved(kubelet, "kubeReserved"),
            systemReserved=_reserved(kubelet, "systemReserved"),
        )
        for part in kubelet.given:
            if part not in ("maxPods", "kubeReserved", "systemReserved"):
                kubelet.take(part)
                remarks.no_equal(kubelet.key_of(part), EC2_CLASS["spec.kubelet"].why)
        settings = some(serverLabels=labels(spec, "tags"), kubelet=its_kubelet or None)
        spec.finish()
    elif "spec" in whole.given:
        remarks.left_over("spec", "spec")
    if choice.given is None:
        classes[name] = hetzner_class(name, document.shown, document.file, remarks, **settings)


def _reserved(kubelet: Fields, part: str) -> Json | None:
    """Return what is reserved of a machine; resources that cannot be are remarked."""
    reserved: Any = kubelet.take(part)
    if reserved is None:
        return None
    if not isinstance(reserved, Mapping):
        raise BadSetting(kubelet.key_of(part), f"{quoted(reserved)} must be a mapping")
    read: Json = {}
    for resource, amount in reserved.items():
        where = f"{kubelet.key_of(part)}.{resource}"
        if resource not in _RESERVABLE:
            kubelet.remarks.no_equal(where, f"only {', '.join(_RESERVABLE)} can be reserved")
            continue
        _quantity(where, amount)
        read[resource] = str(amount)
    return read or None
