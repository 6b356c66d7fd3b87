"""The create call: what is asked for, and what becomes of each answer.

A server's name is unique in its project, so a call whose answer was lost is repeated safely: the API
refuses the second one, and the first one's server is found by its name. Source: docs/design.md#request.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from activities.ports.errors import (
    AuthenticationFailed,
    Extent,
    InsufficientCapacity,
    InvalidConfiguration,
    ProviderError,
    QuotaExceeded,
    UnknownOutcome,
)
from activities.ports.provider import ServerOrder
from activities.providers.hetzner.api.facts import ServerCreation, ServerFacts
from activities.providers.hetzner.api.refusals import CannotSpread, GroupFull, NameInUse, SubnetFull
from activities.providers.hetzner.classes.catalogue import image_of
from activities.providers.hetzner.servers.limits import of_full_network, reach_of, zones_of
from activities.providers.hetzner.servers.networks import Attachment, attachments, network_labels
from activities.providers.hetzner.servers.projects import Project, Projects
from api.keys import LABEL_ARCH, LABEL_NODE_CLASS
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.hetzner_node_class_status import ResolvedNames
from planner.objects.offering import Offering

_MOST_UNSURE: Final = 1_000
_MOST_MADE: Final = 200
"""Create calls that are remembered: each keeps its class, prices included."""
_GROUPS_TRIED: Final = 3
"""Groups that turn out to be full, one after the other: then what is known of them is wrong."""

log = logging.getLogger(__name__)


def creation_of(node_class: HetznerNodeClass, order: ServerOrder, offering: Offering, user_data: str) -> ServerCreation:
    """Return the create call to make; a server with an address of a chosen subnet is made stopped, and attached later.

    Raises:
        InvalidConfiguration: the class has no image for the architecture.
    """
    spec, architecture = node_class.spec, offering.labels[LABEL_ARCH]
    image = image_of(node_class.status, architecture)
    if image is None:
        raise InvalidConfiguration(f"HetznerNodeClass {node_class.metadata.name} has no image for {architecture}")
    resolved = node_class.status.resolved or ResolvedNames()
    to_attach = network_labels(resolved.networks)
    return ServerCreation(
        name=order.name,
        server_type=offering.server_type,
        location=offering.location,
        image=image.id,
        labels={**spec.server_labels, **order.labels, LABEL_NODE_CLASS: node_class.metadata.name, **to_attach},
        user_data=user_data,
        ssh_keys=resolved.ssh_keys,
        networks=() if to_attach else tuple(network.id for network in resolved.networks),
        firewalls=resolved.firewalls,
        enable_ipv4=spec.enable_ipv4,
        enable_ipv6=spec.enable_ipv6,
        start=not to_attach,
    )


class _RefusedMeanwhile(Exception):
    """While a call waited, another one was refused for what it would be refused for, too."""

    def __init__(self, refusal: QuotaExceeded | InsufficientCapacity) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class _Asked:
    """A creation that is asked for."""

    project: Project
    node_class: HetznerNodeClass
    creation: ServerCreation
    refusals: int
    """That the project had met when it began to wait."""

    def check(self) -> None:
        """Return if the call is still worth making.

        Raises:
            _RefusedMeanwhile: it is not.
        """
        refusal = self.project.refusals.since(self.refusals, self.creation, self.node_class)
        if refusal is not None:
            raise _RefusedMeanwhile(refusal)


class Creator:
    """Makes create calls.

    Args:
        projects: where the projects are known.
        now: the time, UTC.
    """

    def __init__(self, projects: Projects, now: Callable[[], datetime]) -> None:
        self._projects = projects
        self._now = now

    async def create(self, project: Project, node_class: HetznerNodeClass, creation: ServerCreation) -> ServerFacts:
        """Return the server of that name, whoever made it.

        Raises:
            ProviderError: as `Provider.create`.
        """
        name = creation.name
        if name in project.unsure:
            existing = await project.client.server(name)
            if existing is not None:
                return _note_existing(project, existing)
        project.zones.update(zones_of(node_class))
        asked = _Asked(project, node_class, creation, project.refusals.count)
        refusal = project.refusals.of(creation, node_class, self._now())
        if refusal is not None:
            # An earlier worker may have made it, and its answer been lost.
            existing = await project.servers.listed(name)
            if existing is not None:
                return existing
            raise refusal
        try:
            made = await self._create_placed(asked)
        except NameInUse:
            return await self._find_existing(project, name)
        except UnknownOutcome:
            if len(project.unsure) < _MOST_UNSURE:
                project.unsure.add(name)
            raise
        except AuthenticationFailed:
            self._projects.doubt(project)
            raise
        project.unsure.discard(name)
        return made

    async def _create_placed(self, asked: _Asked) -> ServerFacts:
        project, creation = asked.project, asked.creation
        placement = asked.node_class.spec.placement
        if placement.strategy == "none":
            return await self._call(asked)
        refusal: ProviderError = CannotSpread("no placement group has room")
        for _ in range(_GROUPS_TRIED):
            try:
                group = await project.groups.choose(asked.node_class.metadata.name)
            except QuotaExceeded as error:
                # It is remembered where groups are, and other classes need none.
                refusal = error
                break
            try:
                return await self._call(replace(asked, creation=replace(creation, placement_group=group)))
            except GroupFull as error:
                project.groups.give_back(group, is_full=True)
                refusal = error
            except CannotSpread as error:
                project.groups.give_back(group)
                refusal = error
                break
            except ProviderError as error:
                if not isinstance(error, UnknownOutcome):
                    project.groups.give_back(group)
                raise
        if placement.required:
            if isinstance(refusal, QuotaExceeded):
                raise refusal
            raise InsufficientCapacity(
                f"{creation.server_type} in {creation.location}: {refusal}; "
                "spec.placement.required of its class forbids to buy it without a placement group"
            ) from refusal
        log.info("server %s is bought without a placement group: %s", creation.name, refusal)
        return await self._call(asked)

    async def _call(self, asked: _Asked) -> ServerFacts:
        project, creation = asked.project, asked.creation
        try:
            made = await project.client.create_server(creation, before=asked.check)
        except _RefusedMeanwhile as error:
            raise error.refusal from None
        except (CannotSpread, GroupFull) as error:
            if creation.placement_group is None:
                # Then it is the whole location that has no host left.
                raise self._refused(asked, InsufficientCapacity(str(error))) from error
            raise
        except (QuotaExceeded, InsufficientCapacity) as error:
            raise self._refused(asked, error) from error
        project.servers.note_made(made.server)
        _remember(project, made.server.id, asked)
        project.actions.add(made.server.id, made.actions)
        read_failures(project, self._now())
        return made.server

    def _refused(
        self, asked: _Asked, error: QuotaExceeded | InsufficientCapacity
    ) -> QuotaExceeded | InsufficientCapacity:
        """Return the error with what it stops of the class, and remember it for others."""
        reach = reach_of(error, asked.creation, asked.node_class)
        return asked.project.refusals.add(error, reach, self._now()).told_to(asked.node_class)

    async def _find_existing(self, project: Project, name: str) -> ServerFacts:
        """Return the server that has the name already.

        Raises:
            UnknownOutcome: it is gone since, or something else has the name.
        """
        project.servers.forget(name)
        existing = await project.client.server(name)
        if existing is None:
            raise UnknownOutcome(f"Hetzner says that a server named {name} exists, and does not find it")
        return _note_existing(project, existing)


def read_failures(project: Project, now: datetime) -> None:
    """Read the actions that have failed by the table of refused calls; calls that wait for the same are not made."""
    known = {server.id: server for server in project.servers.known}
    for number, error in project.actions.take_failures().items():
        creation, node_class = project.made.pop(number, (None, None))
        if creation is not None and node_class is not None and isinstance(error, QuotaExceeded | InsufficientCapacity):
            refusal = project.refusals.add(error, reach_of(error, creation, node_class), now)
            project.actions.fail(number, refusal.told_to(node_class))
        elif isinstance(error, SubnetFull) and number in known and (joined := attachments(known[number].labels)):
            # Another worker has made it.
            project.actions.fail(number, full_network(project, known[number], joined, error, now))


def full_network(
    project: Project, server: ServerFacts, networks: Sequence[Attachment], error: QuotaExceeded, now: datetime
) -> QuotaExceeded:
    """Return that the networks take no more servers, and remember it for other calls."""
    reach = of_full_network(frozenset(networks), server.location, project.zones)
    project.refusals.add(error, reach, now)
    return QuotaExceeded(str(error), extent=Extent(reach.limit, locations=reach.locations), frees=error.frees)


def _remember(project: Project, server: int, asked: _Asked) -> None:
    project.made[server] = replace(asked.creation, user_data=""), asked.node_class
    while len(project.made) > _MOST_MADE:
        del project.made[next(iter(project.made))]


def _note_existing(project: Project, server: ServerFacts) -> ServerFacts:
    """Note and return a server that exists, made by an earlier call or by somebody else."""
    project.unsure.discard(server.name)
    project.servers.note(server)
    return server
