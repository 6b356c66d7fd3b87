"""That no machine is renewed that is not due: too young, as class and pool ask, without a fault, or none too many."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES, Object, Resource
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.duration import parse_duration
from api.keys import LABEL_POOL, TAINT_REMOVE_NOW
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import Clocks, Facts, PoolSpecs
from simulator.campaign.judging.recorder import Witness, labels_of
from simulator.scheduling.conditions import condition_status

_EARLIEST: Final = 0.9
"""Of the age that no machine passes: the earliest moment of any."""
_WHOLE_SECONDS: Final = timedelta(seconds=1)
_NEVER: Final = float("-inf")


class RenewalRules:
    """Knows which machines are due.

    Args:
        witness: what happened; it must be told of the write after these rules.
        facts: since when.
        specs: of pools.
        window: how many seconds ago a round may have looked.
        clocks: the true time, and those of workers.
    """

    def __init__(
        self,
        witness: Witness,
        facts: Facts,
        specs: PoolSpecs,
        *,
        window: float,
        clocks: Clocks,
    ) -> None:
        self._witness = witness
        self._facts = facts
        self._specs = specs
        self._window = window
        self._clocks = clocks
        self._edited: dict[str, float] = {}
        """When what the machines of a pool are made with last changed; of a class, by an empty name."""
        self._asked: dict[str, float] = {}
        """When each machine was first asked for."""
        self._gone: dict[str, tuple[float, str]] = {}
        """When Nodes went, and of which pool."""

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item, name, seconds = change.now, change.now["metadata"]["name"], self._witness.seconds()
        if resource == NODE_POOLS:
            if change.before is not None and _made_with(change.before) != _made_with(item):
                self._edited[name] = seconds
        elif resource == KWOK_NODE_CLASSES:
            if change.before is not None and _labels_of_types(change.before) != _labels_of_types(item):
                self._edited[""] = seconds
        elif resource == NODE_REQUESTS:
            self._asked.setdefault(name, seconds)
            if change.kind == "DELETED":
                self._gone[name] = seconds, item["spec"]["pool"]
        elif resource == NODES:
            self._facts.note(("sound", name), holds=change.kind != "DELETED" and not _conditions(item))
            is_to_go = any(taint["key"] == TAINT_REMOVE_NOW for taint in item["spec"].get("taints") or ())
            self._facts.note(("not to go now", name), holds=change.kind != "DELETED" and not is_to_go)
            if change.kind == "DELETED":
                self._gone[name] = seconds, labels_of(item).get(LABEL_POOL, "")

    def why_not_due(self, removal: Object) -> str:
        """Return why the machine of a removal need not go for the reason that it gives, empty if it may."""
        spec = removal["spec"]
        name, pool, node = spec["serverName"], spec["pool"], self._witness.nodes.get(spec["serverName"])
        specs = self._specs.recent(pool)
        if node is None or not specs:
            return ""
        match spec["reason"]:
            case "Rotation":
                return self._too_young(node, specs)
            case "Drift":
                edited = max(self._edited.get(pool, _NEVER), self._edited.get("", _NEVER))
                asked = self._asked.get(name, self._witness.seconds())
                return "" if edited >= asked - self._window else "nothing that it is made with has changed"
            case "Repair":
                return self._sound(name, node, specs)
            case "OverMax":
                return self._not_too_many(pool, specs)
            case "RemoveNow":
                return self._not_to_go_now(name)
        return ""

    def _too_young(self, node: Object, specs: Sequence[Object]) -> str:
        ages = [parse_duration(spec["rotation"]["maxNodeAge"]) for spec in specs if "rotation" in spec]
        if not ages:
            return "its pool has no rotation"
        age = self._clocks.latest() - datetime.fromisoformat(node["metadata"]["creationTimestamp"])
        if age + _WHOLE_SECONDS < min(ages) * _EARLIEST:
            return f"it is {age.total_seconds():.0f} s old"
        return ""

    def _sound(self, name: str, node: Object, specs: Sequence[Object]) -> str:
        named = [each for spec in specs for each in spec["scaleDown"].get("repair", {}).get("conditions") or ()]
        if not named:
            return "its pool names no condition"
        if self._facts.is_known(("sound", name)):
            return "its Node says nothing bad"
        bad = _conditions(node)
        after = min(parse_duration(each["after"]) for each in named)
        since = max((datetime.fromisoformat(each["lastTransitionTime"]) for each in bad), default=None)
        if since is not None and self._clocks.latest() + _WHOLE_SECONDS < since + after:
            return f"its Node has been so since {since:%H:%M:%S}"
        return ""

    def _not_to_go_now(self, name: str) -> str:
        if self._facts.is_known(("not to go now", name)):
            return "nobody wants it to go now"
        pods = [uid for uid in self._witness.pods_on(name) if self._facts.is_known(("on", name, uid))]
        return f"{len(pods)} pods are on it" if pods else ""

    def _not_too_many(self, pool: str, specs: Sequence[Object]) -> str:
        """Return why no machine of the pool is one too many, by the lowest bounds that a round may have read."""
        since = self._witness.seconds() - self._window
        numbers = Counter(kind for _, kind in self._witness.machines_of(pool))
        gone = sum(seconds >= since and whose == pool for seconds, whose in self._gone.values())
        for spec in specs:
            most = spec["limits"].get("max")
            over_type = any(
                "max" in each and numbers[each["name"]] + gone > each["max"] for each in spec["serverTypes"]
            )
            # What went since came to something in cores, memory and money: these are judged where machines are bought.
            has_sums = not {"cpu", "memory", "pricePerHour"}.isdisjoint(spec["limits"])
            if has_sums or over_type or (most is not None and numbers.total() + gone > most):
                return ""
        return f"its pool has {numbers.total()} machines"


def _made_with(pool: Object) -> tuple[object, ...]:
    spec = pool["spec"]
    return spec.get("template"), sorted(each["name"] for each in spec["serverTypes"])


def _labels_of_types(node_class: Object) -> list[object]:
    return [each.get("labels") for each in node_class["spec"]["serverTypes"]]


def _conditions(node: Object) -> list[Object]:
    """Return the conditions of a Node that tell of a fault, in these histories all but Ready."""
    conditions = node.get("status", {}).get("conditions") or ()
    return [each for each in conditions if each["type"] != "Ready" and condition_status(node, each["type"]) == "True"]
