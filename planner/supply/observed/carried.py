"""What a machine of a pool and type carries beside the pods it is bought for: DaemonSet pods as they run, static pods.

A DaemonSet's template is not what its pods ask for: a LimitRange, a vertical autoscaler or a webhook changes that when
they are admitted. So the newest pod of the DaemonSet counts, on Nodes of the pool and type, else of the pool, else of
any: it was admitted by the rules that will admit the next one, while older ones may keep for months what they were
given. Before the first pod, it is the template with what the LimitRanges of its namespace fill in. In a rollout it is a
pod of the new generation. As long as there is none, the larger of old pod and new template counts, so that there is
room for both.

Static pods are files of the machine's image or user data: those that all Ready Nodes of the pool and type have will be
on the next one too.
Source: Kubernetes docs, "Limit Ranges", "Static Pods"; cluster-autoscaler FAQ on DaemonSets and template nodes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import DaemonSet, Node, Pod, Toleration
from planner.objects.offering import ResourceVector
from planner.supply.observed.agreement import is_starting, pool_and_type

_STATIC: Final = "static:"
_GENERATION: Final = "pod-template-generation"
"""Label of a DaemonSet's pod. Source: Kubernetes, apps/v1, DaemonSetTemplateGenerationKey."""
_DIGITS: Final = 18
_EVERYWHERE: Final = (Toleration(operator="Exists"),)
"""No taint keeps a static pod off: its kubelet starts it."""
_Scope = tuple[str, ...]
"""Pool and type, a pool, or nothing: all Nodes."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When a pod was created that does not tell."""


class Carried:
    """The pods that machines to come carry, by pool and type; each answer is made when it is first asked for."""

    def __init__(
        self,
        daemon_sets: Sequence[DaemonSet],
        nodes: Iterable[Node],
        pods: Iterable[Pod],
        now: datetime,
        pools: Iterable[NodePool] = (),
    ) -> None:
        of_name = {pool.metadata.name: pool for pool in pools}
        self._daemon_sets = daemon_sets
        self._newest: dict[str, dict[_Scope, Pod]] = defaultdict(dict)
        self._generations: dict[str, int] = {}
        self._ready: dict[_Scope, list[str]] = defaultdict(list)
        self._static: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._known: dict[_Scope, tuple[DaemonSet, ...]] = {}
        kinds: dict[str, _Scope] = {}
        for node in nodes:
            kinds[node.name] = kind = pool_and_type(node) or ()
            if kind and node.is_ready and not is_starting(node, now, of_name.get(kind[0])):
                self._ready[kind].append(node.name)
        wanted = {each.uid for each in daemon_sets}
        for pod in pods:
            if not (pod.is_daemon or pod.is_mirror) or not pod.node_name or pod.is_finished or pod.is_unreadable:
                continue
            if pod.is_mirror:
                self._static[pod.node_name][source_of(pod)] = pod
            elif pod.owner is not None and pod.owner.uid in wanted:
                self._note(pod.owner.uid, pod, kinds.get(pod.node_name, ()))

    def on(self, pool: str, server_type: str) -> tuple[DaemonSet, ...]:
        """Return the DaemonSets with the amounts that their pods will get there, and the static pods like ones."""
        kind = pool, server_type.lower()
        if kind not in self._known:
            known = (self._as_it_runs(each, kind) for each in self._daemon_sets if self._has_pods(each))
            self._known[kind] = (*known, *self._static_on(kind))
        return self._known[kind]

    def _note(self, uid: str, pod: Pod, kind: _Scope) -> None:
        generation, newest_yet = _generation(pod), self._generations.get(uid, 0)
        if generation < newest_yet:
            return
        if generation > newest_yet:
            self._generations[uid] = generation
            self._newest[uid].clear()
        newest = self._newest[uid]
        for scope in (kind, kind[:1], ()):
            known = newest.get(scope)
            if known is not None and not _is_newer(pod, known):
                # Nor is it the newest of a wider scope.
                break
            newest[scope] = pod

    def _has_pods(self, daemon_set: DaemonSet) -> bool:
        """Return whether it has pods or may have: a webhook may make one that is taken of a template that is not."""
        return not daemon_set.refusal or daemon_set.uid in self._newest

    def _as_it_runs(self, daemon_set: DaemonSet, kind: _Scope) -> DaemonSet:
        newest = self._newest.get(daemon_set.uid, {})
        pod = newest.get(kind) or newest.get(kind[:1]) or newest.get(())
        if pod is None:
            return daemon_set
        template = daemon_set.template
        is_old = 0 < _generation(pod) < daemon_set.generation
        requests = _larger(pod.requests, template.requests) if is_old else pod.requests
        return (
            daemon_set
            if requests == template.requests
            else replace(daemon_set, template=replace(template, requests=requests))
        )

    def _static_on(self, kind: _Scope) -> Iterator[DaemonSet]:
        static_pods = [self._static.get(name, {}) for name in self._ready.get(kind, ())]
        for source, pod in sorted(static_pods[0].items()) if static_pods else ():
            alike = [pods[source] for pods in static_pods if source in pods]
            if len(alike) == len(static_pods):
                requests: ResourceVector = {}
                for each in alike:
                    requests = _larger(requests, each.requests)
                template = replace(pod, node_name="", node_selector=(), node_affinity=(), tolerations=_EVERYWHERE)
                yield DaemonSet(pod.namespace, source, source, replace(template, requests=requests))


def missing(daemon_sets: Iterable[DaemonSet], residents: Iterable[Pod]) -> Iterator[DaemonSet]:
    """Yield those of which none of the residents is a pod."""
    present = {source_of(pod) for pod in residents}
    return (daemon_set for daemon_set in daemon_sets if daemon_set.uid not in present)


def source_of(pod: Pod) -> str:
    """Return what the pods of one source have in common: the uid of their owner, or the name of a static pod's file."""
    if pod.is_mirror:
        return f"{_STATIC}{pod.namespace}/{pod.name.removesuffix(f'-{pod.node_name}')}"
    return "" if pod.owner is None else pod.owner.uid


def _generation(pod: Pod) -> int:
    """Return the generation of the template that the pod was made from, 0 where it does not tell."""
    text = pod.labels.get(_GENERATION, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= _DIGITS else 0


def _is_newer(pod: Pod, other: Pod) -> bool:
    """Return whether it is newer than the other, or as old and asks for more; of two alike, the first by name is."""
    created_at, before = pod.created_at or _LONG_AGO, other.created_at or _LONG_AGO
    if created_at != before:
        return created_at > before
    if pod.requests != other.requests:
        return _amounts(pod) < _amounts(other)
    return pod.key < other.key


def _amounts(pod: Pod) -> list[tuple[str, int]]:
    """Return a key by which the pod that asks for most comes first."""
    return [(name, -amount) for name, amount in sorted(pod.requests.items())]


def _larger(first: ResourceVector, second: ResourceVector) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in sorted({*first, *second})}
