"""The order in which a sweep looks around: what ends one object makes the next one first."""

from activities.garbage.look import look_around
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME


class HandOver:
    """A reader during whose first list a request hands its machine over: its removal comes, then it goes."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._is_over = False

    async def list(self, resource, **selectors):
        listed = await MemoryCluster.list(self._cluster, resource, **selectors)
        if not self._is_over:
            self._is_over = True
            await MemoryCluster.create(self._cluster, NODE_REMOVAL_REQUESTS, bodies.removal(NAME))
            await self._cluster.end(NODE_REQUESTS, NAME)
        return listed


async def test_a_machine_that_is_handed_over_during_the_look_is_somebodys(life):
    """Else its server would be taken for an orphan."""
    await life.add_request()
    seen = await look_around(life.ports, (), HandOver(life.cluster))
    assert list(seen.requests) == [NAME]
    assert [removal.name for removal in seen.removals] == [NAME]
    assert await life.request() is None
