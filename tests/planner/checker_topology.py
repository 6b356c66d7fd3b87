"""Judges pods by the other pods of a topology domain: keeping away, coming together, spreading."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tests.planner.reading import Json, key
from tests.planner.selecting import clash, labels_of, picks, reaches, space_of, spreads, terms
from tests.planner.world import Spot, World

BUDGET = 1500
"""States of the search for an order; a search that needs more is given up without a verdict."""
Landed = tuple[tuple[Spot, Json], ...]
"""Pods that run, with their machines."""


def violations(world: World) -> Iterator[str]:
    """Yield what is broken when all have landed, and who could not have landed in any order."""
    yield from apart(world)
    yield from even(world)
    yield from in_some_order(world)


def could_land(world: World, spot: Spot, pod: Json) -> bool:
    """Whether a pod could land on one more machine when all others have landed.

    It needs company that runs already: who waits for pods of this plan may be told to wait for them.
    """
    larger = replace(world, spots=(*world.spots, spot))
    residents: Landed = tuple((s, p) for s in world.spots for p in s.residents)
    everyone: Landed = (*residents, *world.newcomers())
    return (
        all(p is pod or not clash(pod, p, world.namespaces, spot.labels, s.labels) for s, p in everyone)
        and is_even(larger, everyone, spot, pod)
        and has_company(world, everyone, spot, pod)
        and has_company(world, residents, spot, pod)
    )


# Keeping away. What holds at the end has held all the way: pods only come.


def apart(world: World) -> Iterator[str]:
    new = world.newcomers()
    old = [(spot, pod) for spot in world.spots for pod in spot.residents]
    wary = [(spot, pod) for spot, pod in (*new, *old) if terms(pod, "podAntiAffinity")]
    told: set[frozenset[str]] = set()
    fresh = {key(pod) for _, pod in new}
    for spot, pod in wary:
        for there, other in (*new, *old):
            pair = frozenset({key(pod), key(other)})
            if len(pair) == 1 or pair in told or not pair & fresh:
                continue
            if clash(pod, other, world.namespaces, spot.labels, there.labels):
                told.add(pair)
                both = ((pod, spot), (other, there))
                (one, at), (two, by) = both if key(pod) in fresh else reversed(both)
                yield f"{key(one)} on {at.name} must keep away from {key(two)} on {by.name}"


# Spreading.


def counts(world: World, landed: Landed, pod: Json, constraint: Json) -> Counter[str]:
    """Return the pods that count in each domain of a spread constraint of `pod`."""
    keys = {c["topologyKey"] for c in spreads(pod)}
    by_taints = constraint.get("nodeTaintsPolicy", "Ignore") == "Honor"
    by_affinity = constraint.get("nodeAffinityPolicy", "Honor") == "Honor"
    eligible = [
        spot
        for spot in world.spots
        if keys <= set(spot.labels)
        and (not by_affinity or spot.is_wanted_by(pod))
        and (not by_taints or spot.is_tolerated_by(pod))
    ]
    found = Counter({spot.labels[constraint["topologyKey"]]: 0 for spot in eligible})
    names = {spot.name for spot in eligible}
    found.update(
        spot.labels[constraint["topologyKey"]]
        for spot, other in landed
        if spot.name in names and counted(constraint, pod, other)
    )
    return found


def counted(constraint: Json, pod: Json, other: Json) -> bool:
    """Whether a pod counts for a constraint: as the scheduler has it, none does for a selector that says nothing."""
    selector = constraint.get("labelSelector") or {}
    keys = set(constraint.get("matchLabelKeys", ())) & set(labels_of(pod))
    return (
        bool(selector.get("matchLabels") or selector.get("matchExpressions") or keys)
        and space_of(pod) == space_of(other)
        and "deletionTimestamp" not in other["metadata"]
        and picks(constraint, pod, other)
    )


def least(found: Counter[str], constraint: Json) -> int:
    """Return the fewest pods of a domain: none as long as there are too few domains."""
    return 0 if len(found) < constraint.get("minDomains", 1) else min(found.values(), default=0)


def even(world: World) -> Iterator[str]:
    """Yield skews that are too large at the end: pods that are alike have seen no larger one, whoever came last."""
    new = world.newcomers()
    old: Landed = tuple((spot, pod) for spot in world.spots for pod in spot.residents)
    for spot, pod in new:
        for constraint in spreads(pod):
            topology = constraint["topologyKey"]
            if topology not in spot.labels:
                yield f"{key(pod)} spreads over {topology}, which {spot.name} has not"
            elif counted(constraint, pod, pod):
                alike: Landed = tuple((s, p) for s, p in new if looks_of(p) == looks_of(pod))
                mine = counts(world, (*old, *alike), pod, constraint)[spot.labels[topology]]
                skew = mine - least(counts(world, (*old, *new), pod, constraint), constraint)
                if skew > constraint["maxSkew"]:
                    yield f"{key(pod)} on {spot.name} makes a skew of {skew} over {topology}"


# Landing one after the other.


def may_land(world: World, landed: Landed, spot: Spot, pod: Json) -> bool:
    """Whether the pods that have landed let this one land here now."""
    return is_even(world, landed, spot, pod) and has_company(world, landed, spot, pod)


def is_even(world: World, landed: Landed, spot: Spot, pod: Json) -> bool:
    """Whether all spread constraints of a pod let it land here."""
    for constraint in spreads(pod):
        value = spot.labels.get(constraint["topologyKey"])
        if value is None:
            return False
        found = counts(world, landed, pod, constraint)
        after = found[value] + counted(constraint, pod, pod)
        if after - least(found, constraint) > constraint["maxSkew"]:
            return False
    return True


def crowd(world: World, landed: Landed, spot: Spot, pod: Json) -> int:
    """Return how many pods are where a pod shall go, by its first spread constraint."""
    return next((counts(world, landed, pod, c)[spot.labels[c["topologyKey"]]] for c in spreads(pod)), 0)


def has_company(world: World, landed: Landed, spot: Spot, pod: Json) -> bool:
    """Whether every pod affinity term finds a pod in its domain, or the pod is the first of those it looks for."""
    wanted = terms(pod, "podAffinity")
    if any(term["topologyKey"] not in spot.labels for term in wanted):
        return False
    friends = [
        where for where, other in landed if wanted and all(reaches(t, pod, other, world.namespaces) for t in wanted)
    ]
    if all(any(f.labels.get(k) == spot.labels[k] for f in friends) for k in {t["topologyKey"] for t in wanted}):
        return True
    known = any(t["topologyKey"] in f.labels for f in friends for t in wanted)
    return not known and all(reaches(t, pod, pod, world.namespaces) for t in wanted)


def in_some_order(world: World) -> Iterator[str]:
    """Yield the pods that no order lets land, found by trying orders of pods that are alike."""
    new = world.newcomers()
    if not any(spreads(pod) or terms(pod, "podAffinity") for _, pod in new):
        return
    free = [(spot, pod) for spot, pod in new if not is_looked_at(world, pod)]
    first: Landed = (*((spot, pod) for spot in world.spots for pod in spot.residents), *free)
    waiting: dict[tuple[str, str], list[tuple[Spot, Json]]] = {}
    for spot, pod in new:
        if (spot, pod) not in free:
            waiting.setdefault((spot.name, looks_of(pod)), []).append((spot, pod))
    best, is_sure = search(world, first, list(waiting.values()))
    if is_sure and best:
        yield f"{', '.join(sorted(best))} can land in no order"


def is_looked_at(world: World, pod: Json) -> bool:
    """Whether it matters to somebody who lands when this one does."""
    return bool(spreads(pod) or terms(pod, "podAffinity")) or any(
        any(counted(c, other, pod) for c in spreads(other))
        or any(reaches(t, other, pod, world.namespaces) for t in terms(other, "podAffinity"))
        for _, other in world.newcomers()
    )


def looks_of(pod: Json) -> str:
    """Return what pods that are alike have in common."""
    spec = {k: v for k, v in pod["spec"].items() if k != "containers"}
    return repr((space_of(pod), sorted((pod["metadata"].get("labels") or {}).items()), spec))


def search(world: World, first: Landed, groups: list[list[tuple[Spot, Json]]]) -> tuple[list[str], bool]:
    """Return the fewest pods that were left on any way tried, and whether all ways were tried or one led to the end."""
    seen: set[tuple[int, ...]] = set()
    best = [key(pod) for group in groups for _, pod in group]
    stack = [tuple(0 for _ in groups)]
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        left = [key(pod) for group, n in zip(groups, state, strict=True) for _, pod in group[n:]]
        best = min(best, left, key=len)
        if not left:
            return [], True
        if len(seen) > BUDGET:
            return best, False
        here: Landed = (*first, *(entry for group, n in zip(groups, state, strict=True) for entry in group[:n]))
        open_ = [
            k for k, group in enumerate(groups) if state[k] < len(group) and may_land(world, here, *group[state[k]])
        ]
        # The last one pushed is tried first: the one that goes where the fewest are, which keeps the spread even.
        crowds = {k: crowd(world, here, *groups[k][state[k]]) for k in open_}
        stack += [
            (*state[:k], state[k] + 1, *state[k + 1 :]) for k in sorted(open_, key=lambda k: crowds[k], reverse=True)
        ]
    return best, True
