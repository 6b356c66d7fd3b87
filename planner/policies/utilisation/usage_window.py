"""What the samples of a Node's usage say of a window of time: too little to judge it, or whether it is little used.

A sample is the average of the time since the one before. So a window is full where samples reach from its beginning
to now without a gap: metrics-server takes one every 15 s to 60 s, and may be away for a while. The Node is little used
if most of the samples are below both bounds, and their average is, too.
Source: VPSie's scale-down: averages below the bounds, 80 % of the samples of 10 min below, none older than 5 min.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.pool_parts.utilisation import NodeUtilisation
from planner.model.usage import UsageSample
from planner.policies.utilisation.shares import JUDGED, Amounts, is_share_below, summed

LONGEST_GAP: Final = timedelta(minutes=5)
"""Between two samples, and from the last one until now."""
_WHOLE: Final = 100


@dataclass(frozen=True, slots=True)
class UsageJudgement:
    """What is known of a window."""

    is_little: bool
    unknown: str = ""
    """Why it cannot be judged: the rest of a sentence about the Node. Empty where it can."""
    full_at: datetime | None = None
    """When its window is full, if samples go on; None where it is full, or nobody knows."""


def judged(
    samples: Sequence[UsageSample], capacity: Amounts, wish: NodeUtilisation, now: datetime, since: datetime | None
) -> UsageJudgement:
    """Return what the samples say of the window that ends now.

    Args:
        samples: of the Node, the oldest first.
        capacity: of the Node: what pods can have.
        wish: of its pool.
        now: the time. Samples of a later time are not heeded: a clock was wrong.
        since: when the Node was made; earlier samples are of another one of its name. None if that is not known.
    """
    known = [each for each in samples if each.at <= now and (since is None or each.at >= since)]
    if not known:
        return UsageJudgement(is_little=False, unknown="no usage of it is known yet")
    newest = known[-1].at
    if now - newest > LONGEST_GAP:
        unknown = f"no usage of it is known since {format_timestamp(newest)}"
        return UsageJudgement(is_little=False, unknown=unknown)
    begins = now - wish.window
    first = _first_without_gap(known)
    if known[first].at > begins:
        unknown = f"its usage is known without a gap since {format_timestamp(known[first].at)} only"
        return UsageJudgement(is_little=False, unknown=unknown, full_at=known[first].at + wish.window)
    # The one before the window tells of the time until it begins.
    within = [each for each in known if each.at > begins] or known[-1:]
    below = sum(_is_below({"cpu": each.cpu, "memory": each.memory}, capacity, wish) for each in within)
    total = summed({"cpu": each.cpu, "memory": each.memory} for each in within)
    whole = {name: capacity.get(name, 0) * len(within) for name in JUDGED}
    is_little = _WHOLE * below >= wish.fraction_of_samples * len(within) and _is_below(total, whole, wish)
    return UsageJudgement(is_little=is_little)


def _first_without_gap(samples: Sequence[UsageSample]) -> int:
    """Return the position from which on no two samples are too far apart."""
    first = len(samples) - 1
    while first and samples[first].at - samples[first - 1].at <= LONGEST_GAP:
        first -= 1
    return first


def _is_below(used: Amounts, capacity: Amounts, wish: NodeUtilisation) -> bool:
    return is_share_below("cpu", used, capacity, wish.cpu_percent) and is_share_below(
        "memory", used, capacity, wish.memory_percent
    )
