"""Escalator's node groups as pools: thresholds, waiting taints and locks.

Source: atlassian/escalator, docs/configuration/nodegroup.md, pkg/controller.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from api.duration import parse_duration
from worker.commands.convert.fields import BadSetting, Fields, is_zero, within
from worker.commands.convert.flags import Flags, containers, words
from worker.commands.convert.inputs import PeerDocument
from worker.commands.convert.names import NamesInUse, pool_names
from worker.commands.convert.peer_setting import Remark, Remarks
from worker.commands.convert.pools import (
    ANY_TYPE,
    PODS_OF_ALL_KINDS,
    ClassChoice,
    hetzner_class,
    labels,
    pool,
    some,
)
from worker.commands.convert.tables.escalator import BOOLEAN_FLAGS, OPTIONS, SETTINGS
from worker.commands.convert.writing import Conversion, ConvertedObject, Json
from worker.commands.plan.syntax import BadDocument, documents

_WORKLOADS: Final = ("Deployment", "StatefulSet", "Pod")
_GROUPS: Final = "node_groups"
_LEAST_EVERY: Final = "1m"
"""Of scaleDown.group.every."""
_MOST_PERCENT: Final = 1000
_ALWAYS_EMPTY: Final = "a node without pods goes after scaleDown.idleAfter, too, above the minimum"


@dataclass(frozen=True, slots=True)
class _Process:
    """What flags of the process say of all groups."""

    every: str = _LEAST_EVERY
    is_dry: bool = False
    remarks: Sequence[Remark] = ()


def convert_escalator(read: Sequence[PeerDocument], choice: ClassChoice) -> Conversion:
    """Return a pool for each node group: of the YAML itself, of a ConfigMap with it, with flags of its Deployment.

    Raises:
        CommandError: a group cannot be converted; names file, key and reason.
    """
    process = _process(read)
    names = pool_names()
    pools: list[ConvertedObject] = []
    for document in read:
        try:
            for key, item in _groups(document):
                # What is remarked stands beside its pool, so that it needs no key of the group.
                with within(key):
                    converted, remarks = _pool(item, process, names, choice)
                pools.append(ConvertedObject(converted, key, document.file, remarks.entries))
        except BadSetting as error:
            raise document.bad(str(error)) from None
    if not pools:
        raise read[0].bad(f"{_GROUPS}: is missing: no file has any")
    if choice.given is None:
        pools.append(hetzner_class("default", "no setting: Escalator has no class", "", Remarks(OPTIONS)))
    return Conversion(pools, process.remarks)


def _process(read: Sequence[PeerDocument]) -> _Process:
    remarks = Remarks(SETTINGS)
    given: list[str] = []
    for document in read:
        if document.kind in _WORKLOADS:
            try:
                given += [word for key, container in containers(document) for word in words(container, key)]
            except BadSetting as error:
                raise document.bad(str(error)) from None
    flags = Flags(given, BOOLEAN_FLAGS, remarks)
    try:
        every = flags.duration("--scaninterval") or _LEAST_EVERY
        flags.all("--nodegroups")
        is_dry = flags.flag("--drymode", otherwise=False)
    except BadSetting as error:
        raise next(document for document in read if document.kind in _WORKLOADS).bad(str(error)) from None
    flags.finish()
    if parse_duration(every) < parse_duration(_LEAST_EVERY):
        remarks.differs("--scaninterval", f"scaleDown.group.every is {_LEAST_EVERY}, the shortest there is")
        every = _LEAST_EVERY
    return _Process(every, is_dry, remarks.entries)


def _groups(document: PeerDocument) -> Iterator[tuple[str, Any]]:
    """Yield the node groups of a document, each with its key.

    Raises:
        BadSetting: the document has none, or one is no mapping.
    """
    if document.kind in _WORKLOADS:
        return
    if document.kind == "ConfigMap":
        yield from _of_config_map(document)
    elif document.kind:
        raise BadSetting(
            "kind", f"{document.kind} is none of Escalator's: its YAML, a ConfigMap with it or its Deployment"
        )
    else:
        yield from _listed(document.value, "")


def _of_config_map(document: PeerDocument) -> Iterator[tuple[str, Any]]:
    data = document.value.get("data")
    if not isinstance(data, dict) or not data:
        raise BadSetting("data", "is missing")
    for name, text in data.items():
        key = f"data[{name}]"
        if not isinstance(text, str):
            raise BadSetting(key, "must be text")
        try:
            values = [value for value in documents(text.encode()) if value is not None]
        except (BadDocument, UnicodeError) as error:
            raise BadSetting(key, str(error)) from None
        for value in values:
            yield from _listed(value, key)


def _listed(value: object, key: str) -> Iterator[tuple[str, Any]]:
    outer = Fields(value, Remarks({}), key=key)
    if outer.take(_GROUPS) is None:
        raise BadSetting(outer.key_of(_GROUPS), "is missing")
    yield from outer.items(_GROUPS)


def _pool(item: Any, process: _Process, names: NamesInUse, choice: ClassChoice) -> tuple[Json, Remarks]:
    remarks = Remarks(OPTIONS)
    group = Fields(item, remarks)
    name = names.of_peer(group, "name")
    limits, aws = _limits(group), group.inner("aws")
    is_dry = group.flag("dry_mode") or process.is_dry
    spec: Json = {
        "serverTypes": [dict(ANY_TYPE)],
        "limits": limits,
        "matchUnselectedPods": True,
        "template": {"classRef": choice.ref("default")} | some(labels=_labels(group)),
        "scaleUp": _scale_up(group, aws),
        "scaleDown": _scale_down(group, process),
        "rotation": _rotation(group, limits.get("min", 0)),
        "health": _health(group),
        "dryRun": True if is_dry else None,
    }
    if group.text("taint_effect") == "NoSchedule":
        remarks.differs("taint_effect", "NoSchedule is what Growth always does")
    else:
        _left(group, "taint_effect")
    _pass_over_usual(aws)
    group.finish()
    return pool(name, spec), remarks


def _left(fields: Fields, part: str) -> None:
    """Remark a setting that has no equal whatever it says, if it stands there."""
    if part in fields.given:
        fields.remarks.left_over(fields.key_of(part), part)


def _pass_over_usual(aws: Fields) -> None:
    """Pass over what is so here, too: machines on demand, and no tags."""
    if aws.given.get("lifecycle") in ("", "on-demand"):
        aws.take("lifecycle")
    if aws.given.get("resource_tagging") is False:
        aws.take("resource_tagging")


def _labels(group: Fields) -> Json | None:
    key = group.text("label_key", is_required=True)
    value = group.text("label_value", is_required=True)
    both = Fields({"labels": {key: value}}, group.remarks, key=group.key)
    accepted = labels(both, "labels")
    if accepted is not None:
        group.remarks.differs("label_key", PODS_OF_ALL_KINDS)
    return accepted


def _limits(group: Fields) -> Json:
    least, most = group.whole("min_nodes") or 0, group.whole("max_nodes") or 0
    if not most and not least:
        reason = (
            "Escalator reads both bounds from the cloud's group, which has no counterpart: 1 here, so say limits.max"
        )
        group.remarks.no_equal("max_nodes", reason)
        return {"max": 1}
    if least >= most:
        raise BadSetting(group.key_of("min_nodes"), f"{least} must be below max_nodes, {most}, as Escalator asks for")
    return some(min=least or None, max=most)


def _scale_up(group: Fields, aws: Fields) -> Json:
    percent = group.whole("scale_up_threshold_percent", 1, _MOST_PERCENT, is_required=True)
    ready = aws.duration("fleet_instance_ready_timeout")
    return {
        "estimators": ["threshold"],
        "thresholdPercent": percent,
        **some(starvation=True if group.flag("scale_on_starve") else None),
        **some(lock=_lock(group), provisioningTimeout=None if ready is None or is_zero(ready) else ready),
    }


def _lock(group: Fields) -> Json | None:
    period, timeout = group.duration("scale_up_cool_down_period"), group.duration("scale_up_cool_down_timeout")
    if period is None or is_zero(period):
        return None
    if timeout is not None and parse_duration(timeout) < parse_duration(period):
        group.remarks.differs(
            "scale_up_cool_down_timeout", "shorter than scale_up_cool_down_period, which goes before it"
        )
        timeout = None
    reason = (
        "the lock opens once all that was asked for is Ready after min, or at max; Escalator looks at the clock alone"
    )
    group.remarks.differs("scale_up_cool_down_period", reason)
    return {"min": period, "max": timeout or period}


def _scale_down(group: Fields, process: _Process) -> Json:
    soft, hard = group.duration("soft_delete_grace_period"), group.duration("hard_delete_grace_period")
    if soft is not None and hard is not None and parse_duration(soft) >= parse_duration(hard):
        key = group.key_of("soft_delete_grace_period")
        raise BadSetting(key, f"{soft} must be shorter than hard_delete_grace_period, {hard}, as Escalator asks for")
    group.remarks.differs("soft_delete_grace_period", _ALWAYS_EMPTY)
    return {
        "mode": "wait",
        **some(softGrace=soft, hardGrace=None if hard is None or is_zero(hard) else hard),
        **some(group=_utilisation(group, process)),
        "order": "oldest",
    }


def _utilisation(group: Fields, process: _Process) -> Json | None:
    parts: dict[str, Any] = {
        "lowerPercent": group.whole("taint_lower_capacity_threshold_percent", 0, _MOST_PERCENT),
        "upperPercent": group.whole("taint_upper_capacity_threshold_percent", 0, _MOST_PERCENT),
        "slow": group.whole("slow_node_removal_rate", 0, _MOST_PERCENT),
        "fast": group.whole("fast_node_removal_rate", 0, _MOST_PERCENT),
    }
    lower, upper, slow, fast = (value or 0 for value in parts.values())
    if not upper:
        group.remarks.differs("taint_upper_capacity_threshold_percent", "not set, so no machine goes by thresholds")
        return None
    ceiling = group.given["scale_up_threshold_percent"]
    if not lower < upper < ceiling:
        key = group.key_of("taint_upper_capacity_threshold_percent")
        raise BadSetting(
            key, f"{upper} must be above the lower threshold, {lower}, and below scale_up_threshold_percent, {ceiling}"
        )
    if slow > fast:
        raise BadSetting(group.key_of("slow_node_removal_rate"), f"{slow} is above fast_node_removal_rate, {fast}")
    return {"lowerPercent": lower, "upperPercent": upper, "slow": slow, "fast": fast, "every": process.every}


def _rotation(group: Fields, least: int) -> Json | None:
    # Escalator reads "0" as off.
    age = None if group.given.get("max_node_age") in ("0", 0) else group.duration("max_node_age")
    group.take("max_node_age")
    if age is None or is_zero(age):
        return None
    if not least:
        group.remarks.no_equal(
            "max_node_age", "left out: with min_nodes 0 Escalator never rotates, as it does so at its minimum"
        )
        return None
    if parse_duration(age) < parse_duration(_LEAST_EVERY):
        raise BadSetting(group.key_of("max_node_age"), f"{age} must be one minute at least")
    group.remarks.differs(
        "max_node_age", "with scaleDown.mode wait, only machines without pods go for their age: drain moves pods"
    )
    return {"maxNodeAge": age, "onlyAtMin": True}


def _health(group: Fields) -> Json | None:
    grace = group.duration("unhealthy_node_grace_period")
    newest = group.whole("health_check_newest_nodes_percent", 0, 100)
    most = group.whole("max_unhealthy_nodes_percent", 0, 99)
    if grace is None or is_zero(grace):
        return None
    if not newest:
        raise BadSetting(
            group.key_of("health_check_newest_nodes_percent"), "is missing: unhealthy_node_grace_period asks for it"
        )
    return {"grace": grace, "newestPercent": newest, "maxUnhealthyPercent": most or 0}
