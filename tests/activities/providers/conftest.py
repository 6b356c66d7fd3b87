import pytest

from tests.activities.providers.clouds import Cloud


@pytest.fixture
async def cloud():
    """Simulated servers of a class."""
    installed = Cloud()
    await installed.install()
    return installed
