"""Pools of which nothing is written: those in dry run, and those frozen as too many new Nodes are not Ready."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODES, Object, Resource
from api.duration import parse_duration
from api.keys import ANNOTATION_IDLE_SINCE, ANNOTATION_UNDERUSED_SINCE, LABEL_POOL
from simulator.apiserver.history import Change
from simulator.campaign.judging.paces.begun import REPAIRS
from simulator.campaign.judging.recorder import Witness, labels_of
from simulator.scheduling.conditions import condition_status

_MARKS: Final = (ANNOTATION_IDLE_SINCE, ANNOTATION_UNDERUSED_SINCE)
_WHOLE: Final = 100


class StillPools:
    """Judges what rounds begin and write in such pools.

    Args:
        witness: what happened.
        window: how many seconds old what a round knows may be.
    """

    def __init__(self, witness: Witness, *, window: float) -> None:
        self._witness, self._window = witness, window
        self._changed: dict[str, float] = {}
        """When a Node of a pool last came, went, became Ready or not, or was cordoned or not."""

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource != NODES:
            return
        if change.before is None or change.kind == "DELETED" or _state(change.before) != _state(change.now):
            self._changed[labels_of(change.now).get(LABEL_POOL, "")] = self._witness.seconds()

    def frozen(self, pool: str, specs: Sequence[Object], now: datetime, reason: str = "") -> str:
        """Return why the pool is frozen for each round that writes now, empty if it may not be."""
        healths = [spec.get("health") for spec in specs]
        is_repair = reason in REPAIRS or (reason == "Empty" and any("repair" in spec["scaleDown"] for spec in specs))
        is_recent = self._witness.seconds() - self._changed.get(pool, -self._window) <= self._window
        if not healths or is_recent or is_repair:
            return ""
        nodes = [node for node in self._witness.nodes.values() if labels_of(node).get(LABEL_POOL) == pool]
        moments = (now - timedelta(seconds=self._window), now)
        if all(health and _is_unhealthy(health, nodes, moment) for health in healths for moment in moments):
            return "its pool is frozen: health"
        return ""

    def marked(self, change: Change, specs: Sequence[Object]) -> Iterator[str]:
        """Yield the marks that are written on a Node of a pool in dry run."""
        if change.before is None or change.kind == "DELETED" or not is_dry(specs):
            return
        before, now = (item["metadata"].get("annotations") or {} for item in (change.before, change.now))
        name = change.now["metadata"]["name"]
        for key in _MARKS:
            if now.get(key, before.get(key)) != before.get(key):
                yield f"{name} is marked {key}, and its pool is in dry run"


def is_dry(specs: Sequence[Object]) -> bool:
    """Return whether each of the specs says that nothing is written."""
    return bool(specs) and all(spec.get("dryRun") for spec in specs)


def _is_unhealthy(health: Object, nodes: Sequence[Object], now: datetime) -> bool:
    grace = parse_duration(health["grace"])
    old = [node for node in nodes if now - datetime.fromisoformat(node["metadata"]["creationTimestamp"]) >= grace]
    old.sort(key=lambda node: node["metadata"]["name"])
    old.sort(key=lambda node: datetime.fromisoformat(node["metadata"]["creationTimestamp"]), reverse=True)
    newest = old[: -(-len(old) * health["newestPercent"] // _WHOLE)]
    bad = sum(_state(node) == (False, False) for node in newest)
    return bool(newest) and _WHOLE * bad // len(newest) > health.get("maxUnhealthyPercent", 0)


def _state(node: Object) -> tuple[bool, bool]:
    """Return whether a Node is Ready, and whether it is cordoned."""
    return condition_status(node, "Ready") == "True", bool(node["spec"].get("unschedulable"))
