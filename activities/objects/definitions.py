"""Growth's own definitions: whether they are being removed.

Deleting a CustomResourceDefinition marks all its objects as deleted, which must not read as a wish
to delete the machines: then nothing is decided and no cloud is called. Source: docs/design.md#deleting.
"""

from activities.objects.kinds import STORED_KINDS
from activities.ports.cluster import CRDS, NODE_POOLS, Object, Resource
from activities.ports.errors import NotFound, Unreachable
from activities.ports.ports import Ports
from planner.lifecycle.json_predicates import is_terminating


async def may_be_going(ports: Ports) -> bool:
    """Return whether a definition of ours seems to be going, by what the reader has: without a call, if it is a cache.

    A definition that is deleted marks its objects as deleted, and when it is gone they cannot be listed.
    """
    for resource in _resources(ports):
        try:
            items = (await ports.reader.list(resource)).items
        except (NotFound, Unreachable):
            return True
        if any(map(is_terminating, items)):
            return True
    return False


async def are_going(ports: Ports) -> bool:
    """Return whether the definition of one of our kinds is being deleted or is gone, read live.

    One that is optional may be absent: nobody uses it.

    Raises:
        Unreachable: the API server does not answer.
    """
    definitions = await _definitions(ports)
    return None in definitions or any(_is_deleted(one) for one in definitions)


async def is_kind_going(ports: Ports, resource: Resource) -> bool:
    """Return whether the definition of an optional kind is going, or one of the others: then its objects are let go.

    Raises:
        Unreachable: the API server does not answer.
    """
    own = await _definition(ports, resource)
    return own is None or _is_deleted(own) or await are_going(ports)


async def are_being_deleted(ports: Ports) -> bool:
    """Return whether the definition of one of our kinds is being deleted and still there, read live.

    Raises:
        Unreachable: the API server does not answer.
    """
    return any(_is_deleted(one) for one in await _definitions(ports))


async def _definitions(ports: Ports) -> list[Object | None]:
    """Return the definitions of our kinds, None for one that does not exist; an optional one is left out then."""
    definitions: list[Object | None] = []
    for resource in _resources(ports):
        definition = await _definition(ports, resource)
        if definition is not None or not resource.is_optional:
            definitions.append(definition)
    return definitions


def _resources(ports: Ports) -> tuple[Resource, ...]:
    classes = (provider.node_classes for provider in ports.providers.values())
    lifecycles = [stored.resource for stored in STORED_KINDS if not stored.resource.is_optional]
    return (NODE_POOLS, *lifecycles, *classes)


async def _definition(ports: Ports, resource: Resource) -> Object | None:
    try:
        return await ports.cluster.get(CRDS, f"{resource.plural}.{resource.group}")
    except NotFound:
        return None


def _is_deleted(definition: Object | None) -> bool:
    return definition is not None and is_terminating(definition)
