"""The demo from the first pod to the summary: its stages in order, and what they add up to."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.scheduling.workloads import Workload
from simulator.world import World
from worker.demo.comparison import LABEL, BoughtMachines, Comparison, comparison_table
from worker.demo.person import Person
from worker.demo.scale_down import Shrink
from worker.demo.scale_up import Growth
from worker.demo.scene import SoldOut, prices
from worker.demo.screen import Screen
from worker.demo.tables import cost
from worker.demo.watch import Watch


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
        cooling = await shrink.load_leaves()
        taken = await shrink.demand_returns(cooling)
        kept = await shrink.person_cancels(taken)
        parked = await shrink.others_go((taken, kept))
        await shrink.person_replays(parked, (taken, kept))
        gone = len(self._watch.machines) - 2
        screen.stage("Summary")
        for text in (
            f"{count} pods placed, each on the machine planned for it, although {programme.sold_out} was sold out",
            f"{len(self._watch.machines)} machines bought, {gone} removed; the provider has exactly the 2 that stay",
            f"{taken} stays: its scale-down was cancelled by the pods that came back",
            f"{kept} stays: its scale-down was cancelled by a person",
            f"{', '.join(parked)} refused to die, was parked, and is gone after a replay",
        ):
            screen.passed(text)
        screen.note(f"Took {screen.seconds:.0f} s.")
