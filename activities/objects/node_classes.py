"""Node classes: read for their provider, and their status, which many change at once.

The status keeps what Growth has met: offerings without capacity, pauses of all buying after a quota, learned sizes.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from activities.kube.json_patch import guarded, set_field
from activities.ports.cluster import Object
from activities.ports.errors import (
    Conflict,
    Extent,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    Rejected,
    UnknownOutcome,
    Unreachable,
    Unreadable,
)
from activities.ports.ports import Ports
from api.meta import shown_time
from api.model import ModelT, UnreadableError, read
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import ClassRef
from api.v1alpha1.node_request import NodeRequestSpec
from planner.lifecycle.clocks.future_times import class_as_of
from planner.lifecycle.step import shortened
from planner.objects.class_template import ClassTemplate
from planner.supply.unavailable import (
    FIRST_PAUSE,
    LONGEST,
    PartRefused,
    after_removal,
    after_success,
    part_in_force,
    pause_in_force,
    unavailable_until,
    with_miss,
    with_part_refused,
    with_parts_freed,
    with_refusal,
    with_success,
    without_parts_had,
)

_TRIES: Final = 10
"""Many requests may have the same to say at once; after the first one's write the others have nothing to add."""
_FIELDS: Final = {
    name: field.alias or name for name, field in NodeClassStatus.model_fields.items() if name != "conditions"
}
"""What is written here, as the API server names it: all else in the status is the provider's."""

_INVALID: Final = "a type as invalid"
"""What is short where Hetzner refuses a type as invalid: said of a second one, it is not about types."""

Change = Callable[[Object, NodeClassStatus], NodeClassStatus]
"""Returns the status after a change, of the class as it is."""

log = logging.getLogger(__name__)


def class_of(model: type[ModelT], node_class: Object) -> ModelT:
    """Return the node class.

    Raises:
        InvalidConfiguration: it cannot be read; names the field.
    """
    try:
        return read(model, node_class)
    except UnreadableError as error:
        raise InvalidConfiguration(str(error)) from error


def read_template(ports: Ports, kind: str, node_class: Object) -> ClassTemplate | None:
    """Return what machines of the class are made with; None where it cannot be read, or nobody says so of its kind."""
    of_kind = ports.templates.get(kind)
    try:
        return None if of_kind is None else of_kind(node_class)
    except InvalidConfiguration:
        return None
    except Exception:
        # A fault in one provider's own code must not stop what is done with machines of all others.
        log.debug("what machines of %s are made with cannot be told", node_class["metadata"]["name"], exc_info=True)
        return None


@contextmanager
def as_provider_errors(call: str) -> Iterator[None]:
    """Turn an API server's error about a provider's own objects into the provider's error for `call`.

    Raises:
        UnknownOutcome: it did not answer, or somebody else was first.
        InvalidConfiguration: it refuses, or what it has cannot be read.
    """
    try:
        yield
    except (Unreachable, Conflict) as error:
        raise UnknownOutcome(f"{call}: {error}") from error
    except (Rejected, Unreadable) as error:
        raise InvalidConfiguration(f"{call}: {error}") from error


def class_status(node_class: Object, now: datetime) -> NodeClassStatus:
    """Return the status of a node class, without what a clock that was ahead has noted.

    Raises:
        Unreadable: names the field.
    """
    try:
        return class_as_of(read(NodeClassStatus, node_class.get("status") or {}), now)
    except UnreadableError as error:
        name = f"{node_class['kind']} {node_class['metadata']['name']}"
        raise Unreadable(f"{name}: status cannot be read: {error}") from error


