"""The sweep for garbage: look, act on nothing that was seen only once, look again at each piece, then heal it.

A server without request, removal or Node gets a NodeRemovalRequest like every other, so that its end is watched,
tried again and counted; a taint without a reason is lifted. Sweeps of several workers may meet: a
removal has its server's name, and a taint is lifted on condition of the Node as it was read. What was
seen once is kept in memory only; a restart makes healing later, never wrong.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from activities.garbage.adopt import adopt, proofs_of, why_namesakes, why_unproven
from activities.garbage.heal import lift, remove
from activities.garbage.look import Providers, in_use, list_servers, look_again, look_around, with_answers
from activities.objects.definitions import are_going, may_be_going
from activities.objects.events import Recorder
from activities.ports.cluster import NAMESPACES, NODE_POOLS
from activities.ports.errors import Conflict, GrowthError, NotFound, ProviderError
from activities.ports.ports import Ports
from planner.lifecycle.garbage import (
    Finding,
    Garbage,
    GarbageSeen,
    Guards,
    ServerFact,
    confirmed,
    excess,
    garbage,
    suspects,
)
from planner.model.plan import PlannedEvent

MOST_HEALED: Final = 100
"""Pieces of garbage that one sweep heals; the rest waits for the next."""
KEPT: Final = "OrphansKept"
"""Reason of the event that tells of orphans that are too many to be believed."""
UNSEEN: Final = "ServersUnknown"
"""Reason of the event that tells of a provider that does not list its servers."""
UNPROVEN: Final = "ServersUnproven"
"""Reason of the event that tells of servers that bear this cluster's name alone."""
NAMESAKE: Final = "ClusterNameTaken"
"""Reason of the event that tells of another cluster that bears this cluster's name."""
_NAMED: Final = 5

log = logging.getLogger(__name__)


