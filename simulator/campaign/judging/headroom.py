"""Headroom, judged when all is quiet: it has room or its pool says why not, and no machine stays that it does not need.

And what is bought for pods that buy nothing, judged within the write that asks for the machine.

Written over plain JSON, of pools with one size of headroom: so its room can be counted.
"""

from collections.abc import Iterator, Mapping

from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES, PODS, Object, Resource
from api.keys import LABEL_POOL, LABEL_STEP
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import PoolSpecs
from simulator.campaign.judging.invariants import EDIT_SECONDS
from simulator.campaign.judging.recorder import Witness, is_daemon, labels_of, phase_of
from simulator.scheduling.pod_request import Amounts, amounts, occupied, occupies
from simulator.simulation import Simulation


class HeadroomJudge:
    """Judges the headroom of each pool at a history's rests.

    Args:
        sim: the simulation.
        witness: knows the machines.
    """

    def __init__(self, sim: Simulation, witness: Witness) -> None:
        self._sim = sim
        self._witness = witness
        self._coming: dict[str, str] = {}
        """Pools by machines on their way that were bought without pods."""
        self._specs = PoolSpecs(witness.seconds, EDIT_SECONDS)
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Judge one write: nothing is bought for pods whose priority is too low for that, nor for headroom twice."""
        self._specs.note(resource, change)
        if resource != NODE_REQUESTS:
            return
        name = change.now["metadata"]["name"]
        if change.kind == "DELETED" or phase_of(change.now) not in ("Pending", "Provisioning"):
            self._coming.pop(name, None)
        if change.before is not None:
            return
        pools = {each["metadata"]["name"]: each for each in self._sim.world.cluster.peek(NODE_POOLS)}
        pool = pools.get(change.now["spec"]["pool"])
        seats = {seat["uid"] for seat in change.now["spec"].get("reservedFor") or ()}
        for pod in self._sim.world.cluster.peek(PODS) if seats else ():
            if pod["metadata"]["uid"] in seats and is_expendable(pod, pool):
                self.violations.append(f"{name} is bought for {pod['metadata']['name']}")
        buys_ahead = any(
            "threshold" in spec["scaleUp"].get("estimators", ())
            for spec in self._specs.recent(change.now["spec"]["pool"])
        )
        if pool is not None and not seats and not buys_ahead and LABEL_STEP not in labels_of(change.now):
            self._coming[name] = pool["metadata"]["name"]
            self._count(pool)

    def _count(self, pool: Object) -> None:
        """Each machine that is bought without pods, and has none yet, is for a minimum or for headroom."""
        name, spec = pool["metadata"]["name"], pool["spec"]
        # A round may die, or lose a write, between giving its room to pods and giving these their seats.
        windows = [window.get("min", 0) for window in spec.get("schedule") or ()]
        most = 1 + max(spec["limits"].get("min", 0), *windows, 0)
        most += sum(entry["count"] for entry in spec.get("headroom") or ())
        requests = {each["metadata"]["name"]: each for each in self._sim.world.cluster.peek(NODE_REQUESTS)}
        empty = [each for each in self._coming if not requests.get(each, {}).get("spec", {}).get("reservedFor")]
        coming = sum(self._coming[each] == name for each in empty)
        if spec["scaleUp"].get("reserve", True) and coming > most:
            self.violations.append(f"{coming} machines without pods are on their way to pool {name}, of {most}")

    def missing(self) -> list[str]:
        """Return the pools whose headroom has no room, although they do not say why."""
        wrong: list[str] = []
        for name, size, count, pool in self._pools():
            room = sum(self._rooms(name, size).values())
            if room < count and not _is_told(pool):
                wrong.append(f"pool {name} has room for {room} of {count} pods of headroom and does not say why")
        return wrong

    def surplus(self, least: Mapping[str, int]) -> list[str]:
        """Return the machines without pods that neither headroom nor a minimum needs."""
        wrong: list[str] = []
        for name, size, count, _ in self._pools():
            machines = [machine for machine, _ in self._witness.machines_of(name)]
            rooms = self._rooms(name, size)
            if len(machines) > least.get(name, 0):
                wrong += [
                    f"{machine} of pool {name} stays without need: the other machines have room for its headroom"
                    for machine in sorted(machines)
                    if sum(rooms.values()) - rooms.get(machine, 0) >= count
                ]
        return wrong

    def names(self) -> frozenset[str]:
        """Return the pools with headroom."""
        return frozenset(name for name, *_ in self._pools())

    def _pools(self) -> Iterator[tuple[str, Amounts, int, Object]]:
        for pool in self._sim.world.cluster.peek(NODE_POOLS):
            for entry in (pool["spec"].get("headroom") or ())[:1]:
                yield pool["metadata"]["name"], amounts(entry["requests"]) | {"pods": 1}, entry["count"], pool

    def _rooms(self, pool: str, size: Amounts) -> dict[str, int]:
        """Return how many pods of headroom fit on each Ready Node of the pool, beside those that are there."""
        on: dict[str, list[Object]] = {}
        for pod in self._sim.world.cluster.peek(PODS):
            if occupies(pod) and (is_daemon(pod) or not self._is_expendable(pod, pool)):
                on.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        rooms: dict[str, int] = {}
        for node in self._sim.world.cluster.peek(NODES):
            name = node["metadata"]["name"]
            if labels_of(node).get(LABEL_POOL) != pool or node["spec"].get("unschedulable"):
                continue
            used, free = occupied(on.get(name, [])), amounts(node.get("status", {}).get("allocatable"))
            fit = min((free.get(key, 0) - used.get(key, 0)) // amount for key, amount in size.items() if amount)
            rooms[name] = max(0, fit)
        return rooms

    def _is_expendable(self, pod: Object, pool: str) -> bool:
        pools = {each["metadata"]["name"]: each for each in self._sim.world.cluster.peek(NODE_POOLS)}
        return is_expendable(pod, pools.get(pool))


def is_expendable(pod: Object, pool: Object | None) -> bool:
    """Return whether the pool buys nothing for a pod of this priority."""
    cutoff = None if pool is None else pool["spec"].get("scaleUp", {}).get("expendablePriority")
    return cutoff is not None and pod["spec"].get("priority", 0) < cutoff


def _is_told(pool: Object) -> bool:
    conditions = pool.get("status", {}).get("conditions") or ()
    return any(each["type"] == "HeadroomShort" and each["status"] == "True" for each in conditions)
