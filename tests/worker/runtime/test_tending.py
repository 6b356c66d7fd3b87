"""Providers that do something between calls: they are tended for ever, whatever fails, and closed at the end."""

import asyncio

import pytest
from structlog.testing import capture_logs

from activities.ports.errors import UnknownOutcome
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.kinds import node_classes
from simulator.apiserver.cluster import MemoryCluster
from simulator.world import NAMESPACE
from worker.ports import ports_on, utc_now
from worker.runtime import wiring
from worker.runtime.wiring import _tend


class Cloud:
    """Tells how long it wants to be left alone; an error is raised instead."""

    node_classes = HETZNER_NODE_CLASSES

    def __init__(self, *answers: float | Exception) -> None:
        self._answers = list(answers)
        self.passes = 0
        self.is_done = asyncio.Event()
        self.is_closed = False

    async def tend(self) -> float:
        self.passes += 1
        answer = self._answers.pop(0)
        if not self._answers:
            self.is_done.set()
            self._answers = [60.0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(wiring, "SHORTEST_TEND_PERIOD", 0.001)
    monkeypatch.setattr(wiring, "LONGEST_TEND_PERIOD", 0.01)


async def run(cloud: Cloud) -> list[str]:
    """Let a cloud be tended until it has given all its answers, and return what was told of it."""
    with capture_logs() as logs:
        tending = asyncio.create_task(_tend(cloud))
        async with asyncio.timeout(5):
            await cloud.is_done.wait()
        tending.cancel()
        await asyncio.gather(tending, return_exceptions=True)
    return [entry["event"] for entry in logs]


async def test_a_provider_is_tended_again_after_the_time_that_it_names_and_closed_at_the_end():
    cloud = Cloud(0.0, 0.0, 0.0)
    assert await run(cloud) == []
    assert (cloud.passes, cloud.is_closed) == (3, True)


async def test_what_fails_is_told_once_and_tried_again():
    down = UnknownOutcome("list of servers: no answer")
    cloud = Cloud(down, down, down, 0.0)
    assert await run(cloud) == ["HetznerNodeClass is not tended: list of servers: no answer"]
    assert cloud.passes == 4


async def test_a_provider_that_asks_for_a_long_rest_is_tended_sooner():
    cloud = Cloud(3600.0, 3600.0, 3600.0)
    await run(cloud)
    assert cloud.passes == 3


def test_a_worker_has_a_provider_for_each_kind_of_class():
    cluster = MemoryCluster(utc_now)
    ports = ports_on(cluster, cluster, cluster_name="test", namespace=NAMESPACE)
    assert list(ports.providers) == ["KwokNodeClass", "HetznerNodeClass"]
    assert [provider.node_classes for provider in ports.providers.values()] == list(node_classes())
