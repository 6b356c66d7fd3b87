"""Tells what Growth does while it does it, from the events that it writes on its objects."""

from typing import Final

from activities.ports.cluster import EVENTS, WatchEvent
from planner.lifecycle.kinds import KINDS
from simulator.apiserver.changes import follow
from simulator.world import World
from worker.demo.screen import Screen

_SIGNS: Final = {
    "Requested": ("+", "green"),
    "InsufficientCapacity": ("✗", "red"),
    "OfferingUnavailable": ("✗", "red"),
    "Ready": ("✓", "green"),
    "CoolOff": ("~", "yellow"),
    "Cancelled": ("↩", "cyan"),
    "Deprovisioning": ("-", "yellow"),
    "DeleteFailed": ("✗", "red"),
    "RemovalFailed": ("‖", "bold red"),
    "Retry": ("↻", "cyan"),
    "Removed": ("-", "green"),
}
"""The events that make the story; the others are steps in between, for `kubectl describe`."""
_KINDS: Final = {kind.name for kind in KINDS}


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
