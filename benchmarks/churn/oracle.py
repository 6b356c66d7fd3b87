"""What must hold in a churn at each moment, whoever acts: looked at from outside, not asked of who acts."""

from benchmarks.churn.world import STARTS_WITHIN, ChurnWorld
from simulator.peers.fleet import FleetPod


class Broken(AssertionError):
    """Something does not hold; the text says what and when."""


class ChurnOracle:
    """Looks at a world at each moment, and at each pod that is evicted.

    Args:
        world: to look at.
    """

    def __init__(self, world: ChurnWorld) -> None:
        self._world = world
        world.watchers.append(self.evicted)

    def look(self) -> None:
        """Compare pods, machines and workloads with one another.

        Raises:
            Broken: a pod is lost or counted twice, or a machine has more than it can hold.
        """
        world = self._world
        on_machines: dict[int, str] = {}
        for name, machine in world.fleet.machines.items():
            offering = world.fleet.offerings[machine.offering]
            demands = [world.fleet.kinds[pod.workload].demand for pod in machine.pods.values()]
            taken = [sum(column) for column in zip((0, 0, 0), *demands, strict=True)]
            if any(amount > most for amount, most in zip(taken, offering.capacity, strict=True)):
                raise Broken(f"{world.now}: {name} has more pods than it can hold")
            if machine.pods and not machine.is_ready:
                raise Broken(f"{world.now}: {name} has pods before it is Ready")
            on_machines.update(dict.fromkeys(machine.pods, name))
        for workload, pods in enumerate(world.of_workload):
            if len(pods) < world.replicas[workload]:
                raise Broken(f"{world.now}: {world.stream.workloads[workload].name} has too few pods")
            for uid, pod in pods.items():
                where = None if pod.machine is None else pod.machine.name
                if on_machines.pop(uid, None) != where or (uid in world.waiting) == (where is not None):
                    raise Broken(f"{world.now}: pod {uid} is not where it seems")
        if on_machines:
            raise Broken(f"{world.now}: pods {sorted(on_machines)} run and belong to nobody")

    def evicted(self, pod: FleetPod) -> None:
        """Look at a pod that is just being evicted.

        Raises:
            Broken: its budget forbids it, it asked not to be disrupted, or what replaces its machine is not Ready.
        """
        world, workload = self._world, self._world.stream.workloads[pod.workload]
        if workload.is_job:
            raise Broken(f"{world.now}: a pod of {workload.name} is evicted")
        if pod.machine is None or not pod.machine.is_closed:
            raise Broken(f"{world.now}: a pod of {workload.name} is evicted from a machine that stays")
        late = [new.name for new in world.replaced_by.get(pod.machine.name, ()) if not new.is_ready]
        if late:
            raise Broken(f"{world.now}: pods of {pod.machine.name} are evicted before {late[0]} is Ready")
        if workload.has_budget:
            running = [one for machine in world.fleet.machines.values() for one in machine.pods.values()]
            started = [p for p in running if p.workload == pod.workload and p.bound + STARTS_WITHIN <= world.now]
            if not workload.lets_go(world.now) or len(started) < world.replicas[pod.workload]:
                raise Broken(f"{world.now}: the budget of {workload.name} forbids an eviction")
