"""The course of a history: deeds at random moments, then calm, then an end without load."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Final, Literal

from activities.ports.cluster import NODES
from activities.ports.errors import NotFound
from api.keys import LABEL_ABANDONED
from simulator.campaign.actors.attachments import AttachDetachController
from simulator.campaign.actors.cloud_faults import Weather
from simulator.campaign.actors.deaths import Deaths
from simulator.campaign.actors.drains import Deed, Drains
from simulator.campaign.actors.local_volumes import LocalVolumeClaimants
from simulator.campaign.actors.maintainers import Maintainers
from simulator.campaign.actors.operators import Operators
from simulator.campaign.actors.plug_ins import PlugIns
from simulator.campaign.actors.real_nodes import RealNodes
from simulator.campaign.actors.slow_starts import Standstills
from simulator.campaign.actors.tenants import Tenants, draw_tenants
from simulator.campaign.actors.users import People
from simulator.campaign.actors.workers import Workers
from simulator.campaign.judging.end_state import End
from simulator.campaign.judging.headroom import HeadroomJudge
from simulator.campaign.judging.judges import Judges
from simulator.campaign.judging.recorder import Witness, labels_of
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation

_LOOK_SECONDS: Final = 2.0
_TROUBLE_WITH_LOAD: Final = 0.8
_IMPATIENT: Final = 0.5
_TWO_AT_FIRST: Final = 0.3
"""Share of histories that begin with two workers."""
_TROUBLE_AT_FIRST: Final = 0.5
_AHEAD: Final = 0.3
"""Share of histories at whose end a clock is far ahead for a while."""
_WRITES_REFUSED: Final = 0.3
"""Share of histories in which writes to pods are refused for a while."""
_REFUSED_SECONDS: Final = 25.0
_REST_SECONDS: Final = 20.0
"""What is true shall stay true: two rounds."""

Holds = Callable[[], list[str]]
"""Returns the problem, nothing when all is right."""


class Unsettled(Exception):
    """When all was quiet, something stayed wrong for longer than it may."""


class Scenario:
    """One history.

    Args:
        sim: the simulation.
        scenario: its world.
        weather: faults of what is around.
        random: decides what happens when.
        volumes: decides on the volumes of machines, a stream of its own.
        tenants: decides on tenants, as well.
        deaths: decides whose kubelet dies; without it, none does.
        standstills: decides when the scheduler or the API server stands still, as well.
        maintainers: decides on what makes machines with pods go, as well.
    """

    def __init__(
        self,
        sim: Simulation,
        scenario: Setup,
        weather: Weather,
        random: Random,
        *,
        volumes: Random,
        tenants: Random,
        standstills: Random,
        maintainers: Random,
        deaths: Random | None = None,
    ) -> None:
        self._sim = sim
        self._clocks = Random(f"clocks of {sim.seed}")  # noqa: S311 - a simulation wants repeatable choices
        self._writes = Random(f"refused writes of {sim.seed}")  # noqa: S311 - as above
        self._scenario = scenario
        self._random = random
        self.cloud = weather.cloud
        self.cloud.is_reliable = not scenario.losses and not scenario.stalls
        self.witness = Witness(sim.seconds)
        tenancy = draw_tenants(tenants, scenario)
        self._tenants = Tenants(sim, tenancy, tenants)
        self.judges = Judges(sim, scenario, self.witness, self.cloud, are_told=not tenancy.admitted)
        self._deaths = None if deaths is None else Deaths(sim, witness=self.witness, random=deaths)
        self._operators = Operators(sim, witness=self.witness, scenario=scenario, random=random)
        self._people = People(
            sim,
            cloud=self.cloud,
            witness=self.witness,
            operators=self._operators,
            scenario=scenario,
            random=random,
        )
        self._weather = weather
        self._workers = Workers(sim, scenario=scenario, random=random)
        self._drains = Drains(
            sim,
            witness=self.witness,
            operators=self._operators,
            workers=self._workers,
            scenario=scenario,
            random=random,
        )
        self._maintainers = (
            Maintainers(
                sim,
                witness=self.witness,
                operators=self._operators,
                drains=self._drains,
                scenario=scenario,
                weather=weather,
                random=maintainers,
            )
            if scenario.has_policies
            else None
        )
        self._standstills = Standstills(sim, witness=self.witness, random=standstills)
        attachments = AttachDetachController(sim, witness=self.witness, random=volumes)
        self._local_volumes = LocalVolumeClaimants(sim, witness=self.witness, random=Random(volumes.random()))  # noqa: S311 - as all here
        observers = (
            *self.judges.notes,
            self._people.note,
            self._drains.note,
            attachments.note,
            self._local_volumes.note,
            *(() if self._maintainers is None else (self._maintainers.note,)),
        )
        self.judges.begin()
        for observer in observers:
            sim.world.cluster.observe(observer)
            self.cloud.observe(observer)
        self._end = End(sim, self.witness, self.cloud)
        self.headroom = HeadroomJudge(sim, self.witness)
        self.plug_ins = PlugIns(sim, witness=self.witness, scenario=scenario, unserved=self._end.unserved)
        self.real_nodes = RealNodes(sim, witness=self.witness, scenario=scenario, unserved=self._end.unserved)
        for note in (self.plug_ins.note, self.real_nodes.note, self.headroom.note):
            sim.world.cluster.observe(note)

    def pod_ends(self, verb: Literal["evict", "delete"], namespace: str, name: str) -> None:
        """Judge a worker that lets a pod end, and perhaps kill it before it has written that."""
        self.judges.pod_ends(verb, namespace, name)
        self._drains.note_eviction()

    async def run(self) -> None:
        """Let it happen.

        Raises:
            Unsettled: it never comes to rest, or in a wrong state.
        """
        deeds = self._deeds()
        for workload in self._scenario.workloads:
            self._sim.world.workloads.add(workload)
        await self._tenants.begin()
        if self._scenario.has_slow_starts:
            self._sim.spawn(self._standstills.run())
        self._sim.world.wake()
        for _ in range(1 if self._random.random() >= _TWO_AT_FIRST else 2):
            self._workers.start()
        if self._deaths is not None:
            self._sim.spawn(self._deaths.run())
        if self._maintainers is not None:
            self._sim.spawn(self._maintainers.run())
        if self._random.random() < _TROUBLE_AT_FIRST:
            self._weather.trouble(is_first=True)
            await self._lose_patience()
        if self._writes.random() < _WRITES_REFUSED:
            self._sim.spawn(self._refuse_pod_writes())
        for _ in range(self._random.randint(4, 10)):
            await asyncio.sleep(self._random.choice([self._random.uniform(0, 4), self._random.uniform(0, 25)]))
            deed = self._random.choices(list(deeds), weights=[weight for weight, _ in deeds.values()])[0]
            self.witness.counts[f"deed: {deed}"] += 1
            await deeds[deed][1]()
        await self._calm_down()
        await self.plug_ins.trouble()
        await self._until(self._at_rest, "every pod that can be is served", within=self._scenario.served_within_seconds)
        await self._drains.take_back()
        if blocked := self._end.drains(self.judges.leaving, with_blocked=True):
            self.witness.counts["drains blocked until people let them go"] += len(blocked)
            await self._until(
                self._drained, "nothing blocks, and every drain has ended", within=self._scenario.served_within_seconds
            )
        if self._deaths is not None:
            await self._deaths.revive()
        if self._maintainers is not None:
            await self._maintainers.renew()
            await self._until(self._moved, "what was begun has ended", within=self._scenario.served_within_seconds)
        is_ahead = self._clocks.random() < _AHEAD
        if is_ahead:
            # When nothing is bought any more: absence is believed after a minute by a worker's clock.
            self.witness.counts["clocks an hour ahead"] += 1
            self.judges.wholeness.has_clocks = False
            self._sim.spawn(self._workers.run_ahead(self._clocks))
        await self._unload()
        # Last of all, so that no history is another one for it; a clock that is ahead may still be when it buys.
        if not is_ahead and await self.real_nodes.trouble():
            await self._until(
                self._at_rest, "every pod that can be is served again", within=self._scenario.served_within_seconds
            )
            await self._unload()

    async def _unload(self) -> None:
        self._sim.world.workloads.scale_all(0)
        self._sim.world.wake()
        await self._until(self._settled, "all has settled without load", within=self._scenario.settled_within_seconds)

    async def _refuse_pod_writes(self) -> None:
        await asyncio.sleep(self._writes.uniform(0, 60))
        self.witness.counts["pod writes refused for a while"] += 1
        self._sim.tell("api server", f"refuses writes to pods for {_REFUSED_SECONDS:.0f} s")
        self._sim.world.refuse_pod_writes(_REFUSED_SECONDS)

    def _deeds(self) -> dict[str, tuple[int, Deed]]:
        people, operators, weather, workers = self._people, self._operators, self._weather, self._workers
        return {
            "scale": (8, people.scale),
            "evict a pod": (3, people.evict),
            "delete a request": (3, people.delete_request),
            "delete a removal": (2, people.delete_removal),
            "delete a node": (2, people.delete_node),
            "delete a server": (2, people.delete_server),
            "decide by annotation": (3, operators.annotate_removal),
            "decide by message": (2, operators.ask_removal),
            "keep a node": (1, operators.keep_node),
            "edit a pool": (2, operators.edit_pool),
            "delete a pool": (1, operators.delete_pool),
            "trouble in the cloud": (weather.trouble_weight, self._trouble),
            "no boot": (2, weather.stop_boots),
            "change of stock": (1, weather.change_stock),
            "watches expire": (1, weather.expire_watches),
            "others have a server": (1, weather.plant_server),
            "worker dies": (4, workers.crash),
            "worker dies after a write": (4, workers.doom),
            "second worker": (3, workers.double),
            "second worker ends": (1, workers.single),
            "clock jumps": (2, workers.leap),
            **(self._drains.deeds() if self._scenario.has_drains else {}),
        }

    async def _trouble(self) -> None:
        """Let the cloud fail when it is needed: mostly together with a change of load."""
        trouble = self._weather.trouble()
        if self._random.random() >= _TROUBLE_WITH_LOAD:
            return
        if trouble.startswith("delete"):
            self._sim.world.workloads.scale_all(0)
            self._sim.world.wake()
            # Until machines are idle, cool off, and the first delete calls have failed.
            await asyncio.sleep(self._random.uniform(0, 40))
            return
        await self._people.scale_up()
        await self._lose_patience()

    async def _lose_patience(self) -> None:
        if self._random.random() < _IMPATIENT:
            await asyncio.sleep(self._random.uniform(1, 10))
            await self._people.delete_unanswered()

    async def _calm_down(self) -> None:
        self._sim.tell("story", "calms down")
        self._workers.calm()
        self._standstills.calm()
        self._people.is_calm = self._drains.is_calm = self._tenants.is_calm = True
        self._local_volumes.is_calm = True
        await self._weather.calm()
        if self._deaths is not None:
            await self._deaths.calm()
        if self._maintainers is not None:
            await self._maintainers.calm()
        while not await self._operators.restore():  # noqa: ASYNC110 - a pool goes when a round lets it go, which tells nobody
            await asyncio.sleep(_LOOK_SECONDS)
        for incarnation in self._sim.alive:
            self._sim.tell("story", f"incarnation {incarnation.number} is alive")

    def _at_rest(self) -> list[str]:
        return [
            *self._end.unserved(),
            *self._end.drains(self.judges.leaving, with_blocked=False),
            *self.judges.repairs.left(),
            *self.headroom.missing(),
        ]

    def _drained(self) -> list[str]:
        return [*self._end.unserved(), *self._end.drains(self.judges.leaving, with_blocked=True)]

    def _moved(self) -> list[str]:
        return [*self._end.unserved(), *self.judges.departures.moving()]

    def _settled(self) -> list[str]:
        least = {name: pool["spec"]["limits"].get("min", 0) for name, pool in self._scenario.pools.items()}
        pools_with_headroom = self.headroom.names()
        return [
            *self._end.unsettled(),
            *self._end.surplus({name: number for name, number in least.items() if name not in pools_with_headroom}),
            *self.headroom.missing(),
            *self.headroom.surplus(least),
        ]

    async def _until(self, wrong: Holds, awaited: str, *, within: float) -> None:
        deadline = self._sim.seconds() + within
        right_since: float | None = None
        while True:
            await self._tidy()
            self.judges.look()
            problem = wrong()
            now = self._sim.seconds()
            if problem:
                right_since = None
            elif right_since is None:
                right_since = now
            elif now - right_since >= _REST_SECONDS:
                self._sim.tell("story", f"{awaited}")
                return
            if now >= deadline and problem:
                raise Unsettled(f"not within {within:.0f} s: {awaited}: {'; '.join(problem)}")
            await asyncio.sleep(_LOOK_SECONDS)

    async def _tidy(self) -> None:
        """Let people do what only they can: end what they abandoned or cancelled, and several orphans at once."""
        await self._operators.forget_cancels()
        for name, record in sorted(self.witness.servers.items()):
            if LABEL_ABANDONED in labels_of(record):
                self.witness.counts["abandoned servers"] += 1
                await self.cloud.lose(name)
                with suppress(NotFound):
                    await self._sim.world.cluster.delete(NODES, name)
        orphans = self._end.orphans()
        # A sweep does not believe in several orphans at once, and asks people to order their removal.
        if len(orphans) > 1:
            for name in orphans:
                self.witness.counts["orphans removed by hand"] += 1
                await self._operators.order_removal(name)
