"""CapacityBuffers, read as headroom where they are defined, with the objects that have their pods' templates.

The buffers are followed like pods. What they refer to is read live, and again after a while: it is a few objects, of
kinds of which a cluster may have thousands. Where nobody has made a buffer, nothing of that is asked for.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import (
    CAPACITY_BUFFERS,
    DEPLOYMENTS,
    JOBS,
    POD_TEMPLATES,
    REPLICA_SETS,
    STATEFUL_SETS,
    Object,
    Resource,
)
from activities.ports.errors import Forbidden, NotFound, Unreachable
from activities.ports.ports import Ports
from planner.objects.capacity_buffer import CapacityBuffer
from planner.parsing.capacity_buffers import (
    MAY_NOT_READ,
    MOST_BUFFERS,
    TEMPLATE_NOT_FOUND,
    Missing,
    Reference,
    due_at,
    in_order,
    is_served,
    read_buffers,
    reference_of,
)
from planner.parsing.limit_ranges import LimitRange, LimitRanges

_FRESH: Final = timedelta(seconds=10)
"""For how long what was read counts: rounds may follow each other by a second."""
_AT_ONCE: Final = 8
_RESOURCES: Final[Mapping[tuple[str, str], Resource]] = {
    (resource.group, resource.kind): resource
    for resource in (POD_TEMPLATES, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, JOBS)
}


@dataclass(frozen=True, slots=True)
class ObservedBuffers:
    """The buffers that are Growth's to serve."""

    buffers: tuple[CapacityBuffer, ...] = ()
    objects: Mapping[str, tuple[Resource, Object]] = field(default_factory=dict)
    """As the API has them, by uid, with the version by which they were read."""
    due: datetime | None = None
    """When the next one is Growth's, which others may answer until then."""


class BufferReader:
    """Reads buffers, and remembers for a while what they refer to.

    Args:
        ports: the outside world.
    """

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._known: dict[Reference, tuple[datetime, Object | Missing]] = {}

    async def read(self, ranges: Sequence[LimitRange]) -> ObservedBuffers:
        """Return the buffers that are to be served, with what the LimitRanges make of their pods."""
        now = self._ports.now()
        everything = await self._listed()
        if not everything:
            return ObservedBuffers()
        objects = {uid: each for uid, each in everything.items() if is_served(each[1], now)}
        ordered = in_order(item for _, item in objects.values())
        targets = await self._targets((reference_of(item) for item in ordered[:MOST_BUFFERS]), now)
        due = (moment for _, item in everything.values() if (moment := due_at(item)) is not None and moment > now)
        return ObservedBuffers(read_buffers(ordered, targets, LimitRanges(ranges)), objects, min(due, default=None))

    async def _listed(self) -> dict[str, tuple[Resource, Object]]:
        listed: dict[str, tuple[Resource, Object]] = {}
        for resource in CAPACITY_BUFFERS:
            with suppress(NotFound, Forbidden, Unreachable):
                for item in (await self._ports.reader.list(resource)).items:
                    # The first definitions had buffers without a namespace: there is none to look for a template in.
                    if item["metadata"].get("namespace"):
                        listed.setdefault(item["metadata"]["uid"], (resource, item))
        return listed

    async def _targets(
        self, references: Iterable[Reference | Missing], now: datetime
    ) -> dict[Reference, Object | Missing]:
        gate = asyncio.Semaphore(_AT_ONCE)
        wanted = dict.fromkeys(each for each in references if isinstance(each, Reference))

        async def look(reference: Reference) -> tuple[datetime, Object | Missing] | None:
            known = self._known.get(reference)
            if known is not None and timedelta() <= now - known[0] < _FRESH:
                return known
            async with gate:
                try:
                    return now, await self._target(reference)
                except Unreachable:
                    # What it was is the best that is known; without that, the buffer is left as it is.
                    return known

        looked = await asyncio.gather(*(look(reference) for reference in wanted))
        self._known = {name: found for name, found in zip(wanted, looked, strict=True) if found is not None}
        return {reference: target for reference, (_, target) in self._known.items()}

    async def _target(self, reference: Reference) -> Object | Missing:
        resource = _RESOURCES[reference.group, reference.kind]
        try:
            return await self._ports.cluster.get(resource, reference.name, namespace=reference.namespace)
        except NotFound:
            return Missing(TEMPLATE_NOT_FOUND, f"{reference.text} does not exist")
        except Forbidden as error:
            return Missing(MAY_NOT_READ, f"{reference.text} may not be read: {error}")
