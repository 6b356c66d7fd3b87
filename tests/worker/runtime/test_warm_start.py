"""The first round of a worker on a real Temporal server, while its solver is loaded or compiled."""

import asyncio
import time

import pytest

from activities.kube.cache import Cache
from activities.ports.cluster import NODE_REQUESTS
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.world import NAMESPACE, World
from tests.worker.metrics_reader import metrics_shown
from tests.worker.running_solver import SMALLEST_FOR_SOLVER, running
from tests.worker.solver_targets import LOADED
from worker.ports import ports_on, utc_now, watched
from worker.runtime.wiring import at_work

pytestmark = [pytest.mark.usefixtures("folder"), pytest.mark.timeout(100)]


@pytest.fixture
def answers(monkeypatch):
    """How often each kind of answer was given, as /metrics would show it."""
    with metrics_shown(monkeypatch) as shown:
        yield lambda: {name: int(number) for (name,), number in shown.values("growth_packing_seconds_count").items()}


@pytest.fixture
async def world():
    world = World(now=utc_now, seed=1)
    await world.apply(
        node_class([machine("small", cpu=4, memory=8, price="0.01", boot_time="1h")]),
        node_pool("default", [{"name": "small"}], limits={"max": 20}),
    )
    world.workloads.add(Workload("web", SMALLEST_FOR_SOLVER, {"cpu": "1", "memory": "1Gi"}))
    moving = asyncio.create_task(world.run())
    yield world
    moving.cancel()


async def until_bought(world):
    while not (await world.cluster.list(NODE_REQUESTS)).items:
        await asyncio.sleep(0.02)


@pytest.fixture
def working(client, cluster_name, world):
    """Returns a worker that packs with a solver."""

    def working(solver):
        cache = Cache(world.cluster, watched())
        reached = ports_on(world.cluster, cache, cluster_name=cluster_name, namespace=NAMESPACE, packers=solver)
        return at_work(client, reached, cache)

    return working


async def test_it_buys_when_the_solver_is_loaded(world, working, answers, folder):
    with running("warms_when_let", starts_within_seconds=60) as solver:
        async with working(solver):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await until_bought(world)
            (folder / LOADED).touch()
            await until_bought(world)
    assert answers() == {"solver": 1}


async def test_it_buys_at_once_while_the_solver_is_compiled(world, working, answers):
    with running("compiles", starts_within_seconds=60) as solver:
        began = time.monotonic()
        async with working(solver):
            await until_bought(world)
        assert time.monotonic() - began < 60
        assert not solver.is_warm
    assert answers() == {"fallback-because-cold": 1}
