"""Servers that were made stopped: attached to their subnets, then started, whatever worker made them.

That a server is half made is seen from itself, so that no crash leaves one behind that costs money and
never runs. Source: Hetzner Cloud API, "Attach a Server to a Network", ip_range.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from activities.ports.errors import GrowthError, NotFound, QuotaExceeded
from activities.providers.hetzner.api.facts import ServerFacts
from activities.providers.hetzner.api.refusals import Locked
from activities.providers.hetzner.servers.creation import full_network
from activities.providers.hetzner.servers.networks import Attachment, attachments
from activities.providers.hetzner.servers.projects import Project

YOUNG_FOR: Final = timedelta(minutes=15)
"""A server that is off, older, and has all its networks, was switched off by somebody, and is left alone."""


def is_unfinished(project: Project, server: ServerFacts, now: datetime) -> bool:
    """Return whether the server still has to be attached or started."""
    if server.status != "off":
        return False
    is_young = now - server.created_at < YOUNG_FOR
    return is_young or server.id in project.attached or bool(_missing(server, frozenset()))


def _missing(server: ServerFacts, attached: frozenset[int]) -> list[Attachment]:
    joined = attached | set(server.networks)
    return [one for one in attachments(server.labels) if one[0] not in joined]


class Finisher:
    """Takes servers one call further at a time.

    Args:
        now: the time, UTC.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    async def finish(self, project: Project) -> None:
        """Make the next call for each half-made server of the project.

        Raises:
            GrowthError: the API does not answer, so that the others are not tried.
        """
        waiting = [one for one in project.servers.known if is_unfinished(project, one, self._now())]
        project.attached = {one.id: project.attached[one.id] for one in waiting if one.id in project.attached}
        busy = project.actions.busy
        for server in waiting:
            if server.id not in busy and not project.actions.problem(server.id):
                await self._step(project, server)

    async def _step(self, project: Project, server: ServerFacts) -> None:
        attached = project.attached.get(server.id, frozenset())
        missing = _missing(server, attached)
        try:
            if missing:
                network, ip_range = missing[0]
                action = await project.client.attach_to_network(server.id, network, ip_range)
                project.attached[server.id] = attached | {network}
            else:
                action = await project.client.power_on(server.id)
                project.servers.note(replace(server, status="starting"))
        except Locked:
            # Something that another worker has begun is not over.
            return
        except QuotaExceeded as error:
            # A full subnet takes no other server either.
            failure = full_network(project, server, missing[:1], error, self._now())
            project.actions.fail(server.id, failure)
        except GrowthError as error:
            if error.retryable:
                raise
            if isinstance(error, NotFound) and not missing:
                project.servers.forget(server.name)
            else:
                project.actions.fail(server.id, error)
        else:
            if action is not None:
                project.actions.add(server.id, [action])
