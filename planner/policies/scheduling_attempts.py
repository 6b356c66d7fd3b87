"""Signs that a scheduler was at work: nothing is concluded of a pod that it has not tried.

A refusal that is repeated in the same words changes nothing on the pod, so most signs are those of other pods.
Source: Kubernetes docs, "Pod conditions"; the scheduler writes a condition only where it differs.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from planner.model.plan import Snapshot
from planner.objects.counted_pods import may_be_placed
from planner.objects.kinds import Node, Pod

SPEAKS_WITHIN: Final = timedelta(seconds=30)
"""A scheduler that is at work has said something of each new pod by then."""
_NODES: Final = re.compile(r"0/(\d{1,6}) nodes ")
"""How its words begin: on how many Nodes it has tried the pod."""


class Attempts:
    """What the pods of a snapshot tell about their schedulers."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = len(snapshot.nodes)
        self._now = snapshot.now
        self._pods = snapshot.pods
        self._last: dict[str, datetime] | None = None
        self._silent: frozenset[str] = frozenset()

    def was_tried(self, pod: Pod, since: datetime, nodes: Iterable[Node]) -> bool:
        """Return whether the scheduler of the pod was at work after that time, or has tried the pod on such a Node."""
        last = self._last_words().get(pod.scheduler)
        if pod.scheduler in self._silent:
            return False
        return (last is not None and last > since) or any(self._has_tried(pod, node) for node in nodes)

    def is_silent(self, pod: Pod) -> bool:
        """Return whether the scheduler of the pod says nothing of pods that it should have tried."""
        self._last_words()
        return pod.scheduler in self._silent

    def _has_tried(self, pod: Pod, node: Node) -> bool:
        """Return whether the pod was refused on as many Nodes as there are now, and this one was not there before."""
        tried = _NODES.match(pod.scheduled.message)
        first = pod.scheduled.since
        is_new = first is not None and node.created_at is not None and node.created_at > first
        return tried is not None and is_new and int(tried.group(1)) == self._nodes

    def _last_words(self) -> dict[str, datetime]:
        if self._last is None:
            last: dict[str, datetime] = {}
            silent: set[str] = set()
            for pod in self._pods:
                moment = pod.scheduled.since
                if moment is not None and (pod.scheduler not in last or moment > last[pod.scheduler]):
                    last[pod.scheduler] = moment
                if not pod.scheduled.is_told and _should_be_tried(pod, self._now):
                    silent.add(pod.scheduler)
            self._last, self._silent = last, frozenset(silent)
        return self._last


def _should_be_tried(pod: Pod, now: datetime) -> bool:
    return may_be_placed(pod) and pod.created_at is not None and now >= pod.created_at + SPEAKS_WITHIN
