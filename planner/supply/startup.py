"""What a Node that has joined still lacks before its planned pods can land: slow is not lost.

A network agent, a cloud controller or a driver sets a taint on a new Node and takes it back, and a device plug-in
registers some time after the kubelet. Until then the scheduler refuses the pods that the machine was bought for; bought
again, they would be so each time. So until `scaleUp.joinTimeout` such a Node counts as coming.
Source: Cluster Autoscaler FAQ, "How can I use startup taints"; Karpenter, NodeClaim condition Initialized; Cilium docs,
"Taints & Managed Pods"; Kubernetes docs, "Cloud Controller Manager", taint uninitialized.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from api.quantity import rounded_amount
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.scale_up import StartupTaint
from planner.objects.kinds import Taint
from planner.objects.offering import ResourceVector

_NETWORK: Final = "node.kubernetes.io/network-unavailable"
_PREFIXES: Final = (
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)
"""Whoever names a taint so says that it belongs to the start. Source: Cluster Autoscaler FAQ."""
_SUFFIXES: Final = ("/not-ready", "/agent-not-ready", "/uninitialized")
"""node.kubernetes.io, node.cilium.io, cni.istio.io, ebs.csi.aws.com, node.cloudprovider.kubernetes.io,
node.cluster.x-k8s.io and others name theirs so, as their documents say."""
_BY_KUBELET: Final = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
"""Stated by the kubelet itself: one that it does not state is not to come, one that it states as 0 is not measured."""


def is_startup_taint(taint: Taint, declared: Iterable[StartupTaint] = ()) -> bool:
    """Return whether the taint belongs to the start of a Node: a well-known one, or one that a pool declares."""
    if taint.key == _NETWORK or taint.key.startswith(_PREFIXES) or taint.key.endswith(_SUFFIXES):
        return True
    return any(
        taint.key == each.key and each.value in (None, taint.value) and each.effect in (None, taint.effect)
        for each in declared
    )


def startup_taints(taints: Iterable[Taint], pool: NodePool | None) -> tuple[Taint, ...]:
    """Return the taints that will be taken back once the Node has started.

    What the pool gives to its Nodes lasts, and a preference keeps no pod out.
    """
    lasting = set() if pool is None else {(taint.key, taint.effect) for taint in pool.spec.template.taints}
    declared = (None if pool is None else pool.spec.scale_up.startup_taints) or ()
    return tuple(
        taint
        for taint in taints
        if taint.effect != "PreferNoSchedule"
        and (taint.key, taint.effect) not in lasting
        and is_startup_taint(taint, declared)
    )


def missing_amounts(allocatable: ResourceVector, planned: ResourceVector) -> dict[str, int]:
    """Return the planned amounts of which the Node states nothing yet, such as devices whose plug-in comes later."""
    return {
        name: amount
        for name, amount in planned.items()
        if amount > 0 and (allocatable.get(name) == 0 or (name not in allocatable and name not in _BY_KUBELET))
    }


def with_missing(allocatable: ResourceVector, planned: ResourceVector) -> Mapping[str, int]:
    """Return what the Node will have: what it states, and what was planned of all that it does not state yet."""
    return {**allocatable, **missing_amounts(allocatable, planned)}


def still_missing(
    taints: Iterable[Taint], allocatable: ResourceVector, pool: NodePool | None, planned: ResourceVector
) -> tuple[str, ...]:
    """Return what the Node still lacks, a few words each; nothing when planned pods can land.

    Args:
        taints: of the Node.
        allocatable: what it states for pods.
        pool: its pool, None where that is gone.
        planned: what its plan counted on; without entries, nothing is known of that.
    """
    return tuple(_words(startup_taints(taints, pool), missing_amounts(allocatable, planned)))


def _words(taints: Iterable[Taint], amounts: Mapping[str, int]) -> Iterator[str]:
    for taint in taints:
        yield f"start-up taint {taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect} is on it"
    for name, amount in sorted(amounts.items()):
        yield f"{name} is not there yet, planned {rounded_amount(name, amount)}"
