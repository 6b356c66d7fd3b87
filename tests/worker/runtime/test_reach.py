"""What does not answer is told after a while, with how long it has not, and whether a restart is worth a try."""

import os
import signal
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports.errors import Rejected, Unreachable
from simulator.apiserver.cluster import MemoryCluster
from tests.worker.conftest import free_port, freeze, serves, temporal_at
from tests.worker.runtime.test_keeper import ports_of
from worker.runtime import reach as reaching
from worker.runtime.reach import Reachability


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


class Answering(MemoryCluster):
    """An API server that answers each look as it is made to."""

    error: Exception | None = None

    async def get(self, resource, name, **options):
        if self.error is not None:
            raise self.error
        return await super().get(resource, name, **options)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cluster():
    return Answering(lambda: datetime.now(UTC))


@pytest.fixture
def reach(client, cluster, clock):
    return Reachability(client, ports_of(cluster, "reach"), clock)


async def test_one_lost_call_is_no_outage(reach, cluster, clock):
    cluster.error = Unreachable("timed out")
    await reach.ask()
    clock.seconds = 10
    cluster.error = None
    await reach.ask()
    clock.seconds = 30
    assert reach.outage() == reaching.NONE


@pytest.mark.parametrize("error", [None, Rejected("may not get namespaces")])
async def test_any_answer_of_the_api_server_is_one(reach, cluster, clock, error):
    cluster.error = error
    await reach.ask()
    clock.seconds = 60
    assert reach.outage() == reaching.NONE


async def test_an_api_server_that_is_away_is_told_until_it_is_back(reach, cluster, clock):
    cluster.error = Unreachable("connection refused")
    with capture_logs() as lines:
        for seconds in (0, 10, 20, 30):
            clock.seconds = seconds
            await reach.ask()
    assert reach.outage().sentence == "the API server has not answered for 30s: connection refused"
    assert not reach.outage().is_stuck
    assert [line["event"] for line in lines] == ["no answer: the API server"]
    clock.seconds = 600
    assert reach.outage().is_stuck
    cluster.error = None
    await reach.ask()
    assert reach.outage() == reaching.NONE


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("end", [kill, freeze], ids=["dead", "hanging"])
async def test_a_temporal_server_that_is_away_is_told(cluster, clock, monkeypatch, end):
    monkeypatch.setattr(reaching, "ANSWER_LIMIT", timedelta(seconds=0.5))
    port = free_port()
    with temporal_at(port) as server:
        while not await serves(f"127.0.0.1:{port}"):
            pass
        client = await Client.connect(f"127.0.0.1:{port}", namespace="growth")
        reach = Reachability(client, ports_of(cluster, "reach"), clock)
        await reach.ask()
        clock.seconds = 20
        assert reach.outage() == reaching.NONE
        end(server.pid)
        await reach.ask()
        clock.seconds = 40
        assert reach.outage().sentence.startswith(f"Temporal at 127.0.0.1:{port} has not answered for 20s: ")


async def test_an_error_without_a_text_is_no_answer_either(reach, clock, monkeypatch):
    async def refuse(request, **options):
        raise RPCError("", RPCStatusCode.UNAVAILABLE, b"")

    monkeypatch.setattr(reach.client.workflow_service, "get_system_info", refuse)
    await reach.ask()
    clock.seconds = 20
    assert reach.outage().sentence.endswith("has not answered for 20s: UNAVAILABLE")


@pytest.fixture
def asked(cluster, monkeypatch):
    """The times at which the API server was asked, as the test's clock had them."""
    calls = []
    get = cluster.get

    async def noted(resource, name, **options):
        calls.append(resource.plural)
        return await get(resource, name, **options)

    monkeypatch.setattr(cluster, "get", noted)
    return calls


async def ask_for(reach, clock, seconds):
    for _ in range(0, seconds, 10):
        await reach.ask()
        clock.seconds += 10


async def test_an_api_server_that_answers_is_asked_twice_a_minute(reach, clock, asked):
    await ask_for(reach, clock, 600)
    assert len(asked) == 20


async def test_an_api_server_that_does_not_answer_is_asked_each_period(reach, cluster, clock, asked):
    await reach.ask()
    cluster.error = Unreachable("connection refused")
    clock.seconds = 30
    await ask_for(reach, clock, 60)
    assert len(asked) == 1 + 6


async def test_other_calls_without_an_answer_let_it_be_asked_at_once(client, cluster, clock, asked):
    """A watch that breaks tells of an outage long before the next question is due."""
    present = timedelta(minutes=1)
    ports = replace(ports_of(cluster, "reach"), watched_for=lambda: present)
    reach = Reachability(client, ports, clock)
    await reach.ask()
    clock.seconds = 10
    await reach.ask()
    assert len(asked) == 1
    present = timedelta()
    clock.seconds = 20
    await reach.ask()
    assert len(asked) == 2
