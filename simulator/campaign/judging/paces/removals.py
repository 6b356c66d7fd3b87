"""How fast pools shrink: rates hold for `every`, and after a purchase or a removal a cool-down does."""

from collections.abc import Iterator, Sequence
from typing import Final

from activities.ports.cluster import Object
from api.duration import parse_duration
from simulator.campaign.judging.paces.begun import Batch, Begun
from simulator.campaign.judging.paces.locks import CLOCKS_DIFFER
from simulator.campaign.judging.recorder import Witness

_AT_A_RATE: Final = ("Underused", "OverMax")


class RemovalPaces:
    """Judges removals as rounds begin them.

    Args:
        witness: what happened.
        bought: the purchases of rounds.
        begun: the removals of rounds.
        window: how many seconds old what a round knows may be.
    """

    def __init__(self, witness: Witness, bought: Begun, begun: Begun, *, window: float) -> None:
        self._witness, self._bought, self._begun, self._window = witness, bought, begun, window

    def excess(self, removal: Object, specs: Sequence[Object]) -> Iterator[str]:
        """Yield what the removal comes too early for, or is one too many for, by all of these specs of its pool."""
        pool, now, wishes = removal["spec"]["pool"], self._witness.seconds(), [spec["scaleDown"] for spec in specs]
        grown = next((batch for batch in self._bought.before(pool, now) if now - batch.at > self._window), None)
        shrunk = next(self._begun.before(pool, now), None)
        if _lasts(grown, [wish.get("cooldownAfterScaleUp") for wish in wishes], now):
            yield "its pool bought a moment ago: cooldownAfterScaleUp"
        if _lasts(shrunk, [wish.get("cooldownAfterScaleDown") for wish in wishes], now):
            yield "another began to go a moment ago: cooldownAfterScaleDown"
        groups = [wish.get("group") for wish in wishes]
        reason, of_machines = removal["spec"]["reason"], any("node" in wish for wish in wishes)
        # Machines that are little used themselves go without a rate, and for the same reason.
        is_paced = reason == "OverMax" or (reason == "Underused" and not of_machines)
        if is_paced and groups and all(groups):
            yield from self._over_rate(pool, [group for group in groups if group], shrunk)

    def _over_rate(self, pool: str, groups: Sequence[Object], shrunk: Batch | None) -> Iterator[str]:
        now = self._witness.seconds()
        most = max(max(group["slow"], group["fast"]) for group in groups)
        alike = [reason for reason in self._begun.batch(pool, now) if reason in _AT_A_RATE]
        if len(alike) >= most:
            yield f"{len(alike)} others go by this round, and {most} may: group"
        if _lasts(shrunk, [group.get("every", "1m") for group in groups], now):
            yield "others began to go within group.every"


def _lasts(last: Batch | None, pauses: Sequence[str | None], now: float) -> bool:
    """Return whether each of the pauses after this batch still lasts."""
    lengths = [0.0 if pause is None else parse_duration(pause).total_seconds() for pause in pauses]
    return last is not None and now < last.at + min(lengths, default=0.0) - CLOCKS_DIFFER
