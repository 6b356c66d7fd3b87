import logging

import pytest
import structlog
from temporalio.client import Client
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import ConnectConfig, ServiceClient

from tests.chaos.pace import quick_pace
from tests.chaos.play import play, record
from tests.chaos.stage import NAMESPACE_OF_TEMPORAL
from tests.chaos.stories import STORIES
from tests.chaos.table import keep, rows
from tests.worker.conftest import dev_server  # noqa: F401 - a fixture
from worker.temporal.namespace import ensure_search_attributes

_quiet = LoggingConfig(filter=TelemetryFilter(core_level="ERROR", other_level="ERROR"))


@pytest.fixture(autouse=True)
def chaos_pace():
    """Durations and logs of a test that lets everything fail: short both."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    with quick_pace():
        yield
    logging.disable(logging.NOTSET)
    structlog.configure(**before)


@pytest.fixture(scope="session")
def runtime():
    return Runtime(telemetry=TelemetryConfig(logging=_quiet))


@pytest.fixture
def connect(runtime):
    """Connects to a Temporal server that is told where it is, and makes it ready."""

    async def connected(address: str) -> ServiceClient:
        service = await ServiceClient.connect(ConnectConfig(target_host=address, runtime=runtime))
        await ensure_search_attributes(Client(service, namespace=NAMESPACE_OF_TEMPORAL))
        return service

    return connected


@pytest.fixture
async def service(dev_server, connect):  # noqa: F811
    return await connect(dev_server)


@pytest.fixture(scope="session")
def recorded():
    """What the first test that needs it has recorded: the points of each story."""
    return {}


@pytest.fixture
async def points(service, recorded):
    """The points that each story meets, undisturbed."""
    if not recorded:
        recorded.update(await record(service, STORIES))
    return recorded


@pytest.fixture(scope="session")
def temporal_ends():
    """How stories with faults of Temporal ended, by name; their table is written when all have been played."""
    ends = {}
    yield ends
    if ends:
        keep("temporal faults", rows(ends, ("Temporal faults", "Runs", "Outcome")))


@pytest.fixture
def judged(temporal_ends):
    """Plays a story and judges its end."""

    async def judge(service, story, what, **knobs):
        end = await play(service, story, what, **knobs)
        temporal_ends[what] = [end]
        assert not end.wrong, str(end)

    return judge
