"""`growth why`: why a pod waits, a node is there, a request or a removal stands where it does, on a live cluster.

It only reads, and needs no Temporal.
"""

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cyclopts import App

from activities.objects.events import NAMESPACE_OF_CLUSTER_SCOPED
from activities.ports.errors import GrowthError
from planner.objects.kinds import Pod
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.shared.live_cluster import LiveCluster, live_cluster
from worker.commands.why.lifecycle import why_removal, why_request
from worker.commands.why.node import why_node
from worker.commands.why.pod import why_pod
from worker.errors import USAGE_ERROR, CommandError

_ALIKE: Final = 3
"""Names shown for one that does not exist."""

why = App(name="why", help="Why a pod, node, request or removal stands where it does.")


@why.command(name="pod")
async def pod(name: str, /, *, kubeconfig: Path | None = None, context: str | None = None) -> int:
    """Tell where a pod goes, or each reason why there is no place for it.

    Args:
        name: namespace/name of the pod; without a namespace, that of the context, else default.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.
    """
    namespace, slash, bare = name.partition("/") if "/" in name else ("", "", name)
    if not bare or "/" in bare or (slash and not namespace):
        raise CommandError(f"{name!r}: a pod is named as NAMESPACE/NAME", USAGE_ERROR)
    async with live_cluster(kubeconfig, context) as cluster:
        sight = await cluster.look()
        key = f"{namespace or cluster.namespace}/{bare}"
        _tell_of_unreadable(sight, "Pod", key)
        found = _pod(sight, key, is_guess=not namespace)
        _print(why_pod(found, sight, await _events(cluster, "Pod", found.name, found.namespace)))
    return 0


@why.command(name="node")
async def node(name: str, /, *, kubeconfig: Path | None = None, context: str | None = None) -> int:
    """Tell whose a node is, what it costs, and why it is not removed.

    Args:
        name: name of the Node.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.
    """
    _check_bare("Node", name)
    async with live_cluster(kubeconfig, context) as cluster:
        sight = await cluster.look()
        # A machine bears the name of its request.
        _print(node_lines(name, sight, await _events_of_request(cluster, name, sight)))
    return 0


@why.command(name="request")
async def request(name: str, /, *, kubeconfig: Path | None = None, context: str | None = None) -> int:
    """Tell where a NodeRequest stands, what is awaited, and what happens then.

    Args:
        name: name of the NodeRequest.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.
    """
    _check_bare("NodeRequest", name)
    async with live_cluster(kubeconfig, context) as cluster:
        sight = await cluster.look()
        _print(request_lines(name, sight, await _events_of_request(cluster, name, sight)))
    return 0


@why.command(name="removal")
async def removal(name: str, /, *, kubeconfig: Path | None = None, context: str | None = None) -> int:
    """Tell where a NodeRemovalRequest stands, what is awaited, and what happens then.

    Args:
        name: name of the NodeRemovalRequest.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.
    """
    _check_bare("NodeRemovalRequest", name)
    sight = await _look(kubeconfig, context)
    _print(removal_lines(name, sight))
    return 0


def node_lines(name: str, sight: ClusterView, events: Sequence[ToldEvent] = ()) -> list[str]:
    """Return the sentences about the node of that name; `events` are those of its request.

    Raises:
        CommandError: there is none, or it cannot be read.
    """
    _tell_of_unreadable(sight, "Node", name)
    found = next((node for node in sight.snapshot.nodes if node.name == name), None)
    if found is None:
        raise _unknown("Node", name, [node.name for node in sight.snapshot.nodes], sight)
    return why_node(found, sight, events)


def request_lines(name: str, sight: ClusterView, events: Sequence[ToldEvent] = ()) -> list[str]:
    """Return the sentences about the request of that name; `events` are those that Growth wrote about it.

    Raises:
        CommandError: there is none, or it cannot be read.
    """
    _tell_of_unreadable(sight, "NodeRequest", name)
    found = next((one for one in sight.snapshot.requests if one.metadata.name == name), None)
    if found is None:
        raise _unknown("NodeRequest", name, [one.metadata.name for one in sight.snapshot.requests], sight)
    return why_request(found, sight, events)