class Healer:
    """Sweeps, and remembers what it saw in the sweep before.

    Args:
        ports: the outside world.
        recorder: tells what was healed.
        guards: how careful it is.
    """

    def __init__(self, ports: Ports, recorder: Recorder, guards: Guards | None = None) -> None:
        self._ports = ports
        self._recorder = recorder
        self._guards = guards or Guards()
        self._sightings: Mapping[tuple[str, str, str, str], datetime] = {}
        self._kept: frozenset[str] = frozenset()
        self._told: dict[str, str] = {}
        """The last message of each reason: the log tells it once."""

    async def heal(self) -> tuple[Finding, ...]:
        """Heal what two sweeps in a row, this one included, have found, and return it.

        While one of Growth's definitions is gone or going, nothing is called and nothing is healed.

        Raises:
            GrowthError: the cluster could not be looked at; the next sweep begins anew.
        """
        # What a sweep cannot see it has not seen again: only sightings in consecutive sweeps count.
        before, self._sightings = self._sightings, {}
        if await may_be_going(self._ports) and await are_going(self._ports):
            return ()
        providers = await in_use(self._ports)
        servers = await self._servers(providers)
        suspected = await look_around(self._ports, servers, self._ports.reader)
        is_clean = not garbage(suspected, self._guards) and not suspects(suspected, self._guards)
        if not is_clean or not all(server.is_proven for server in servers or ()):
            # Something is about to be done, and the definitions may have gone a moment ago.
            if await are_going(self._ports):
                return ()
            await self._mark(providers, suspected)
        if is_clean:
            self._kept = frozenset()
            return ()
        # A cache may be behind: it is only good enough for finding nothing.
        seen = await look_around(self._ports, servers, self._ports.cluster)
        seen = await with_answers(self._ports, providers, seen, self._guards)
        findings = garbage(seen, self._guards)
        due, self._sightings = confirmed(findings, before, seen.now, self._guards)
        if await self._are_kept(excess(findings, seen, self._guards), seen):
            due = tuple(one for one in due if not one.is_orphan)
        return tuple([one for one in due[:MOST_HEALED] if await self._is_healed(one, seen, providers)])

    async def _servers(self, providers: Providers) -> tuple[ServerFact, ...] | None:
        """Return the servers of all providers that list them, or None if none does."""
        servers: list[ServerFact] | None = None
        for kind, provider in providers.items():
            try:
                listed = await list_servers(self._ports, kind, provider)
                servers = [*(servers or ()), *listed.own]
                if listed.namesakes:
                    await self._warn(NAMESAKE, why_namesakes(self._ports.identity, listed.namesakes))
            except ProviderError as error:
                kinds = provider.node_classes.kinds
                message = f"Servers of {kinds} that nobody knows of are not looked for, as none are listed: {error}"
                await self._warn(UNSEEN, message)
        return None if servers is None else tuple(servers)

    async def _mark(self, providers: Providers, seen: GarbageSeen) -> None:
        """Mark the servers of an earlier version that are this cluster's, and tell of those that nothing proves."""
        servers, identity = seen.servers or (), self._ports.identity
        unproven = await adopt(identity, providers, servers, proofs_of(seen))
        # A young one may have been made a moment ago by a worker of an earlier version.
        left = [server for server in unproven if seen.now - server.created_at >= self._guards.oldest_young]
        if left:
            await self._warn(UNPROVEN, why_unproven(identity, left))

    async def _warn(self, reason: str, message: str) -> None:
        if self._told.get(reason) != message:
            log.warning("%s", message)
        self._told[reason] = message
        await self._recorder.tell(self._about_namespace(reason, message))

    async def _is_healed(self, finding: Finding, seen: GarbageSeen, providers: Providers) -> bool:
        try:
            again, node = await look_again(self._ports, providers, seen, finding.name, self._guards)
            live = next((one for one in garbage(again, self._guards) if one.key == finding.key), None)
            if live is None:
                return False
            if live.kind in {Garbage.ORPHAN, Garbage.STRAY, Garbage.SERVER_GONE}:
                return await remove(self._ports, self._recorder, live, node)
            return node is not None and await lift(self._ports, self._recorder, live, node)
        except (Conflict, NotFound) as error:
            log.info("%s %s is looked at again in the next sweep: %s", finding.kind, finding.name, error)
        except GrowthError as error:
            log.warning("%s %s could not be healed: %s", finding.kind, finding.name, error)
        return False

    async def _are_kept(self, orphans: Sequence[Finding], seen: GarbageSeen) -> bool:
        """Tell of orphans that are too many to be believed, and return whether there are any."""
        names = sorted(one.name for one in orphans)
        is_news = self._kept != frozenset(names)
        self._kept = frozenset(names)
        if not names:
            return False
        rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        message = (
            f"{len(names)} of {len(seen.servers or ())} servers of cluster {self._ports.cluster_name} belong to no "
            f"request, removal or Node, more than {self._guards.percent} % at once: none of them is removed. Were "
            "objects or Nodes lost, or does another cluster bear the same name? If they shall go, make a "
            f"NodeRemovalRequest of the name of each: {', '.join(names[:_NAMED])}{rest}"
        )
        if is_news:
            log.warning("%s", message)
        pools = {one.server.pool for one in orphans if one.server is not None}
        about = [self._about_namespace(KEPT, message)]
        for item in (await self._ports.reader.list(NODE_POOLS)).items:
            metadata = item["metadata"]
            if metadata["name"] in pools:
                about.append(_event(NODE_POOLS.kind, metadata["name"], KEPT, message, uid=metadata["uid"]))
        for event in about[1:] or about:
            await self._recorder.tell(event)
        return True

    def _about_namespace(self, reason: str, message: str) -> PlannedEvent:
        return _event(NAMESPACES.kind, self._ports.namespace, reason, message)


def _event(kind: str, name: str, reason: str, message: str, *, uid: str = "") -> PlannedEvent:
    return PlannedEvent(kind=kind, name=name, namespace=None, uid=uid, reason=reason, message=message, warning=True)
