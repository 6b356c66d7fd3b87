"""What is kept in the status of a node class: read from it, and changed in it by many at once."""

from collections.abc import Callable
from typing import Final

from activities.kube.json_patch import guarded, set_field
from activities.ports.cluster import Object
from activities.ports.errors import Conflict, NotFound, Unreadable
from activities.ports.ports import Ports
from api.reading import UnreadableError, read
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import ClassRef

_TRIES: Final = 10
"""Many requests may have the same to say at once; after the first one's write the others have nothing to add."""
_FIELDS: Final = tuple(name for name in NodeClassStatus.model_fields if name != "conditions")
"""What is written here: all else in the status is the provider's."""

Change = Callable[[Object, NodeClassStatus], NodeClassStatus]
"""Returns the status after a change, of the class as it is."""


def class_status(node_class: Object) -> NodeClassStatus:
    """Return the status of a node class.

    Raises:
        Unreadable: names the field.
    """
    try:
        return read(NodeClassStatus, node_class.get("status") or {})
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
            before = class_status(node_class)
            after = change(node_class, before)
            if after == before:
                return after
            changed = {field for field in _FIELDS if getattr(after, field) != getattr(before, field)}
            kept = {name: value for name, value in (node_class.get("status") or {}).items() if name not in changed}
            status = kept | {name: value for name, value in after.to_json().items() if name in changed}
            operations = guarded(node_class, set_field(node_class, ("status",), status))
            await ports.cluster.patch(resource, ref.name, operations, subresource="status")
        except NotFound:
            return NodeClassStatus()
        except Conflict:
            if tries >= _TRIES:
                raise
        else:
            return after
