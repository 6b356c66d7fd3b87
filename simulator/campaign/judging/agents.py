"""That each machine which is bought has room for the pods of DaemonSets that it will carry."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, NODES, PODS, Object, Resource
from api.keys import TAINT_REMOVE_NOW
from planner.lifecycle.json_predicates import is_ready
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness, is_daemon

_BOUND_SECONDS: Final = 20.0
"""From the creation of an agent, which is more important than all others, to its binding."""
_KNOWN_SECONDS: Final = 15.0
"""From the first agent that runs to the rounds that know of it."""


_NEVER: Final = float("inf")


@dataclass(slots=True)
class _Waiting:
    """An agent that is bound to no Node yet."""

    node: str
    since: float


class Agents:
    """Judges the first agent of each machine that was kept for its pods until they were bound.

    On others, and once people delete an agent, its room may go to whoever waits.

    Args:
        witness: what happened.
        are_told: whether their template and LimitRanges tell what they will ask for; else the first of them does.
        now: the time.
        bound_since: since when pods are bound; None while scheduler or API server stand still.
    """

    def __init__(
        self,
        witness: Witness,
        *,
        now: Callable[[], datetime],
        are_told: bool,
        bound_since: Callable[[], datetime | None],
    ) -> None:
        self._witness = witness
        self._now = now
        self._bound_since = bound_since
        self._are_told = are_told
        self._known_since = 0.0 if are_told else _NEVER
        self._running: set[str] = set()
        self._bought: dict[str, float] = {}
        self._reserved: set[str] = set()
        self._waiting: dict[str, _Waiting] = {}
        self._had_one: set[str] = set()
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource == NODE_REQUESTS:
            name = change.now["metadata"]["name"]
            self._bought.setdefault(name, self._witness.seconds())
            self._note_reservation(name, change)
        elif resource == NODES and change.before is not None and is_ready(change.before) and not is_ready(change.now):
            # Its kubelet died: its reservation may end before it has its agent, which pods that wait then outrun.
            self._had_one.add(change.now["metadata"]["name"])
        elif resource == NODES and any(
            taint["key"] == TAINT_REMOVE_NOW for taint in change.now["spec"].get("taints") or ()
        ):
            # It keeps an agent off, too.
            self._had_one.add(change.now["metadata"]["name"])
        elif resource == PODS and is_daemon(change.now):
            self._note_agent(change)

    def look(self) -> None:
        """Look at every agent that waits, as time alone makes a violation."""
        bound_since = self._bound_since()
        if bound_since is None:
            return
        now, bound_for = self._witness.seconds(), (self._now() - bound_since).total_seconds()
        for uid, agent in list(self._waiting.items()):
            was_known = agent.node in self._bought and self._bought[agent.node] >= self._known_since
            # The taint of a removal holds an agent off, too.
            is_judged = was_known and agent.node not in self._had_one and agent.node not in self._witness.removals
            waits_for = min(now - agent.since, bound_for)
            if is_judged and agent.node in self._witness.nodes and waits_for > _BOUND_SECONDS:
                self.violations.append(f"{agent.node} has had no room for its agent for {waits_for:.0f} s")
                self._waiting.pop(uid)
                self._had_one.add(agent.node)

    def _note_reservation(self, name: str, change: Change) -> None:
        was_open, is_open = ("releasedAt" in (of or {}).get("status", {}) for of in (change.before, change.now))
        node = self._witness.nodes.get(name)
        if change.now["spec"].get("reservedFor") and not is_open:
            self._reserved.add(name)
        elif not is_open and (node is None or not is_ready(node)):
            # Its pods are gone before it could take them, and it opens for all.
            self._reserved.discard(name)
        elif is_open and not was_open and change.now["status"].get("reason") != "PodsBound":
            self._reserved.discard(name)

    def _note_agent(self, change: Change) -> None:
        pod, now = change.now, self._witness.seconds()
        uid, node = pod["metadata"]["uid"], _node_of(pod)
        if change.kind == "DELETED" or "deletionTimestamp" in pod["metadata"]:
            self._waiting.pop(uid, None)
            self._running.discard(uid)
            if not self._are_told and not self._running:
                # What they ask for is known from one that runs alone.
                self._known_since = _NEVER
        elif pod["spec"].get("nodeName"):
            self._waiting.pop(uid, None)
            self._running.add(uid)
            self._had_one.add(node)
            self._known_since = min(self._known_since, now + _KNOWN_SECONDS)
        elif node not in self._had_one and node in self._reserved:
            self._waiting.setdefault(uid, _Waiting(node, now))
        self.look()


def _node_of(pod: Object) -> str:
    """Return the Node that the agent is for."""
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
