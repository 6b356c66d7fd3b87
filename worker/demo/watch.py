"""Looks at the world until what a stage is about has been seen, or its time is over."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from activities.ports.cluster import Object
from activities.ports.provider import Server
from simulator.view import View, look
from simulator.world import World
from worker.demo.screen import Screen
from worker.demo.tables import is_daemon

STAGE_SECONDS: Final = 40.0
"""A stage takes 1 to 12 s; one that takes longer than this has failed, also on a busy machine."""
LOOK_SECONDS: Final = 0.1


class StageFailed(Exception):
    """Something was not as it should be, or not in time; the message says what, and what was seen instead."""


class Watch:
    """Sees the world and remembers what was planned and bought.

    Args:
        world: moving, with a worker at work on it.
        screen: shows what is seen.
    """

    def __init__(self, world: World, screen: Screen) -> None:
        self._world = world
        self._screen = screen
        self.planned: dict[str, str] = {}
        """Machine by uid of the pod it was bought for, as the requests said last."""
        self.machines: dict[str, Server] = {}
        """All servers that were ever seen, by name."""

    async def until(self, holds: Callable[[View], bool], what: str) -> View:
        """Return the first view that `holds`; meanwhile show that `what` is awaited.

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
                raise StageFailed(f"not seen within {STAGE_SECONDS:.0f} s: {what}. Seen: {_seen(view)}")
            self._screen.progress(view, what)
            await asyncio.sleep(LOOK_SECONDS)

    def _note(self, view: View) -> None:
        self.machines |= view.servers
        for name, request in view.requests.items():
            if request.get("status", {}).get("phase") == "Unmet":
                # Its pods are no longer planned onto it; the next round finds another machine for them.
                continue
            self.planned |= {seat["uid"]: name for seat in request["spec"].get("reservedFor") or ()}


def own_pods(view: View) -> list[Object]:
    """Return the pods that are load, not a DaemonSet's."""
    return [pod for pod in view.pods.values() if not is_daemon(pod)]


def running(view: View) -> list[Object]:
    """Return the pods of the load that run."""
    return [pod for pod in own_pods(view) if pod["status"].get("phase") == "Running"]


def check(holds: object, what: str) -> None:
    """Raise `StageFailed` with `what` unless it holds."""
    if not holds:
        raise StageFailed(what)


def _seen(view: View) -> str:
    waiting = len([pod for pod in own_pods(view) if not pod["spec"].get("nodeName")])
    objects = ", ".join(f"{name} {phase}" for name, phase in view.phases().items())
    return f"{len(own_pods(view))} pods, {waiting} waiting; {len(view.servers)} servers; {objects or 'no requests'}"
