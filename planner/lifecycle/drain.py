"""The drain of a node: the pods whose turn it is, those that block it, and the time of the next evictions.

Pure: part of the step function of a removal (`planner.lifecycle.removal`). While a pod is there that must
stay, none is evicted: a drain that cannot end would move the others for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from api.duration import format_duration
from api.meta import shown_time
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.clocks.drain_limits import (
    UNLIMITED,
    DrainLimits,
    hard_deadline,
    is_due,
    next_limit,
    told_deadline,
)
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import Blocker, DrainLimit, DrainSeen, PerNodePodsSeen, RemovalObservation
from planner.lifecycle.step import SENTENCE_CHARACTERS, Act, Step, Wait, shortened

SYSTEM_CRITICAL_FROM: Final = 2_000_000_000
"""Lowest priority of pods that the cluster itself needs. Source: Kubernetes docs, "Pod Priority and Preemption"."""
ASK_AGAIN_AFTER: Final = timedelta(seconds=10)
"""Between two rounds of evictions: a replacement needs some seconds until it counts for a budget."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
"""The pause doubles with each round in which no pod was let go, up to this: a budget may never allow it."""
LOOK_AT_PODS_EVERY: Final = timedelta(seconds=5)
LOOK_AT_BLOCKED_EVERY: Final = timedelta(minutes=1)
"""A pod that goes comes as a message, so this is the fallback."""
NAMED: Final = 5
"""Pods that a message names; the others are counted."""


class Refusal(StrEnum):
    """Refusals of evictions: reason of the removal meanwhile."""

    BUDGET = "BlockedByBudget"
    SERVER = "EvictionRefused"
    """The API server, or a webhook, refuses for another reason."""


EVICTING: Final = "Evicting"
COME_BACK: Final = "those that were asked come back to the node, as they tolerate each taint"
"""Of pods that nothing on a Node keeps off; rest of a sentence (docs/decisions/0017)."""
HARD_GRACE: Final = "HardGrace"
"""Reason from the pool's hardGrace on: pods are deleted, whatever keeps them."""
LAST_GRACE: Final = "TerminationGracePeriod"
"""Reason when pods are deleted, whatever keeps them, so that they have ended by the end of that time of the pool."""
FORCING: Final = frozenset({HARD_GRACE, LAST_GRACE})
DAEMONS: Final = "DaemonSets"
"""Reason when pods of DaemonSets are asked to leave, after all others."""
OWN_GRACE: Final = timedelta(seconds=30)
"""Of a pod that says nothing of it. Source: Kubernetes API, PodSpec, terminationGracePeriodSeconds."""
ENDS_WITH: Final = timedelta(seconds=1)
"""A pod that ends so little after a deadline ends in time: the API server counts whole seconds."""


@dataclass(frozen=True, slots=True)
class Occupant:
    """A pod that keeps a node from being empty."""

    key: str
    """namespace/name."""
    is_critical: bool = False
    is_terminating: bool = False
    grace: timedelta = OWN_GRACE
    """The time that it asks for, to end."""
    ends_at: datetime | None = None
    """When that is over, once it terminates."""
    blocker: Blocker | None = None
    """What keeps it from being evicted, or from ending."""
    why: str = ""
    """The same as the rest of a sentence that begins with its key."""


def in_turn(pods: Sequence[Occupant]) -> list[Occupant]:
    """Return the pods to evict now: system-critical ones once all others are gone.

    Source: Kubernetes docs, "Graceful node shutdown": critical pods are the last to go.
    """
    ordinary = [pod for pod in pods if not pod.is_critical]
    return [pod for pod in ordinary or pods if not pod.is_terminating]


def force_at(pod: Occupant, deadline: datetime, now: datetime) -> datetime | None:
    """Return when the pod must be deleted to end by the deadline with its own grace, None if it ends in time already.

    Source: Karpenter, controllers/node/termination/terminator, DeleteExpiringPods.
    """
    if pod.is_terminating and (pod.ends_at is None or pod.ends_at <= max(deadline, now) + ENDS_WITH):
        return None
    return deadline - pod.grace


def grace_left(pod: Occupant, deadline: datetime, now: datetime) -> timedelta | None:
    """Return the grace of a pod that is deleted for the deadline, None for its own: nobody has more than is left."""
    left = max(deadline - now, ENDS_WITH)
    return left if left < pod.grace - ENDS_WITH else None


