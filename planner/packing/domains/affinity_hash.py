"""What the affinity of a pod finds: for telling whether it may find more than when it was last tried."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import Pod
from planner.packing.domains.pod_counts import PodCounts
from planner.scheduling.affinity import meets_all

_HASH_CHARACTERS: Final = 8


def affinity_fingerprint(pod: Pod, pod_counts: PodCounts, others: Iterable[Pod]) -> str:
    """Return a hash of what the pod's affinity finds; empty where it has none.

    That is whether such pods are there, in which domains larger than a machine, and which of `others`, one of each
    class without a place, are such pods. On which machines they are is not in it: where one has room for the pod,
    the scheduler binds it without being asked.
    """
    if not pod.pod_affinity:
        return ""
    keys = {term.topology_key for term in pod.pod_affinity} - {LABEL_HOSTNAME}
    is_there = False
    domains: set[tuple[str, str]] = set()
    for kind in pod_counts.kinds:
        if meets_all(pod.pod_affinity, kind.example, pod_counts.namespaces):
            is_there = True
            for index in kind.hosts:
                labels = pod_counts.hosts[index].labels
                domains.update((key, labels[key]) for key in keys & labels.keys())
    waiting = sorted({_kind(other) for other in others if meets_all(pod.pod_affinity, other, pod_counts.namespaces)})
    return sha256(json.dumps([is_there, sorted(domains), waiting]).encode()).hexdigest()[:_HASH_CHARACTERS]


def _kind(pod: Pod) -> str:
    return pod.key if pod.owner is None else f"{pod.namespace}/{pod.owner.uid}"
