"""Machines that a round replaces, watched from the purchase to the end; the worker may be killed on the way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.builders import as_sent, deployment, disruption_budget, node_pool
from tests.e2e.commands import Commands
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.test_drain import Drains
from tests.e2e.workloads import NAMESPACE

CONSOLIDATES: Final = {"after": "1s", "minSavingPercent": 20, "movePrice": "0"}
BOOT: Final = "6s"
"""Of a machine that replaces another: long enough to be seen before it is Ready."""


def pool(*types: str, limits: dict[str, int] | None = None, scale_down: Any = None, **spec: Any) -> dict[str, Any]:
    """Return a pool whose machines are emptied at once, and whose records are soon gone."""
    how = {"mode": "drain", "idleAfter": "10m", "softGrace": "0s", **(scale_down or {})}
    usual: dict[str, Any] = {"limits": limits or {"max": 20}, "scaleUp": {"recordTTL": "2s"}, "scaleDown": how}
    return as_sent(node_pool(types=types, **(usual | spec)))


class Moves(Drains):
    """What a person does and sees while machines are replaced; whatever must always hold is looked at all the time."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        super().__init__(plane)
        self.commands = Commands(plane, folder)
        self.always: list[Callable[[], None]] = []
        self.removals_ever: set[str] = set()

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 90) -> None:
        """Wait until it holds, and see meanwhile what comes and goes."""

        def looked() -> bool:
            self.view.look()
            self.removals_ever |= self.removals().keys()
            for check in self.always:
                check()
            return holds()

        try:
            self.plane.wait_for(looked, what, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"Removals: {self.removals()}\n{error}") from error

    def set_pool(self, body: dict[str, Any]) -> None:
        """Have the pool be so from now on."""
        self.plane.replace(body)

    def change(self, kind: str, name: str, body: dict[str, Any], *further: str) -> None:
        """Merge a change into an object."""
        self.plane.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(body), *further)

    def boots_take(self, duration: str) -> None:
        """Have machines of each type boot for so long from now on."""
        for number in range(3):
            path = f"/spec/serverTypes/{number}/locations/0/bootTime"
            change = json.dumps([{"op": "replace", "path": path, "value": duration}])
            self.plane.kubectl("patch", "kwoknodeclasses", "default", "--type=json", "-p", change)

    def run_web(self, replicas: int) -> None:
        """Create pods of which a small machine has room for one, and wait until they run and no record is left."""
        self.create(deployment("web", replicas, "1500m", "256Mi"))
        self.until(lambda: len(self.pods()) == replicas, f"{replicas} pods run")
        self.until(lambda: not self.view.items("noderequests"), "the records of their machines are gone")

    def removals(self) -> dict[str, dict[str, Any]]:
        return {item["metadata"]["name"]: item for item in self.view.items("noderemovalrequests")}

    def is_ready(self, name: str) -> bool:
        node = self.view.nodes().get(name, {})
        conditions = node.get("status", {}).get("conditions", ())
        return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)

    def ready(self) -> set[str]:
        return {name for name in self.view.nodes() if self.is_ready(name)}

    def settle(self) -> None:
        """Wait until no machine comes or goes."""
        self.until(
            lambda: not self.removals() and not self.view.items("noderequests"), "nothing comes and nothing goes"
        )

    def until_replacing(self, trigger: str) -> tuple[str, set[str]]:
        """Wait until a machine is to be replaced for this reason, and another is bought; return it and what comes."""
        self.until(lambda: self._awaited(trigger) is not None, f"what replaces a machine for {trigger} is bought")
        awaited = self._awaited(trigger)
        assert awaited is not None
        return awaited

    def _awaited(self, trigger: str) -> tuple[str, set[str]] | None:
        for name, removal in self.removals().items():
            coming = set(removal["spec"].get("replacedBy", ()))
            if removal["spec"].get("reason") == trigger and coming and coming <= self.view.servers():
                return name, coming
        return None

    def until_replaced(self, trigger: str, growth: GrowthProcess, *, is_killed: bool) -> tuple[str, set[str]]:
        """Follow the next machine that goes for this reason to its end, and return it with what came in its place.

        A budget that comes late holds its drain in the middle. The worker is killed after the purchase, and there.
        """
        before = self.pods()
        source, coming = self.until_replacing(trigger)
        assert not coming & self.ready(), "it is seen before what is bought for it is Ready"
        if is_killed:
            _kill(growth)
        self.create(as_sent(disruption_budget("web", namespace=NAMESPACE, minAvailable=len(before))))
        self.until(lambda: self._is_held(source, coming, before), f"the drain of {source} is held")
        if is_killed:
            _kill(growth)
        assert self.pods() == before, "no pod leaves against its budget"
        self.plane.kubectl("delete", "poddisruptionbudget", "web", "-n", NAMESPACE)
        self.until(
            lambda: source not in self.view.nodes() | self.removals() and source not in self.view.servers(),
            f"{source} is gone",
        )
        self.until(lambda: len(self.pods()) == len(before), "all pods run again")
        moved = {name for name, (_, node) in before.items() if node == source}
        assert moved, "the machine had pods"
        assert before.keys() - self.pods().keys() == moved, "only its pods have moved"
        assert {node for name, (_, node) in self.pods().items() if name not in before} == coming
        return source, coming

    def _is_held(self, source: str, coming: set[str], before: dict[str, tuple[str, str]]) -> bool:
        assert self.pods() == before, "no pod leaves"
        status = self.status(source)
        if status.get("phase") == "Draining":
            assert coming <= self.ready(), "nothing is drained before what replaces it is Ready"
        return status.get("reason") == "BlockedByBudget"


def _kill(growth: GrowthProcess) -> None:
    growth.kill()
    growth.start()
