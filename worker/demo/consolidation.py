"""The middle of the demo: a part of the load leaves, and pods are moved so that the rest of it costs less."""

from collections.abc import Iterable

from planner.consolidation.terms import CONSOLIDATED
from simulator.scheduling.workloads import Workload
from simulator.view import View
from simulator.world import World
from worker.demo.person import NO_CONSOLIDATION, Person
from worker.demo.scene import CURRENCY_SIGN, POOL, after_peak, prices
from worker.demo.screen import Screen
from worker.demo.tables import cost
from worker.demo.watch import Watch, check, running


class Evening:
    """The stage in which pods are moved.

    Args:
        world: with machines full of pods.
        watch: sees it.
        person: acts on it.
        screen: shows it.
    """

    def __init__(self, world: World, watch: Watch, person: Person, screen: Screen) -> None:
        self._world = world
        self._watch = watch
        self._person = person
        self._screen = screen
        self._savings: dict[str, str] = {}
        """Of each removal of consolidation that was ever seen, by machine."""

    async def pods_are_moved(self, load: Iterable[Workload], peak: View) -> dict[str, str]:
        """Let a part of the load leave and return the machines that go for it, each with what that saves.

        Raises:
            StageFailed: it was not seen in time.
        """
        left = after_peak(load)
        count = sum(left.values())
        self._screen.stage(f"Evening: {count} pods are left; some are moved, so that less is paid for all of them")
        for name, replicas in left.items():
            self._world.workloads.scale(name, replicas)
        self._world.wake()
        await self._watch.until(
            lambda v: len(running(v)) == count and bool(self._emptied(v)),
            "a machine whose going saves something, and its pods on others",
        )
        self._screen.remark(
            "Further steps would follow while they save. For what else there is to see, a person ends it:"
        )
        self._screen.command(f"kubectl patch nodepool.growth.dev {POOL} --type=merge -p '{NO_CONSOLIDATION}'")
        await self._person.end_consolidation(POOL)
        view = await self._watch.until(self._is_over, "their machines gone, and nothing under way")
        gone = self._emptied(view)
        check(len(running(view)) == count, "pods were lost with the machines")
        before, after = cost(peak, prices()), cost(view, prices())
        check(after < before, "what is left costs no less")
        self._screen.machines(view)
        self._screen.passed(f"{count} pods run for {CURRENCY_SIGN}{after}/h; before, it was {CURRENCY_SIGN}{before}/h")
        return {name: self._savings[name].partition(":")[0] for name in gone}

    def _emptied(self, view: View) -> list[str]:
        """Return the machines whose pods have left, of the removals seen so far.

        Some removals are cancelled: when a pod finds no place where one was meant for it, or comes back.
        """
        self._savings |= savings_of(view)
        return [name for name in self._savings if self._watch.has_told("Deprovisioning", [name])]

    def _is_over(self, view: View) -> bool:
        emptied = self._emptied(view)
        return (
            not savings_of(view) and not set(emptied) & set(view.servers) and self._watch.has_told("Removed", emptied)
        )


def savings_of(view: View) -> dict[str, str]:
    """Return the removals of consolidation, each with its sentence on what it saves."""
    specs = {name: removal["spec"] for name, removal in view.removals.items()}
    return {name: spec["why"] for name, spec in specs.items() if spec["reason"] == CONSOLIDATED}
