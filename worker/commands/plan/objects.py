"""The objects of some files, by kind: those that a plan needs, each once, and how many others there were."""

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from activities.providers.kinds import node_classes
from api.keys import API_VERSION, GROUP
from worker.errors import USAGE_ERROR, CommandError

Json = dict[str, Any]
_OWN: Final = frozenset({"NodePool", "NodeRequest", "NodeRemovalRequest"})
"""Besides the kinds of node class."""
_OWN_GROUP: Final = f"{GROUP}/"
_KUBERNETES: Final = {
    "Pod": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "DaemonSet": "apps/v1",
    "PodTemplate": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "LimitRange": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "CapacityBuffer": "autoscaling.x-k8s.io/v1beta1",
    "NodeMetrics": "metrics.k8s.io/v1beta1",
}
_EARLIER: Final = {"CapacityBuffer": "autoscaling.x-k8s.io/v1alpha1"}
"""Versions before that which say the same."""
_SIMILAR: Final = 0.8
_DIGITS: Final = 20
"""Of 64 bits."""
_DEEPEST: Final = 16
"""A list in a list in a list is a mistake; deeper ones would end Python's stack."""
NAMESPACED: Final = frozenset(
    {
        "Pod",
        "PersistentVolumeClaim",
        "DaemonSet",
        "PodTemplate",
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "Job",
        "LimitRange",
        "PodDisruptionBudget",
        "CapacityBuffer",
    }
)
"""Kinds whose objects are in a namespace."""


class Objects:
    """Objects by kind and name, and the file that each is from."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, Json]] = {}
        self._files: dict[tuple[str, str], str] = {}
        self._passed_over: Counter[str] = Counter()
        self._slips: set[str] = set()
        self._twice: Counter[str] = Counter()
        self._nameless: list[str] = []

    def add(self, file: str, where: str, kind: str, item: Json) -> None:
        """Keep the object if a plan needs its kind; of two states of the same object, the later one.

        Raises:
            CommandError: two different objects have the same kind and name.
        """
        if not _is_needed(kind, item):
            self._passed_over[_shown(kind, item)] += 1
            if _is_own(kind) and _is_slip(str(item.get("apiVersion"))):
                self._slips.add(_shown(kind, item))
            return
        name = _name(kind, item)
        if "\n" in name:
            # Where it is told, what follows would look like a line of ours.
            problem = f"{where}: {kind} {name!r}: metadata.name: no name holds a line end"
            if kind not in _KUBERNETES:
                raise CommandError(problem, USAGE_ERROR)
            self._nameless.append(f"left out: {problem}")
            return
        if not name and kind in _KUBERNETES:
            self._nameless.append(f"left out: {where}: {kind} without a name: metadata.name: a name is needed")
            return
        # One of Growth's own without a name ends the command where it is read; until then, where it stands is one.
        name = name or where
        known = self._by_kind.setdefault(kind, {})
        before = known.get(name)
        if before is not None:
            self._twice[kind] += 1
            if not _is_same(before, item):
                first = self._files[kind, name]
                raise CommandError(
                    f"{file}: {kind} {name} stands twice, the first time in {first}, and they differ", USAGE_ERROR
                )
            if _version(item) <= _version(before):
                return
        known[name] = item
        self._files[kind, name] = file

    def of(self, kind: str) -> list[Json]:
        """Return the objects of a kind in the order of the files."""
        return list(self._by_kind.get(kind, {}).values())

    def origin(self, kind: str, item: Json) -> str:
        """Return the file that the object is from."""
        return next(self._files[kind, name] for name, known in self._by_kind[kind].items() if known is item)

    def file_of(self, kind: str, name: str) -> str:
        """Return the file that an object of this name is from, or that it is one of them."""
        # Who reads it says its name as it stands there, and this without a namespace is in the one named default.
        files = (self._files.get((kind, known)) for known in (name, f"default/{name}"))
        return next((file for file in files if file is not None), "one of the files")

    def notes(self) -> list[str]:
        """Return notes about objects that were left out, a line for each."""
        lines: list[str] = []
        if self._passed_over:
            lines.append(f"passed over, as no plan needs them: {_counted(self._passed_over)}")
            lines += [f"{shown}: did you mean apiVersion: {API_VERSION}?" for shown in sorted(self._slips)]
        if self._twice:
            lines.append(f"given more than once, the latest state of each is taken: {_counted(self._twice)}")
        return lines + self._nameless


def key(item: Json) -> str:
    """Return namespace/name of a named object of a namespaced kind."""
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace if isinstance(namespace, str) and namespace else 'default'}/{metadata['name']}"


def items_of(
    where: str, document: Any, inherited: Json | None = None, depth: int = 0
) -> Iterator[tuple[str, str, Json]]:
    """Yield place, kind and object of all that stand in a document, those of lists one by one.

    What stands in a list of one kind is of that kind and of the list's apiVersion, if it says nothing else.

    Raises:
        CommandError: something that stands there is no object, or has no kind.
    """
    if document is None:
        return
    if depth > _DEEPEST:
        raise CommandError(f"{where}: nested too deeply", USAGE_ERROR)
    if isinstance(document, list):
        for number, item in enumerate(document, start=1):
            yield from items_of(f"{where}, item {number}", item, inherited, depth + 1)
        return
    if not isinstance(document, dict):
        raise CommandError(f"{where} is no object: it must have apiVersion, kind and metadata", USAGE_ERROR)
    if inherited:
        document = inherited | document
    kind = document.get("kind")
    if not isinstance(kind, str) or not kind:
        raise CommandError(f"{where}: kind is missing", USAGE_ERROR)
    if kind.endswith("List") and isinstance(document.get("items", 0), list | None):
        yield from items_of(where, document["items"], _of_items(kind.removesuffix("List"), document), depth + 1)
    else:
        yield where, kind, document


def _of_items(kind: str, whole: Json) -> Json:
    """Return kind and apiVersion of a list's items, if it is of one kind: typed lists of the API leave them out."""
    return {key: value for key, value in (("apiVersion", whole.get("apiVersion")), ("kind", kind)) if kind and value}


