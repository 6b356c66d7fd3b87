"""Karpenter's disruption as scaleDown of a pool: consolidation, and budgets with their windows.

Source: karpenter.sh/docs/concepts/disruption, "Consolidation" and "NodePool Disruption Budgets".
"""

import re
from typing import Any, Final

from api.duration import parse_duration
from api.v1alpha1.removal_budget import MOST_BUDGETS
from worker.commands.convert.fields import BadSetting, Fields, is_zero, quoted, read_duration
from worker.commands.convert.peers.cron import windows
from worker.commands.convert.writing import Json

_REASONS: Final = {"Empty": "Empty", "Underutilized": "Consolidation", "Drifted": "Drift"}
_POLICIES: Final = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
_NEVER: Final = "Never"
_FOR_EVER: Final = "87600h"
"""Ten years, the longest duration there is."""
_SHORTEST: Final = "1s"
_NODES: Final = re.compile("([0-9]{1,5}|([0-9]{1,2}|100)%)")
_USUAL: Final = "10%"
_NO_WINDOW: Final = "no window has days of the month or months, so the budget holds at all times, the safe side"


def read_disruption(disruption: Fields, *, is_static: bool) -> Json:
    """Return scaleDown of the pool, in which pods move for drift and age, too.

    Raises:
        BadSetting: a setting has another form.
    """
    remarks = disruption.remarks
    policy = disruption.text("consolidationPolicy") or "WhenEmptyOrUnderutilized"
    if policy not in _POLICIES:
        raise BadSetting(
            disruption.key_of("consolidationPolicy"), f"{quoted(policy)} must be one of {', '.join(_POLICIES)}"
        )
    if policy == "Balanced":
        remarks.differs(
            disruption.key_of("consolidationPolicy"), "scaleDown.consolidate weighs each step against movePrice"
        )
    after = disruption.given.get("consolidateAfter")
    is_never = after == _NEVER
    quiet = "0s" if disruption.take("consolidateAfter") is None or is_never else disruption.duration("consolidateAfter")
    quiet = quiet or "0s"
    moves = not (is_never or is_static or policy == "WhenEmpty")
    if moves and is_zero(quiet):
        remarks.differs(
            disruption.key_of("consolidateAfter"),
            f"consolidate.after is {_SHORTEST}, as 0s would move pods without end",
        )
    return {
        "mode": "drain",
        "idleAfter": _FOR_EVER if is_never or is_static else quiet,
        **({"consolidate": {"after": _SHORTEST if is_zero(quiet) else quiet}} if moves else {}),
        "budgets": _budgets(disruption),
    }


def _budgets(disruption: Fields) -> list[Json]:
    read = [budget for each in disruption.mappings("budgets") for budget in _budget(each)]
    if len(read) > MOST_BUDGETS:
        key = disruption.key_of("budgets")
        raise BadSetting(key, f"they come to {len(read)} windows, and a pool has at most {MOST_BUDGETS}")
    return read or [{"nodes": _USUAL, "reasons": list(_REASONS.values())}]


def _budget(each: Fields) -> list[Json]:
    nodes = each.take("nodes", is_required=True)
    if isinstance(nodes, bool) or not isinstance(nodes, int | str) or not _NODES.fullmatch(str(nodes)):
        raise BadSetting(each.key_of("nodes"), f'{quoted(nodes)} must be a number, or a share from "0%" to "100%"')
    reasons: list[str] = []
    for key, reason in each.items("reasons"):
        if reason not in _REASONS:
            raise BadSetting(key, f"{quoted(reason)} must be one of {', '.join(_REASONS)}")
        reasons += [_REASONS[reason]] if _REASONS[reason] not in reasons else []
    # Age is not among them: with Karpenter, no budget holds it back.
    budget = {"nodes": nodes, "reasons": reasons or list(_REASONS.values())}
    return [budget | window for window in _windows(each)]


def _windows(each: Fields) -> list[dict[str, Any]]:
    schedule, duration = each.text("schedule"), each.take("duration")
    if schedule is None and duration is None:
        return [{}]
    if schedule is None or duration is None:
        raise BadSetting(each.key, "schedule and duration are given together, or neither")
    length = parse_duration(read_duration(each.key_of("duration"), duration))
    minutes = int(length.total_seconds()) // 60
    if minutes < 1:
        raise BadSetting(each.key_of("duration"), f"{quoted(duration)} must be a minute at least")
    try:
        read = windows(schedule, minutes)
    except ValueError as error:
        raise BadSetting(each.key_of("schedule"), str(error)) from None
    if read is None:
        each.remarks.no_equal(each.key_of("schedule"), _NO_WINDOW)
        return [{}]
    if len(read) > MOST_BUDGETS:
        each.remarks.no_equal(
            each.key_of("schedule"), f"it comes to {len(read)} windows a week, so the budget holds at all times"
        )
        return [{}]
    return read
