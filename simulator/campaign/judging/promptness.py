"""That whoever waits hears of a change: messages are no more than quick, so only time shows that they come.

One slow answer proves nothing, for a message may be lost and a worker may be dead. But where no call is lost, the
quickest of several answers is too slow only if no message ever asks for one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, NODES, PODS, Object, Resource
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import phase_of
from simulator.scheduling.conditions import condition_status

_ENOUGH: Final = 4
"""Answers of a kind that a history needs to be judged by them."""
_PROMPT_SECONDS: Final = 1.0
"""For the quickest answer. Measured: with messages 0.3 to 0.7 s, without them 1.3 s and more."""


@dataclass(slots=True)
class _Answers:
    """How long it took from what is told to what it asks for."""

    what: str
    since: dict[str, float] = field(default_factory=dict)
    """When it was told, by name or uid of what it is about."""
    seconds: list[float] = field(default_factory=list)

    def answered(self, key: str, now: float) -> None:
        """Take the answer, once."""
        if key in self.since:
            self.seconds.append(now - self.since.pop(key))


class Promptness:
    """Measures how soon changes are answered.

    Args:
        seconds: the true time.
        is_judged: whether no call is lost and no watch stands still.
    """

    def __init__(self, seconds: Callable[[], float], *, is_judged: bool) -> None:
        self._seconds = seconds
        self._is_judged = is_judged
        self._nodes = _Answers("requests whose Node turned Ready")
        self._pods = _Answers("pods for which a machine was bought")

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item = change.now
        if resource == NODES:
            _told(self._nodes, item["metadata"]["name"], self._seconds(), holds=_is_ready(item))
        elif resource == PODS:
            _told(self._pods, item["metadata"]["uid"], self._seconds(), holds=_is_unschedulable(item))
        elif resource == NODE_REQUESTS and change.before is None:
            for seat in item["spec"].get("reservedFor") or ():
                self._pods.answered(seat["uid"], self._seconds())
        elif resource == NODE_REQUESTS and phase_of(item) == "Ready":
            self._nodes.answered(item["metadata"]["name"], self._seconds())

    def wrong(self) -> list[str]:
        """Return what was never answered promptly."""
        return [
            f"the quickest of {len(each.seconds)} {each.what} waited {min(each.seconds):.1f} s, as if nobody was told"
            for each in (self._nodes, self._pods)
            if self._is_judged and len(each.seconds) >= _ENOUGH and min(each.seconds) > _PROMPT_SECONDS
        ]


def _told(answers: _Answers, key: str, now: float, *, holds: bool) -> None:
    if holds:
        answers.since.setdefault(key, now)
    else:
        answers.since.pop(key, None)


def _is_ready(node: Object) -> bool:
    return condition_status(node, "Ready") == "True"


def _is_unschedulable(pod: Object) -> bool:
    return condition_status(pod, "PodScheduled") == "False" and not pod["spec"].get("nodeName")
