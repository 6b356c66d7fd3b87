"""A scheduler plug-in of which no plan knows: it refuses the pods of one workload on some types of machines.

While it does, machines are bought for them on trial, once for each type and after each wait, and no more; where another
type is let pass, they get that one; nobody else waits for it. Then people take it away, and clear what was remembered.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Final

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, PODS, Object, Resource
from activities.ports.errors import Conflict, NotFound
from api.keys import LABEL_SERVER_TYPE
from simulator.apiserver.history import Change
from simulator.campaign.judging.headroom import is_expendable
from simulator.campaign.judging.recorder import ON_TRIAL, Witness, labels_of, phase_of, pool_asked_for
from simulator.campaign.setup import Setup
from simulator.scheduling.pod_request import occupies
from simulator.simulation import Simulation

_SHARE: Final = 0.2
"""Of histories."""
_REFUSES_ALL: Final = 0.5
"""Share of plug-ins; others let all but the cheapest type pass."""
_LASTS_SECONDS: Final = 45 * 60.0
_TRIALS: Final = 3
"""Of a type within that time: at first, after 10 and after 30 min."""
_OF_OTHERS: Final = 3
"""Machines for others that may come meanwhile, and are not told apart; endless buying has twice as many."""
_CLEARED_EVERY_SECONDS: Final = 15.0


class PlugIns:
    """Puts a plug-in into the scheduler for a while, and judges what is bought meanwhile.

    Args:
        sim: the simulation.
        witness: knows what there is.
        scenario: workloads, types and pools.
        unserved: returns what is wrong with pods that wait.
    """

    def __init__(
        self,
        sim: Simulation,
        *,
        witness: Witness,
        scenario: Setup,
        unserved: Callable[[Callable[[Object], bool]], list[str]],
    ) -> None:
        self._sim = sim
        self._witness = witness
        self._scenario = scenario
        self._unserved = unserved
        self.violations: list[str] = []
        # A stream of its own, so that all else happens as without plug-ins.
        random = Random(f"plug-ins of {sim.seed}")  # noqa: S311 - a simulation wants repeatable choices, not secrets
        self._app = random.choice([workload.name for workload in scenario.workloads])
        self._replicas = random.randint(1, 3)
        self._refused = scenario.types if random.random() < _REFUSES_ALL else scenario.types[:1]
        self._is_wanted = random.random() < _SHARE
        self._bought = self._came = 0
        self._on_trial: set[str] = set()
        self._is_in = False

    def note(self, resource: Resource, change: Change) -> None:
        """Count a machine that is bought for a refused pod."""
        if not self._is_in or resource != NODE_REQUESTS or change.kind == "DELETED":
            return
        seats = change.now["spec"].get("reservedFor") or ()
        # A pool that reserves nothing does not tell for whom it buys: few others wait for a machine then, unless they
        # are moved.
        is_unsaid = not seats and not self._scenario.has_policies
        if is_unsaid or any(seat["name"].startswith(f"{self._app}-") for seat in seats):
            name = change.now["metadata"]["name"]
            if change.before is None:
                self._on_trial.add(name)
                self._bought += 1
            was_ready = change.before is not None and phase_of(change.before) == "Ready"
            # One that was on its way before is for somebody else.
            self._came += name in self._on_trial and phase_of(change.now) == "Ready" and not was_ready

    async def trouble(self) -> None:
        """Let the plug-in refuse pods for its time, when all else is calm, and take it away."""
        if not self._is_wanted:
            return
        refuses_all = len(self._refused) > 1
        self._witness.counts[f"plug-in: refuses {'all types' if refuses_all else 'the cheapest type'}"] += 1
        self._sim.tell("story", f"a plug-in refuses {self._app} on {', '.join(self._refused)}")
        self._is_in = True
        self._sim.world.plug_into_scheduler(self._refuses)
        self._sim.world.workloads.scale(self._app, 0)
        self._sim.world.wake()
        await asyncio.sleep(_CLEARED_EVERY_SECONDS)
        self._sim.world.workloads.scale(self._app, self._replicas)
        self._sim.world.wake()
        await asyncio.sleep(_LASTS_SECONDS)
        self._witness.counts[ON_TRIAL] += self._bought
        self._judge(refuses_all=refuses_all)
        self._is_in = False
        self._sim.world.plug_into_scheduler()
        await self._clear()

    def _refuses(self, pod: Object, node: Object) -> str | None:
        is_refused = labels_of(node).get(LABEL_SERVER_TYPE) in self._refused
        return (
            "node(s) are not to the plug-in's liking" if labels_of(pod).get("app") == self._app and is_refused else None
        )

    def _judge(self, *, refuses_all: bool) -> None:
        most = _TRIALS * len(self._refused) * self._replicas + _OF_OTHERS
        if not refuses_all:
            # What it lets pass is bought once for each pod, and perhaps again after a machine was lost.
            most += 2 * self._replicas
        # One that never came is no trial.
        if self._came > most:
            self._wrong(f"{self._came} machines came for {self._replicas} pods that a plug-in refuses")
        for problem in self._unserved(lambda pod: labels_of(pod).get("app") != self._app):
            self._wrong(f"while a plug-in refuses others: {problem}")
        if not refuses_all:
            pools = {pool["metadata"]["name"]: pool for pool in self._sim.world.cluster.peek(NODE_POOLS)}
            for pod in self._sim.world.cluster.peek(PODS):
                is_waiting = occupies(pod) and not pod["spec"].get("nodeName")
                if is_expendable(pod, pools.get(pool_asked_for(pod))):
                    # Nothing is bought for it.
                    continue
                if is_waiting and labels_of(pod).get("app") == self._app and self._has_room(pool_asked_for(pod)):
                    self._wrong(f"pod {pod['metadata']['name']} waits, although the plug-in lets other types pass")

    def _has_room(self, pool: str) -> bool:
        machines = [kind for _, kind in self._witness.machines_of(pool)]
        most, most_of = self._witness.most(pool, 0)
        return len(machines) < most and all(machines.count(kind) < most_of[kind] for kind in self._scenario.types[1:])

    async def _clear(self) -> None:
        """Do as the handbook says, until it is so: a round under way writes what it has read before."""
        while True:
            pools = self._sim.world.cluster.peek(NODE_POOLS)
            remembering = [pool for pool in pools if pool.get("status", {}).get("refusedPlacements")]
            if not remembering:
                return
            for pool in remembering:
                with suppress(NotFound, Conflict):
                    await self._sim.world.cluster.patch(
                        NODE_POOLS,
                        pool["metadata"]["name"],
                        [{"op": "add", "path": "/status/refusedPlacements", "value": []}],
                        subresource="status",
                    )
            await asyncio.sleep(_CLEARED_EVERY_SECONDS)

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._sim.tell("rules", violation)
