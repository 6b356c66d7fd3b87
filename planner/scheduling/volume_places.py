"""Volume places: the nodes that the volumes of pods allow.

Source: kube-scheduler's plugins VolumeBinding, VolumeZone, VolumeRestrictions (ReadWriteOncePod) and NodeVolumeLimits;
Kubernetes docs, "Persistent Volumes" and "Storage Classes: Volume Binding Mode".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from planner.model.plan import Problem
from planner.objects.kinds import Pod, Requirement
from planner.objects.storage import Claim, Volume, Volumes
from planner.scheduling.volume_binding import TooManyAlternatives, VolumeBinding

Terms = tuple[tuple[Requirement, ...], ...]

_ZONES: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels of a volume that say where it is, and the label that a node may have in their place."""
_BETWEEN_ZONES: Final = "__"
_ONE_POD: Final = "ReadWriteOncePod"
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def resolve(pods: Iterable[Pod], volumes: Volumes, problems: Iterable[Problem] = ()) -> tuple[Pod, ...]:
    """Return the pods with the effects of their claims: `volume_terms`, `attachments` and `blocked_by`.

    An object among the problems exists and cannot be read: the obstacle of a pod that needs it says so.

    Pods without claims and those that have ended stay as they are. Of several pods that wait with the same
    ReadWriteOncePod claim, only the most important and oldest has a chance: the others are blocked by it.
    """
    all_pods = tuple(pods)
    if not any(pod.claims for pod in all_pods):
        return all_pods
    known = _VolumeIndex(volumes, all_pods, frozenset((problem.kind, problem.name) for problem in problems))
    return tuple(known.resolved(pod) if pod.claims and not pod.is_finished else pod for pod in all_pods)


class _VolumeIndex:
    """Storage by name, and who uses claims that allow one pod only."""

    def __init__(self, volumes: Volumes, pods: Sequence[Pod], unread: frozenset[tuple[str, str]]) -> None:
        self._claims = {claim.key: claim for claim in volumes.claims}
        self._volumes = {volume.name: volume for volume in volumes.volumes}
        self._classes = {storage_class.name: storage_class for storage_class in volumes.classes}
        self._unread = unread
        self._binding = VolumeBinding(volumes.volumes, self._classes)
        self._holders = _holders(pods, {c.key for c in volumes.claims if _ONE_POD in c.need.access_modes})

    def resolved(self, pod: Pod) -> Pod:
        all_claims = [self._claims.get(f"{pod.namespace}/{name}") for name in pod.claims]
        claims = [claim for claim in all_claims if claim is not None]
        bound = [self._volumes[c.volume] for c in claims if c.is_bound and c.volume in self._volumes]
        terms = [term for volume in bound for term in _places(volume)]
        unbound = [c for c in claims if not c.volume and self._waits(c)]
        obstacle = "" if pod.node_name else self._obstacle(pod, all_claims)
        try:
            terms += self._binding.conditions(unbound)
        except TooManyAlternatives as error:
            obstacle = obstacle or str(error)
        return replace(
            pod,
            volume_terms=tuple(dict.fromkeys(terms)),
            attachments=tuple(dict.fromkeys(a for c in claims for a in self._attachment(c))),
            blocked_by=obstacle,
        )

    def _obstacle(self, pod: Pod, claims: Sequence[Claim | None]) -> str:
        for name, claim in zip(pod.claims, claims, strict=True):
            if claim is None:
                return f"claim {pod.namespace}/{name} {self._why_unknown(pod.namespace, name)}"
            if why := self._why_unusable(claim) or self._why_taken(pod, claim):
                return f"claim {claim.key} {why}"
        return ""

    def _why_unusable(self, claim: Claim) -> str:
        if claim.is_terminating:
            return "is being deleted"
        if claim.is_lost or (claim.is_bound and claim.volume not in self._volumes):
            return f"is bound to volume {claim.volume}, which {self._missing('PersistentVolume', claim.volume)}"
        if claim.is_bound or (not claim.volume and self._waits(claim)):
            return ""
        wanted = claim.need.storage_class
        if not claim.volume and not wanted:
            return "is not bound yet and names no storage class"
        if not claim.volume and wanted not in self._classes:
            return f"is not bound yet: storage class {wanted} {self._missing('StorageClass', wanted)}"
        return "is not bound yet"

    def _why_unknown(self, namespace: str, name: str) -> str:
        # An object from a file may be without a namespace, and is in the one named default.
        bare = (name,) if namespace == "default" else ()
        return self._missing("PersistentVolumeClaim", f"{namespace}/{name}", *bare)

    def _missing(self, kind: str, *names: str) -> str:
        return "cannot be read" if any((kind, name) in self._unread for name in names) else "does not exist"

    def _why_taken(self, pod: Pod, claim: Claim) -> str:
        holder = self._holders.get(claim.key)
        if holder is None or (holder.namespace, holder.name) == (pod.namespace, pod.name):
            return ""
        verb = "uses" if holder.node_name else "waits for"
        return f"allows one pod only ({_ONE_POD}), and pod {holder.key} {verb} it"

    def _waits(self, claim: Claim) -> bool:
        storage_class = self._classes.get(claim.need.storage_class)
        return storage_class is not None and storage_class.waits

    def _attachment(self, claim: Claim) -> Iterable[tuple[str, str]]:
        volume = self._volumes.get(claim.volume)
        if volume is not None:
            driver, handle = volume.driver, volume.handle
        else:
            # It is not there yet, and will be one more volume of the driver that makes it.
            storage_class = self._classes.get(claim.need.storage_class)
            driver, handle = "" if storage_class is None else storage_class.driver, f"claim {claim.key}"
        return ((driver, handle),) if driver and handle else ()


def _holders(pods: Sequence[Pod], exclusive: frozenset[str] | set[str]) -> Mapping[str, Pod]:
    """Return the pod that has, or waits first for, each of the claims that allow one pod only."""
    holders: dict[str, Pod] = {}
    if exclusive:
        rivals = (p for p in pods if p.claims and not p.is_finished and (p.node_name or not p.is_terminating))
        for pod in sorted(rivals, key=_turn):
            for key in exclusive.intersection(f"{pod.namespace}/{name}" for name in pod.claims):
                holders.setdefault(key, pod)
    return holders


def _turn(pod: Pod) -> tuple[bool, bool, int, datetime, str]:
    return not pod.node_name, pod.is_gated, -pod.priority, pod.created_at or _LAST, pod.key


def _places(volume: Volume) -> Iterable[Terms]:
    """Yield the conditions on the node of a bound volume, each as terms of which one must hold."""
    if volume.node_affinity:
        yield volume.node_affinity
    nowhere = tuple(Requirement(label, "DoesNotExist") for label in _ZONES)
    for label, successor in _ZONES.items():
        values = tuple(dict.fromkeys(zone.strip() for zone in volume.labels.get(label, "").split(_BETWEEN_ZONES)))
        if "" in values:
            # No such label, or one that the scheduler passes over because a name in it is empty.
            continue
        here: list[tuple[Requirement, ...]] = [(Requirement(label, "In", values),)]
        if successor != label:
            here.append((Requirement(label, "DoesNotExist"), Requirement(successor, "In", values)))
        yield (*here, nowhere)