def _is_needed(kind: str, item: Json) -> bool:
    # Others have kinds of the same names. A wrong version in our own group is a mistake to be told of.
    version = item.get("apiVersion") or _KUBERNETES.get(kind, _OWN_GROUP)
    if _is_own(kind):
        return not isinstance(version, str) or version.startswith(_OWN_GROUP)
    return kind in _KUBERNETES and version in (_KUBERNETES[kind], _EARLIER.get(kind))


def _is_own(kind: str) -> bool:
    return kind in _OWN or any(each.kind == kind for each in node_classes())


def _is_slip(version: str) -> bool:
    """Return whether the group of an object is nearly Growth's, as `growth/v1alpha1`; Karpenter has NodePools, too."""
    group = version.partition("/")[0]
    return group.partition(".")[0] == GROUP.partition(".")[0] or bool(
        get_close_matches(group, [GROUP], cutoff=_SIMILAR)
    )


def _shown(kind: str, item: Json) -> str:
    """Return the kind, with whose it is where a plan needs one of that name."""
    return f"{kind} of {item['apiVersion']}" if _is_own(kind) or kind in _KUBERNETES else kind


def _is_same(item: Json, other: Json) -> bool:
    """Whether these are states of one object: equal, or of the same uid."""
    uid = item["metadata"].get("uid")
    return item == other or (bool(uid) and uid == other["metadata"].get("uid"))


def _version(item: Json) -> int:
    # Versions of one resource are ordered as integers. Source: Kubernetes API concepts, "Resource versions".
    version = item["metadata"].get("resourceVersion")
    return int(version) if isinstance(version, str) and version.isdecimal() and len(version) <= _DIGITS else 0


def _name(kind: str, item: Json) -> str:
    """Return the name, with its namespace in front if the kind has any; empty if there is none."""
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return ""
    if kind == "NodeMetrics" and metadata["name"]:
        return sample_name(item)
    return key(item) if kind in NAMESPACED and metadata["name"] else metadata["name"]


def sample_name(item: Json) -> str:
    """Return what tells the samples of one Node apart: its name and the time."""
    return f"{item['metadata']['name']} at {item.get('timestamp')}"


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{number:,} {_plural(kind) if number > 1 else kind}" for kind, number in sorted(kinds.items()))


def _plural(shown: str) -> str:
    kind, of, whose = shown.partition(" of ")
    if kind.endswith("y"):
        return f"{kind[:-1]}ies{of}{whose}"
    return f"{kind}{'es' if kind.endswith('s') else 's'}{of}{whose}"
