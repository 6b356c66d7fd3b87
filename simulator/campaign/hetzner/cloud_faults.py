"""What goes wrong with a Hetzner project: one trouble after the other, or several at once, each for a while."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import ClassVar, Final, cast

from simulator.campaign.actors.cloud_faults import Weather
from simulator.campaign.hetzner.certain_refusals import CertainRefusals
from simulator.campaign.hetzner.narrow_limits import NarrowLimits
from simulator.campaign.hetzner.provider_side import HetznerSide
from simulator.campaign.hetzner.setup import LOCATIONS, TYPES
from simulator.campaign.hetzner.troubles import AT_FIRST, FAULTS, OFTEN, HetznerTrouble
from simulator.hetzner.faults import Fault
from simulator.hetzner.project.project import CALLS
from simulator.hetzner.world import TOKEN, HetznerWorld
from simulator.simulation import Simulation

Undo = Callable[[], None]

_TAKES_NAME: Final = 0.5
"""Share of create calls."""
_FAR: Final = timedelta(days=3650)
_USED_UP_SECONDS: Final = 1.0
"""So often others take all calls that are left."""


class HetznerWeather(Weather):
    """Faults of a Hetzner project.

    Args:
        sim: the simulation, in a `HetznerWorld`.
        random: decides what goes wrong and for how long.
    """

    trouble_weight: ClassVar[int] = 25

    def __init__(self, sim: Simulation, random: Random) -> None:
        super().__init__(sim, random)
        self._side = HetznerSide(cast(HetznerWorld, sim.world))
        self._fake = self._side.cloud
        self._under_way: dict[int, Undo] = {}
        self._begun = 0
        narrow = Random(f"narrow limits of {sim.seed}")  # noqa: S311 - a simulation wants repeatable choices
        self._narrow = NarrowLimits(sim, self._side, narrow)
        self._narrow.begin()
        self._refusals = CertainRefusals(sim, self._side, Random(f"certain refusals of {sim.seed}"))  # noqa: S311 - as above
        self._refusals.begin()

    @property
    def cloud(self) -> HetznerSide:
        """The provider: `Weather.cloud`."""
        return self._side

    def trouble(self, *, is_first: bool = False) -> str:
        """Let Hetzner fail in some way for a while: `Weather.trouble`."""
        kind = self._random.choice(AT_FIRST if is_first else (*HetznerTrouble, *OFTEN))
        # Deletions begin only when a machine has been idle and has cooled off.
        seconds = self._random.uniform(30, 150) if kind.startswith("delete") else self._random.uniform(5, 60)
        self._sim.tell("cloud", f"{kind}, for {seconds:.0f} s")
        self.cloud.met[kind] += 0
        self._let(self._begin(kind), seconds)
        return kind

    async def stop_boots(self) -> None:
        """Let servers of one type not boot for a while: `Weather.stop_boots`."""
        await self.stop_starts(self._random.choice(TYPES), self._random.uniform(20, 150))

    async def stop_starts(self, server_type: str, seconds: float) -> None:
        """Let servers of the type not boot: `Weather.stop_starts`."""
        self._sim.tell("cloud", f"no start of {server_type} for {seconds:.0f} s")
        slow = Fault("any", "slow_action", command="start_server", times=None, server_type=server_type, seconds=seconds)
        self._fake.faults.append(slow)
        self._let(lambda: self._remove(slow), seconds)

    async def change_stock(self) -> None:
        """Let a type be sold no more, cost more or less, or be marked as not available: `Weather.change_stock`."""
        server_type, location = self._random.choice(TYPES[:2]), self._random.choice(LOCATIONS)
        way = self._random.choice(["withdrawn", "price", "flag"])
        self._sim.tell("cloud", f"{way} of {server_type} in {location}")
        if way == "withdrawn":
            self._fake.withdraw(server_type, location, self._sim.now())
            self._let(lambda: self._fake.withdraw(server_type, location, self._sim.now() + _FAR), None)
        elif way == "price":
            hour = Decimal(self._random.randint(50, 500)) / 10000
            self._fake.set_price(server_type, location, hour, hour * 624)
        else:
            self._fake.publish_available(server_type, location, False)
            self._let(lambda: self._fake.publish_available(server_type, location, True), None)

    async def plant_server(self) -> None:
        """Let another cluster have a server, or this one a Node of a dedicated server: `Weather.plant_server`."""
        if self._random.random() < 0.5:  # noqa: PLR2004 - one of two ways
            await super().plant_server()
            return
        self._sim.tell("others", "add a dedicated server to the cluster")
        await self.cloud.plant_node()

    async def calm(self) -> None:
        """Let everything work again: `Weather.calm`."""
        for number in list(self._under_way):
            self._end(number)
        self._narrow.end()
        self._refusals.end()
        self.cloud.calm()

    def _begin(self, kind: HetznerTrouble) -> Undo:
        """Let a trouble begin, and return what ends it."""
        if kind in FAULTS:
            faults = [self._fake.faults.append(make(self._random)) for make in FAULTS[kind]]

            def end() -> None:
                for fault in faults:
                    self.cloud.met[kind] += fault.met
                    self._remove(fault)

            return end
        self.cloud.met[kind] += 1
        return {
            HetznerTrouble.SOLD_OUT: self._sell_out,
            HetznerTrouble.NAME_TAKEN: self._take_names,
            HetznerTrouble.DELETE_PROTECTED: self._protect,
            HetznerTrouble.QUOTA: self._limit,
            HetznerTrouble.CALLS_USED_UP: self._use_up,
            HetznerTrouble.TOKEN_INVALID: self._invalidate,
            HetznerTrouble.TOKEN_READ_ONLY: self._make_read_only,
        }[kind]()

    def _sell_out(self) -> Undo:
        server_type, location = self._random.choice(TYPES), self._random.choice([None, *LOCATIONS])
        self._fake.sell_out(server_type, location)
        return lambda: self._fake.restock(server_type, location)

    def _take_names(self) -> Undo:
        def end() -> None:
            self.cloud.takes_name = lambda: False

        self.cloud.takes_name = lambda: self._random.random() < _TAKES_NAME
        return end

    def _protect(self) -> Undo:
        names = [each.name for each in self._fake.servers_of() if each.name not in self.cloud.foreign]
        for name in names:
            self._fake.protect(name)

        def end() -> None:
            for server in self._fake.project().servers.values():
                server.is_protected = False

        return end

    def _limit(self) -> Undo:
        self._side.is_all_stopped = True
        self._fake.set_server_limit(len(self._fake.servers_of()))
        return lambda: self._fake.set_server_limit(None)

    def _use_up(self) -> Undo:
        task = asyncio.ensure_future(self._take_calls())

        def end() -> None:
            task.cancel()
            self._fake.set_rate_limit(CALLS)

        return end

    async def _take_calls(self) -> None:
        bucket = self._fake.project().bucket
        while True:
            while bucket.take(self._sim.now()):
                pass
            await asyncio.sleep(_USED_UP_SECONDS)

    def _invalidate(self) -> Undo:
        self._side.is_all_stopped = True
        self._fake.remove_token(TOKEN)
        return lambda: self._fake.add_token(TOKEN)

    def _make_read_only(self) -> Undo:
        self._side.is_all_stopped = True
        self._fake.add_token(TOKEN, "read_only")
        return lambda: self._fake.add_token(TOKEN)

    def _let(self, undo: Undo, seconds: float | None) -> None:
        """Let a trouble last so long; None is until all is calm."""
        self._begun += 1
        self._under_way[self._begun] = undo
        if seconds is not None:
            self._sim.spawn(self._end_in(seconds, self._begun))

    async def _end_in(self, seconds: float, number: int) -> None:
        await asyncio.sleep(seconds)
        self._end(number)

    def _end(self, number: int) -> None:
        undo = self._under_way.pop(number, None)
        if undo is not None:
            undo()

    def _remove(self, fault: Fault) -> None:
        if fault in self._fake.faults:
            self._fake.faults.remove(fault)
