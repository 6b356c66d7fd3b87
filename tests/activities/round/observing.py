"""What a round sees, with caches and rights that a test chooses."""

from dataclasses import replace

from activities.ports.cluster import NODE_POOLS
from activities.ports.errors import Forbidden, Unreachable
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.round import observe
from activities.round.observe import Observer
from planner.model.plan import PlannerMemory


async def see(world, versions=None, observer=None):
    return await (observer or Observer(world.ports)).observe(PlannerMemory(), versions or {})


class Cache:
    """A watch cache that stands still."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.lists = {}

    async def fill(self, version=None):
        for resource in (*observe.SURROUNDINGS, NODE_POOLS, KWOK_NODE_CLASSES):
            items = await self.cluster.list(resource)
            self.lists[resource] = replace(items, resource_version=version or items.resource_version)
        self.cluster.reads.clear()

    async def list(self, resource):
        if resource not in self.lists:
            raise Unreachable("the cache has none yet")
        return self.lists[resource]


class Without:
    """A cluster that does not let a resource be listed."""

    def __init__(self, resource, cluster):
        self._resource = resource
        self._cluster = cluster

    def __getattr__(self, name):
        return getattr(self._cluster, name)

    async def list(self, resource, **selectors):
        if resource == self._resource:
            raise Forbidden("no", user="growth", verb="list", resource=resource.plural, advice="grant it")
        return await self._cluster.list(resource, **selectors)
