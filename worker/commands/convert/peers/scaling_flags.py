"""Flags of Cluster Autoscaler that say how pools grow and shrink, with its defaults where a flag is not set.

Source: kubernetes/autoscaler, cluster-autoscaler/config/flags/flags.go.
"""

from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import Final

from pydantic import TypeAdapter

from api.names import TaintKey
from worker.commands.convert.fields import BadSetting, is_zero, quoted
from worker.commands.convert.flags import Flags
from worker.commands.convert.pools import fault, some
from worker.commands.convert.writing import Json

_UNNEEDED: Final = "10m"
_THRESHOLD: Final = "0.5"
_AFTER_ADD: Final = "10m"
_UNREADY: Final = "20m"
_CUTOFF: Final = -10
_AT_ONCE: Final = 10
_DRAINED_AT_ONCE: Final = 1
_MOST_NODES: Final = 99_999
_MOST_MACHINES: Final = 100_000
_LOWEST_PRIORITY: Final = -(2**31)
_HIGHEST_PRIORITY: Final = 1_000_000_000
_SHORTEST: Final = "1s"
"""In place of zero, where a time must be longer."""
_TAINT_KEY: Final = TypeAdapter(TaintKey)


def scale_up(flags: Flags, provisioning_timeout: str | None) -> Json:
    """Return `scaleUp` of each pool.

    Raises:
        BadSetting: a flag has another form.
    """
    cutoff = flags.whole("--expendable-pods-priority-cutoff", _LOWEST_PRIORITY, _HIGHEST_PRIORITY)
    return some(
        provisioningTimeout=provisioning_timeout,
        joinTimeout=_longer_than_zero(flags.duration("--max-node-provision-time")),
        unavailableTTL=_longer_than_zero(flags.duration("--initial-node-group-backoff-duration")),
        startupTaints=_startup_taints(flags) or None,
        podGrace=_longer_than_zero(flags.duration("--new-pod-scale-up-delay")),
        batchMax=flags.whole("--max-nodes-per-scaleup", 0, _MOST_MACHINES) or None,
        expendablePriority=_CUTOFF if cutoff is None else cutoff,
    )


def scale_down(flags: Flags) -> Json:
    """Return `scaleDown` of each pool.

    Raises:
        BadSetting: a flag has another form.
    """
    is_on = flags.flag("--scale-down-enabled", otherwise=True)
    unneeded = flags.duration("--scale-down-unneeded-time") or _UNNEEDED
    percent = _percent(flags)
    soft, eviction = flags.duration("--node-delete-delay-after-taint"), flags.duration("--max-pod-eviction-time")
    budgets, drains = _budgets(flags)
    emptied = "keep" if flags.flag("--skip-nodes-with-local-storage", otherwise=True) else "evict"
    repair, after_add = _repair(flags), flags.duration("--scale-down-delay-after-add") or _AFTER_ADD
    after_delete = flags.duration("--scale-down-delay-after-delete")
    if not (is_on and budgets):
        return {"mode": "none"}
    if percent and drains:
        flags.remarks.differs("--scale-down-utilization-threshold", "a machine goes below the share, and not at it")
    return some(
        mode="drain",
        idleAfter=unneeded,
        softGrace=soft,
        drainTimeout=_longer_than_zero(eviction),
        emptyDir=emptied,
        repair=repair,
        budgets=budgets,
        node=_node(percent, unneeded) if percent and drains else None,
        maxRemainingPercent=100 if percent and drains else None,
        cooldownAfterScaleUp=after_add,
        cooldownAfterScaleDown=after_delete,
    )


def _node(percent: int, unneeded: str) -> Json:
    window = _SHORTEST if is_zero(unneeded) else unneeded
    return {"cpuPercent": percent, "memoryPercent": percent, "window": window}


def _longer_than_zero(duration: str | None) -> str | None:
    return None if duration is None or is_zero(duration) else duration


def _repair(flags: Flags) -> Json | None:
    after = flags.duration("--scale-down-unready-time") or _UNREADY
    if not flags.flag("--scale-down-unready-enabled", otherwise=True):
        return None
    return {"after": _SHORTEST if is_zero(after) else after}


def _budgets(flags: Flags) -> tuple[list[Json], bool]:
    """Return the budgets, and whether machines with pods may go; none if no machine may."""
    old = flags.whole("--max-empty-bulk-delete", 0, _MOST_NODES)
    most = flags.whole("--max-scale-down-parallelism", 0, _MOST_NODES)
    most = (_AT_ONCE if old is None else old) if most is None else most
    drained = flags.whole("--max-drain-parallelism", 0, _MOST_NODES)
    drained = _DRAINED_AT_ONCE if drained is None else drained
    if not most:
        return [], False
    return [{"nodes": most}, {"nodes": drained, "reasons": ["Underused"]}], bool(drained)


def _percent(flags: Flags) -> int:
    """Return the threshold in whole percent, at most 100."""
    name = "--scale-down-utilization-threshold"
    text = flags.text(name) or _THRESHOLD
    try:
        share = Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not (share.is_finite() and 0 <= share <= _AT_ONCE):
        raise BadSetting(name, f"{quoted(text)} must be a share such as 0.5")
    return min(100, int((share * 100).to_integral_value(ROUND_FLOOR)))


def _startup_taints(flags: Flags) -> list[Json]:
    read: list[Json] = []
    for name in ("--startup-taint", "--ignore-taint"):
        for key in flags.all(name):
            reason = fault(_TAINT_KEY, key)
            if reason is not None:
                raise BadSetting(name, f"is no key of a taint: {reason}")
            if {"key": key} not in read:
                read.append({"key": key})
    return read
