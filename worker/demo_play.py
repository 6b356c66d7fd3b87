"""The demo's play: stages, each with what must be seen at its end and a deadline."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from activities.cluster import EVENTS, Object
from api.keys import TAINT_RESERVED, TAINT_SCALE_DOWN
from simulator.conditions import condition_status
from simulator.view import View, look
from simulator.world import World
from worker.demo_bound import lower_bound
from worker.demo_scene import workloads
from worker.demo_screen import Bill, Screen, is_daemon
from worker.wiring import utc_now

STAGE_SECONDS: Final = 30.0
"""A stage takes 1 to 12 s; one that takes longer than this has failed."""
LOOK_SECONDS: Final = 0.1


class StageFailed(Exception):
    """Something was not seen in time; the message says what, and what was seen instead."""


class Play:
    """Runs the stages on a world in which a worker is at work.

    Args:
        world: moving, without pods and machines.
        screen: shows it.
    """

    def __init__(self, world: World, screen: Screen) -> None:
        self._world = world
        self._screen = screen
        self._told: set[str] = set()
        self._planned: dict[str, str] = {}
        self._machines: set[str] = set()

    async def perform(self, began: float) -> None:
        """Run all stages; `began` is when the demo began, by the monotonic clock.

        Raises:
            StageFailed: a stage's end was not seen in time.
        """
        waiting = await self._load_comes()
        bound = await lower_bound(self._world, waiting, utc_now())
        await self._machines_are_bought(len(waiting.pods))
        peak = await self._machines_join(len(waiting.pods))
        await self._load_leaves()
        await self._machines_go()
        self._screen.summary(
            Bill(
                placed=len(waiting.pods),
                bought=len(self._machines),
                removed=len(self._machines),
                cost_per_hour=self._screen.cost(peak),
                lower_bound_per_hour=bound,
                seconds=time.monotonic() - began,
            )
        )

    async def _load_comes(self) -> View:
        for workload in workloads():
            self._world.workloads.add(workload)
        count = sum(workload.replicas for workload in workloads())
        self._world.wake()
        view = await self._until(
            lambda v: len([p for p in _own(v) if condition_status(p, "PodScheduled") == "False"]) == count,
            f"{count} pods that no node can take",
        )
        self._screen.stage(f"{count} pods arrive, and there is no machine")
        self._screen.pods(view)
        return view

    async def _machines_are_bought(self, count: int) -> None:
        self._screen.stage("Growth plans all of them at once and buys")
        await self._until(lambda _: len(self._planned) >= count, f"a machine planned for each of {count} pods")
        await self._tell_purchases()

    async def _machines_join(self, count: int) -> View:
        self._screen.stage("Machines boot and join, each kept for the pods it was bought for")
        view = await self._until(lambda v: any(v.taints(TAINT_RESERVED)) or not v.pending(), "a machine that joins")
        self._screen.machines(view)

        def all_run(view: View) -> bool:
            running = [p for p in _own(view) if p["status"]["phase"] == "Running"]
            return len(running) == count and not view.taints(TAINT_RESERVED) and len(view.nodes) == len(view.servers)

        view = await self._until(all_run, f"{count} pods running and all machines open")
        await self._tell_purchases()
        astray = [key for key, pod in view.pods.items() if not is_daemon(pod) and not self._is_as_planned(pod)]
        if astray:
            raise StageFailed(f"pods that do not run on the machine planned for them: {', '.join(astray)}")
        self._screen.stage("Every pod runs where it was planned")
        self._screen.machines(view)
        return view

    async def _load_leaves(self) -> None:
        self._world.workloads.scale_all(0)
        self._world.wake()
        await self._until(lambda v: not _own(v), "no pods")
        self._screen.stage("The load leaves; empty machines take no new pods and cool off")
        view = await self._until(
            lambda v: len(v.taints(TAINT_SCALE_DOWN)) == len(v.servers), "all machines in their cool-off"
        )
        self._screen.machines(view)

    async def _machines_go(self) -> None:
        self._screen.stage("Machines that stayed empty are deleted")
        left = len(self._machines)
        while left:
            view = await self._until(lambda v, left=left: len(v.servers) < left, "a machine fewer")
            left = len(view.servers)
            self._screen.totals(view)
        await self._until(lambda v: not (v.nodes or v.servers or v.removals or v.requests), "nothing left")

    async def _until(self, holds: Callable[[View], bool], what: str) -> View:
        deadline = time.monotonic() + STAGE_SECONDS
        while True:
            view = await look(self._world)
            self._note(view)
            if holds(view):
                return view
            if time.monotonic() > deadline:
                raise StageFailed(f"not seen within {STAGE_SECONDS:.0f} s: {what}. Seen: {_seen(view)}")
            await asyncio.sleep(LOOK_SECONDS)

    def _note(self, view: View) -> None:
        self._machines |= set(view.servers)
        for name, request in view.requests.items():
            self._planned |= {seat["uid"]: name for seat in request["spec"].get("reservedFor") or ()}

    def _is_as_planned(self, pod: Object) -> bool:
        return self._planned[pod["metadata"]["uid"]] == pod["spec"]["nodeName"]

    async def _tell_purchases(self) -> None:
        """Print why each machine was bought, as the events on the requests say it."""
        for event in (await self._world.cluster.list(EVENTS)).items:
            name = event["regarding"]["name"]
            if event["reason"] == "Requested" and name not in self._told:
                self._told.add(name)
                # The event goes on with the names of the pods, which the table tells better.
                self._screen.note(f"  [green]+[/] {name}  {event['note'].partition(', for ')[0]}")


def _own(view: View) -> list[Object]:
    return [pod for pod in view.pods.values() if not is_daemon(pod)]


def _seen(view: View) -> str:
    waiting = len([p for p in _own(view) if not p["spec"].get("nodeName")])
    objects = ", ".join(f"{name} {phase}" for name, phase in view.phases().items())
    return f"{len(_own(view))} pods, {waiting} waiting; {len(view.servers)} servers; {objects or 'no requests'}"
