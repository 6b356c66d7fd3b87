"""The rules of pools that pace how they grow and shrink: judged where each call has its answer and no clock leaps.

Nothing here asks the planner: all is told by writes to the cluster, and by what pools said at that time.
"""

from collections.abc import Callable
from typing import Final, Literal

from activities.ports.cluster import (
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Object,
    Resource,
)
from api.keys import LABEL_POOL
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import Facts, PoolSpecs, is_prompt, window_of
from simulator.campaign.judging.invariants import EDIT_SECONDS
from simulator.campaign.judging.paces.begun import Begun, is_bought_by_round, is_of_round
from simulator.campaign.judging.paces.locks import Locks
from simulator.campaign.judging.paces.purchases import excess
from simulator.campaign.judging.paces.remaining import bound_since, is_bound, is_unready, too_full
from simulator.campaign.judging.paces.removals import RemovalPaces
from simulator.campaign.judging.paces.schedule import most_of_late
from simulator.campaign.judging.paces.still_pools import StillPools, is_dry
from simulator.campaign.judging.paces.waits import Waits
from simulator.campaign.judging.recorder import Witness, labels_of
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation

_WAITS: Final = ("podGrace", "lock", "cooldown", "batchMax", "maxInFlight", "breaker", "estimators")


class PaceFieldRules:
    """Judges purchases, removals and departures of pods by the fields of pace of their pools.

    Args:
        sim: the simulation.
        scenario: its world.
        witness: what happened; it must be told of the write after these rules.
        may_leap: whether the clock of a worker has leapt.
        tell: takes each violation.
    """

    def __init__(
        self,
        sim: Simulation,
        scenario: Setup,
        witness: Witness,
        *,
        may_leap: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        window = window_of(scenario)
        self._sim, self._witness, self._may_leap, self._tell = sim, witness, may_leap, tell
        self._cluster, self._window = sim.world.cluster, window
        self._is_judged = is_prompt(scenario)
        self._specs = PoolSpecs(sim.seconds, EDIT_SECONDS)
        self._all_specs = PoolSpecs(sim.seconds, float("inf"))
        self._bought, self._begun = Begun(), Begun()
        self._facts = Facts(sim.seconds, window, written=0.0)
        self._locks = Locks(
            witness,
            self._bought,
            workers=lambda: frozenset((incarnation.number, sim.world.api_back_at) for incarnation in sim.alive),
            now=sim.now,
        )
        self._removals = RemovalPaces(witness, self._bought, self._begun, window=window)
        self._still = StillPools(witness, window=window)
        self._waits = Waits(sim.now)
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        self._is_judged = self._is_judged and not self._may_leap()
        self._specs.note(resource, change)
        self._all_specs.note(resource, change)
        for note in (self._locks.note, self._still.note, self._waits.note):
            note(resource, change)
        self._note_facts(resource, change)
        if resource == NODES and self._is_judged:
            for wrong in self._still.marked(change, self._specs.recent(labels_of(change.now).get(LABEL_POOL, ""))):
                self._wrong(wrong)
        if change.before is not None or change.kind == "DELETED":
            return
        if resource == NODE_REQUESTS and is_bought_by_round(change.now):
            self._bought_by_round(change.now)
        elif resource == NODE_REMOVAL_REQUESTS and is_of_round(change.now):
            self._begins(change.now)

    def judge(self, verb: Literal["evict", "delete"], namespace: str, name: str) -> None:
        """Judge what a worker does to a pod right now."""
        if not self._is_judged:
            return
        key = (namespace, name)
        pods = (
            pod for pod in self._cluster.peek(PODS) if (pod["metadata"]["namespace"], pod["metadata"]["name"]) == key
        )
        node = next((pod["spec"].get("nodeName", "") for pod in pods), "")
        removal = self._witness.removals.get(node)
        if removal is None:
            return
        if why := self._waits.too_early(verb, removal, self._all_specs.recent(removal["spec"]["pool"])):
            self._wrong(f"pod {name} shall leave {node} ({verb}), and {why}")

    def look(self) -> None:
        """Look at what time alone makes wrong."""
        if self._is_judged:
            for wrong in self._locks.late():
                self._wrong(wrong)

    def _note_facts(self, resource: Resource, change: Change) -> None:
        item, is_there = change.now, change.kind != "DELETED"
        if resource == PODS:
            self._facts.note(bound_since(item), holds=is_there and is_bound(item))
        elif resource == NODES:
            self._facts.note(("not ready", item["metadata"]["name"]), holds=is_there and is_unready(item))
        elif resource == NODE_REMOVAL_REQUESTS:
            is_going = is_there and "cancel" not in item.get("status", {})
            self._facts.note(("goes", item["spec"]["serverName"]), holds=is_going)

    def _bought_by_round(self, request: Object) -> None:
        pool, name = request["spec"]["pool"], request["metadata"]["name"]
        specs = self._specs.recent(pool)
        if self._is_judged and specs:
            self._count("purchases", specs[-1]["scaleUp"])
            for wrong in excess(request, specs, self._witness, self._bought):
                self._wrong(f"{name} is asked for, and {wrong}")
            self._refuse(name, self._locks.closed(pool, specs, known_for=0.0))
            self._refuse(name, self._still.frozen(pool, specs, self._sim.now()))
            self._refuse(name, "its pool is in dry run" if is_dry(specs) else "")
            number = len(list(self._witness.machines_of(pool)))
            if number >= (most := most_of_late(specs, self._sim.now(), EDIT_SECONDS)):
                self._wrong(f"{name} is asked for, and its pool has {number} machines of at most {most} at this time")
        self._bought.add(pool, name, self._witness.seconds())

    def _begins(self, removal: Object) -> None:
        pool, name, reason = removal["spec"]["pool"], removal["metadata"]["name"], removal["spec"]["reason"]
        specs = self._specs.recent(pool)
        if self._is_judged and specs:
            self._count("removals", specs[-1]["scaleDown"])
            self._witness.counts[f"paced removals: {reason}"] += 1
            for wrong in self._removals.excess(removal, specs):
                self._wrong(f"{name} shall go ({reason}), and {wrong}")
            self._refuse(name, self._locks.closed(pool, specs, known_for=self._window))
            self._refuse(name, self._still.frozen(pool, specs, self._sim.now(), reason))
            self._refuse(name, "its pool is in dry run" if is_dry(specs) else "")
            if reason == "Underused":
                for wrong in too_full(removal, specs, self._witness, self._cluster, self._facts):
                    self._wrong(f"{name} shall go ({reason}), and {wrong}")
        self._begun.add(pool, reason, self._witness.seconds())

    def _count(self, events: str, fields: Object) -> None:
        for field in ("lock", "cooldown", "batchMax", "maxInFlight", "group", "node", "cooldownAfterScaleDown"):
            self._witness.counts[f"{events} in pools with {field}"] += field in fields

    def _refuse(self, name: str, why: str) -> None:
        if why:
            self._wrong(f"{name} is begun, and {why}")

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)


def is_paced(scenario: Setup) -> bool:
    """Return whether a pool of the history waits before it buys, although pods need a machine."""
    pools = (item["spec"] for item in scenario.objects if item["kind"] == "NodePool")
    return any(name in pool["scaleUp"] for pool in pools for name in _WAITS)
