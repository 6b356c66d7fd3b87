"""The rules of machines that policies empty, in histories in which rounds move pods."""

from collections.abc import Callable
from typing import Literal

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, PODS, Object, Resource
from api.v1alpha1.removal_budget import EVICTING_REASONS
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.endings import Endings
from simulator.campaign.judging.departures.facts import Clocks, Facts, PoolSpecs, is_prompt, window_of
from simulator.campaign.judging.departures.pace import PaceRules
from simulator.campaign.judging.departures.replacement import Replacements
from simulator.campaign.judging.departures.safety import Safety
from simulator.campaign.judging.departures.wear import RenewalRules
from simulator.campaign.judging.pool_sizes import PoolSizes
from simulator.campaign.judging.recorder import Witness, phase_of
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation


class DepartureRules:
    """Judges removals that rounds begin, as they begin, and each pod that leaves for one of them.

    Args:
        sim: the simulation.
        scenario: its world; without policies nothing is judged.
        witness: what happened; it must be told of the write after these rules.
        sizes: of pools.
        tell: takes each violation.
    """

    def __init__(
        self,
        sim: Simulation,
        scenario: Setup,
        witness: Witness,
        sizes: PoolSizes,
        *,
        tell: Callable[[str], None],
    ) -> None:
        clocks = Clocks(sim)
        window, cluster = window_of(scenario), sim.world.cluster
        facts = Facts(sim.seconds, window, written=0.0 if is_prompt(scenario) else window)
        self._cluster = cluster
        self._witness = witness
        self._tell = tell
        self._is_judged = scenario.has_policies
        self._specs = PoolSpecs(sim.seconds, window)
        self._safety = Safety(cluster, witness, facts, self._specs, clocks=clocks)
        self._pace = PaceRules(witness, facts, self._specs, sizes, window=window, clocks=clocks)
        self._replacements = Replacements(witness, facts, seconds=sim.seconds, has_losses=bool(scenario.losses))
        self._wear = RenewalRules(witness, facts, self._specs, window=window, clocks=clocks)
        self._endings = Endings(
            witness,
            self._specs,
            workers=lambda: frozenset((incarnation.number, sim.world.api_back_at) for incarnation in sim.alive),
        )
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if not self._is_judged:
            return
        self._specs.note(resource, change)
        for note in (self._safety.note, self._pace.note, self._replacements.note, self._wear.note):
            note(resource, change)
        if resource != NODE_REMOVAL_REQUESTS or change.kind == "DELETED":
            return
        if change.before is None:
            self._begins(change.now)
        elif phase_of(change.now) == "Draining" != phase_of(change.before):
            name = change.now["metadata"]["name"]
            for other in sorted(self._replacements.unnamed(change.now)):
                self._wrong(f"{other} was bought for the step of {name}, and no removal of it waits for that")

    def judge(self, verb: Literal["evict", "delete"], namespace: str, name: str) -> None:
        """Judge what a worker does to a pod right now."""
        if not self._is_judged:
            return
        pod = next((pod for pod in self._cluster.peek(PODS) if _key(pod) == (namespace, name)), None)
        removal = None if pod is None else self._witness.removals.get(pod["spec"].get("nodeName", ""))
        for other in () if removal is None else self._replacements.unready(removal):
            self._wrong(f"pod {name} shall leave ({verb}) for {other}, which is not Ready")

    def look(self) -> None:
        """Look at what time alone makes wrong."""
        if self._is_judged:
            for violation in self._endings.late(list(filter(_evicts, self._witness.removals.values()))):
                self._wrong(violation)

    def moving(self) -> list[str]:
        """Return the removals that policies have begun and whose pods may yet move."""
        return [
            f"removal {name} ({removal['spec']['reason']}) is left in phase {phase_of(removal)}"
            for name, removal in self._witness.removals.items()
            if _evicts(removal) and phase_of(removal) in ("Pending", "Draining")
        ]

    def _begins(self, removal: Object) -> None:
        name, reason = removal["metadata"]["name"], removal["spec"]["reason"]
        if over := self._pace.excess(removal):
            self._wrong(f"{name} shall go ({reason}), and {over}")
        if why := self._wear.why_not_due(removal):
            self._wrong(f"{name} shall go ({reason}), and {why}")
        if not _evicts(removal):
            return
        self._witness.counts[f"machines that policies emptied: {reason}"] += 1
        self._witness.counts["machines that were replaced"] += bool(removal["spec"].get("replacedBy"))
        for keeper in self._safety.keepers(removal):
            self._wrong(f"{name} shall be emptied ({reason}), and {keeper}")
        for other in self._replacements.bought_again(removal):
            self._wrong(f"{name} shall go ({reason}), and {other} is still on its way in its place")

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)


def _evicts(removal: Object) -> bool:
    return removal["spec"]["reason"] in EVICTING_REASONS


def _key(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]
