"""The Temporal server goes away for a while, or loses all that it knew."""

import asyncio
from dataclasses import replace

import pytest
from temporalio.service import ConnectConfig, ServiceClient

from tests.chaos.scenarios import BOTH, GOES
from tests.chaos.stage import NAMESPACE_OF_TEMPORAL
from tests.chaos.temporal_server import TemporalServer

SHORT_SECONDS = 6
"""A minute at the pace of these tests."""
LONG_SECONDS = 60
"""A whole minute, longer than every time-out, deadline and TTL of the story and of Growth."""
HASTY = replace(
    BOTH,
    scale_up={"provisioningTimeout": "5s", "joinTimeout": "5s", "unavailableTTL": "12s", "failedTTL": "30s"},
)

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
async def server(tmp_path):
    server = TemporalServer(tmp_path, {"system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute": "1"})
    await server.start(NAMESPACE_OF_TEMPORAL)
    yield server
    server.kill()


@pytest.fixture
async def service(server, runtime):
    return await ServiceClient.connect(ConnectConfig(target_host=server.address, runtime=runtime))


def boots(view):
    return view.servers


def cools_off(view):
    return view.removals


@pytest.mark.chaos
@pytest.mark.parametrize("seconds", [SHORT_SECONDS, LONG_SECONDS])
@pytest.mark.parametrize("moment", [boots, cools_off])
async def test_a_server_that_is_away_for_a_while(server, service, judged, moment, seconds):
    async def outage(stage):
        await stage.until(moment, moment.__name__)
        server.kill()
        await asyncio.sleep(seconds)
        await server.start(NAMESPACE_OF_TEMPORAL)

    what = f"Temporal away for {seconds} s as the machine {moment.__name__.replace('_', ' ')}"
    await judged(service, HASTY, what, beside=outage)


@pytest.mark.parametrize("moment", [pytest.param(boots), pytest.param(cools_off, marks=pytest.mark.chaos)])
async def test_a_database_that_is_wiped_under_a_live_worker(server, service, judged, moment):
    async def wipe(stage):
        await stage.until(moment, moment.__name__)
        server.kill()
        server.wipe()
        # Not even the namespace is there: all that Growth needs is made anew by its keeper.
        await server.start()

    what = f"Temporal's database wiped as the machine {moment.__name__.replace('_', ' ')}"
    await judged(service, GOES, what, beside=wipe)
