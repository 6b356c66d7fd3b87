"""The pods that an emptied machine would lose."""

from collections.abc import Iterator

from planner.objects.kinds import Pod
from planner.supply.machines import Machine


def evicted_pods(machine: Machine) -> Iterator[Pod]:
    """Yield the pods that would be asked to leave the machine: all bound ones that do not belong to its Node."""
    return (pod for pod in machine.residents if pod.node_name and not pod.is_of_node and not pod.is_finished)