def see_drain(
    pods: Sequence[Occupant],
    status: NodeRemovalRequestStatus,
    *,
    daemons: Sequence[Occupant] = (),
    limits: DrainLimits = UNLIMITED,
    now: datetime | None = None,
) -> DrainSeen:
    """Return the counts and blockers of the pods on a node that is drained.

    Args:
        pods: that keep it from being empty.
        status: of its removal.
        daemons: pods of DaemonSets that leave after them, and do not come back.
        limits: of the drain.
        now: the time; needed for the last two.
    """
    leaving = in_turn(pods)
    limits = _until_all_end(limits, pods)
    deadline = limits.deadline
    forced = [] if deadline is None or now is None else [force_at(pod, deadline, now) for pod in pods]
    first_forced_at = min((at for at in forced if at is not None), default=None)
    limit, limit_at = (now and next_limit(limits, status, first_forced_at, now)) or (None, None)
    stuck = [pod for pod in pods if pod.is_terminating and pod.blocker is not None]
    staying = [pod for pod in pods if not pod.is_terminating and pod.blocker is not None]
    blocking = sorted(staying or ([] if leaving else stuck), key=_order)
    seen = DrainSeen(
        in_turn=len(leaving),
        terminating=sum(pod.is_terminating for pod in pods),
        blocker=blocking[0].blocker if blocking else None,
        blockers=(*(f"{pod.key} {pod.why}" for pod in blocking[:NAMED]), *_more(blocking)),
        limit=limit,
        limit_at=limit_at,
        deadline=deadline,
        daemons=sum(_holds_up(pod, status, now) for pod in daemons),
    )
    is_told = seen.blocker is not None and (status.reason, status.message) == (seen.blocker, blocked(seen))
    return seen.model_copy(update={"is_told": is_told})


def _until_all_end(limits: DrainLimits, pods: Sequence[Occupant]) -> DrainLimits:
    """Return the limits of a drain that is not given up while each pod that is left has time to end, and will.

    Nothing could be taken back: the pods would end all the same, and others come to a machine that is nearly empty.
    """
    ends = [pod.ends_at for pod in pods if pod.is_terminating and pod.blocker is None and pod.ends_at is not None]
    if limits.given_up_at is None or not ends or len(ends) < len(pods):
        return limits
    return replace(limits, given_up_at=max(limits.given_up_at, max(ends) + ENDS_WITH))


def _holds_up(daemon: Occupant, status: NodeRemovalRequestStatus, now: datetime | None) -> bool:
    """Return whether the node waits for the pod of a DaemonSet: until it is asked, and then for its own grace."""
    if daemon.is_terminating:
        return now is not None and daemon.ends_at is not None and now < daemon.ends_at + ENDS_WITH
    return status.daemons_asked_at is None


def _more(blocking: Sequence[Occupant]) -> tuple[str, ...]:
    rest = len(blocking) - NAMED
    return (f"{rest} more",) if rest > 0 else ()


def _order(pod: Occupant) -> tuple[int, str]:
    kinds = list(Blocker)
    return (len(kinds) if pod.blocker is None else kinds.index(pod.blocker), pod.key)


def blocked(drain: DrainSeen) -> str:
    """Return a sentence on the pods that block a drain, what helps, and how often they are looked at."""
    names = f": {', '.join(drain.blockers)}" if drain.blockers else ""
    if drain.blocker is Blocker.TERMINATING:
        helps = "See whether their node still runs, or delete them by force"
        return _looked_at(f"Pods do not end{names}", f". {helps}")
    return _looked_at(f"No pod is evicted while one must stay{names}", ". Move or delete it, or cancel the removal")


def _looked_at(why: str, helps: str = "") -> str:
    """Return why nothing happens, what helps, and when it is tried next: names are cut, and not what follows."""
    rest = f"{helps}. The node is looked at again every {format_duration(LOOK_AT_BLOCKED_EVERY)}"
    return f"{shortened(why, SENTENCE_CHARACTERS - len(rest))}{rest}"


