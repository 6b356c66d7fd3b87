"""Pod groups: pods that the planner cannot tell apart cost one decision, however many they are.

A pod that names pools, by nodeSelector or required node affinity on growth.dev/pool, may use those
of them that exist. One that names none may use every pool that takes such pods.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from api.keys import LABEL_POOL, TAINT_RESERVED
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import Seat
from planner.model.plan import Reason
from planner.objects.kinds import Pod, PodTerm, Requirement
from planner.objects.predicates import holds, is_about_its_node
from planner.scheduling.attachments import shared_volumes
from planner.supply.lost_places import LostPlaces, LostPlacesByClass

_TURNS = 2
"""Of one priority."""
_HASH_CHARACTERS = 16
"""64 bits: no two of the few thousand classes of a cluster meet by accident."""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods that are alike in everything that matters here: every stage of a round carries it, none copies it."""

    key: str
    """Stable hash of their demands: the same in every round."""
    pods: tuple[Pod, ...]
    """In the order in which they are given places."""
    pools: tuple[str, ...] = ()
    """Pools that may buy for it; empty until they are chosen."""
    lost_places: LostPlaces | None = None
    """Where the scheduler did not bind such pods although a plan had room for them."""
    turn: int = 0
    """0, or 1 for pods of the same priority that come after those of turn 0 where a limit is shared."""
    held_back: tuple[tuple[str, Reason], ...] = ()
    """Those of its pools that buy nothing for it now, each with the reason: it may still use what they have."""

    @property
    def tier(self) -> int:
        """The order in which groups get a place where not all can have one: a higher one first."""
        return self.example.priority * _TURNS - self.turn

    def buys_in(self, pool: str) -> bool:
        """Return whether the pool buys for it."""
        return all(name != pool for name, _ in self.held_back)

    def reasons_held(self, pools: Collection[str]) -> tuple[Reason, ...]:
        """Return why some of these pools buy nothing for it now."""
        return tuple(reason for name, reason in self.held_back if name in pools)

    @property
    def example(self) -> Pod:
        """Any of them."""
        return self.pods[0]

    @property
    def count(self) -> int:
        """Number of pods."""
        return len(self.pods)


def seat_of(pod: Pod, key: str) -> Seat:
    """Return the seat of a pod of the group `key`."""
    return Seat(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        owner="" if pod.owner is None else pod.owner.uid,
        **{"class": key},
    )


class GroupKeys:
    """Hashes of pods, worked out once per kind of pod."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], str] = {}

    def of(self, pod: Pod) -> str:
        """Return the stable hash of this pod's demands.

        Not part of it: names, labels that only others select by, and preferences, which never decide
        whether a pod finds a place. The toleration of a reservation is Growth's own doing and would
        make a pod differ from its successor.
        """
        parts = _asked(pod)
        if parts not in self._known:
            self._known[parts] = sha256(repr(parts).encode()).hexdigest()[:_HASH_CHARACTERS]
        return self._known[parts]


def pod_groups(
    pods: Iterable[Pod], keys: GroupKeys, selecting: Collection[Pod], lost_places: LostPlacesByClass | None = None
) -> tuple[PodGroup, ...]:
    """Return the groups of `pods`, those with the highest priority and the oldest pods first.

    `selecting` are all pods whose affinity, anti-affinity or spreading may select one of them: pods that
    such a selector tells apart are in different groups, and so are those that share different volumes
    with any of them. `lost_places` tell pods apart, too.
    """
    selected = _SelectedLabels(selecting)
    shared = shared_volumes(selecting)
    members: dict[tuple[Any, ...], list[Pod]] = {}
    for pod in sorted(pods, key=_age):
        volumes = tuple(volume for volume in pod.attachments if volume in shared)
        key = keys.of(pod)
        lost = None if lost_places is None else lost_places.of(pod.namespace, key)
        members.setdefault((key, selected.at(pod), pod.blocked_by, volumes, lost), []).append(pod)
    groups = [PodGroup(key, tuple(pods), lost_places=lost) for (key, *_, lost), pods in members.items()]
    return tuple(sorted(groups, key=lambda group: -group.example.priority))


def _age(pod: Pod) -> tuple[bool, float, str]:
    born = pod.created_at
    return born is None, 0.0 if born is None else born.timestamp(), pod.key


def _asked(pod: Pod) -> tuple[Any, ...]:
    off_node = [t for t in pod.pod_anti_affinity if t.selector is not None and is_about_its_node(t, pod.namespace)]
    own_terms = tuple(t.selector or () for t in off_node)
    return (
        tuple(sorted(pod.requests.items())),
        pod.node_selector,
        pod.node_affinity,
        tuple(t for t in pod.tolerations if t.key != TAINT_RESERVED),
        own_terms,
        _picked(pod, sorted({r.key for term in own_terms for r in term})) if own_terms else (),
        pod.priority,
        pod.unjudged,
        # What few pods have comes only with those, so that the hash of all others stays as it was.
        *_asked_of_others(pod, [t for t in pod.pod_anti_affinity if t not in off_node]),
        *_asked_of_volumes(pod),
        *((("host ports", pod.host_ports),) if pod.host_ports else ()),
        *((("system", pod.system),) if pod.system else ()),
        *((("over budget", pod.over_budget),) if pod.over_budget else ()),
        *((("scheduler", pod.scheduler),) if pod.scheduler else ()),
    )


def _asked_of_others(pod: Pod, keeps_away: Sequence[PodTerm]) -> Iterator[tuple[Any, ...]]:
    if keeps_away or pod.pod_affinity or pod.spread:
        yield "anti-affinity", tuple(_stable(term) for term in keeps_away)
        yield "affinity", tuple(_stable(term) for term in pod.pod_affinity)
        yield "spread", pod.spread
        selectors = (one.selector for one in (*keeps_away, *pod.pod_affinity, *pod.spread))
        yield _picked(pod, sorted({r.key for selector in selectors for r in selector or ()}))


def _asked_of_volumes(pod: Pod) -> Iterator[tuple[Any, ...]]:
    # Claims and volumes have names of their own for each pod of a StatefulSet: only what they mean counts.
    if pod.volume_terms:
        yield "volumes", pod.volume_terms
    if pod.attachments:
        yield "attachments", tuple(sorted(Counter(driver for driver, _ in pod.attachments).items()))
    if pod.blocked_by:
        yield ("blocked",)


def _stable(term: PodTerm) -> tuple[Any, ...]:
    # The order of a set differs from process to process.
    return term.topology_key, term.selector, tuple(sorted(term.namespaces)), term.namespace_selector


class _SelectedLabels:
    """Labels by which some selector tells pods apart, by namespace."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._keys: dict[str, set[str]] = {}
        self._everywhere: set[str] | None = None
        self._known: dict[str, set[str]] = {}
        for pod in pods:
            for spread in pod.spread:
                self._add(pod.namespace, spread.selector)
            for term in (*pod.pod_affinity, *pod.pod_anti_affinity):
                for namespace in term.namespaces:
                    self._add(namespace, term.selector)
                if term.namespace_selector is not None:
                    self._everywhere = self._everywhere or set()
                    self._everywhere.update(r.key for r in term.selector or ())

    def at(self, pod: Pod) -> tuple[Any, ...]:
        """Return the labels of this pod that selectors read."""
        here = self._keys.get(pod.namespace)
        if here is None and self._everywhere is None:
            return ()
        if pod.namespace not in self._known:
            self._known[pod.namespace] = (here or set()) | (self._everywhere or set())
        keys = self._known[pod.namespace]
        # Selectors may read thousands of labels that this pod has not.
        return (pod.namespace, *sorted(label for label in pod.labels.items() if label[0] in keys))

    def _add(self, namespace: str, selector: Sequence[Requirement] | None) -> None:
        if selector is not None:
            self._keys.setdefault(namespace, set()).update(r.key for r in selector)


