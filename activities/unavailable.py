"""Writes the memory of offerings without capacity into the status of their class."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from activities.definitions import class_resource
from activities.errors import Conflict, GrowthError, NotFound
from activities.ports import Ports
from activities.requests_look import class_status
from activities.writes import guarded, set_field
from api.v1alpha1.node_request import NodeRequestSpec
from planner.lifecycle.unavailable import Entries, unavailable_until, with_miss, with_success

_TRIES: Final = 10
"""Many requests may miss the same class at once; after the first one's write the others have nothing to add."""

log = logging.getLogger(__name__)


async def note_miss(ports: Ports, spec: NodeRequestSpec, ttl: timedelta) -> datetime:
    """Record that the offering has no capacity and return until when it is left out.

    Never raises: without the memory, the request itself leaves the offering out for `ttl`. An error
    here would undo the answer of the provider, and the next attempt would call it again.
    """
    now = ports.now()
    server_type, location = spec.server_type, spec.location

    def miss(entries: Entries) -> Entries:
        if unavailable_until(entries, server_type, location, now) is not None:
            return entries
        return with_miss(entries, server_type, location, ttl=ttl, now=now)

    try:
        entries = await _write(ports, spec, miss)
    except GrowthError as error:
        log.warning("that %s in %s has no capacity was not noted: %s", server_type, location, error)
        return now + ttl
    return unavailable_until(entries, server_type, location, now) or now + ttl


async def note_success(ports: Ports, spec: NodeRequestSpec, asked_at: datetime) -> None:
    """Record that the offering has capacity: a miss from before `asked_at` is forgotten.

    Never raises: a server that came must not wait for a note about the next one.
    """
    try:
        await _write(ports, spec, lambda e: with_success(e, spec.server_type, spec.location, asked_at=asked_at))
    except GrowthError as error:
        log.warning("that %s in %s has capacity was not noted: %s", spec.server_type, spec.location, error)


async def _write(ports: Ports, spec: NodeRequestSpec, change: Callable[[Entries], Entries]) -> Entries:
    """Return the entries after `change`; a class that is gone remembers nothing."""
    resource, name = class_resource(spec.class_ref.kind), spec.class_ref.name
    tries = 0
    while True:
        tries += 1
        try:
            node_class = await ports.cluster.get(resource, name)
            before = class_status(node_class).unavailable
            after = change(before)
            if after == before:
                return after
            value = [entry.to_json() for entry in after]
            operations = guarded(node_class, set_field(node_class, ("status", "unavailable"), value))
            await ports.cluster.patch(resource, name, operations, subresource="status")
        except NotFound:
            return ()
        except Conflict:
            if tries >= _TRIES:
                raise
        else:
            return after
