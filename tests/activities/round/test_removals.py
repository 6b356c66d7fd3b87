"""What a round orders on the word of a cache that may be behind. Found by the campaign of `simulator`, seed 358."""

from datetime import UTC, datetime

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES
from activities.ports.errors import NotFound
from activities.round.removals import create_removal
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.rounds import begun

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLANNED = begun("a", provider_id=None)


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: NOW)


async def removals(cluster):
    return [item["metadata"]["name"] for item in (await cluster.list(NODE_REMOVAL_REQUESTS)).items]


async def test_a_removal_is_ordered_for_a_node_that_is_there(cluster):
    node = await cluster.create(NODES, {"metadata": {"name": "a"}})
    assert (await create_removal(cluster, PLANNED, node))["metadata"]["name"] == "a"
    assert await removals(cluster) == ["a"]


@pytest.mark.parametrize("comes_again", [False, True])
async def test_no_removal_is_ordered_for_a_node_that_only_the_cache_still_shows(cluster, comes_again):
    cached = await cluster.create(NODES, {"metadata": {"name": "a"}})
    await cluster.delete(NODES, "a")
    if comes_again:
        await cluster.create(NODES, {"metadata": {"name": "a"}})
    with pytest.raises(NotFound):
        await create_removal(cluster, PLANNED, cached)
    assert await removals(cluster) == []


async def test_a_machine_without_a_node_is_removed_by_its_name(cluster):
    await create_removal(cluster, PLANNED, None)
    assert await removals(cluster) == ["a"]
