import pytest

from tests.activities.yards import Yard


@pytest.fixture
async def yard():
    """A cluster with our definitions, a class and a pool, and its sweeper."""
    installed = Yard()
    await installed.install()
    return installed
