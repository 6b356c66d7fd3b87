"""What a person should know of a plan whose files do not tell everything: a line for each assumption."""

from collections.abc import Iterable, Iterator
from typing import Final

from planner.model.plan import Snapshot
from planner.objects.counted_pods import is_demand
from planner.objects.kinds import Pod
from planner.parsing.objects import NAMESPACE_NAME
from worker.commands.plan.objects import Json, key
from worker.commands.shared.tables import count, names

_DEFAULT_SCHEDULER: Final = "default-scheduler"


def doubts(snapshot: Snapshot, pods: Iterable[Json], nodes: Iterable[Json]) -> Iterator[str]:
    """Yield the lines; `pods` and `nodes` are the raw objects of the snapshot."""
    yield from _namespaces(snapshot)
    yield from _unready(nodes)
    yield from _schedulers(snapshot, pods)


def _namespaces(snapshot: Snapshot) -> Iterator[str]:
    templates = (daemon_set.template for daemon_set in snapshot.daemon_sets)
    pods = [pod for pod in (*snapshot.pods, *templates) if not pod.is_finished]
    asking = [pod.key for pod in pods if _asks_for_labels(pod)]
    missing = sorted({pod.namespace for pod in pods} - snapshot.namespaces.keys())
    if asking and missing:
        yield (
            f"a namespaceSelector of {names(asking)} asks for labels of namespaces, and the Namespace objects of "
            f"{names(missing)} are missing: these are taken to have no label but {NAMESPACE_NAME}"
        )


def _asks_for_labels(pod: Pod) -> bool:
    return any(
        requirement.key != NAMESPACE_NAME
        for term in (*pod.pod_affinity, *pod.pod_anti_affinity)
        for requirement in term.namespace_selector or ()
    )


def _unready(nodes: Iterable[Json]) -> Iterator[str]:
    silent = [node["metadata"]["name"] for node in nodes if not _tells_readiness(node)]
    if silent:
        verb = "takes" if len(silent) == 1 else "take"
        yield (
            f"{count(len(silent), 'Node')} without a Ready condition in the status {verb} no pods: {names(silent)}; "
            'one that is up has conditions: [{type: Ready, status: "True"}]'
        )


def _tells_readiness(node: Json) -> bool:
    status = node.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    readable = conditions if isinstance(conditions, list) else ()
    return any(isinstance(condition, dict) and condition.get("type") == "Ready" for condition in readable)


def _schedulers(snapshot: Snapshot, pods: Iterable[Json]) -> Iterator[str]:
    waiting = {pod.key for pod in snapshot.pods if is_demand(pod)}
    others: dict[str, list[str]] = {}
    for pod in pods:
        spec = pod["spec"]
        scheduler = spec.get("schedulerName") if isinstance(spec, dict) else None
        if scheduler not in (None, "", _DEFAULT_SCHEDULER) and key(pod) in waiting:
            others.setdefault(str(scheduler), []).append(key(pod))
    for scheduler, keys in sorted(others.items()):
        yield f"planned as {_DEFAULT_SCHEDULER} would place them, although they name {scheduler}: {names(keys)}"
