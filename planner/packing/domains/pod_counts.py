"""Pod counts: the pods in each topology domain before a round decides anything, and those that affinity finds.

Pods that are alike to every selector are counted together, so that a term costs one look per kind
of pod and not one per pod.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import Pod, PodTerm, Spread, Taint
from planner.objects.predicates import FIELD_NAME
from planner.scheduling.affinity import Namespaces
from planner.scheduling.label_index import LabelIndex
from planner.scheduling.spread import makes_domain
from planner.supply.machines import Machine
from planner.supply.places import Place

_HASH_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Host:
    """A machine whose pods count, whether it takes more or not."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    pods: tuple[Pod, ...] = ()
    """On it or seated on it, and the templates of DaemonSet pods that are still missing."""
    moving: tuple[Pod, ...] = ()
    """On hosts that go, and to move here: they keep others away already, and count for nothing else."""
    model: "Host | None" = None
    """The machine that it differs from in its name only, which no rule of a pod can mean, as it has not got it yet."""


@dataclass(frozen=True, slots=True)
class PodKind:
    """Pods that no selector tells apart."""

    example: Pod
    hosts: Mapping[int, int]
    """Pods by index of their host."""
    is_moving: bool = False
    """Whether they are on other hosts yet."""


class PodCounts:
    """All hosts, and their pods by kind."""

    def __init__(self, hosts: Sequence[Host] = (), namespaces: Namespaces | None = None) -> None:
        self.hosts = tuple(hosts)
        self.namespaces: Namespaces = {} if namespaces is None else namespaces
        self._domains: dict[object, Mapping[int, str]] = {}
        self._pods_in: dict[tuple[str, int], Counter[str]] = {}

    @cached_property
    def kinds(self) -> tuple[PodKind, ...]:
        """Every kind of pod there is."""
        counts_by_kind: dict[object, tuple[Pod, Counter[int], bool]] = {}
        for index, host in enumerate(self.hosts):
            for pods, is_moving in ((host.pods, False), (host.moving, True)):
                for pod in pods:
                    identity = (pod.namespace, pod.is_terminating, is_moving, tuple(sorted(pod.labels.items())))
                    counts_by_kind.setdefault(identity, (pod, Counter(), is_moving))[1][index] += 1
        return tuple(PodKind(pod, counts, is_moving) for pod, counts, is_moving in counts_by_kind.values())

    @cached_property
    def index(self) -> LabelIndex:
        """The kinds by their labels; positions are those in `kinds`."""
        return LabelIndex([kind.example for kind in self.kinds], self.namespaces)

    def pods_in(self, key: str, kind: int) -> Counter[str]:
        """Return the pods of a kind, given by position, by the domain of this topology key."""
        if (key, kind) not in self._pods_in:
            self._pods_in[key, kind] = self.by_domain(key, self.kinds[kind].hosts)
        return self._pods_in[key, kind]

    def by_domain(self, key: str, pods: Mapping[int, int]) -> Counter[str]:
        """Return pods, given by index of their host, by the domain of this topology key."""
        counts: Counter[str] = Counter()
        for index, number in pods.items():
            value = self.hosts[index].labels.get(key)
            if value is not None:
                counts[value] += number
        return counts

    def domains(self, pod: Pod, spread: Spread) -> Mapping[int, str]:
        """Return the domain of each host that counts for a constraint of the pod, by index of the host."""
        key = (spread.topology_key, domain_rules(pod, spread))
        if key not in self._domains:
            self._domains[key] = {
                index: host.labels[spread.topology_key]
                for index, host in enumerate(self.hosts)
                if host_counts(pod, spread, host)
            }
        return self._domains[key]

    @cached_property
    def refusals(self) -> Mapping[PodTerm, Counter[int]]:
        """Terms by which pods that are there keep others away, each with the number of such pods by index of host."""
        hosts_by_term: dict[PodTerm, Counter[int]] = {}
        for index, host in enumerate(self.hosts):
            for pod in (*host.pods, *host.moving):
                for term in pod.pod_anti_affinity:
                    hosts_by_term.setdefault(term, Counter())[index] += 1
        return hosts_by_term


def count_pods(
    machines: Iterable[Machine],
    places: Iterable[Place],
    seated: Mapping[str, Sequence[Pod]],
    namespaces: Namespaces,
) -> PodCounts:
    """Return all nodes and all coming machines that pods may be planned onto, with their pods.

    Nodes that take no pods count, too: the scheduler looks at what is there. `seated` are the pods
    that wait for a machine, by its name.
    """
    hosts = {
        place.machine.name: Host(place.labels, place.taints, (*place.pods, *place.daemons), place.moving)
        for place in places
    }
    for machine in machines:
        node = machine.node
        if node is not None and machine.name not in hosts:
            pods = (*machine.residents, *seated.get(machine.name, ()))
            hosts[machine.name] = Host({**node.labels, FIELD_NAME: node.name}, node.taints, pods)
    return PodCounts(tuple(hosts.values()), namespaces)


def domain_rules(pod: Pod, spread: Spread) -> tuple[object, ...]:
    """Return all that decides which machines count for a constraint of the pod: many pods have the same."""
    return (
        tuple(other.topology_key for other in pod.spread),
        (pod.node_selector, pod.node_affinity) if spread.honors_node_affinity else None,
        pod.tolerations if spread.honors_node_taints else None,
    )


def host_counts(pod: Pod, spread: Spread, host: Host) -> bool:
    """Return whether a machine is part of a domain of one of the pod's constraints: it has the keys of all of them."""
    return all(other.topology_key in host.labels for other in pod.spread) and makes_domain(
        pod, spread, host.labels, host.taints
    )


def affinity_fingerprint(pod: Pod, pod_counts: PodCounts, others: Sequence[Pod], index: LabelIndex) -> str:
    """Return a hash of the pods that the pod's affinity finds; empty where it has none.

    That is whether such pods are there, in which domains larger than a machine, and which of `others`, one of each
    class without a place, are such pods. On which machines they are is not in it: where one has room for the pod,
    the scheduler binds it without being asked. `index` is that of `others`.
    """
    if not pod.pod_affinity:
        return ""
    keys = {term.topology_key for term in pod.pod_affinity} - {LABEL_HOSTNAME}
    is_there = False
    domains: set[tuple[str, str]] = set()
    for position in pod_counts.index.meeting(pod.pod_affinity):
        if pod_counts.kinds[position].is_moving:
            continue
        is_there = True
        for host in pod_counts.kinds[position].hosts:
            labels = pod_counts.hosts[host].labels
            domains.update((key, labels[key]) for key in keys & labels.keys())
    waiting = sorted({_kind(others[position]) for position in index.meeting(pod.pod_affinity)})
    return sha256(json.dumps([is_there, sorted(domains), waiting]).encode()).hexdigest()[:_HASH_CHARACTERS]


def _kind(pod: Pod) -> str:
    return pod.key if pod.owner is None else f"{pod.namespace}/{pod.owner.uid}"
