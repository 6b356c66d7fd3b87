"""Lets the pods of a plan land one after the other, each judged as the scheduler would, until all have or none may."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner.model.plan import Plan, Snapshot
from planner.objects.kinds import Pod
from planner.objects.predicates import FIELD_NAME
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import Site, sites_of
from planner.scheduling.volume_places import resolve
from planner.supply.machine_kind import daemons_on, kinds_of_pools
from tests.planner.scenes import Scene

ORDERS = (
    lambda pod: not pod.spread,
    lambda pod: not pod.pod_affinity,
    lambda pod: not (pod.pod_affinity or pod.spread),
    lambda pod: -len(pod.pod_affinity + pod.pod_anti_affinity),
    lambda pod: -pod.priority,
    lambda pod: pod.priority,
    lambda pod: (not pod.spread, pod.priority),
    lambda pod: (not pod.spread, -pod.priority, pod.name),
    lambda pod: (not pod.spread, pod.name[::-1]),
)
"""Of pods that ask something of others, some must land before those that ask nothing."""


def not_landed(scene: Scene, made: Plan) -> list[str]:
    """Return the planned pods that no node of the plan takes in any order tried, each with the judge's words."""
    left: list[str] = []
    for order in ORDERS:
        left = _left(scene, made, order)
        if not left:
            break
    return left


def _left(scene: Scene, made: Plan, order: Callable[[Pod], Any]) -> list[str]:
    snapshot = scene.snapshot()
    pods = {pod.key: pod for pod in resolve(snapshot.pods, snapshot.volumes)}
    sites = {site.name: with_daemons(site, snapshot) for site in sites_of(snapshot.nodes, pods.values())}
    waiting: list[tuple[Pod, str]] = [(pods[p.pod], p.node) for p in made.placed if p.node]
    for k, bought in enumerate(made.requests):
        name = f"bought-{k}"
        sites[name] = machine(snapshot, name, bought.pool, bought.server_type, bought.location)
        waiting += [(pods[f"{s.namespace}/{s.name}"], name) for s in bought.seats]
    for wish in snapshot.requests:
        if wish.metadata.name not in sites:
            name, spec = wish.metadata.name, wish.spec
            sites[name] = machine(snapshot, name, spec.pool, spec.server_type, spec.location)
            waiting += [(pods[p.pod], name) for p in made.placed if p.request == name]
    judge = Judge(sites.values(), snapshot.namespaces)
    before: Counter[tuple[str, str]] = Counter()
    turns: dict[str, int] = {}
    for pod, name in waiting:
        group = name, pod.owner.uid if pod.owner else pod.key
        turns[pod.key] = before[group]
        before[group] += 1
    # All machines in turn: of those that are alike, a second one comes when each has its first.
    waiting.sort(key=lambda item: (order(item[0]), turns[item[0].key]))
    while item := next((one for one in waiting if judge.verdict(one[0], sites[one[1]]) is None), None):
        # Back to the first of them: who asks something of others goes as soon as it may.
        judge.seat(item[0], sites[item[1]])
        waiting.remove(item)
    return [f"{pod.key} on {name}: {judge.verdict(pod, sites[name])}" for pod, name in waiting]


def with_daemons(site: Site, snapshot: Snapshot) -> Site:
    """Return the node with the DaemonSet pods that are still missing on it."""
    present = {pod.owner.uid for pod in site.pods if pod.owner is not None}
    missing = [each for each in snapshot.daemon_sets if each.uid not in present]
    return replace(site, pods=(*site.pods, *daemons_on({**site.labels, FIELD_NAME: site.name}, site.taints, missing)))


def machine(snapshot: Snapshot, name: str, pool: str, server_type: str, location: str) -> Site:
    """Return the machine that an offer becomes, DaemonSet pods on it."""
    kind = next(
        o
        for o in kinds_of_pools(snapshot)[pool].kinds
        if (o.offering.server_type.lower(), o.offering.location) == (server_type.lower(), location)
    )
    labels = {k: v for k, v in kind.labels.items() if k != FIELD_NAME} | {"kubernetes.io/hostname": name}
    return Site(name, kind.offering.allocatable, labels, kind.taints, pods=kind.daemons)
