"""Servers that were made stopped: attached to their subnets, then started, whatever worker made them.

That a server is half made is seen from itself: it is young and off, so that no crash leaves one behind
that costs money and never runs. Source: Hetzner Cloud API, "Attach a Server to a Network", ip_range.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from activities.errors import ProviderError, QuotaExceeded
from activities.providers.hetzner.creation import refuse, subnets
from activities.providers.hetzner.facts import ServerFacts
from activities.providers.hetzner.projects import Project
from api.keys import LABEL_NODE_CLASS
from api.v1alpha1.hetzner_node_class import HetznerNodeClass

YOUNG_FOR: Final = timedelta(minutes=15)
"""A server that is off and older was switched off by somebody, and is left alone."""


def is_unfinished(server: ServerFacts, now: datetime) -> bool:
    """Return whether the server was made stopped and still has to be started."""
    return server.status == "off" and now - server.created_at < YOUNG_FOR


class Finisher:
    """Takes servers one call further at a time.

    Args:
        now: the time, UTC.
        elapsed: seconds since some moment.
    """

    def __init__(self, now: Callable[[], datetime], elapsed: Callable[[], float]) -> None:
        self._now = now
        self._elapsed = elapsed
        self._attached: dict[int, frozenset[int]] = {}
        """Networks that a server was attached to since it was listed."""

    async def finish(self, project: Project, classes: dict[str, HetznerNodeClass]) -> None:
        """Make the next call for each half-made server of the project.

        Raises:
            ProviderError: the API does not answer, so that the others are not tried.
        """
        waiting = [server for server in project.servers.known if is_unfinished(server, self._now())]
        self._attached = {one.id: self._attached.get(one.id, frozenset()) for one in waiting}
        for server in waiting:
            node_class = classes.get(server.labels.get(LABEL_NODE_CLASS, ""))
            if node_class is None or project.actions.is_busy(server.id) or project.actions.problem(server.id):
                continue
            await self._step(project, server, node_class)

    async def _step(self, project: Project, server: ServerFacts, node_class: HetznerNodeClass) -> None:
        attached = self._attached[server.id] | set(server.networks)
        missing = [pair for pair in subnets(node_class) if pair[0] not in attached]
        try:
            if missing:
                network, ip_range = missing[0]
                action = await project.client.attach_to_network(server.id, network, ip_range)
                self._attached[server.id] = frozenset(attached | {network})
            else:
                action = await project.client.power_on(server.id)
                project.servers.note(replace(server, status="starting"))
        except QuotaExceeded as error:
            # A full subnet takes no other server either.
            refuse(project, node_class.metadata.name, error, self._elapsed())
            project.actions.fail(server.id, str(error))
        except ProviderError as error:
            if error.retryable:
                raise
            project.actions.fail(server.id, str(error))
        else:
            if action is not None:
                project.actions.add(server.id, [action])
