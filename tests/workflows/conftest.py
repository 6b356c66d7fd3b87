import shutil
import sys
from pathlib import Path

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

from tests.workflows.world import register


@pytest.fixture
async def skipping():
    """A server of one test that skips time while a result is awaited."""
    beside = Path(sys.executable).with_name("temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=str(beside) if beside.exists() else shutil.which("temporal-test-server"),
    ) as env:
        await register(env.client)
        yield env
