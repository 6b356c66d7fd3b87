"""The second half of the demo: the load leaves, and of the empty machines each meets another fate."""

from collections.abc import Collection
from datetime import datetime

from activities.ports.provider import Server
from api.keys import TAINT_SCALE_DOWN
from api.v1alpha1.node_removal_request import RemovalPhase
from simulator.view import View
from simulator.world import World
from worker.demo.person import Person
from worker.demo.scene import RETURNING, RETURNING_PODS, STUBBORN_ARCHITECTURE, architectures, prices
from worker.demo.screen import Screen
from worker.demo.watch import Watch, check, own_pods, running


class Shrink:
    """The stages in which the cluster shrinks.

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

    async def load_leaves(self) -> View:
        """Take all pods away and return what is seen when every machine cools off.

        Raises:
            StageFailed: it was not seen in time; so all stages.
        """
        self._screen.stage("The rest of the load leaves; empty machines take no new pods and cool off")
        self._world.workloads.scale_all(0)
        self._world.wake()
        return await self._watch.until(
            lambda v: (
                not own_pods(v)
                and len(v.taints(TAINT_SCALE_DOWN)) == len(v.servers)
                and self._watch.has_told("CoolOff", v.servers)
            ),
            "all machines to cool off",
        )

    async def demand_returns(self, cooling: View) -> str:
        """Let pods come back and return the name of the machine that takes them."""
        self._screen.stage(f"{RETURNING_PODS} pods come back: a machine that cools off is taken back, none is bought")
        self._world.workloads.scale(RETURNING, RETURNING_PODS)
        self._world.wake()
        view = await self._watch.until(
            lambda v: (
                len(running(v)) == RETURNING_PODS
                and not _cooling(v, _hosts(v))
                and self._watch.has_told("Cancelled", _hosts(v))
            ),
            f"{RETURNING_PODS} pods running on a machine that was to go",
        )
        hosts = _hosts(view)
        check(len(hosts) == 1, f"pods that came back run on {len(hosts)} machines: {', '.join(hosts)}")
        bought = set(view.servers) - set(cooling.servers)
        check(not bought, f"machines bought although others were empty: {', '.join(bought)}")
        return hosts[0]

    async def person_cancels(self, taken: str) -> str:
        """Cancel the removal of another machine as a person would, and return its name."""
        view = await self._watch.until(lambda v: bool(self._choices(v, taken)), "another machine that cools off")
        name = self._choices(view, taken)[0]
        self._screen.stage("A person steps in: one of the others shall stay, too")
        reason = "maintenance of another one tonight"
        self._screen.command(f'growth removals cancel {name} --reason "{reason}"')
        self._screen.command(f"kubectl annotate node {name} growth.dev/do-not-remove=maintenance")
        await self._person.cancel(view.removals[name], reason)
        await self._watch.until(
            lambda v: name not in v.removals and self._watch.has_told("Cancelled", [name]),
            f"the removal of {name} to be cancelled",
        )
        await self._person.keep(name, "maintenance")
        view = await self._watch.until(lambda v: not _cooling(v, [name]), f"{name} without its taint")
        check(name in view.servers and name in view.nodes, f"{name} is gone although its removal was cancelled")
        return name

    async def others_go(self, staying: Collection[str]) -> list[str]:
        """Wait until the other machines are gone or parked, and return the names of those parked."""
        others = {name: server for name, server in self._watch.machines.items() if name not in staying}
        stubborn = [name for name, server in others.items() if _is_stubborn(server)]
        self._screen.stage("What stayed empty is deleted; one server refuses to die")
        view = await self._watch.until(
            lambda v: (
                set(v.servers) == {*staying, *stubborn}
                and all(_is_parked(v, name) for name in stubborn)
                and self._watch.has_told("RemovalFailed", stubborn)
                and self._watch.has_told("Removed", set(others) - set(stubborn))
            ),
            "all others gone, and the stubborn one parked",
        )
        check(stubborn, "no server refused to die")
        self._screen.machines(view)
        for name in stubborn:
            status = view.removals[name]["status"]
            self._screen.passed(
                f"{name} is parked after {status['removalAttempts']} delete calls and waits for a person; "
                f"by itself it tries again at {datetime.fromisoformat(status['retryAt']):%H:%M} UTC"
            )
        return stubborn

    async def person_replays(self, parked: Collection[str], staying: Collection[str]) -> View:
        """Mend the cloud, retry the parked removals as a person would, and return what is left in the end."""
        self._screen.stage("The cloud is mended, and a person replays the parked removal")
        await self._person.mend_the_cloud()
        view = await self._watch.until(lambda v: all(name in v.removals for name in parked), "the parked removal")
        for name in parked:
            self._screen.command(f"growth removals retry {name}")
            answer = await self._person.retry(view.removals[name], "The provider's support has mended it")
            self._screen.passed(f"answer of its workflow: {answer}")
        view = await self._watch.until(
            lambda v: (
                set(v.servers) == set(v.nodes) == set(staying)
                and not v.removals
                and self._watch.has_told("Removed", parked)
            ),
            f"only {', '.join(staying)} left",
        )
        check(len(running(view)) == RETURNING_PODS, "pods were lost with the machines")
        self._screen.machines(view)
        return view

    def _choices(self, view: View, taken: str) -> list[str]:
        """Return the machines that cool off and that a person could want to keep, the cheapest first."""
        choices = [
            (prices()[view.servers[name].server_type], name)
            for name in view.taints(TAINT_SCALE_DOWN)
            if name != taken and name in view.removals and name in view.servers and not _is_stubborn(view.servers[name])
        ]
        return [name for _, name in sorted(choices)]


def _is_stubborn(server: Server) -> bool:
    return architectures()[server.server_type] == STUBBORN_ARCHITECTURE


def _is_parked(view: View, name: str) -> bool:
    return view.removal_phase(name) == RemovalPhase.COULD_NOT_REMOVE


def _hosts(view: View) -> list[str]:
    return sorted({pod["spec"]["nodeName"] for pod in own_pods(view) if pod["spec"].get("nodeName")})


def _cooling(view: View, names: Collection[str]) -> list[str]:
    return [name for name in view.taints(TAINT_SCALE_DOWN) if name in names]
