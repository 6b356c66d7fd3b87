"""`growth pause` and `growth resume` write annotations, and touch no others."""

from datetime import UTC, datetime

import pytest

from activities.ports.cluster import NODE_POOLS
from activities.ports.errors import Rejected
from simulator.apiserver.cluster import MemoryCluster
from tests.builders import node_pool
from tests.worker.runtime.test_keeper import ports_of
from worker.commands.pause.command import annotate
from worker.errors import CommandError

MINE = {"owner": "me"}


@pytest.fixture
async def cluster():
    cluster = MemoryCluster(lambda: datetime.now(UTC))
    for name, annotations in (("default", MINE), ("batch", None)):
        pool = node_pool(name, types=["cx22"])
        if annotations:
            pool["metadata"]["annotations"] = annotations
        await cluster.create(NODE_POOLS, pool)
    return cluster


@pytest.fixture
def ports(cluster):
    return ports_of(cluster, "c")


async def run(ports, *pools, **given):
    return await annotate(ports, (await ports.cluster.list(NODE_POOLS)).items, pools, **given)


async def annotations(cluster, name):
    return (await cluster.get(NODE_POOLS, name))["metadata"].get("annotations")


async def test_all_pools_are_paused_and_resumed(ports, cluster):
    until = "2026-12-01T00:00:00Z"
    assert await run(ports, paused="the bill", until=until) == ["batch", "default"]
    pause = {"growth.dev/paused": "the bill", "growth.dev/paused-until": until}
    assert [await annotations(cluster, name) for name in ("default", "batch")] == [MINE | pause, pause]
    assert await run(ports, paused=None, until=None) == ["batch", "default"]
    assert await annotations(cluster, "default") == MINE
    assert not await annotations(cluster, "batch")


async def test_a_pause_without_an_end_replaces_one_with_an_end(ports, cluster):
    await run(ports, "default", paused="x", until="2026-12-01T00:00:00Z")
    assert await run(ports, "default", "default", paused="y", until=None) == ["default"]
    assert await annotations(cluster, "default") == MINE | {"growth.dev/paused": "y"}
    assert not await annotations(cluster, "batch")


async def test_a_pool_that_does_not_exist_is_told_before_anything_is_written(ports, cluster):
    with pytest.raises(CommandError, match=r"^no pool none: there are batch, default$") as told:
        await run(ports, "default", "none", paused="x", until=None)
    assert told.value.code == 2
    assert await annotations(cluster, "default") == MINE


async def test_one_that_cannot_be_written_keeps_no_other_from_it(ports, cluster, monkeypatch):
    real = cluster.patch

    async def patch(resource, name, operations, **options):
        if name == "batch":
            raise Rejected("patch nodepools batch: may not")
        return await real(resource, name, operations, **options)

    monkeypatch.setattr(cluster, "patch", patch)
    with pytest.raises(CommandError, match=r"^pool batch: patch nodepools batch: may not$"):
        await run(ports, paused="x", until=None)
    assert await annotations(cluster, "default") == MINE | {"growth.dev/paused": "x"}