def removal_lines(name: str, sight: ClusterView) -> list[str]:
    """Return the sentences about the removal of that name.

    Raises:
        CommandError: there is none, or it cannot be read.
    """
    _tell_of_unreadable(sight, "NodeRemovalRequest", name)
    found = next((one for one in sight.snapshot.removals if one.metadata.name == name), None)
    if found is None:
        raise _unknown("NodeRemovalRequest", name, [one.metadata.name for one in sight.snapshot.removals], sight)
    return why_removal(found, sight)


async def _look(kubeconfig: Path | None, context: str | None) -> ClusterView:
    async with live_cluster(kubeconfig, context) as cluster:
        return await cluster.look()


def _check_bare(kind: str, name: str) -> None:
    if not name or "/" in name:
        raise CommandError(f"{name!r}: a {kind} has no namespace, and is named without a slash", USAGE_ERROR)


def _pod(sight: ClusterView, key: str, *, is_guess: bool) -> Pod:
    """Return the pod; `is_guess` when its namespace was not given."""
    found = next((pod for pod in sight.snapshot.pods if pod.key == key), None)
    if found is not None:
        return found
    elsewhere = sorted(pod.key for pod in sight.snapshot.pods if pod.name == key.partition("/")[2])
    if elsewhere:
        more = f" and {len(elsewhere) - _ALIKE} more" if len(elsewhere) > _ALIKE else ""
        raise CommandError(f"no Pod is named {key}: there is {', '.join(elsewhere[:_ALIKE])}{more}")
    refusal = _unknown("Pod", key, [pod.key for pod in sight.snapshot.pods], sight)
    if is_guess:
        raise CommandError(f"{refusal} (a pod of another namespace is named as NAMESPACE/NAME)")
    raise refusal


async def _events_of_request(cluster: LiveCluster, name: str, sight: ClusterView) -> Sequence[ToldEvent]:
    machine = sight.machines.get(name)
    if machine is None or machine.request is None:
        return ()
    return await _events(cluster, "NodeRequest", name, NAMESPACE_OF_CLUSTER_SCOPED)


async def _events(cluster: LiveCluster, kind: str, name: str, namespace: str) -> Sequence[ToldEvent]:
    try:
        return await cluster.events_about(kind, name, namespace)
    except GrowthError as error:
        print(f"growth: what Growth told of it before is left out: {error}", file=sys.stderr)
        return ()


def _unknown(kind: str, name: str, there: Sequence[str], sight: ClusterView) -> CommandError:
    """Return the line for a name that no object of the kind has: what has it, or what is named alike."""
    machine = sight.machines.get(name)
    others = {
        "node": machine is not None and machine.node is not None,
        "request": machine is not None and machine.request is not None,
        "removal": machine is not None and machine.removal is not None,
    }
    hints = [f"`growth why {other} {name}`" for other, exists in others.items() if exists]
    alike = difflib.get_close_matches(name, there, n=_ALIKE, cutoff=0.6)
    if hints:
        told = f"there is {' and '.join(hints)}"
    elif alike:
        told = f"did you mean {' or '.join(alike)}?"
    elif there:
        told = "none is named alike" + (
            "" if kind == "Pod" else "; `growth status` lists machines and what is under way"
        )
    else:
        told = "there is none at all"
    return CommandError(f"no {kind} is named {name}: {told}")


def _tell_of_unreadable(sight: ClusterView, kind: str, name: str) -> None:
    problem = next((one for one in sight.snapshot.problems if (one.kind, one.name) == (kind, name)), None)
    if problem is not None:
        raise CommandError(f"{kind} {name} cannot be read and is left out of all plans: {problem.message}")


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line)
