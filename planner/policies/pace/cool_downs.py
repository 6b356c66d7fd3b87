"""Cool-downs of pools: after a purchase, or after a removal that began by itself, no other removal does for a while.

What people order waits for nothing. Idle times and windows go on meanwhile.
Source: VPSie's `cooldownSeconds`, and `scale-down-delay-after-add` of Cluster Autoscaler.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from api.duration import format_duration
from api.meta import shown_time
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Snapshot
from planner.policies.pace.begun import grown_at, shrunk_at


@dataclass(frozen=True, slots=True)
class CoolDown:
    """A time in which no removal of a pool begins by itself."""

    until: datetime | None
    """None while a purchase of this round keeps it from being told: the next round knows."""
    why: str
    """The rest of a sentence about a machine."""


def cool_down(pool: NodePool, snapshot: Snapshot, buying: Collection[str]) -> CoolDown | None:
    """Return what holds the removals of a pool, None if nothing does; of two, what lasts longer.

    Args:
        pool: it is about.
        snapshot: of the round.
        buying: names of pools for which this round buys.
    """
    name, now, spec = pool.metadata.name, snapshot.now, pool.spec.scale_down
    if spec.cooldown_after_scale_up and name in buying:
        return CoolDown(None, f"pool {name} buys a machine now, and {_field('cooldownAfterScaleUp')} holds after that")
    after = (
        ("cooldownAfterScaleUp", spec.cooldown_after_scale_up, lambda: grown_at(pool, snapshot.requests, now)),
        ("cooldownAfterScaleDown", spec.cooldown_after_scale_down, lambda: shrunk_at(pool, snapshot.removals, now)),
    )
    ends = [
        CoolDown(
            at + wait, f"{_field(field)} of pool {name}, {format_duration(wait)}, lasts until {shown_time(at + wait)}"
        )
        for field, wait, began in after
        if wait and (at := began()) is not None and now < at + wait
    ]
    return max(ends, key=lambda end: end.until or now, default=None)


def _field(name: str) -> str:
    return f"scaleDown.{name}"
