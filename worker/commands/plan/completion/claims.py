"""What controllers do with claims before the scheduler sees them, for claims that came from a file.

Source: Kubernetes docs, "Ephemeral Volumes: Generic ephemeral volumes" and "Storage Classes: Default StorageClass";
the admission plugin DefaultStorageClass; what the scheduler takes as bound: volumebinding, isPVCFullyBound.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from worker.commands.plan.objects import Json, Objects, key

_CLAIM: Final = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
_BOUND: Final = "pv.kubernetes.io/bind-completed"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_IS_DEFAULT: Final = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def claims(objects: Objects, pods: Iterable[Json]) -> list[Json]:
    """Return the claims of some files, and those that a cluster would make for the pods' ephemeral volumes.

    A claim that names no class has the default one, and one that is Bound is so for good.
    """
    given = objects.of("PersistentVolumeClaim")
    known = {key(claim) for claim in given}
    default = _default_class(objects.of("StorageClass"))
    made = [claim for pod in pods for claim in _ephemeral(pod) if key(claim) not in known]
    return [_completed(claim, default) for claim in (*given, *made)]


def _default_class(classes: Iterable[Json]) -> str:
    """Return the newest of those that are marked as default, empty if there is none."""
    marked = [one for one in classes if any(_annotations(one).get(name) == "true" for name in _IS_DEFAULT)]
    by_name = sorted(marked, key=lambda one: one["metadata"]["name"])
    newest = max(by_name, key=lambda one: str(one["metadata"].get("creationTimestamp") or ""), default=None)
    return "" if newest is None else newest["metadata"]["name"]


def _ephemeral(pod: Json) -> Iterator[Json]:
    """Yield the claims of the pod's ephemeral volumes; malformed ones are left to the parser, which reports them."""
    volumes = _at(pod, "spec", "volumes")
    for volume in volumes if isinstance(volumes, list) else ():
        template = _at(volume, "ephemeral", "volumeClaimTemplate")
        spec = _at(template, "spec")
        name = volume.get("name") if isinstance(volume, dict) else None
        if isinstance(spec, dict) and isinstance(name, str):
            namespace, _, owner = key(pod).partition("/")
            metadata = {"annotations": _annotations(template), "name": f"{owner}-{name}", "namespace": namespace}
            yield _CLAIM | {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _completed(claim: Json, default: str) -> Json:
    spec, annotations = claim.get("spec"), _annotations(claim)
    if not isinstance(spec, dict) or claim["metadata"].get("annotations") not in (None, annotations):
        # Who parses it tells what is wrong.
        return claim
    if default and spec.get("storageClassName") is None and _OLD_CLASS not in annotations:
        claim = {**claim, "spec": {**spec, "storageClassName": default}}
    if _at(claim, "status", "phase") == "Bound" and spec.get("volumeName") and _BOUND not in annotations:
        # The controller writes this annotation before the phase: only what was shortened by hand is without it.
        claim = {**claim, "metadata": {**claim["metadata"], "annotations": {**annotations, _BOUND: "yes"}}}
    return claim


def _annotations(item: Any) -> Json:
    value = _at(item, "metadata", "annotations")
    return value if isinstance(value, dict) else {}


def _at(value: Any, *path: str) -> Any:
    """Return the value at a path, None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
