"""What a worker asks of the API server while nothing happens: in virtual time, call by call."""

import asyncio
from collections import Counter

import pytest

from simulator.catalogue import machine, node_class, node_pool
from simulator.driver.connection import WorkerConnection
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

SMALL = machine("small", cpu=2, memory=4, price="0.010", boot_time="5s")
HOUR = 3600
MOST_PER_MINUTE = 30
"""As on the real API server: tests/e2e/test_idle.py. KWOK's boots and the probe of the API server are not in it."""


@pytest.fixture
def asked(monkeypatch):
    """The calls of all workers, by verb and resource."""
    calls = Counter()
    for verb in ("list", "get", "create", "patch", "delete", "watch"):
        monkeypatch.setattr(WorkerConnection, verb, counted(calls, verb, getattr(WorkerConnection, verb)))
    return calls


def counted(calls, verb, real):
    def call(self, resource, *given, **options):
        calls[verb, resource.plural] += 1
        return real(self, resource, *given, **options)

    return call


def calls_of_an_hour(machines, asked, record_ttl):
    """Return what a worker with so many machines in use asks for in an hour in which nothing happens."""
    times = {"scaleUp": {"recordTTL": record_ttl}, "scaleDown": {"idleAfter": "1h", "softGrace": "10s"}}
    pool = node_pool("default", [{"name": "small"}], limits={"max": 100}, **times)

    async def story(sim):
        sim.world.workloads.add(Workload("web", machines, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        records = machines if record_ttl == "3h" else 0
        await sim.until(
            lambda v: len(v.pods) == machines and not v.pending() and len(v.requests) == records,
            "all machines in use",
            within=300,
        )
        await asyncio.sleep(300)
        asked.clear()
        await asyncio.sleep(HOUR)
        view = await sim.look()
        assert (len(view.servers), len(view.requests)) == (machines, records)

    simulate(machines, story, objects=(node_class([SMALL]), pool))
    return Counter(asked)


@pytest.mark.parametrize("record_ttl", ["3h", "1s"], ids=["records kept", "records gone"])
def test_calls_of_an_idle_worker_do_not_grow_with_its_machines(asked, record_ttl):
    few, many = (calls_of_an_hour(machines, asked, record_ttl) for machines in (1, 20))
    # One more or less of what comes each few seconds is at the edge of the hour.
    assert {call: (few[call], many[call]) for call in many if many[call] > few[call] + 2} == {}
    assert 0 < many.total() < MOST_PER_MINUTE * 60
    # A round a minute takes the fence and releases it; nothing renews it in between.
    assert (many["get", "leases"], many["patch", "leases"]) == (60, 120)
    assert not [call for call in many if call[0] in {"create", "delete"}]
