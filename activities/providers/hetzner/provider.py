"""The provider of Hetzner Cloud servers.

It spends few calls: servers are looked at by one list for all, actions by one poll for all, and what a
class names was looked up before. Source: `docs/hetzner.md`, "Calls".
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import ClassVar, Final

from requests.adapters import BaseAdapter

from activities.objects.node_classes import as_provider_errors, class_of
from activities.ports.cluster import Cluster, Object, Resource
from activities.ports.errors import (
    AuthenticationFailed,
    ClassNotLookedUp,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
)
from activities.ports.identity import ClusterIdentity
from activities.ports.ports import Compute, Reader
from activities.ports.provider import Server, ServerOrder, ServerState
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.api.facts import DEFAULT_ENDPOINT, ServerFacts
from activities.providers.hetzner.api.refusals import Locked, NamesGone
from activities.providers.hetzner.class_keeper import ClassKeeper
from activities.providers.hetzner.classes import catalogue
from activities.providers.hetzner.classes.user_data import user_data_of
from activities.providers.hetzner.servers.actions import POLL_SECONDS
from activities.providers.hetzner.servers.creation import Creator, creation_of, read_failures
from activities.providers.hetzner.servers.networks import attachments
from activities.providers.hetzner.servers.projects import Project, Projects
from activities.providers.hetzner.servers.unfinished import Finisher, is_unfinished
from api.keys import LABEL_ARCH
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from planner.objects.offering import Offering

_REST_SECONDS: Final = 10.0
"""Between two calls of `tend` while nothing is under way."""

_JUST_READ: Final = timedelta(seconds=30)
"""A class that was looked up so lately names what the project has: then it is something else that is wrong."""
_LOOKS_SECONDS: Final = 1.0
"""Until the call is repeated, with what the look has found."""
_ON_THE_WAY: Final = frozenset({"initializing", "starting"})
"""States that end soon; what is deleted is asked for by its removal."""

log = logging.getLogger(__name__)


class HetznerProvider:
    """A `Provider` whose servers are those of Hetzner Cloud projects.

    Args:
        cluster: where classes and Secrets are.
        now: the time, UTC.
        cluster_name: the cluster whose servers it serves.
        cluster_uid: of that cluster; without it, its name alone tells its servers.
        endpoint: of the API.
        compute: runs a blocking call.
        transport: of HTTP; None is the network.
        elapsed: seconds since some moment, by a clock that nobody sets.
        classes: where the classes are read from to see which have to be looked up; without it, the cluster.
    """

    node_classes: ClassVar[Resource] = HETZNER_NODE_CLASSES

    def __init__(
        self,
        cluster: Cluster,
        *,
        now: Callable[[], datetime],
        cluster_name: str,
        cluster_uid: str = "",
        endpoint: str = DEFAULT_ENDPOINT,
        compute: Compute = asyncio.to_thread,
        transport: BaseAdapter | None = None,
        elapsed: Callable[[], float] = time.monotonic,
        classes: Reader | None = None,
    ) -> None:
        self._cluster = cluster
        self._now = now
        self._cluster_name = cluster_name
        self._projects = Projects(
            cluster,
            identity=ClusterIdentity(cluster_name, cluster_uid),
            endpoint=endpoint,
            compute=compute,
            transport=transport,
            elapsed=elapsed,
        )
        self._creator = Creator(self._projects, now)
        self._finisher = Finisher(now)
        self._keeper = ClassKeeper(cluster, self._projects, now=now, classes=classes)

    def offerings(self, node_class: Object) -> tuple[Offering, ...]:
        """Return every offering of the class: `Provider.offerings`."""
        return catalogue.offerings(class_of(HetznerNodeClass, node_class), self._now())

    def image(self, node_class: Object, offering: Offering) -> str | None:
        """Return the id of the image: `Provider.image`."""
        return catalogue.image_key(class_of(HetznerNodeClass, node_class), offering.labels[LABEL_ARCH])

    def refusal(self, server_type: str) -> str | None:
        """Return why the type can never be offered: `Provider.refusal`."""
        return catalogue.refusal(server_type)

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        """Create the server, or return the one of that name: `Provider.create`."""
        parsed = class_of(HetznerNodeClass, node_class)
        offering = _offering(parsed, order, self._now())
        call = f"creation of server {order.name}"
        with as_provider_errors(call):
            project = await self._projects.of(parsed)
            user_data = await user_data_of(self._cluster, parsed, order)
        creation = creation_of(parsed, order, offering, user_data)
        try:
            made = await self._creator.create(project, parsed, creation)
        except NamesGone as error:
            raise await self._looked_up_again(parsed, error) from error
        except AuthenticationFailed:
            # A token that was changed moments ago: nothing was made, and its pool need not stop for that.
            with as_provider_errors(call):
                fresh = await self._projects.of_class(parsed.metadata.name)
            if fresh is project:
                raise
            project, made = fresh, await self._creator.create(fresh, parsed, creation)
        return self._server(project, made)

    async def _looked_up_again(self, node_class: HetznerNodeClass, error: NamesGone) -> GrowthError:
        """Look the class up, unless that was done moments ago, and return what becomes of the call."""
        read_at = node_class.status.read_at
        if read_at is not None and self._now() - read_at < _JUST_READ:
            return error
        try:
            await self._keeper.look_again(node_class.metadata.name)
        except GrowthError as failure:
            log.warning("HetznerNodeClass %s was not looked up again: %s", node_class.metadata.name, failure)
        return ClassNotLookedUp(f"{error}; the class is looked up again", _LOOKS_SECONDS)

    async def get(self, name: str, class_name: str | None = None) -> Server:
        """Return the server of that name: `Provider.get`."""
        project, server = await self._find(name, class_name)
        return self._server(project, server)

    async def list(self, cluster: str) -> list[Server]:
        """Return the servers of this cluster: `Provider.list`."""
        if cluster != self._cluster_name:
            raise InvalidConfiguration(f"servers of cluster {cluster}: this worker is of cluster {self._cluster_name}")
        with as_provider_errors("list of servers"):
            projects = await self._projects.all()
        servers = [self._server(project, server) for project in projects for server in await project.servers.all()]
        # Two tokens may be of one project.
        return list({server.provider_id: server for server in servers}.values())

    async def delete(self, name: str, class_name: str | None = None) -> None:
        """Ask for deletion: `Provider.delete`."""
        try:
            project, server = await self._find(name, class_name)
        except NotFound:
            return
        try:
            action = await project.client.delete_server(server.id)
        except Locked:
            if server.status == "deleting":
                # What it is locked by is the deletion.
                return
            raise
        except GrowthError:
            # The call may have taken effect, so what was known is no longer certain.
            project.servers.forget(name)
            raise
        project.actions.forget(server.id)
        if action is None:
            project.servers.forget(name)
        else:
            project.actions.add(server.id, [action])
            project.servers.note_deleting(server)

    async def label(self, name: str, labels: dict[str, str], class_name: str | None = None) -> None:
        """Add labels to a server: `Provider.label`."""
        project, server = await self._find(name, class_name)
        # The call replaces all labels: they are read live, so that none that was set meanwhile is lost.
        live = await project.client.server(name)
        if live is None or live.id != server.id:
            raise NotFound(f"server {name} does not exist")
        await project.client.set_labels(live.id, {**live.labels, **labels})
        project.servers.note(replace(live, labels={**live.labels, **labels}))

    async def tend(self) -> float:
        """Do what servers and classes need beside single requests: `Provider.tend`."""
        rest = min(_REST_SECONDS, await self._keeper.keep())
        # The keeper has just read the token of each class.
        for project in self._projects.known:
            try:
                if not project.servers.is_listed or self._is_anything_under_way(project):
                    await project.servers.all()
                _note_finished(project, await project.actions.poll())
                read_failures(project, self._now())
                await self._finisher.finish(project)
                await project.groups.delete_empty()
            except AuthenticationFailed:
                # The class says so by its condition, and its token is read anew.
                continue
            except GrowthError as error:
                log.warning("the servers of a project cannot be tended now: %s", error)
                continue
            if project.actions.is_any_open or self._is_anything_under_way(project):
                rest = min(rest, POLL_SECONDS)
        return rest

    async def close(self) -> None:
        """Close all connections: `Provider.close`."""
        await self._projects.close()

    async def _find(self, name: str, class_name: str | None) -> tuple[Project, ServerFacts]:
        call = f"look at server {name}"
        with as_provider_errors(call):
            projects = [await self._projects.of_class(class_name)] if class_name else await self._projects.all()
        if not projects:
            raise InvalidConfiguration(f"{call}: there is no HetznerNodeClass, and so no token of a project")
        for project in projects:
            try:
                server = await project.servers.find(name)
            except AuthenticationFailed:
                self._projects.doubt(project)
                raise
            if server is not None:
                return project, server
        raise NotFound(f"server {name} does not exist")

    def _server(self, project: Project, server: ServerFacts) -> Server:
        state, problem = self._state(project, server)
        return Server(
            name=server.name,
            provider_id=f"hcloud://{server.id}",
            state=state,
            server_type=server.server_type,
            location=server.location,
            labels=dict(server.labels),
            created_at=server.created_at,
            is_progressing=state is ServerState.CREATING and server.status == "initializing",
            problem=problem,
            failure=project.actions.failure(server.id) if problem and state is ServerState.BROKEN else None,
        )

    def _is_anything_under_way(self, project: Project) -> bool:
        return any(
            server.status in _ON_THE_WAY or is_unfinished(project, server, self._now())
            for server in project.servers.known
        )

    def _state(self, project: Project, server: ServerFacts) -> tuple[ServerState, str]:
        problem = project.actions.problem(server.id)
        if server.status == "deleting":
            return ServerState.DELETING, ""
        if problem:
            return ServerState.BROKEN, problem
        if server.status == "running":
            return ServerState.RUNNING, ""
        if server.status == "off" and not is_unfinished(project, server, self._now()):
            return ServerState.BROKEN, "it is switched off"
        return ServerState.CREATING, ""


def _note_finished(project: Project, finished: frozenset[int]) -> None:
    """Note the new state of servers all of whose actions have succeeded: sooner than a list shows it."""
    for server in project.servers.known:
        if server.id not in finished:
            continue
        if server.status == "deleting":
            project.servers.forget(server.name)
            project.refusals.free(server)
        elif server.status in _ON_THE_WAY:
            is_stopped = server.status == "initializing" and attachments(server.labels)
            if not is_stopped:
                project.made.pop(server.id, None)
            project.servers.note(replace(server, status="off" if is_stopped else "running"))


def _offering(node_class: HetznerNodeClass, order: ServerOrder, now: datetime) -> Offering:
    """Return the offering that is ordered.

    Raises:
        InvalidConfiguration: the class does not offer it.
        ClassNotLookedUp: whether it does is known in a few seconds.
        InsufficientCapacity: it is sold no more.
    """
    wanted = order.server_type.lower(), order.location
    try:
        offered = catalogue.offerings(node_class, now)
    except catalogue.NotLookedUp as error:
        raise ClassNotLookedUp(str(error), _REST_SECONDS) from error
    for offering in offered:
        if (offering.server_type.lower(), offering.location) == wanted:
            if not offering.available:
                raise InsufficientCapacity(
                    f"{offering.server_type} in {offering.location} {offering.unavailable_because}", lasts=True
                )
            return offering
    raise InvalidConfiguration(
        f"HetznerNodeClass {node_class.metadata.name} has no server type {order.server_type} in location "
        f"{order.location}"
    )
