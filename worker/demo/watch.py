"""Looks at the world: until what a stage is about has been seen, and at the events that Growth writes meanwhile."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final

from activities.ports.cluster import EVENTS, Object, WatchEvent
from activities.ports.provider import Server
from planner.consolidation.terms import CONSOLIDATED
from planner.lifecycle.kinds import KINDS
from simulator.apiserver.changes import follow
from simulator.view import View, look
from simulator.world import World
from worker.demo.screen import Screen
from worker.demo.tables import is_daemon

STAGE_SECONDS: Final = 40.0
"""A stage takes 1 to 12 s; one that takes longer than this has failed, also on a busy machine."""
LOOK_SECONDS: Final = 0.1


_SIGNS: Final = {
    "Requested": ("+", "green"),
    "InsufficientCapacity": ("✗", "red"),
    "OfferingUnavailable": ("✗", "red"),
    "Ready": ("✓", "green"),
    "CoolOff": ("~", "yellow"),
    CONSOLIDATED: ("~", "yellow"),
    "Cancelled": ("↩", "cyan"),
    "Deprovisioning": ("-", "yellow"),
    "DeleteFailed": ("✗", "red"),
    "RemovalFailed": ("‖", "bold red"),
    "Retry": ("↻", "cyan"),
    "Removed": ("-", "green"),
    "Skipped": ("-", "cyan"),
    "Abandoned": ("-", "cyan"),
}
"""The events that make the story; the others are steps in between, for `kubectl describe`."""
_KINDS: Final = {kind.name for kind in KINDS}


class StageFailed(Exception):
    """Something was not as it should be, or not in time; the message says what, and what was seen instead."""


class Watch:
    """Sees the world and remembers what was planned and bought.

    Args:
        world: moving, with a worker at work on it.
        screen: shows what is seen.
        story: prints the events of what is seen.
    """

    def __init__(self, world: World, screen: Screen, story: "Story") -> None:
        self._world = world
        self._screen = screen
        self._story = story
        self.planned: dict[str, str] = {}
        """Machine by uid of the pod it was bought for, as the requests said last."""
        self.machines: dict[str, Server] = {}
        """All servers that were ever seen, by name."""

    async def until(self, holds: Callable[[View], bool], awaited: str) -> View:
        """Return the first view that `holds`; meanwhile show that `awaited` is awaited.

        Raises:
            StageFailed: it did not hold in time.
        """
        deadline = time.monotonic() + STAGE_SECONDS
        while True:
            view = await look(self._world)
            self._note(view)
            if holds(view):
                return view
            if time.monotonic() > deadline:
                raise StageFailed(f"not seen within {STAGE_SECONDS:.0f} s: {awaited}. Seen: {_seen(view)}")
            self._screen.progress(view, awaited)
            await asyncio.sleep(LOOK_SECONDS)

    def has_told(self, reason: str, machines: Iterable[str]) -> bool:
        """Return whether the line with the event of that reason is printed for each machine.

        A step changes an object first and writes its event afterwards: a stage that ended with the change would have
        the line of its event printed under the heading of the next stage.
        """
        return all((reason, name) in self._story.lines for name in machines)

    def _note(self, view: View) -> None:
        self.machines |= view.servers
        for name, request in view.requests.items():
            if request.get("status", {}).get("phase") == "Unmet":
                # Its pods are no longer planned onto it; the next round finds another machine for them.
                continue
            self.planned |= {seat["uid"]: name for seat in request["spec"].get("reservedFor") or ()}


class Story:
    """Prints a line for each event of interest, as it comes.

    Args:
        world: whose events are told.
        screen: where to.
    """

    def __init__(self, world: World, screen: Screen) -> None:
        self._world = world
        self._screen = screen
        self._told: set[str] = set()
        self.lines: set[tuple[str, str]] = set()
        """Reason and machine of each event that is printed."""

    async def tell(self) -> None:
        """Tell until cancelled."""
        await follow(self._world.cluster, EVENTS, self._note)

    def _note(self, change: WatchEvent) -> None:
        event = change.object
        subject = event["regarding"]
        if change.type != "ADDED" or subject["kind"] not in _KINDS:
            return
        name = event["metadata"]["name"]
        # A watch that expires begins again with a list, and so with events that were told.
        if event["reason"] in _SIGNS and name not in self._told:
            self._told.add(name)
            # Of a purchase the event goes on with the names of the pods, which the tables tell better.
            text = event["note"].partition(" (")[0] if event["reason"] == "Requested" else event["note"]
            self._screen.line(*_SIGNS[event["reason"]], subject["name"], text)
            self.lines.add((event["reason"], subject["name"]))


def own_pods(view: View) -> list[Object]:
    """Return the pods that are load, not a DaemonSet's."""
    return [pod for pod in view.pods.values() if not is_daemon(pod)]


def running(view: View) -> list[Object]:
    """Return the pods of the load that run."""
    return [pod for pod in own_pods(view) if pod["status"].get("phase") == "Running"]


def check(holds: object, problem: str) -> None:
    """Raise `StageFailed` with `problem` unless it holds."""
    if not holds:
        raise StageFailed(problem)


def _seen(view: View) -> str:
    waiting = len([pod for pod in own_pods(view) if not pod["spec"].get("nodeName")])
    objects = ", ".join(f"{name} {phase}" for name, phase in view.phases().items())
    return f"{len(own_pods(view))} pods, {waiting} waiting; {len(view.servers)} servers; {objects or 'no requests'}"
