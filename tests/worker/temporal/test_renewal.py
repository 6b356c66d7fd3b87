"""Renewed certificates are used without a restart, by everything that talks to Temporal."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest
from structlog.testing import capture_logs

from activities.kube.cache import Cache
from activities.ports.cluster import NODES
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.world import NAMESPACE, World
from tests.worker.runtime.test_wiring import all_bound
from tests.worker.temporal.mutual_tls import Authority, door_to
from worker.ports import ports_on, utc_now, watched
from worker.runtime.wiring import at_work
from worker.settings import load
from worker.temporal import renewal
from worker.temporal.client import connect
from worker.temporal.namespace import ensure_search_attributes
from worker.temporal.renewal import Renewal

PODS = {"cpu": "1500m", "memory": "1Gi"}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Of the server and of the worker."""
    monkeypatch.setattr(renewal, "PERIOD", timedelta(seconds=0.1))
    (tmp_path / "server").mkdir()
    (tmp_path / "worker").mkdir()
    return tmp_path / "server", tmp_path / "worker"


def settings_of(folder):
    return load(
        temporal_tls=True,
        temporal_tls_ca=folder / "ca.pem",
        temporal_tls_cert=folder / "cert.pem",
        temporal_tls_key=folder / "key.pem",
    )


async def test_a_worker_goes_on_with_renewed_certificates(dev_server, folders, cluster_name):
    world = World(now=utc_now, seed=1)
    await world.apply(
        node_class([machine("small", cpu=2, memory=4, price="0.01", boot_time="100ms")]),
        node_pool("default", [{"name": "small"}], limits={"max": 3}, scaleUp={"recordTTL": "1s"}),
    )
    first, second = Authority("first"), Authority("second")
    first.write(folders[1])
    async with door_to(dev_server, folders[0], first) as door:
        settings = settings_of(folders[1])
        connects = partial(connect, settings, f"localhost:{door.port}")
        client = await connects(attempts=5)
        await ensure_search_attributes(client)
        cache = Cache(world.cluster, watched())
        ports = ports_on(world.cluster, cache, cluster_name=cluster_name, namespace=NAMESPACE)
        renewed = Renewal(settings, partial(connects, attempts=1))
        moving = asyncio.create_task(world.run())
        try:
            async with asyncio.timeout(60), at_work(client, ports, cache, renewed=renewed):
                world.workloads.add(Workload("web", 1, PODS))
                world.wake()
                while not await all_bound(world, 1):
                    await asyncio.sleep(0.05)
                with capture_logs() as lines:
                    await door.open(second)
                    second.write(folders[1])
                    while not [line for line in lines if line["event"].startswith("uses the renewed")]:
                        await asyncio.sleep(0.05)
                world.workloads.scale("web", 2)
                world.wake()
                while not await all_bound(world, 2):
                    await asyncio.sleep(0.05)
                assert len((await world.cluster.list(NODES)).items) == 2
        finally:
            moving.cancel()


async def test_files_that_do_not_fit_together_are_tried_again(dev_server, folders):
    first, second = Authority("first"), Authority("second")
    first.write(folders[1])
    async with door_to(dev_server, folders[0], first) as door:
        settings = settings_of(folders[1])
        renewed = Renewal(settings, partial(connect, settings, f"localhost:{door.port}", attempts=1))
        await door.open(second)
        with capture_logs() as lines:
            waiting = asyncio.create_task(renewed())
            second.write(folders[1], parts=("ca", "cert"))
            async with asyncio.timeout(20):
                while not [line for line in lines if "cannot be used yet" in line["event"]]:
                    await asyncio.sleep(0.05)
            second.write(folders[1])
            async with asyncio.timeout(20):
                client = await waiting
    assert client.namespace == "growth"


async def test_without_files_there_is_nothing_to_renew(monkeypatch):
    monkeypatch.setattr(renewal, "PERIOD", timedelta(seconds=0.01))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await Renewal(load(), _never)()


async def _never():
    raise AssertionError
