"""Objects with a lifecycle as records: created, read with their identity, written only as read, let go at their end.

A status is replaced as a whole, on condition of the resourceVersion it was made from, so nobody's
change is lost and no two writers can both believe that theirs was first.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic

from activities.kube.json_patch import guarded, set_field
from activities.objects.kinds import Status, Stored, StoredKind
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Cluster, Getter, Object, Resource, find_object
from activities.ports.errors import NotFound
from api.keys import FINALIZER, LABEL_POOL, LABEL_REQUEST, LABEL_REQUEST_UID, LABEL_SERVER_TYPE, LABEL_STEP
from api.meta import Condition, set_condition
from api.v1alpha1.lifecycle import add_event
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec
from planner.lifecycle.step import Act

log = logging.getLogger(__name__)

UNKNOWN: Final = "unknown"
"""Pool, type or location of a machine that has lost its labels: its deletion needs none of them."""


@dataclass(frozen=True, slots=True)
class Record(Generic[Stored]):
    """An object with a lifecycle as it was read."""

    stored: StoredKind[Stored]
    object: Object
    model: Stored

    @property
    def resource(self) -> Resource:
        """Where it is."""
        return self.stored.resource

    @property
    def name(self) -> str:
        """Its name."""
        return self.model.metadata.name

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.model.metadata.uid

    @property
    def is_deleting(self) -> bool:
        """Whether it has a deletionTimestamp."""
        return self.model.metadata.deletion_timestamp is not None

    @property
    def is_held(self) -> bool:
        """Whether our finalizer holds it."""
        return FINALIZER in self.model.metadata.finalizers


async def read_record(source: Getter, stored: StoredKind[Stored], name: str, uid: str) -> Record[Stored] | None:
    """Return the object with this uid, or None when its lifecycle is over.

    Raises:
        Unreadable: a person broke it.
    """
    item = await find_object(source, stored.resource, name)
    if item is None:
        return None
    metadata = item["metadata"]
    if metadata["uid"] != uid:
        return None
    if "deletionTimestamp" in metadata and FINALIZER not in metadata.get("finalizers", ()):
        # Only someone else's finalizer still holds it, such as foreground deletion's.
        return None
    return as_record(stored, item)


def as_record(stored: StoredKind[Stored], item: Object) -> Record[Stored]:
    """Return the object as a record.

    Raises:
        Unreadable: names the field.
    """
    return Record(stored, item, stored.read(item))


async def write_status(
    cluster: Cluster,
    record: Record[Stored],
    *,
    now: datetime,
    event: str | None,
    because: str,
    **changes: Any,
) -> Record[Stored]:
    """Write `changes` to the status together with one more event in its list, and return the record as it is now.

    Args:
        cluster: where the object is stored.
        record: the object as it was read.
        now: the time of the event.
        event: name of the event, one CamelCase word; None for what is only repeated, which adds none.
        because: why, a sentence.
        changes: new values of status fields.

    Raises:
        Conflict: the object has changed since it was read; nothing was written.
        NotFound: it does not exist any more.
    """
    before: Status = record.model.status
    events = before.events if event is None else add_event(before.events, event, because, now)
    status = before.model_copy(update={**changes, "events": events})
    operations = guarded(record.object, [{"op": "add", "path": "/status", "value": status.to_json()}])
    written = as_record(
        record.stored, await cluster.patch(record.resource, record.name, operations, subresource="status")
    )
    after = written.model.status
    if after.phase != before.phase and record.stored.lifecycle.is_trouble(after.phase, after.reason):
        name = f"{record.resource.kind} {record.name}"
        log.warning("%s is %s, reason %s: %s", name, after.phase, after.reason, after.message)
    return written


async def write_step(
    cluster: Cluster, record: Record[Stored], act: Act, *, now: datetime, **changes: Any
) -> Record[Stored]:
    """Write that the step `act` was taken: its reason and message as an event and as the status's reason and message.

    Raises:
        Conflict: the object has changed since it was read; nothing was written.
        NotFound: it does not exist any more.
    """
    standing = {"reason": act.reason, "message": act.message}
    return await write_status(cluster, record, now=now, event=act.reason, because=act.message, **standing, **changes)


def conditions_with(
    record: Record[Stored], type_: str, *, status: bool | None, reason: str, message: str, now: datetime
) -> Sequence[Condition]:
    """Return the record's conditions with this one set."""
    metadata = record.model.metadata
    return set_condition(
        record.model.status.conditions,
        type_,
        status=status,
        reason=reason[:64],
        message=message,
        now=now,
        generation=metadata.generation,
    )


