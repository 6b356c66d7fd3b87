"""VPSie's node groups as pools: by utilisation of each node, one machine after the other.

Source: VPSie autoscaler v0.7.0, its CRDs and defaults.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter

from api.names import LabelValue
from worker.commands.convert.fields import BadSetting, Fields, is_zero, quoted, seconds
from worker.commands.convert.flags import Flags, containers, words
from worker.commands.convert.inputs import PeerDocument
from worker.commands.convert.names import NamesInUse, pool_names
from worker.commands.convert.peer_setting import Remarks
from worker.commands.convert.pools import (
    PODS_OF_ALL_KINDS,
    ClassChoice,
    fault,
    hetzner_class,
    labels,
    pool,
    some,
    taints,
)
from worker.commands.convert.tables.vpsie import BOOLEAN_FLAGS, CONFIG, FLAGS, NODE_GROUP
from worker.commands.convert.writing import Conversion, ConvertedObject, Json

_GROUP: Final = "autoscaler.vpsie.com/"
_WORKLOADS: Final = ("Deployment", "StatefulSet", "Pod")
_HOURS: Final = re.compile("([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_REASONS: Final = ["Empty", "Underused", "Consolidation", "Rotation", "Drift", "OverMax"]
"""For which hours hold; a dead machine is repaired at any time."""
_TYPE: Final = TypeAdapter(LabelValue)
_MOST_SECONDS: Final = 3600
_MOST_OF_USAGE: Final = 45 * 60
"""Seconds of a window of usage."""


@dataclass(frozen=True, slots=True)
class _Common:
    """What holds for all groups."""

    scale_up: Json
    scale_down: Json
    at_once: int
    """Machines that may go at once."""
    remarks: Remarks


def convert_vpsie(read: Sequence[PeerDocument], choice: ClassChoice) -> Conversion:
    """Return a pool for each NodeGroup, with what AutoscalerConfig and flags say of all of them.

    Raises:
        CommandError: an object cannot be converted; names file, key and reason.
    """
    common = _common(read)
    names = pool_names()
    pools: list[ConvertedObject] = []
    passed_over: list[str] = []
    for document in read:
        try:
            if document.kind == "NodeGroup" and document.group.startswith(_GROUP):
                pools.append(_pool(document, common, names, choice))
            elif document.kind not in ("AutoscalerConfig", "VPSieNode", *_WORKLOADS):
                passed_over.append(f"{document.file}: {document.shown}")
        except BadSetting as error:
            raise document.bad(str(error)) from None
    if not pools:
        raise read[0].bad(f"kind: {quoted(read[0].kind)} is no NodeGroup of {_GROUP}v1alpha1, and no file has any")
    if choice.given is None:
        pools.append(
            hetzner_class("default", "no setting: VPSie's groups say what their machines are", "", Remarks({}))
        )
    return Conversion(pools, common.remarks.entries, passed_over)


def _common(read: Sequence[PeerDocument]) -> _Common:
    remarks = Remarks({**CONFIG, **FLAGS})
    config = Fields({}, remarks)
    flags = Flags([], BOOLEAN_FLAGS, remarks)
    common: _Common | None = None
    for document in read:
        try:
            if document.kind == "AutoscalerConfig":
                config = Fields(document.value, remarks).inner("spec")
                common = _settings(config, flags, remarks)
            elif document.kind in _WORKLOADS:
                given = [word for key, container in containers(document) for word in words(container, key)]
                flags = Flags(given, BOOLEAN_FLAGS, remarks)
                common = _settings(config, flags, remarks)
        except BadSetting as error:
            raise document.bad(str(error)) from None
    common = common or _settings(config, flags, remarks)
    config.finish()
    flags.finish()
    return common


def _settings(config: Fields, flags: Flags, remarks: Remarks) -> _Common:
    in_flight = config.whole("maxConcurrentScaleUps", 0)
    grace, ready = config.duration("unschedulablePodGracePeriod"), config.duration("nodeReadyTimeout")
    eviction, failed = config.duration("podEvictionTimeout"), flags.duration("--failed-vpsienode-ttl")
    if failed is not None and is_zero(failed):
        remarks.differs("--failed-vpsienode-ttl", "failedTTL is 87600h, ten years, as none can be kept for ever")
        failed = "87600h"
    scale_up = {
        # One after the other: VPSie adds one, and none while one is on its way.
        "batchMax": 1,
        "maxInFlight": 1 if in_flight is None else in_flight,
        "cooldown": config.duration("scaleUpCooldown") or "0s",
        **some(podGrace=grace, joinTimeout=ready if ready and not is_zero(ready) else None, failedTTL=failed),
    }
    scale_down = {
        **some(drainTimeout=eviction if eviction and not is_zero(eviction) else None),
        **some(consolidate={} if config.flag("rebalancing") else None),
        "cooldownAfterScaleDown": config.duration("scaleDownCooldown") or "10m",
    }
    return _Common(scale_up, scale_down, config.whole("maxConcurrentScaleDowns", 1) or 1, remarks)


def _pool(document: PeerDocument, common: _Common, names: NamesInUse, choice: ClassChoice) -> ConvertedObject:
    remarks = Remarks(NODE_GROUP)
    whole = Fields(document.value, remarks)
    name = names.of_peer(whole.inner("metadata"), "name")
    whole.take("spec", is_required=True)
    group = whole.inner("spec")
    accepted = labels(group, "labels")
    if accepted:
        remarks.differs("spec.labels", PODS_OF_ALL_KINDS)
    least = group.whole("minNodes", 0, is_required=True) or 0
    most = group.whole("maxNodes", 1, is_required=True) or 1
    if least > most:
        raise BadSetting("spec.minNodes", f"{least} is above maxNodes, {most}")
    types, prefers = _server_types(group)
    spec: Json = {
        "serverTypes": types,
        "limits": some(min=least or None, max=most),
        "matchUnselectedPods": True,
        "paused": True if _is_left_alone(document, remarks) else None,
        "template": {"classRef": choice.ref("default")} | some(labels=accepted, taints=taints(group, "taints") or None),
        "scaleUp": ({"choose": "priority"} if prefers else {}) | common.scale_up,
        "scaleDown": _scale_down(group, document, common, remarks),
    }
    if group.inner("scaleUpPolicy").flag("enabled") is False:
        remarks.left_over("spec.scaleUpPolicy.enabled", "spec.scaleUpPolicy.enabled")
    for part in ("spotConfig", "multiRegion"):
        # What is off is off here, too.
        if isinstance(group.given.get(part), Mapping) and not group.given[part].get("enabled"):
            group.take(part)
    group.finish()
    return ConvertedObject(pool(name, spec), document.shown, document.file, remarks.entries)


def _server_types(group: Fields) -> tuple[list[Json], bool]:
    """Return the types, and whether one goes before the others whatever it costs."""
    group.take("offeringIDs", is_required=True)
    offered: list[str] = []
    for key, name in group.items("offeringIDs"):
        reason = fault(_TYPE, name)
        if reason is not None:
            raise BadSetting(key, f"is no name of a server type: {reason}")
        if name.lower() in offered:
            raise BadSetting(key, f"{name!r} stands twice")
        offered.append(name.lower())
    if not offered:
        raise BadSetting(group.key_of("offeringIDs"), "is empty")
    preferred = (group.text("preferredInstanceType") or "").lower()
    if preferred and preferred not in offered:
        group.remarks.differs("spec.preferredInstanceType", "left out: it is none of offeringIDs")
        preferred = ""
    group.remarks.differs("spec.offeringIDs", "names of VPSie's offerings: put those of the node class in their place")
    if group.flag("allowMixedInstances") is False:
        return [{"name": preferred or offered[0]}], False
    types: list[Json] = [{"name": name} | ({"priority": 1} if name == preferred else {}) for name in offered]
    return types, bool(preferred) and len(offered) > 1


def _scale_down(group: Fields, document: PeerDocument, common: _Common, remarks: Remarks) -> Json:
    policy = group.inner("scaleDownPolicy")
    window = policy.whole("stabilizationWindowSeconds", 0, _MOST_SECONDS)
    cooldown = policy.whole("cooldownSeconds", 0, _MOST_SECONDS)
    node = {
        "cpuPercent": _or(policy.whole("cpuThreshold", 0, 100), 50),
        "memoryPercent": _or(policy.whole("memoryThreshold", 0, 100), 50),
        "window": seconds(window) if window else "10m",
    }
    if (window or 0) <= _MOST_OF_USAGE:
        # As VPSie judges: four of five samples, and their average.
        node |= {"basis": "usage", "fraction": 80}
    else:
        remarks.differs(
            "spec.scaleDownPolicy",
            "cpuThreshold and memoryThreshold are of what pods request: usage is known for the last 45m only",
        )
    says = _annotations(document)
    is_off = says.get("autoscaler.vpsie.com/scale-down") == "disabled"
    is_on = policy.flag("enabled") is not False and not is_off
    budgets: list[Json] = [{"nodes": common.at_once}, *_closed_hours(says, remarks)]
    remarks.differs(
        "spec.scaleDownPolicy", "a node without pods goes after scaleDown.idleAfter, too, above the minimum"
    )
    if not is_on:
        return {"mode": "none"}
    settings = {"mode": "drain", **common.scale_down, "budgets": budgets, "node": node, "order": "oldest"}
    return settings if cooldown is None else settings | {"cooldownAfterScaleDown": seconds(cooldown)}


def _or(value: int | None, usual: int) -> int:
    return usual if value is None else value


def _closed_hours(says: Mapping[str, str], remarks: Remarks) -> list[Json]:
    """Return the budget that is closed outside of the allowed hours."""
    key = "autoscaler.vpsie.com/scale-down-allowed-hours"
    text = says.get(key)
    if text is None:
        return []
    match = _HOURS.fullmatch(text.replace(" ", ""))
    where = f"metadata.annotations[{key}]"
    if match is None:
        raise BadSetting(
            where, f"{quoted(text)} must be hours such as 22:00-06:00; VPSie takes what it cannot read for any hour"
        )
    start, end = f"{match[1]}:{match[2]}", f"{match[3]}:{match[4]}"
    if start == end:
        raise BadSetting(where, f"{text} never opens")
    remarks.differs(where, "hours are of UTC: set timezone where they are not")
    return [{"nodes": 0, "reasons": list(_REASONS), "start": end, "end": start}]


def _is_left_alone(document: PeerDocument, remarks: Remarks) -> bool:
    metadata: Any = document.value.get("metadata")
    given = metadata.get("labels") if isinstance(metadata, dict) else None
    managed = given.get("autoscaler.vpsie.com/managed") if isinstance(given, dict) else None
    if managed == "true":
        return False
    where = "metadata.labels[autoscaler.vpsie.com/managed]"
    remarks.differs(where, "VPSie leaves a group alone that has it not as true, so the pool is paused")
    return True


def _annotations(document: PeerDocument) -> dict[str, str]:
    metadata: Any = document.value.get("metadata")
    given = metadata.get("annotations") if isinstance(metadata, dict) else None
    return {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
