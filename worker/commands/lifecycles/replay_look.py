"""Which removals are meant by a replay, and how object, workflow and server of each stand."""

import asyncio
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Object
from activities.ports.errors import GrowthError, InvalidConfiguration, NotFound
from activities.ports.ports import Ports
from activities.removals.look import is_ours
from api.keys import LABEL_CLUSTER
from api.meta import format_timestamp
from api.model import UnreadableError, read
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from planner.lifecycle.kinds import REMOVAL, ObjectId
from planner.model.round import cluster_of
from worker.commands.lifecycles.replay import ReplayedServer, ReplayFindings
from worker.commands.lifecycles.running import UnderWay, WorkflowState
from worker.commands.shared.live_cluster import LiveCluster, list_known
from worker.errors import CommandError

TOGETHER: Final = 8
"""Questions and updates at once: hundreds of parked removals go in seconds, and no provider's rate limit is used up."""
_ALIKE: Final = 3
"""Names shown for one that does not exist."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_ANSWER_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """Which removals shall be replayed: one that several parts mean is meant once."""

    names: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    all_parked: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it means none at all."""
        return not (self.names or self.nodes or self.pools or self.all_parked)

    def means(self, item: Object) -> bool:
        """Return whether this NodeRemovalRequest is meant; of one that is broken only name and fields count."""
        is_parked = (item.get("status") or {}).get("phase") == RemovalPhase.COULD_NOT_REMOVE
        return (
            item["metadata"]["name"] in self.names
            or not _names_of(item).isdisjoint(self.nodes)
            or (item.get("spec") or {}).get("pool") in self.pools
            or (self.all_parked and is_parked)
        )


async def look(selection: Selection, live: LiveCluster, running: UnderWay) -> list[ReplayFindings]:
    """Return the removals that are meant, sorted by name.

    Raises:
        CommandError: cluster or Temporal cannot be read, or nothing is known of a name.
    """
    # Of a Temporal server without this cluster nothing can be said, and nothing may be started there.
    await running.all(REMOVAL.workflow)
    objects = await live.objects(NODE_REMOVAL_REQUESTS)
    gate = asyncio.Semaphore(TOGETHER)
    meant = [item for item in objects if selection.means(item)]
    known = {name for item in meant for name in _names_of(item)}
    lost = sorted({*selection.names, *selection.nodes} - known)
    without = await asyncio.gather(*(_without_object(name, live.ports, running, gate) for name in lost))
    unknown = [name for name, one in zip(lost, without, strict=True) if one is None]
    if unknown:
        raise _unknown(unknown, [item["metadata"]["name"] for item in objects], running.cluster)
    findings = await asyncio.gather(*(_findings_of(item, live.ports, running, gate) for item in meant))
    return sorted((*findings, *(one for one in without if one is not None)), key=lambda one: one.name)


def _names_of(item: Object) -> set[str]:
    """Return by which names the machine of a removal may be meant."""
    spec = item.get("spec") or {}
    names = (item["metadata"]["name"], spec.get("serverName"), spec.get("nodeName"))
    return {name for name in names if isinstance(name, str)}


async def _findings_of(item: Object, ports: Ports, running: UnderWay, gate: asyncio.Semaphore) -> ReplayFindings:
    subject = ObjectId(name=item["metadata"]["name"], uid=item["metadata"]["uid"])
    try:
        removal = read(NodeRemovalRequest, item)
    except UnreadableError as error:
        return ReplayFindings(
            subject.name,
            "",
            None,
            WorkflowState.MISSING,
            ReplayedServer.ERROR,
            subject,
            answer="not asked",
            trouble=str(error),
        )
    status = removal.status
    trouble = ""
    if status.workflow_id and cluster_of(status.workflow_id) != running.cluster:
        trouble = f"it is of cluster {cluster_of(status.workflow_id)}: name that with --cluster (GROWTH_CLUSTER)"
    async with gate:
        workflow = await running.state_of(REMOVAL.workflow_id(running.cluster, subject))
        server, answer = await _server(ports, removal)
    return ReplayFindings(
        name=subject.name,
        pool=removal.spec.pool,
        phase=status.phase,
        workflow=workflow,
        server=server,
        subject=subject,
        parking="" if status.retry_at is None else format_timestamp(status.retry_at),
        answer=answer,
        trouble=trouble,
    )


async def _server(ports: Ports, removal: NodeRemovalRequest) -> tuple[ReplayedServer, str]:
    kind = removal.spec.class_ref.kind
    provider = ports.providers.get(kind)
    if provider is None:
        return ReplayedServer.ERROR, f"no provider serves {kind}"
    try:
        server = await provider.get(removal.spec.server_name)
    except NotFound:
        return ReplayedServer.GONE, ""
    except GrowthError as error:
        return ReplayedServer.ERROR, _short(error)
    return (ReplayedServer.EXISTS if is_ours(ports, removal, server, None) else ReplayedServer.FOREIGN), ""


async def _without_object(name: str, ports: Ports, running: UnderWay, gate: asyncio.Semaphore) -> ReplayFindings | None:
    """Return the findings about a removal whose object is gone, None if Temporal does not remember it."""
    if _NAME.fullmatch(name) is None:
        return None
    async with gate:
        workflow = await running.last_of(REMOVAL.workflow, name)
        if workflow is WorkflowState.MISSING:
            return None
        server, answer = ReplayedServer.GONE, ""
        for provider in ports.providers.values():
            try:
                namesake = await provider.get(name)
            except NotFound:
                continue
            except GrowthError as error:
                if isinstance(error, InvalidConfiguration) and not await list_known(ports, provider.node_classes):
                    # Without a class, nobody knows an account to look into.
                    continue
                server, answer = ReplayedServer.ERROR, _short(error)
                continue
            if namesake.labels.get(LABEL_CLUSTER) == running.cluster:
                server, answer = ReplayedServer.EXISTS, ""
                break
    return ReplayFindings(name=name, pool="", phase=None, workflow=workflow, server=server, answer=answer)


def _short(error: GrowthError) -> str:
    text = " ".join(f"{error.reason}: {error}".split())
    return text if len(text) <= _ANSWER_CHARACTERS else f"{text[: _ANSWER_CHARACTERS - 1]}…"


def _unknown(names: Sequence[str], known: Sequence[str], cluster: str) -> CommandError:
    lines = []
    for name in names:
        alike = difflib.get_close_matches(name, known, n=_ALIKE)
        hint = f": did you mean {' or '.join(alike)}?" if alike else "; `kubectl get noderemovalrequests` lists them"
        lines.append(f"{name}: cluster {cluster} has no NodeRemovalRequest of that name{hint}")
    return CommandError("\n".join(lines))
