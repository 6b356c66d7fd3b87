"""The demo from the first pod to the summary: its stages in order, and what `--keep` leaves for a person to try."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from activities.ports.cluster import NODE_POOLS, Object
from api.keys import TAINT_SCALE_DOWN
from api.v1alpha1.node_removal_request import RemovalPhase
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.workloads import Workload
from simulator.view import View
from simulator.world import World
from worker.demo.comparison import LABEL, BoughtMachines, Comparison, comparison_table
from worker.demo.consolidation import Evening
from worker.demo.person import Person
from worker.demo.scale_down import Shrink
from worker.demo.scale_up import Growth
from worker.demo.scene import STUBBORN, STUBBORN_PODS, SoldOut, prices, stubborn_faults, too_large
from worker.demo.screen import Screen
from worker.demo.tables import cost
from worker.demo.watch import Watch, own_pods, running

COOL_OFF: Final = "1h"
"""Long enough to look around."""


@dataclass(frozen=True, slots=True)
class Programme:
    """What is decided before the show."""

    load: Sequence[Workload]
    sold_out: SoldOut
    comparison: Comparison
    """For the same load, of the offerings that can be had."""


class Performance:
    """All stages.

    Args:
        world: moving, without pods and machines, with a worker at work on it.
        watch: sees it.
        person: acts on it.
        screen: shows it.
    """

    def __init__(self, world: World, watch: Watch, person: Person, screen: Screen) -> None:
        self._watch = watch
        self._screen = screen
        self._growth = Growth(world, watch, screen)
        self._evening = Evening(world, watch, person, screen)
        self._shrink = Shrink(world, watch, person, screen)

    async def run(self, programme: Programme) -> None:
        """Run the stages.

        Raises:
            StageFailed: something was not as it should be, or not in time.
        """
        growth, shrink, screen = self._growth, self._shrink, self._screen
        count = sum(workload.replicas for workload in programme.load)
        await growth.pods_arrive(programme.load)
        await growth.machines_are_bought(count, programme.sold_out)
        peak = await growth.pods_run(count)
        bought = BoughtMachines("Growth, as bought", len(peak.servers), cost(peak, prices()), count)
        screen.stage("What others' rules buy for the same pods")
        screen.table(comparison_table(bought, programme.comparison))
        screen.remark(LABEL)
        savings = await self._evening.pods_are_moved(programme.load, peak)
        cooling = await shrink.load_leaves()
        taken = await shrink.demand_returns(cooling)
        cancelled = await shrink.person_cancels(taken)
        parked = await shrink.others_go((taken, cancelled))
        await shrink.person_replays(parked, (taken, cancelled))
        gone = len(self._watch.machines) - 2
        screen.stage("Summary")
        for text in (
            f"{count} pods placed, each on the machine planned for it, although {programme.sold_out} was sold out",
            f"{len(self._watch.machines)} machines bought, {gone} removed; the provider has exactly the 2 that stay",
            *(f"{name} went when its pods had moved: {saving}" for name, saving in savings.items()),
            f"{taken} stays: its scale-down was cancelled by the pods that came back",
            f"{cancelled} stays: its scale-down was cancelled by a person",
            f"{', '.join(parked)} refused to die, was parked, and is gone after a replay",
        ):
            screen.passed(text)
        screen.note(f"Took {screen.seconds:.0f} s.")


async def encore(world: World, watch: Watch, screen: Screen) -> View:
    """Let a stubborn machine come and park on its way out, the others cool off for an hour, and a pod wait in vain.

    Returns:
        What is seen then.

    Raises:
        StageFailed: it was not seen in time.
    """
    screen.stage("For you to try: a server refuses to die again, machines cool off for an hour, a pod waits in vain")
    faults = [{"op": "add", "path": "/spec/faults", "value": stubborn_faults()}]
    await world.cluster.patch(world.node_classes, "default", faults)
    before = len(running(await watch.until(lambda _: True, "the pods")))
    world.workloads.scale(STUBBORN, STUBBORN_PODS)
    world.wake()
    await watch.until(lambda v: len(running(v)) == before + STUBBORN_PODS, f"{STUBBORN_PODS} pods of {STUBBORN}")
    world.workloads.scale(STUBBORN, 0)
    world.wake()
    await watch.until(lambda v: RemovalPhase.COULD_NOT_REMOVE in _phases(v), "a parked removal")
    longer = [{"op": "add", "path": "/spec/scaleDown/softGrace", "value": COOL_OFF}]
    await world.cluster.patch(NODE_POOLS, "default", longer)
    world.workloads.scale_all(0)
    world.wake()
    await watch.until(
        lambda v: not own_pods(v) and RemovalPhase.PENDING in _phases(v) and bool(v.taints(TAINT_SCALE_DOWN)),
        "a machine that cools off",
    )
    world.workloads.add(too_large())
    world.wake()
    view = await watch.until(lambda v: any(map(_has_no_place, own_pods(v))), "a pod that no machine can take")
    screen.machines(view)
    return view


def _has_no_place(pod: Object) -> bool:
    return condition_status(pod, "PodScheduled") == "False"


def _phases(view: View) -> set[str]:
    return {view.removal_phase(name) for name in view.removals}