def _picked(pod: Pod, keys: Sequence[str]) -> tuple[Any, ...]:
    return (pod.namespace, *((key, pod.labels.get(key)) for key in keys))


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """Pools for a pod, or the reason why there is none."""

    pools: tuple[str, ...] = ()
    obstacle: Reason | None = None


def choose_pools(pod: Pod, pools: Sequence[NodePool]) -> PoolChoice:
    """Return the pools that may buy machines for this pod, in the order of their names."""
    existing = sorted(pool.metadata.name for pool in pools)
    allowed = [name for name in existing if _allows(pod, name)]
    named = _named_pools(pod)
    if named is not None:
        if allowed:
            return PoolChoice(tuple(allowed))
        return PoolChoice(obstacle=_not_found(named, existing))
    takers = [p.metadata.name for p in pools if p.takes_unselected_pods and p.metadata.name in allowed]
    if takers:
        return PoolChoice(tuple(sorted(takers)))
    message = (
        f"the pod selects no pool, and no pool takes such pods: add a nodeSelector {LABEL_POOL}, "
        "make a pool named default, or set matchUnselectedPods on a pool"
    )
    return PoolChoice(obstacle=Reason("NoPool", message))


def _not_found(named: Collection[str], existing: Sequence[str]) -> Reason:
    known = f"there are {', '.join(existing)}" if existing else "there is no pool"
    problem = f"pool {' or '.join(sorted(named))} does not exist" if named else "no pool meets its requirements"
    return Reason("PoolNotFound", f"{problem}: {known}")


def _allows(pod: Pod, pool: str) -> bool:
    labels = {LABEL_POOL: pool}
    terms = pod.node_affinity
    return _may_hold(pod.node_selector, labels) and (not terms or any(_may_hold(term, labels) for term in terms))


def _may_hold(requirements: Sequence[Requirement], labels: dict[str, str]) -> bool:
    return all(holds(r, labels) for r in requirements if r.key == LABEL_POOL)


def _named_pools(pod: Pod) -> frozenset[str] | None:
    """Return the names that the pod gives, or None if some way of placing it leaves the pool open."""
    selector = _names_in(pod.node_selector)
    if selector is not None:
        return selector
    terms = [_names_in(term) for term in pod.node_affinity]
    if not terms or any(names is None for names in terms):
        return None
    return frozenset(name for names in terms if names is not None for name in names)


def _names_in(requirements: Sequence[Requirement]) -> frozenset[str] | None:
    about = [r for r in requirements if r.key == LABEL_POOL and r.operator in {"In", "Exists"}]
    return frozenset(value for r in about for value in r.values) if about else None
