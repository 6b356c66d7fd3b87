import shutil
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.testservice.v1 import SleepRequest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

from tests.workflows.world import register

SLEEP_TAKES = timedelta(seconds=100)
"""At most, of the wall's time: the client's own limit of 30 s is too short for half a day on a busy machine."""


@pytest.fixture
async def skipping(monkeypatch):
    """A server of one test that skips time while a result is awaited."""
    beside = Path(sys.executable).with_name("temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=str(beside) if beside.exists() else shutil.which("temporal-test-server"),
    ) as env:
        await register(env.client)

        async def sleep(seconds: float) -> None:
            request = SleepRequest()
            request.duration.FromTimedelta(timedelta(seconds=seconds))
            await env.client.test_service.unlock_time_skipping_with_sleep(request, timeout=SLEEP_TAKES)

        monkeypatch.setattr(env, "sleep", sleep)
        yield env