def pods_leave(seen: RemovalObservation, now: datetime) -> Step:
    """Return the next step for a drained node that still has pods."""
    tell = told_deadline(seen, now)
    if tell is not None:
        return tell
    drain = seen.drain
    is_last = is_due(seen, DrainLimit.FORCE, now)
    if drain.blocker is Blocker.TERMINATING and not is_last:
        return _blocked(drain, drain.blocker, None)
    # A drain that a round began has limits, one that a person ordered may have this.
    forced_at = hard_deadline(seen) if drain.limit is None else None
    if drain.limit is DrainLimit.FORCE:
        forced_at = drain.limit_at
    is_forced = forced_at is not None and now >= forced_at
    if drain.blocker is not None and not is_forced:
        return _blocked(drain, drain.blocker, forced_at)
    if not drain.in_turn and not is_last:
        return Wait(
            reason="PodsLeave",
            message=f"{seen.occupant_count} pods are still on the node or on their way to it, "
            f"{drain.terminating} of them terminate. "
            f"The node is looked at again every {format_duration(LOOK_AT_PODS_EVERY)}",
            until=None,
            look_every=LOOK_AT_PODS_EVERY,
        )
    again_at = _again_at(seen.status, forced_at)
    if again_at is not None and now < again_at:
        return _asked(seen.status, again_at)
    if is_last:
        message = (
            f"terminationGracePeriod ends at {shown_time(drain.deadline or now)}: delete pods, whatever keeps them"
        )
        return Act(effect=RemovalEffect.EVICT, reason=LAST_GRACE, message=message)
    if is_forced:
        message = f"hardGrace is over: delete {drain.in_turn} pods, whatever keeps them"
        return Act(effect=RemovalEffect.EVICT, reason=HARD_GRACE, message=message)
    return Act(
        effect=RemovalEffect.EVICT,
        reason=EVICTING,
        message=f"Evict {drain.in_turn} pods; system-critical ones go last",
    )


def daemons_leave(seen: RemovalObservation) -> Step | None:
    """Return the step for pods of DaemonSets on a node that all others have left, None when none is waited for.

    They are the last, so that what others say while they end is still logged and measured. None keeps the machine: what
    may not be evicted ends with it.
    Source: kubernetes-sigs/karpenter issues 1133 and 2276 (log agents that ended before the pods whose logs they send).
    """
    number = seen.drain.daemons
    if not number:
        return None
    if seen.status.daemons_asked_at is None:
        message = f"Ask {number} DaemonSet pods to leave, which do not come back while the node is closed"
        return Act(effect=RemovalEffect.EVICT, reason=DAEMONS, message=message)
    return Wait(
        reason=DAEMONS,
        message=f"All other pods have left; {number} DaemonSet pods have the time that they ask for, to end. "
        f"The node is looked at again every {format_duration(LOOK_AT_PODS_EVERY)}",
        until=None,
        look_every=LOOK_AT_PODS_EVERY,
    )


def per_node_pods_stay(seen: RemovalObservation) -> Step | None:
    """Return the step that keeps a node for a pod that belongs to it and may not be evicted now, None if none is there.

    A pod of a storage system has a budget as long as there is data on the node that it serves.
    """
    pods = seen.per_node_pods
    if not pods.refusal:
        return None
    message = _looked_at(pods.refusal)
    if not pods.is_told:
        return Act(effect=RemovalEffect.TELL_BLOCKERS, reason=Refusal.BUDGET, message=message)
    return Wait(reason=Refusal.BUDGET, message=message, until=None, look_every=LOOK_AT_BLOCKED_EVERY)


def see_per_node_pods(refusal: str, status: NodeRemovalRequestStatus) -> PerNodePodsSeen:
    """Return the refusal, and whether the removal says so already."""
    known = shortened(refusal)
    is_told = (status.reason, status.message) == (Refusal.BUDGET, _looked_at(known))
    return PerNodePodsSeen(refusal=known, is_told=is_told)


def _blocked(drain: DrainSeen, blocker: Blocker, deadline: datetime | None) -> Step:
    message = blocked(drain)
    if not drain.is_told:
        return Act(effect=RemovalEffect.TELL_BLOCKERS, reason=blocker, message=message)
    return Wait(reason=blocker, message=message, until=deadline, look_every=LOOK_AT_BLOCKED_EVERY)


def _asked(status: NodeRemovalRequestStatus, again_at: datetime) -> Wait:
    if status.evict_attempts and status.reason == Refusal.BUDGET:
        reason, message = Refusal.BUDGET.value, status.message
    elif status.evict_attempts and status.reason == Refusal.SERVER:
        reason, message = Refusal.SERVER.value, status.message
    elif status.evict_attempts and status.reason == EVICTING:
        reason, message = EVICTING, status.message
    else:
        reason, message = EVICTING, "Pods were asked to leave"
    return Wait(reason=reason, message=message, until=again_at, look_every=LOOK_AT_BLOCKED_EVERY)


def _again_at(status: NodeRemovalRequestStatus, deadline: datetime | None) -> datetime | None:
    """Return the time of the next eviction of pods, None if none was tried yet."""
    asked_at = status.evict_attempted_at
    if asked_at is None:
        return None
    pause = min(LONGEST_PAUSE, ASK_AGAIN_AFTER * 2 ** min(max(status.evict_attempts - 1, 0), 10))
    again_at = asked_at + pause
    # From the deadline on nobody is asked any more, so no pause for a budget holds.
    return again_at if deadline is None or asked_at >= deadline else min(again_at, deadline)
