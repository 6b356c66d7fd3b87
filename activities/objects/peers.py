"""How many other lifecycles are under way, so that hundreds together look no more often than a few."""

from collections.abc import Callable

from activities.ports.cluster import Object, Resource
from activities.ports.errors import Unreachable
from activities.ports.ports import Ports


async def count_others(ports: Ports, resource: Resource, uid: str, counts: Callable[[Object], bool]) -> int:
    """Return how many objects besides the one with this uid count, as far as the cache knows: 0 if it knows nothing."""
    try:
        objects = (await ports.reader.list(resource)).items
    except Unreachable:
        return 0
    return sum(one["metadata"]["uid"] != uid and counts(one) for one in objects)
