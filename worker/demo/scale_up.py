"""The first half of the demo: pods arrive, machines are bought, every pod runs where it was planned."""

from collections.abc import Sequence

from activities.ports.cluster import Object
from api.keys import TAINT_RESERVED
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.workloads import Workload
from simulator.view import View
from simulator.world import World
from worker.demo.scene import SoldOut
from worker.demo.screen import Screen
from worker.demo.watch import Watch, check, own_pods, running


class Growth:
    """The stages in which the cluster grows.

    Args:
        world: moving, without pods and machines, with a worker at work on it.
        watch: sees it.
        screen: shows it.
    """

    def __init__(self, world: World, watch: Watch, screen: Screen) -> None:
        self._world = world
        self._watch = watch
        self._screen = screen

    async def pods_arrive(self, workloads: Sequence[Workload]) -> None:
        """Let the load come.

        Raises:
            StageFailed: it was not seen in time; so all stages.
        """
        count = sum(workload.replicas for workload in workloads)
        with self._screen.lines_held():
            for workload in workloads:
                self._world.workloads.add(workload)
            self._world.wake()
            view = await self._watch.until(
                lambda v: len([p for p in own_pods(v) if condition_status(p, "PodScheduled") == "False"]) == count,
                f"{count} pods that no node can take",
            )
            self._screen.stage(f"{count} pods arrive, and there is no machine")
            self._screen.pods(view)
            self._screen.stage("Growth plans all of them at once and buys; one offering turns out to be sold out")

    async def machines_are_bought(self, count: int, sold_out: SoldOut) -> None:
        """Wait until each of `count` pods has a machine, none of them of what is sold out."""
        view = await self._watch.until(
            lambda v: self._all_planned(v, count), f"a machine for each of {count} pods, as {sold_out} is sold out"
        )
        wrong = [s.name for s in view.servers.values() if (s.server_type, s.location) == _pair(sold_out)]
        check(not wrong, f"servers of {sold_out}, which is sold out: {', '.join(wrong)}")
        check(
            any(r.get("status", {}).get("phase") == "Unmet" for r in view.requests.values()),
            f"no request tells that {sold_out} had no capacity",
        )
        self._screen.passed(f"{sold_out} had no capacity; its pods were planned anew, onto what can be had")
        self._screen.stage("Machines boot and join, each kept for the pods it was bought for")

    async def pods_run(self, count: int) -> View:
        """Wait until all pods run and all machines are open, and return what is seen then."""

        def all_run(view: View) -> bool:
            is_open = not view.taints(TAINT_RESERVED) and len(view.nodes) == len(view.servers)
            return len(running(view)) == count and is_open and self._watch.has_told("Ready", view.servers)

        view = await self._watch.until(all_run, f"{count} running pods, and machines open for all")
        astray = [key for key, pod in view.pods.items() if pod in own_pods(view) and not self._is_as_planned(pod)]
        check(not astray, f"pods that do not run on the machine planned for them: {', '.join(astray)}")
        self._screen.machines(view)
        self._screen.passed(f"{count} of {count} pods run, each on the machine that was bought for it")
        return view

    def _all_planned(self, view: View, count: int) -> bool:
        machines = [self._watch.planned.get(pod["metadata"]["uid"]) for pod in own_pods(view)]
        is_bought = len(machines) == count and all(name in view.servers for name in machines)
        return is_bought and self._watch.has_told("Requested", view.servers)

    def _is_as_planned(self, pod: Object) -> bool:
        return self._watch.planned[pod["metadata"]["uid"]] == pod["spec"]["nodeName"]


def _pair(offering: SoldOut) -> tuple[str, str]:
    return offering.server_type, offering.location