async def still_as_read(cluster: Cluster, record: Record[Stored]) -> bool:
    """Return whether the object has not changed since it was read.

    Asked after a Node was read and before that Node is changed: an activity that was given up and
    still runs somewhere is then stopped either here or by the Node's resourceVersion, because the
    lifecycle writes its object before it undoes anything on the Node.
    """
    try:
        live = await cluster.get(record.resource, record.name)
    except NotFound:
        return False
    return live["metadata"]["resourceVersion"] == record.object["metadata"]["resourceVersion"]


async def hold(cluster: Cluster, record: Record[Stored]) -> Record[Stored]:
    """Return the record with our finalizer on it: one made by hand has none, and could vanish under its server.

    Raises:
        Conflict: the object has changed since it was read.
        NotFound: it does not exist any more.
    """
    if record.is_held:
        return record
    finalizers = [*record.model.metadata.finalizers, FINALIZER]
    operations = guarded(record.object, set_field(record.object, ("metadata", "finalizers"), finalizers))
    held = await cluster.patch(record.resource, record.name, operations)
    return as_record(record.stored, held)


async def drop_finalizer(cluster: Cluster, resource: Resource, read_object: Object) -> None:
    """Take our finalizer off; an object that is gone is success.

    Raises:
        Conflict: the object has changed since it was read.
    """
    metadata = read_object["metadata"]
    if FINALIZER not in metadata.get("finalizers", ()):
        return
    others = [finalizer for finalizer in metadata["finalizers"] if finalizer != FINALIZER]
    operations = guarded(read_object, set_field(read_object, ("metadata", "finalizers"), others or None))
    try:
        await cluster.patch(resource, metadata["name"], operations)
    except NotFound:
        return


async def let_go(cluster: Cluster, record: Record[Stored]) -> None:
    """End the object: delete it as it was read, then drop our finalizer.

    Killed in between, it is an object being deleted, whose next step is this one again.

    Raises:
        Conflict: the object has changed since it was read.
    """
    metadata = record.object["metadata"]
    marked = record.object
    if not record.is_deleting:
        try:
            await cluster.delete(
                record.resource, record.name, uid=record.uid, resource_version=metadata["resourceVersion"]
            )
            # The deletion has changed the version on which the finalizer's patch is conditional.
            marked = await cluster.get(record.resource, record.name)
        except NotFound:
            return
        if marked["metadata"]["uid"] != record.uid:
            return
    await drop_finalizer(cluster, record.resource, marked)


def removal_body(spec: NodeRemovalRequestSpec, *, request_uid: str | None, step: str = "") -> Object:
    """Return the body to create: named after the server, with the labels by which people and lifecycles select it.

    Args:
        spec: of the removal.
        request_uid: uid of the request that made the machine, None if no trace of it is left. Names are given again,
            uids are not: without it a later machine of the same name could be removed instead.
        step: value of the label by which removals of one step know each other; empty for one that is alone.
    """
    labels = {LABEL_POOL: spec.pool, LABEL_SERVER_TYPE: spec.server_type, LABEL_REQUEST: spec.server_name}
    if request_uid:
        labels[LABEL_REQUEST_UID] = request_uid
    if step:
        labels[LABEL_STEP] = step
    return {
        "apiVersion": NODE_REMOVAL_REQUESTS.api_version,
        "kind": NODE_REMOVAL_REQUESTS.kind,
        "metadata": {"name": spec.server_name, "labels": labels, "finalizers": [FINALIZER]},
        "spec": spec.to_json(),
    }
