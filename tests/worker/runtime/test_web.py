import asyncio
import urllib.error
import urllib.request
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, Counter

from worker.runtime.reach import NONE, Outage
from worker.runtime.web import application, listen, serve


def fetch(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
async def site():
    """The three routes over HTTP: the port, and what the worker waits for, and why rounds fail."""
    registry = CollectorRegistry()
    Counter("growth_rounds", "Rounds.", registry=registry).inc(3)
    missing = ["Temporal", "", NONE]
    with listen("127.0.0.1:0") as listener:
        app = application(registry, lambda: missing[0], lambda: missing[1], lambda: missing[2])
        served = asyncio.create_task(serve(app, listener))
        yield listener.getsockname()[1], missing
        served.cancel()
        await asyncio.gather(served, return_exceptions=True)


async def get(port: int, path: str) -> tuple[int, str]:
    return await asyncio.to_thread(fetch, port, path)


async def test_it_lives_before_it_is_ready(site):
    port, missing = site
    assert await get(port, "/healthz") == (200, "ok\n")
    assert await get(port, "/readyz") == (503, "waiting for Temporal\n")
    missing[0] = ""
    assert await get(port, "/readyz") == (200, "ok\n")


async def test_it_is_not_ready_while_rounds_fail(site):
    port, missing = site
    missing[:2] = ["", "the last 3 rounds failed: StartToClose timeout"]
    assert await get(port, "/readyz") == (503, "the last 3 rounds failed: StartToClose timeout\n")
    # A restart mends nothing.
    assert await get(port, "/healthz") == (200, "ok\n")


async def test_it_is_not_ready_while_the_api_server_is_gone_and_is_begun_anew_after_long(site):
    port, missing = site
    missing[:] = ["", "", Outage("the API server has not answered for 40s", timedelta(seconds=40))]
    assert await get(port, "/readyz") == (503, "the API server has not answered for 40s\n")
    assert await get(port, "/healthz") == (200, "ok, but the API server has not answered for 40s\n")
    missing[2] = Outage("the API server has not answered for 10m", timedelta(minutes=10))
    assert await get(port, "/healthz") == (503, "the API server has not answered for 10m\n")


async def test_metrics_are_in_prometheus_form(site):
    status, text = await get(site[0], "/metrics")
    assert status == 200
    assert "growth_rounds_total 3.0" in text


async def test_other_paths_are_not_found(site):
    assert (await get(site[0], "/"))[0] == 404


def test_a_taken_port_is_told_with_the_setting():
    with listen("127.0.0.1:0") as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(OSError, match=rf"cannot listen at {address}: .*; set GROWTH_HTTP_ADDRESS"):
            listen(address)
