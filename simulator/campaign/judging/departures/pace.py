"""That the budgets of a pool hold at the moment in which a round lets one more of its machines go."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Object, Resource
from api.keys import LABEL_REQUEST
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import Clocks, Facts, PoolSpecs
from simulator.campaign.judging.pool_sizes import PoolSizes
from simulator.campaign.judging.recorder import Witness, labels_of, phase_of

_REASONS: Final = ("Empty", "Consolidation", "Rotation", "Drift", "Repair", "OverMax", "Underused")
_USUAL: Final = {"nodes": "10%", "reasons": _REASONS[1:]}
"""What holds where no budget is open for a reason for which pods leave."""
_DEAD: Final = "Dead"
_WHOLE: Final = 100


class PaceRules:
    """Counts the machines of each pool that go.

    Args:
        witness: what happened; it must be told of the write after these rules.
        facts: since when.
        specs: of pools.
        sizes: of pools.
        window: how many seconds ago a round may have looked.
        clocks: the true time, and those of workers.
    """

    def __init__(
        self,
        witness: Witness,
        facts: Facts,
        specs: PoolSpecs,
        sizes: PoolSizes,
        *,
        window: float,
        clocks: Clocks,
    ) -> None:
        self._witness = witness
        self._facts = facts
        self._specs = specs
        self._sizes = sizes
        self._window = window
        self._clocks = clocks

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource == NODE_REMOVAL_REQUESTS:
            is_going = change.kind != "DELETED" and _reason(change.now) is not None
            self._facts.note(("counts", change.now["metadata"]["uid"]), holds=is_going)

    def excess(self, removal: Object) -> str:
        """Return by which budgets too many go with this one, empty if any that a round may have read lets it go."""
        reason, pool = _reason(removal), removal["spec"]["pool"]
        if reason is None:
            return ""
        going = [
            _reason(other)
            for other in self._witness.removals.values()
            if other["spec"]["pool"] == pool and self._facts.is_written(("counts", other["metadata"]["uid"]))
        ]
        size = self._sizes.most(pool, self._window)
        is_dead = removal["spec"]["reason"] == _DEAD
        wrong = ""
        for spec in self._specs.recent(pool):
            for moment in self._moments():
                holding = _holding(spec["scaleDown"].get("budgets") or (), reason, moment, is_dead=is_dead)
                over = [each for each in holding if _used(each, going) + 1 > _allowed(each, size)]
                if not over:
                    return ""
                allowed = _allowed(over[0], size)
                wrong = f"{_used(over[0], going)} go already of {size}, and {over[0]} lets {allowed} go"
        return wrong

    def _moments(self) -> Iterable[datetime]:
        """Return times at which a round may have read its clock, near enough to find each window that was open."""
        number = int(self._window // 5) + 1
        times = [self._clocks.now() - timedelta(seconds=5 * n) for n in range(number)]
        return (*times, *self._clocks.all_readings())


def _reason(removal: Object) -> str | None:
    """Return the reason under which a removal counts, None if it counts nowhere."""
    spec, status = removal["spec"], removal.get("status", {})
    is_of_round = labels_of(removal).get(LABEL_REQUEST) == spec["serverName"]
    is_taken_back = "cancel" in status or "deletionTimestamp" in removal["metadata"]
    if not is_of_round or spec.get("immediate") or not spec.get("nodeName"):
        return None
    if phase_of(removal) == "CouldNotRemove" or (is_taken_back and phase_of(removal) in ("Pending", "Draining")):
        return None
    reason = "Repair" if spec["reason"] == _DEAD else spec["reason"]
    return reason if reason in _REASONS else None


def _holding(budgets: Iterable[Object], reason: str, moment: datetime, *, is_dead: bool) -> list[Object]:
    """Return the budgets that hold for the reason at this time."""
    is_open = [each for each in budgets if reason in (each.get("reasons") or _REASONS) and _is_open(each, moment)]
    if is_dead:
        return [each for each in is_open if each.get("reasons")]
    return is_open or ([] if reason == "Empty" else [_USUAL])


def _is_open(budget: Object, moment: datetime) -> bool:
    """Return whether a budget of these histories is open: their windows are of each day, in UTC, before midnight."""
    return "start" not in budget or budget["start"] <= f"{moment:%H:%M}" < budget["end"]


def _allowed(budget: Object, size: int) -> int:
    nodes = str(budget["nodes"])
    return -(-size * int(nodes[:-1]) // _WHOLE) if nodes.endswith("%") else int(nodes)


def _used(budget: Object, going: Iterable[str | None]) -> int:
    return sum(reason in (budget.get("reasons") or _REASONS) for reason in going)
