"""That whoever waits hears of a change: messages only make things quick, so only time shows that they come.

One slow answer proves nothing, for a worker may be busy with something else. But where no call is lost and no worker
comes or goes meanwhile, the quickest of several answers is slow only if no message asks for one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, NODES, PODS, Object, Resource
from api.keys import TAINT_UNINITIALIZED
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import phase_of
from simulator.scheduling.conditions import condition_status

_ENOUGH: Final = 3
"""Answers of a kind that a history needs to be judged by them."""
_READY_SECONDS: Final = 1.0
"""For the quickest answer to a Node. Measured: with messages 0.3 to 0.6 s, without them mostly 1.1 s and more."""
_BUY_SECONDS: Final = 5.0
"""For the quickest answer to a pod. Measured: with messages 0.05 to 2.5 s, where prices are still read; without them
up to a period of the planner."""
_ROUND_SECONDS: Final = 1.0
"""In which one round makes its requests."""

Workers = frozenset[int]
"""Numbers of the incarnations that are alive."""


@dataclass(slots=True)
class _Answers:
    """How long it took from a change to what it asks for."""

    title: str
    prompt_seconds: float
    asked: dict[str, tuple[float, Workers]] = field(default_factory=dict)
    """When and of whom, by name or uid of the object that changed."""
    seconds: list[float] = field(default_factory=list)
    first: int = 0
    """How many of those, from the beginning on, are no proof if they were slow."""

    def ask(self, key: str, now: float, workers: Workers, *, before: bool, after: bool) -> None:
        """Take a change: what holds now and did not before asks for an answer."""
        if after and not before and workers:
            self.asked[key] = now, workers
        elif not after:
            self.asked.pop(key, None)

    def answer(self, key: str, now: float, workers: Workers) -> None:
        """Take the answer, once."""
        since, asked = self.asked.pop(key, (now, Workers()))
        if asked and asked == workers:
            self.seconds.append(now - since)


class Promptness:
    """Measures how soon changes are answered.

    Args:
        seconds: the true time.
        workers: who is alive.
        is_judged: whether no call is lost and no watch stands still.
    """

    def __init__(self, seconds: Callable[[], float], workers: Callable[[], Workers], *, is_judged: bool) -> None:
        self._seconds = seconds
        self._workers = workers
        self._is_judged = is_judged
        self._nodes = _Answers("requests whose Node turned Ready", _READY_SECONDS)
        self._pods = _Answers("pods for which a machine was bought", _BUY_SECONDS)
        self._began: float | None = None
        """When the first machine was bought."""

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item, before = change.now, change.before
        moment = self._seconds(), self._workers()
        if resource == NODES:
            self._nodes.ask(item["metadata"]["name"], *moment, before=_is_ready(before), after=_is_ready(item))
        elif resource == PODS:
            waits = _is_unschedulable(item)
            self._pods.ask(item["metadata"]["uid"], *moment, before=_is_unschedulable(before), after=waits)
        elif resource == NODE_REQUESTS and before is None:
            self._note_purchase(item, *moment)
        elif resource == NODE_REQUESTS and phase_of(item) == "Ready":
            self._nodes.answer(item["metadata"]["name"], *moment)

    def _note_purchase(self, request: Object, now: float, workers: Workers) -> None:
        """Take the answer to the pods that the machine is for; late first ones are no proof: no price was known."""
        self._began = now if self._began is None else self._began
        for seat in request["spec"].get("reservedFor") or ():
            self._pods.answer(seat["uid"], now, workers)
        if now - self._began <= _ROUND_SECONDS:
            self._pods.first = len(self._pods.seconds)

    def wrong(self) -> list[str]:
        """Return a sentence for each kind of change that was never answered promptly."""
        return [
            f"the quickest of {len(each.seconds)} {each.title} waited {min(each.seconds):.1f} s, as if nobody was told"
            for each in (self._nodes, self._pods)
            if self._is_judged and len(each.seconds) - each.first >= _ENOUGH and min(each.seconds) > each.prompt_seconds
        ]


def _is_ready(node: Object | None) -> bool:
    """Return whether pods can come: a cloud-controller-manager has initialised the Node, too."""
    if node is None:
        return False
    taints = {taint["key"] for taint in node["spec"].get("taints") or ()}
    return condition_status(node, "Ready") == "True" and TAINT_UNINITIALIZED not in taints


def _is_unschedulable(pod: Object | None) -> bool:
    if pod is None or pod["spec"].get("nodeName"):
        return False
    return condition_status(pod, "PodScheduled") == "False"
