"""Classes of pods that the planner cannot tell apart: they cost one decision, however many they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from api.keys import TAINT_RESERVED
from api.v1alpha1.node_request import Seat
from planner.objects import Pod

_HASH_CHARACTERS = 16
"""64 bits: no two of the few thousand classes of a cluster meet by accident."""


@dataclass(frozen=True, slots=True)
class PodClass:
    """Pods that are alike in everything that matters here."""

    key: str
    """Stable hash of what they ask for: the same in every round."""
    pods: tuple[Pod, ...]
    """In the order in which they are given places."""

    @property
    def example(self) -> Pod:
        """Any of them."""
        return self.pods[0]


def seat_of(pod: Pod, key: str) -> Seat:
    """Return the seat of a pod of the class `key`."""
    return Seat(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        owner="" if pod.owner is None else pod.owner.uid,
        **{"class": key},
    )


class ClassKeys:
    """Hashes of pods, worked out once per kind of pod."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], str] = {}

    def of(self, pod: Pod) -> str:
        """Return the stable hash of what this pod asks for.

        Not part of it: names, and labels that only others select by. The toleration of a
        reservation is Growth's own doing and would make a pod differ from its successor.
        """
        parts = _asked(pod)
        if parts not in self._known:
            self._known[parts] = sha256(repr(parts).encode()).hexdigest()[:_HASH_CHARACTERS]
        return self._known[parts]


def group(pods: Iterable[Pod], keys: ClassKeys, selecting: Iterable[Pod]) -> tuple[PodClass, ...]:
    """Return the classes of `pods`, those with the highest priority and the oldest pods first.

    `selecting` are all pods whose anti-affinity may select one of them: pods that such a term
    tells apart are in different classes.
    """
    label_keys = _label_keys(selecting)
    classes: dict[tuple[Any, ...], list[Pod]] = {}
    for pod in sorted(pods, key=_age):
        classes.setdefault((keys.of(pod), _visible(pod, label_keys)), []).append(pod)
    found = [PodClass(key, tuple(members)) for (key, _), members in classes.items()]
    return tuple(sorted(found, key=lambda c: -c.example.priority))


def _age(pod: Pod) -> tuple[bool, float, str]:
    born = pod.created_at
    return born is None, 0.0 if born is None else born.timestamp(), pod.key


def _asked(pod: Pod) -> tuple[Any, ...]:
    own_terms = pod.hostname_anti_affinity
    return (
        tuple(sorted(pod.requests.items())),
        pod.node_selector,
        pod.node_affinity,
        tuple(t for t in pod.tolerations if t.key != TAINT_RESERVED),
        own_terms,
        _picked(pod, sorted({r.key for term in own_terms for r in term})) if own_terms else (),
        pod.priority,
        pod.unjudged,
    )


def _label_keys(pods: Iterable[Pod]) -> Mapping[str, Sequence[str]]:
    """Return the label keys that anti-affinity looks at, by namespace."""
    keys: dict[str, set[str]] = {}
    for pod in pods:
        for term in pod.hostname_anti_affinity:
            keys.setdefault(pod.namespace, set()).update(r.key for r in term)
    return {namespace: sorted(found) for namespace, found in keys.items()}


def _visible(pod: Pod, label_keys: Mapping[str, Sequence[str]]) -> tuple[Any, ...]:
    return _picked(pod, label_keys[pod.namespace]) if pod.namespace in label_keys else ()


def _picked(pod: Pod, keys: Sequence[str]) -> tuple[Any, ...]:
    return (pod.namespace, *((key, pod.labels.get(key)) for key in keys))
