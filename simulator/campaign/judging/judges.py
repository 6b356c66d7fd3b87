"""All that judges a history from write to write, told of each in the order in which the judges need it."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from activities.ports.cluster import NODE_POOLS, Object, Resource
from activities.providers.built_in import KWOK_NODE_CLASSES
from simulator.apiserver.history import Change
from simulator.campaign.judging.agents import Agents
from simulator.campaign.judging.bought_again import BoughtAgain
from simulator.campaign.judging.departures.departures import DepartureRules
from simulator.campaign.judging.departures.facts import window_of
from simulator.campaign.judging.invariants import Rules
from simulator.campaign.judging.kept_seats import KeptSeats
from simulator.campaign.judging.paces.rules import PaceFieldRules, is_paced
from simulator.campaign.judging.pod_departures import Leaving
from simulator.campaign.judging.promptness import Promptness
from simulator.campaign.judging.provider_side import Side
from simulator.campaign.judging.purchases.namespaces import NamespaceBoundsJudge
from simulator.campaign.judging.purchases.tiers import Tiers
from simulator.campaign.judging.recorder import Witness
from simulator.campaign.judging.repairs import Repairs
from simulator.campaign.judging.sums import Sums
from simulator.campaign.judging.wholeness import Wholeness
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation

Note = Callable[[Resource, Change], None]


class Judges:
    """The judges of one history.

    Args:
        sim: the simulation.
        scenario: its world.
        witness: what happened.
        cloud: knows which servers went without a worker's call.
        are_told: whether the template of a DaemonSet and LimitRanges tell what its pods will ask for.
    """

    def __init__(self, sim: Simulation, scenario: Setup, witness: Witness, cloud: Side, *, are_told: bool) -> None:
        def tell(violation: str) -> None:
            sim.tell("rules", violation)

        def may_leap() -> bool:
            return any(incarnation.ahead for incarnation in sim.alive)

        cluster, is_prompt = sim.world.cluster, not scenario.losses and not scenario.stalls
        self._sim = sim
        self._witness: Final = witness
        self._cloud: Final = cloud
        self.repairs: Final = Repairs(cluster, witness, tell=tell, now=sim.now, may_leap=may_leap, is_prompt=is_prompt)
        self._rules = Rules(
            witness, cloud, tell=tell, now=sim.now, may_leap=may_leap, may_go_with=self.repairs.may_go_with
        )
        self.leaving: Final = Leaving(
            cluster, witness, tell=tell, now=sim.now, may_leap=may_leap, has_losses=bool(scenario.losses)
        )
        self._promptness = Promptness(
            sim.seconds,
            lambda: frozenset(incarnation.number for incarnation in sim.alive),
            # A Node that is Ready may lack a device, a scheduler that stands still answers nothing, and paces wait.
            is_judged=is_prompt and not scenario.has_slow_starts and not is_paced(scenario),
        )
        self.wholeness: Final = Wholeness(witness, tell=tell, may_leap=may_leap)
        self._kept_seats = KeptSeats(
            cluster,
            witness,
            lambda: frozenset((incarnation.number, sim.world.api_back_at) for incarnation in sim.alive),
            is_judged=is_prompt,
        )
        self._agents = Agents(witness, now=sim.now, are_told=are_told, bound_since=lambda: sim.world.binds_pods_since)
        self._bought_again = BoughtAgain(
            cluster,
            witness,
            now=sim.now,
            stopped=lambda: sim.world.stopped_since,
            back=lambda: sim.world.back_from_long_outage_at,
            may_leap=may_leap,
            behind=scenario.longest_behind,
        )
        self._sums = Sums(witness, lambda: _kwok_types(cluster.peek(KWOK_NODE_CLASSES)), seconds=sim.seconds, tell=tell)
        self._tiers = Tiers(cluster, witness, window=window_of(scenario), may_leap=may_leap, tell=tell)
        self._namespaces = NamespaceBoundsJudge(cluster, witness, window=window_of(scenario), tell=tell)
        self.departures: Final = DepartureRules(sim, scenario, witness, self.repairs.sizes, tell=tell)
        self._paces = PaceFieldRules(sim, scenario, witness, may_leap=may_leap, tell=tell)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is told of each write, in this order."""
        return (
            self._rules.note,
            self._sums.note,
            self._tiers.note,
            self._namespaces.note,
            self.repairs.note,
            self.leaving.note,
            self.wholeness.note,
            self.departures.note,
            self._paces.note,
            self._witness.note,
            self._kept_seats.note,
            self._agents.note,
            self._bought_again.note,
        )

    def begin(self) -> None:
        """Be told of what is there, and of each write from now on to the API server alone."""
        self._sim.world.cluster.observe(self._promptness.note)
        for pool in self._sim.world.cluster.peek(NODE_POOLS):
            pools_told = (
                self._witness.note,
                self._sums.note,
                self._tiers.note,
                self._namespaces.note,
                self.leaving.note,
                self.departures.note,
                self._paces.note,
            )
            for note in pools_told:
                note(NODE_POOLS, Change(0, "ADDED", pool, None))

    def pod_ends(self, verb: Literal["evict", "delete"], namespace: str, name: str) -> None:
        """Judge a worker that lets a pod end."""
        self.leaving.judge(verb, namespace, name)
        self.departures.judge(verb, namespace, name)
        self._paces.judge(verb, namespace, name)

    def look(self) -> None:
        """Look at what time alone makes wrong."""
        self._kept_seats.look()
        self._agents.look()
        self.departures.look()
        self._paces.look()

    def wrong(self) -> list[str]:
        """Return a sentence for each violation."""
        return [
            *self._rules.violations,
            *self._sums.violations,
            *self._tiers.violations,
            *self._namespaces.violations,
            *self.leaving.violations,
            *self.repairs.violations,
            *self.wholeness.violations,
            *self._kept_seats.violations,
            *self._agents.violations,
            *self._bought_again.violations,
            *self.departures.violations,
            *self._paces.violations,
            *self._rules.garbage(self._sim.log),
            *self._cloud.wrong(),
            *self._promptness.wrong(),
        ]


def _kwok_types(classes: Sequence[Object]) -> list[Object]:
    return [each for node_class in classes for each in node_class["spec"]["serverTypes"]]
