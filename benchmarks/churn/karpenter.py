"""Karpenter in a churn: its published rules for buying and for disrupting, with the times of its controllers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from benchmarks.churn.world import TICK, ChurnWorld
from simulator.peers.fleet import FleetMachine
from simulator.peers.karpenter_disruption import Command, Disruption, leaving_pods
from simulator.peers.karpenter_fleet import simulate

_POLL: Final = 10
_VALIDATED_AFTER: Final = 15
_FORCED: Final = 300
"""Seconds after which it looks again although nothing changed."""
_SOLD_OUT_FOR: Final = 180
"""Seconds for which a provider remembers what it could not have."""
_NOMINATED: Final = 20
_ASK_AGAIN_AFTER: Final = 10


class Shortages:
    """What could not be had, for as long as a provider remembers."""

    def __init__(self, world: ChurnWorld) -> None:
        self._world = world
        self._until: dict[int, int] = {}

    def known(self) -> frozenset[int]:
        """Return the offerings that are left out now."""
        return frozenset(b for b, until in self._until.items() if self._world.now < until)

    def buy(self, bins: Iterable[int]) -> FleetMachine | None:
        """Return a machine of the cheapest of these offerings that can be had, None if there is none."""
        offerings = self._world.fleet.offerings
        left_out = self.known()
        for b in sorted(bins, key=lambda b: (offerings[b].price, b)):
            if b in left_out:
                continue
            machine = self._world.buy(b)
            if machine is not None:
                return machine
            self._until[b] = self._world.now + _SOLD_OUT_FOR
        return None

    def next_at(self) -> int | None:
        """Return when the next one is tried again."""
        return min((until for until in self._until.values() if until > self._world.now), default=None)


class KarpenterProvisioner:
    """Buys for pods that wait."""

    def __init__(self, world: ChurnWorld, shortages: Shortages) -> None:
        self._world = world
        self._shortages = shortages
        self._seen: set[int] = set()

    def look(self) -> int | None:
        """Buy for all that wait when one more waits, and return when to look again."""
        world = self._world
        if self._seen.issuperset(world.waiting):
            return None
        self._seen = set(world.waiting)
        pods = [*world.waiting.values(), *leaving_pods(world.fleet)]
        result = simulate(world.fleet, pods, unavailable=self._shortages.known())
        bought = [self._shortages.buy(claim.bins) for claim in result.claims]
        if all(bought) and not result.left:
            return None
        self._seen = set()
        return world.now + _POLL


@dataclass(slots=True)
class _Running:
    """A command under way."""

    command: Command
    validated: int
    """When it is validated."""
    replacement: FleetMachine | None = None
    is_started: bool = False
    due: int = 0


class KarpenterDisruption:
    """Removes machines.

    Args:
        world: to act in.
        shortages: what is known to be sold out.
        after: `consolidateAfter`, in seconds.
    """

    def __init__(self, world: ChurnWorld, shortages: Shortages, after: int) -> None:
        self._world = world
        self._shortages = shortages
        self._after = after
        self._running: list[_Running] = []
        self._pending: _Running | None = None
        self._next = 0
        self._forced = 0
        self._changed = True
        self._version = 0

    def look(self) -> int:
        """Do what is due, and return when to look again."""
        world = self._world
        self._changed = self._changed or world.version != self._version
        for running in list(self._running):
            self._go_on(running)
        if self._pending is not None and world.now >= self._pending.validated:
            self._start(self._pending)
            self._pending = None
        if self._pending is None and world.now >= self._next and (self._changed or world.now >= self._forced):
            self._decide()
        self._version = world.version
        moments = [one.due for one in self._running]
        if self._pending is not None:
            moments.append(self._pending.validated)
        else:
            moments.append(self._next if self._changed and self._next > world.now else self._forced)
        return max(world.now + TICK, min(moments))

    def _decide(self) -> None:
        world = self._world
        going = {machine.name for one in self._running for machine in one.command.machines}
        candidates = [machine for machine in world.fleet.machines.values() if self._may_go(machine)]
        command = self._disruption().command(candidates, going=len(going))
        self._next = world.now + _POLL
        self._forced = world.now + _FORCED
        if command is None:
            self._changed = False
            matures = self._matures_at()
            if matures is not None:
                self._forced = min(self._forced, matures)
            return
        is_empty = not any(machine.pods for machine in command.machines)
        self._pending = _Running(command, world.now + (0 if is_empty else _VALIDATED_AFTER))
        if is_empty:
            self._start(self._pending)
            self._pending = None

    def _disruption(self) -> Disruption:
        world = self._world
        young = (m.name for m in world.fleet.machines.values() if m.is_ready and world.now < m.touched + self._after)
        return Disruption(
            world.fleet,
            waiting=world.waiting.values(),
            shielded=frozenset(young),
            unavailable=self._shortages.known(),
        )

    def _matures_at(self) -> int | None:
        """Return when the next machine has been quiet for long enough."""
        now = self._world.now
        moments = (
            machine.touched + self._after
            for machine in self._world.fleet.machines.values()
            if machine.is_ready and not machine.is_closed
        )
        return min((at for at in moments if at > now), default=None)

    def _may_go(self, machine: FleetMachine) -> bool:
        world, kinds = self._world, self._world.fleet.kinds
        if not machine.is_ready or machine.is_closed or machine.reserved is not None:
            return False
        if world.now < machine.touched + self._after or world.now < machine.ready + _NOMINATED:
            return False
        return all(not kinds[pod.workload].stays and world.may_evict(pod) for pod in machine.pods.values())

    def _start(self, running: _Running) -> None:
        world = self._world
        machines = running.command.machines
        if not all(machine.name in world.fleet.machines and self._may_go(machine) for machine in machines):
            return
        if not self._disruption().holds(running.command):
            return
        if running.command.replacement:
            running.replacement = self._shortages.buy(running.command.replacement)
            if running.replacement is None:
                return
        for machine in machines:
            world.close(machine, () if running.replacement is None else (running.replacement,))
        running.is_started = True
        running.due = world.now + TICK
        self._running.append(running)

    def _go_on(self, running: _Running) -> None:
        world = self._world
        if world.now < running.due:
            return
        running.due = world.now + _ASK_AGAIN_AFTER
        if running.replacement is not None and not running.replacement.is_ready:
            running.due = max(world.now + TICK, running.replacement.ready)
            return
        left = [machine for machine in running.command.machines if machine.name in world.fleet.machines]
        for machine in left:
            for pod in list(machine.pods.values()):
                if not world.fleet.kinds[pod.workload].stays:
                    world.evict(pod)
            if not machine.pods:
                world.remove(machine)
        if all(machine.name not in world.fleet.machines for machine in running.command.machines):
            self._running.remove(running)


class Karpenter:
    """Both of its controllers."""

    def __init__(self, world: ChurnWorld, after: int) -> None:
        shortages = Shortages(world)
        self._provisioner = KarpenterProvisioner(world, shortages)
        self._disruption = KarpenterDisruption(world, shortages, after)

    def look(self) -> int | None:
        """Do what is due now, and return when time alone next asks for a look."""
        buys_at = self._provisioner.look()
        looks_at = self._disruption.look()
        return looks_at if buys_at is None else min(buys_at, looks_at)
