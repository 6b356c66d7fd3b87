"""What each namespace has of the pools: the cpu that its pods request there, and the machines that count for it.

Both are read from objects alone: pods on Nodes, and pods with a seat (`spec.reservedFor`) on machines that are coming
or still kept. Pods that belong to their Node, such as those of DaemonSets, count for no namespace.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.objects.kinds import Pod
from planner.supply.machines import Machine


@dataclass(frozen=True, slots=True)
class NamespaceUse:
    """Of some pools."""

    cpu: Mapping[tuple[str, str], int]
    """Millicores by pool and namespace."""
    pods: Mapping[str, tuple[Pod, ...]]
    """Those that count, by machine."""


def namespace_use(
    machines: Iterable[Machine], seated: Mapping[str, tuple[Pod, ...]], pools: frozenset[str]
) -> NamespaceUse:
    """Return what namespaces have of these pools; `seated` are pods with a seat that are on no Node yet."""
    cpu: Counter[tuple[str, str]] = Counter()
    pods: dict[str, tuple[Pod, ...]] = {}
    for machine in machines:
        if machine.pool not in pools or not machine.counts:
            continue
        residents = (pod for pod in machine.residents if not pod.is_of_node)
        pods[machine.name] = (*residents, *seated.get(machine.name, ()))
        for pod in pods[machine.name]:
            cpu[machine.pool, pod.namespace] += cpu_of(pod)
    return NamespaceUse(cpu, pods)


def cpu_of(pod: Pod) -> int:
    """Return the cpu that a pod requests, in millicores."""
    return pod.requests.get("cpu", 0)


def namespace_of(pods: Iterable[Pod]) -> str | None:
    """Return the namespace that a machine with these pods counts for; None without any.

    It is the one whose pods request most cpu of it; of equal ones, most memory, then the first by name.
    """
    asked: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for pod in pods:
        cpu, memory = asked[pod.namespace]
        asked[pod.namespace] = cpu + cpu_of(pod), memory + pod.requests.get("memory", 0)
    return min(asked, key=lambda name: (-asked[name][0], -asked[name][1], name), default=None)
