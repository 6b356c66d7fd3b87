"""Judges what a plan gives to namespaces: `limits.perNamespace`, and turns where a limit binds; by the raw objects."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tests.planner.reading import Amounts, Json, asked, key, owner, quantity
from tests.planner.selecting import asks_of_others

_SIMPLE = {"containers", "nodeSelector", "priority", "schedulerName", "tolerations"}
"""Fields of pods of which it is plain that one may take the place of another."""


def violations(judged: Any) -> Iterator[str]:
    """Yield every bound and turn that the plan of this checker breaks."""
    for name, pool in judged.pools.items():
        bounds = pool["spec"].get("limits", {}).get("perNamespace", {})
        if bounds:
            yield from _bounds(judged, name, bounds)
        yield from _turns(judged, name)


def _bounds(judged: Any, pool: str, bounds: Json) -> Iterator[str]:
    before = _there(judged, pool)
    newcomers = _newcomers(judged, pool)
    if "cpu" in bounds:
        has, more = Counter[str](), Counter[str]()
        for pods, of_each in ((before, has), (newcomers, more)):
            for pod in (p for of_one in pods.values() for p in of_one):
                of_each[pod["metadata"]["namespace"]] += asked(pod["spec"]).get("cpu", 0)
        for namespace, cpu in more.items():
            if cpu and has[namespace] + cpu > quantity(str(bounds["cpu"]), "cpu"):
                yield f"pods of {namespace} are given {cpu}m beside {has[namespace]}m in pool {pool}"
    if "machines" in bounds:
        old = {name: _owner(pods) for name, pods in before.items()}
        after = {name: _owner([*before.get(name, []), *more]) for name, more in newcomers.items()}
        number = Counter((old | after).values())
        for namespace in {one for name, one in after.items() if one != old.get(name)}:
            if number[namespace] > bounds["machines"]:
                yield f"{number[namespace]} machines of pool {pool} count for {namespace}"


def _there(judged: Any, pool: str) -> dict[str, list[Json]]:
    """Return the pods of namespaces by machine, on Nodes and with seats, before the plan."""
    found: dict[str, list[Json]] = {}
    for name, node in judged.nodes.items():
        if node["metadata"]["labels"].get("growth.dev/pool") == pool:
            found[name] = [p for p in judged.residents(name) if not _is_of_node(p)]
    for name, request in judged.requests.items():
        if request["spec"]["pool"] == pool and request["status"].get("phase") not in ("Unmet", "Failed"):
            uids = {s["uid"] for s in request["spec"].get("reservedFor", ())}
            waiting = [judged.by_uid[u] for u in uids if u in judged.by_uid and not judged.lands_on(judged.by_uid[u])]
            found.setdefault(name, []).extend(waiting)
    return found


def _newcomers(judged: Any, pool: str) -> dict[str, list[Json]]:
    """Return the pods that the plan buys or reserves a place for, by machine."""
    found: dict[str, list[Json]] = {}
    for bought in judged.plan.requests:
        if bought.pool == pool and bought.seats:
            found[f"new {bought.ordinal}"] = [judged.by_uid[s.uid] for s in bought.seats]
    held = {s["uid"] for r in judged.scene.requests for s in r["spec"].get("reservedFor", ())}
    for placed in judged.plan.placed:
        if placed.request and judged.requests[placed.request]["spec"]["pool"] == pool:
            pod = judged.pods[placed.pod]
            if pod["metadata"]["uid"] not in held and not _is_heir(judged, pod):
                found.setdefault(placed.request, []).append(pod)
    return found


def _is_heir(judged: Any, pod: Json) -> bool:
    """Return whether it may have taken over a seat of its owner's."""
    mine = owner(pod).get("uid")
    seats = (s for r in judged.scene.requests for s in r["spec"].get("reservedFor", ()))
    return mine is not None and any(s.get("owner") == mine for s in seats)


def _is_of_node(pod: Json) -> bool:
    mirror = "kubernetes.io/config.mirror" in pod["metadata"].get("annotations", {})
    return mirror or owner(pod).get("kind") in ("DaemonSet", "InstanceManager", "Node")


def _owner(pods: list[Json]) -> str | None:
    """Return the namespace with most cpu, of equal ones with most memory, then the first by name."""
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pod in pods:
        of_one = total[pod["metadata"]["namespace"]]
        of_one[0] += asked(pod["spec"]).get("cpu", 0)
        of_one[1] += asked(pod["spec"]).get("memory", 0)
    return min(total, key=lambda name: ([-n for n in total[name]], name), default=None)


def _turns(judged: Any, pool: str) -> Iterator[str]:
    """Yield the pods that wait although a namespace has more than theirs would have, by its largest pod or more.

    Only what is plain is judged: pods without rules, one of which asks for no more than the other. Where pods are of
    several sizes, earlier ones may have taken what a later one needs: then only who got nothing is judged.
    """
    largest: Counter[str] = Counter()
    for kind, place in judged.catalogue(judged.pools[pool]):
        largest |= Counter(judged.looks(pool, kind, place, "new")[2])
    if judged.pools[pool]["spec"].get("limits", {}).get("perNamespace"):
        return
    bought = [judged.by_uid[s.uid] for r in judged.plan.requests if r.pool == pool for s in r.seats]
    got: Counter[tuple[str, int]] = Counter()
    size: Counter[tuple[str, int]] = Counter()
    for pod in (judged.pods[name] for name in {*(p.pod for p in judged.plan.placed), *map(key, bought)}):
        if pool in judged.pools_of(pod):
            got[_of(pod)] += _share(asked(pod["spec"]), largest)
            size[_of(pod)] = max(size[_of(pod)], _share(asked(pod["spec"]), largest))
    sizes: dict[int, set[str]] = defaultdict(set)
    for pod in judged.pods.values():
        sizes[_of(pod)[1]].add(str(asked(pod["spec"])))
    taken = [pod for pod in bought if _is_simple(judged, pod, pool)]
    for unplaced in judged.plan.unplaced:
        waits = judged.pods[unplaced.pod]
        if {r.code for r in unplaced.reasons[:1]} & {"LimitReached", "LimitShared"} and _is_simple(judged, waits, pool):
            needs = asked(waits["spec"])
            for has in taken:
                gives = asked(has["spec"])
                is_alike = _of(has)[1] == _of(waits)[1] and _rules(has) == _rules(waits)
                is_enough = all(n <= gives.get(name, 0) for name, n in needs.items())
                more, own = got[_of(has)] - size[_of(has)], _share(needs, largest)
                is_one_size = len(sizes[_of(has)[1]]) == 1
                is_more = more >= got[_of(waits)] + own if is_one_size else not got[_of(waits)] and more >= 2 * own
                if is_alike and _of(has) != _of(waits) and is_enough and is_more:
                    yield f"{key(waits)} waits although {key(has)} of a namespace that has more was bought for"
                    break


def _of(pod: Json) -> tuple[str, int]:
    return pod["metadata"]["namespace"], pod["spec"].get("priority", 0)


def _rules(pod: Json) -> Json:
    return {name: part for name, part in pod["spec"].items() if name != "containers"}


def _share(amounts: Amounts, largest: Counter[str]) -> float:
    return max((n / largest[name] for name, n in amounts.items() if largest[name]), default=0.0)


def _is_simple(judged: Any, pod: Json, pool: str) -> bool:
    return set(pod["spec"]) <= _SIMPLE and not asks_of_others(pod) and judged.pools_of(pod) == {pool}