async def change_class_status(ports: Ports, ref: ClassRef, change: Change) -> NodeClassStatus:
    """Return the status after `change`, which is asked anew when the class has changed meanwhile.

    A class that is gone remembers nothing, nor does one whose kind no provider serves.

    Raises:
        Conflict: the class kept changing.
        GrowthError: it cannot be read or written.
    """
    provider = ports.providers.get(ref.kind)
    if provider is None:
        return NodeClassStatus()
    resource = provider.node_classes
    tries = 0
    while True:
        tries += 1
        try:
            node_class = await ports.cluster.get(resource, ref.name)
            before = class_status(node_class, ports.now())
            after = change(node_class, before)
            if after == before:
                return after
            changed = {told for field, told in _FIELDS.items() if getattr(after, field) != getattr(before, field)}
            # The status is written as a whole: fields that others write go back as they were read.
            unchanged = {name: value for name, value in (node_class.get("status") or {}).items() if name not in changed}
            status = unchanged | {name: value for name, value in after.to_json().items() if name in changed}
            operations = guarded(node_class, set_field(node_class, ("status",), status))
            await ports.cluster.patch(resource, ref.name, operations, subresource="status")
        except NotFound:
            return NodeClassStatus()
        except Conflict:
            if tries >= _TRIES:
                raise
        else:
            _warn_of_pauses(ref, before, after)
            return after


def _warn_of_pauses(ref: ClassRef, before: NodeClassStatus, after: NodeClassStatus) -> None:
    """Log each pause of buying that begins."""
    pause = after.pause
    if pause is not None and pause != before.pause:
        log.warning("%s buys nothing until %s: %s", ref, shown_time(pause.until), pause.message)
    for part in after.partial_pauses:
        if part not in before.partial_pauses:
            log.warning("%s buys no %s until %s: %s", ref, part.limit, shown_time(part.until), part.message)


