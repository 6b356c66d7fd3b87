"""`growth why`: why a pod waits, a node is there, a request or a removal stands where it does, on a live cluster.

It only reads, and needs no Temporal.
"""

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from activities.objects.events import NAMESPACE_OF_CLUSTER_SCOPED
from activities.ports.cluster import NODES
from activities.ports.errors import GrowthError
from planner.lifecycle import kinds
from planner.model.plan import Snapshot
from planner.objects.kinds import Pod
from planner.supply.machines import Machine
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.shared.live_cluster import LiveCluster, live_cluster
from worker.commands.why.lifecycle import why_removal, why_request
from worker.commands.why.node import why_node
from worker.commands.why.pod import why_pod
from worker.errors import USAGE_ERROR, CommandError
from worker.printing import shown_line

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
        view = await cluster.look()
        key = f"{namespace or cluster.namespace}/{bare}"
        _tell_of_unreadable(view, "Pod", key)
        pod = _pod(view, key, is_guess=not namespace)
        _print(why_pod(pod, view, await _events(cluster, "Pod", pod.name, pod.namespace)))
    return 0


@dataclass(frozen=True, slots=True, eq=False)
class ToldKind:
    """A kind without namespaces that has a command: its word tells of an object by name."""

    word: str
    kind: str
    summary: str
    """Help of the command."""
    by_name: Callable[[Snapshot], Mapping[str, Any]]
    of_machine: Callable[[Machine], object]
    """The object that belongs to a machine; None if there is none."""
    sentences: Callable[[Any, ClusterView, Sequence[ToldEvent]], list[str]]
    """About an object, of the events that Growth wrote about the request of its name."""
    needs_events: bool = True


NODE: Final = ToldKind(
    word="node",
    kind=NODES.kind,
    summary="Tell whose a node is, what it costs, and why it is not removed.",
    by_name=lambda snapshot: {node.name: node for node in snapshot.nodes},
    of_machine=lambda machine: machine.node,
    # A machine bears the name of its request, whose events tell why it was bought.
    sentences=why_node,
)
REQUEST: Final = ToldKind(
    word=kinds.REQUEST.word,
    kind=kinds.REQUEST.name,
    summary="Tell where a NodeRequest stands, what is awaited, and what happens then.",
    by_name=lambda snapshot: {request.metadata.name: request for request in snapshot.requests},
    of_machine=lambda machine: machine.request,
    sentences=why_request,
)
REMOVAL: Final = ToldKind(
    word=kinds.REMOVAL.word,
    kind=kinds.REMOVAL.name,
    summary="Tell where a NodeRemovalRequest stands, what is awaited, and what happens then.",
    by_name=lambda snapshot: {removal.metadata.name: removal for removal in snapshot.removals},
    of_machine=lambda machine: machine.removal,
    sentences=lambda removal, view, _events: why_removal(removal, view),
    needs_events=False,
)
TOLD_KINDS: Final = (NODE, REQUEST, REMOVAL)


def _register(row: ToldKind) -> None:
    async def command(
        name: Annotated[str, Parameter(help=f"name of the {row.kind}.")],
        /,
        *,
        kubeconfig: Path | None = None,
        context: str | None = None,
    ) -> int:
        """Tell of an object.

        Args:
            name: of the object.
            kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
            context: context in the kubeconfig.
        """
        if not name or "/" in name:
            raise CommandError(f"{name!r}: a {row.kind} has no namespace, and is named without a slash", USAGE_ERROR)
        async with live_cluster(kubeconfig, context) as cluster:
            view = await cluster.look()
            events = await _events_of_request(cluster, name, view) if row.needs_events else ()
            _print(lines_about(row, name, view, events))
        return 0

    why.command(command, name=row.word, help=row.summary)


for _told in TOLD_KINDS:
    _register(_told)


def lines_about(row: ToldKind, name: str, view: ClusterView, events: Sequence[ToldEvent] = ()) -> list[str]:
    """Return the sentences about the object of that name; `events` are those that Growth wrote about its request.

    Raises:
        CommandError: there is none, or it cannot be read.
    """
    _tell_of_unreadable(view, row.kind, name)
    objects = row.by_name(view.snapshot)
    if name not in objects:
        raise _unknown(row.kind, name, list(objects), view)
    return row.sentences(objects[name], view, events)


def _pod(view: ClusterView, key: str, *, is_guess: bool) -> Pod:
    """Return the pod; `is_guess` when its namespace was not given."""
    match = next((pod for pod in view.snapshot.pods if pod.key == key), None)
    if match is not None:
        return match
    elsewhere = sorted(pod.key for pod in view.snapshot.pods if pod.name == key.partition("/")[2])
    if elsewhere:
        more = f" and {len(elsewhere) - _ALIKE} more" if len(elsewhere) > _ALIKE else ""
        raise CommandError(f"no Pod is named {key}: there is {', '.join(elsewhere[:_ALIKE])}{more}")
    refusal = _unknown("Pod", key, [pod.key for pod in view.snapshot.pods], view)
    if is_guess:
        raise CommandError(f"{refusal} (a pod of another namespace is named as NAMESPACE/NAME)")
    raise refusal


async def _events_of_request(cluster: LiveCluster, name: str, view: ClusterView) -> Sequence[ToldEvent]:
    machine = view.machines.get(name)
    if machine is None or machine.request is None:
        return ()
    return await _events(cluster, "NodeRequest", name, NAMESPACE_OF_CLUSTER_SCOPED)


async def _events(cluster: LiveCluster, kind: str, name: str, namespace: str) -> Sequence[ToldEvent]:
    try:
        return await cluster.events_about(kind, name, namespace)
    except GrowthError as error:
        print(f"growth: what Growth told of it before is left out: {error}", file=sys.stderr)
        return ()


def _unknown(kind: str, name: str, names: Sequence[str], view: ClusterView) -> CommandError:
    """Return the line for a name that no object of the kind has: what has it, or what is named alike."""
    machine = view.machines.get(name)
    others = [row for row in TOLD_KINDS if machine is not None and row.of_machine(machine) is not None]
    hints = [f"`growth why {other.word} {name}`" for other in others]
    alike = difflib.get_close_matches(name, names, n=_ALIKE, cutoff=0.6)
    if hints:
        answer = f"there is {' and '.join(hints)}"
    elif alike:
        answer = f"did you mean {' or '.join(alike)}?"
    elif names:
        answer = "none is named alike" + (
            "" if kind == "Pod" else "; `growth status` lists machines and what is under way"
        )
    else:
        answer = "there is none at all"
    return CommandError(f"no {kind} is named {name}: {answer}")


def _tell_of_unreadable(view: ClusterView, kind: str, name: str) -> None:
    problem = next((one for one in view.snapshot.problems if (one.kind, one.name) == (kind, name)), None)
    if problem is not None:
        raise CommandError(f"{kind} {name} cannot be read and is left out of all plans: {problem.message}")


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(shown_line(line))
