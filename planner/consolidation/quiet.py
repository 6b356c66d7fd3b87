"""Quiet machines: since when the pods of a machine have been the same, as its Node tells.

A pod that comes says itself when it was bound; of one that left nothing is there any more. So the Node is marked with a
hash of its pods and the time at which they were seen to be these, as Karpenter does with `lastPodEventTime`.
Source: Karpenter docs, "Disruption: consolidateAfter"; docs/decisions/0011-rounds-remember-on-objects.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from api.keys import ANNOTATION_PODS_SINCE
from api.meta import format_timestamp, read_moment
from planner.lifecycle.clocks.future_times import is_to_come
from planner.objects.kinds import Node, Pod

_HASH_CHARACTERS: Final = 12
_SELDOM: Final = 5
"""A Node whose pods come and go all the time is marked this many times in the time that it must be quiet."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """The pods of a machine in time."""

    since: datetime
    """Since when they have been the same."""
    mark: str | None = None
    """New value of the Node's annotation; None if it stays."""


def quiet_since(node: Node, pods: Iterable[Pod], now: datetime, after: timedelta) -> Quiet:
    """Return since when the machine has had these pods, and the mark to write if that is news.

    A Node without a mark is marked and waits from then on: nobody knows who has left it.
    """
    present = tuple(pods)
    seen = pods_hash(present)
    moment, known = _read(node)
    if moment is None or is_to_come(moment, now):
        return Quiet(now, _mark(now, seen))
    if known != seen:
        is_due = now >= moment + after / _SELDOM
        return Quiet(now, _mark(now, seen) if is_due else None)
    bound = [pod.scheduled.since or pod.created_at for pod in present]
    return Quiet(max([moment, *(since for since in bound if since is not None and not is_to_come(since, now))]))


def pods_hash(pods: Iterable[Pod]) -> str:
    """Return the hash of which pods these are."""
    return sha256(" ".join(sorted(pod.uid for pod in pods)).encode()).hexdigest()[:_HASH_CHARACTERS]


def _read(node: Node) -> tuple[datetime | None, str]:
    moment, _, known = node.annotations.get(ANNOTATION_PODS_SINCE, "").partition(" ")
    return read_moment(moment), known


def _mark(now: datetime, seen: str) -> str:
    return f"{format_timestamp(now.replace(microsecond=0))} {seen}"