async def note_miss(ports: Ports, spec: NodeRequestSpec, ttl: timedelta) -> datetime:
    """Record that the offering has no capacity and return the time until which it is left out.

    Never raises: without the memory, the request itself leaves the offering out for `ttl`. An error
    here would undo the answer of the provider, and the next attempt would call it again.
    """
    now = ports.now()
    server_type, location = spec.server_type, spec.location

    def miss(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        entries = status.unavailable
        if unavailable_until(entries, server_type, location, now) is not None:
            return status
        entries = with_miss(entries, server_type, location, ttl=ttl, now=now)
        return status.model_copy(update={"unavailable": entries})

    try:
        status = await change_class_status(ports, spec.class_ref, miss)
    except GrowthError as error:
        log.warning("that %s in %s has no capacity was not noted: %s", server_type, location, error)
        return now + ttl
    return unavailable_until(status.unavailable, server_type, location, now) or now + ttl


async def note_pause(ports: Ports, spec: NodeRequestSpec, message: str, *, is_of_account: bool = True) -> datetime:
    """Record that the account's quota is used up, as the provider's `message` says; return the end of the pause.

    Never raises, as for a miss: without the memory, the request itself waits as long as a first pause.
    """
    now = ports.now()

    def refusal(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        if pause_in_force(status.pause, now) is not None:
            return status
        pause = with_refusal(status.pause, shortened(message), now=now, is_of_account=is_of_account)
        return status.model_copy(update={"pause": pause})

    try:
        status = await change_class_status(ports, spec.class_ref, refusal)
    except GrowthError as error:
        log.warning("that the account of %s may not have more was not noted: %s", spec.class_ref, error)
        return now + FIRST_PAUSE
    pause = pause_in_force(status.pause, now)
    return now + FIRST_PAUSE if pause is None else pause.until


async def note_success(ports: Ports, spec: NodeRequestSpec, asked_at: datetime) -> None:
    """Record that the offering has capacity: a miss from before `asked_at` is forgotten, and a pause that was over.

    Never raises: a server that came must not wait for a note about the next one.
    """

    def success(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        entries = with_success(status.unavailable, spec.server_type, spec.location, asked_at=asked_at)
        pause = after_success(status.pause, asked_at=asked_at)
        parts = without_parts_had(status.partial_pauses, spec.server_type, spec.location, asked_at=asked_at)
        return status.model_copy(
            update={"unavailable": entries, "pause": pause, "partial_pauses": parts, "failed_purchases": None}
        )

    try:
        await change_class_status(ports, spec.class_ref, success)
    except GrowthError as error:
        log.warning("that %s in %s has capacity was not noted: %s", spec.server_type, spec.location, error)


async def note_shortage(
    ports: Ports, spec: NodeRequestSpec, error: InsufficientCapacity, unavailable_ttl: timedelta
) -> datetime:
    """Record that the offering, or more than that, cannot be had, and return until when it is left out."""
    ttl = max(unavailable_ttl, LONGEST) if error.lasts else unavailable_ttl
    extent = error.extent
    if extent is None:
        return await note_miss(ports, spec, ttl)
    until = await _note_part(ports, spec, str(error), extent, first=ttl, is_of_account=False)
    return max(until, await note_miss(ports, spec, ttl)) if extent.may_be_all_types else until


async def note_invalid_type(ports: Ports, spec: NodeRequestSpec, error: InvalidConfiguration) -> datetime | None:
    """Record that a server type is refused as invalid, and return until when it is left out.

    None if another type was refused so before: then it is not the type that is wrong.
    """
    now = ports.now()
    refused = PartRefused(
        _INVALID,
        shortened(str(error)),
        server_types=(spec.server_type,),
        is_of_account=False,
        first=LONGEST,
    )
    status = await _write_part(ports, spec, refused, now)
    pause = next((each for each in status.partial_pauses if each.limit == _INVALID), None)
    if pause is None:
        return now + LONGEST
    return pause.until if pause.server_types == (spec.server_type,) else None


async def note_limit(ports: Ports, spec: NodeRequestSpec, error: QuotaExceeded) -> datetime:
    """Record that the account may not have more of something, and return until when none of it is bought."""
    if error.extent is None:
        return await note_pause(ports, spec, str(error), is_of_account=error.frees)
    return await _note_part(ports, spec, str(error), error.extent, first=FIRST_PAUSE, is_of_account=error.frees)


async def note_freed(ports: Ports, ref: ClassRef, server_type: str, location: str) -> None:
    """Record that a machine went: pauses of what its account was short of end, and one machine is tried."""
    now = ports.now()

    def freed(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        pause = after_removal(status.pause, now=now)
        parts = with_parts_freed(status.partial_pauses, server_type, location, now=now)
        return status.model_copy(update={"pause": pause, "partial_pauses": parts})

    for each in await _of_account(ports, ref):
        try:
            await change_class_status(ports, each, freed)
        except GrowthError as error:
            log.warning("that a machine of %s went was not noted on %s: %s", ref, each, error)


async def _of_account(ports: Ports, ref: ClassRef) -> list[ClassRef]:
    """Return the class and those that share its account, as far as that is known."""
    provider, account = ports.providers.get(ref.kind), ports.accounts.get(ref.kind)
    if provider is None or account is None:
        return [ref]
    try:
        classes = {item["metadata"]["name"]: item for item in (await ports.reader.list(provider.node_classes)).items}
    except GrowthError as error:
        log.warning("which classes share the account of %s is not known: %s", ref, error)
        return [ref]
    own = classes.get(ref.name)
    sharing = [name for name, item in classes.items() if own is not None and account(item) == account(own)]
    return [ref, *(ref.model_copy(update={"name": name}) for name in sharing if name != ref.name)]


async def _note_part(
    ports: Ports, spec: NodeRequestSpec, message: str, extent: Extent, *, first: timedelta, is_of_account: bool
) -> datetime:
    now = ports.now()
    refused = PartRefused(
        limit=extent.limit,
        message=shortened(message),
        server_types=extent.server_types,
        locations=extent.locations,
        may_be_all_types=extent.may_be_all_types,
        is_of_account=is_of_account,
        first=first,
    )
    status = await _write_part(ports, spec, refused, now)
    pause = part_in_force(status.partial_pauses, spec.server_type, spec.location, now)
    return now + first if pause is None else pause.until


async def _write_part(ports: Ports, spec: NodeRequestSpec, refused: PartRefused, now: datetime) -> NodeClassStatus:
    """Write that a part of the class is refused, and return its status; an empty one where it cannot be written."""

    def refusal(_: Object, status: NodeClassStatus) -> NodeClassStatus:
        return status.model_copy(update={"partial_pauses": with_part_refused(status.partial_pauses, refused, now=now)})

    try:
        return await change_class_status(ports, spec.class_ref, refusal)
    except GrowthError as error:
        subject = f"{spec.class_ref} is refused {refused.limit}, for {spec.server_type}"
        log.warning("that %s was not noted: %s", subject, error)
        return NodeClassStatus()
