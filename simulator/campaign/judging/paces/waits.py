"""Where machines wait for pods, none is asked to leave: they are deleted `hardGrace` after the taint, or never."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal

from activities.ports.cluster import NODES, Object, Resource
from api.duration import parse_duration
from api.keys import TAINT_SCALE_DOWN
from simulator.apiserver.history import Change


class Waits:
    """Judges what workers do to pods on Nodes that wait.

    Args:
        now: the true time.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._closed: dict[str, datetime] = {}
        """When each Node was closed."""

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource != NODES:
            return
        name = change.now["metadata"]["name"]
        taints = change.now["spec"].get("taints") or ()
        if change.kind != "DELETED" and any(taint["key"] == TAINT_SCALE_DOWN for taint in taints):
            self._closed.setdefault(name, self._now())
        else:
            self._closed.pop(name, None)

    def too_early(self, verb: Literal["evict", "delete"], removal: Object, specs: Sequence[Object]) -> str:
        """Return why no pod leaves for the removal now, by each spec that its pool has had since the removal began."""
        downs = [spec["scaleDown"] for spec in specs]
        if not downs or any(down.get("mode") != "wait" for down in downs):
            return ""
        if verb == "evict":
            return "its pool waits for pods, and asks none to leave"
        graces = [parse_duration(down["hardGrace"]) for down in downs if "hardGrace" in down]
        closed = self._closed.get(removal["spec"].get("nodeName", ""))
        if not graces:
            return "its pool waits for pods for ever"
        # Clocks of workers are up to a second ahead, and times in objects are whole seconds.
        if closed is not None and self._now() + timedelta(seconds=2) < closed + min(graces):
            return f"its pool waits for pods until {closed + min(graces):%H:%M:%S}"
        return ""
