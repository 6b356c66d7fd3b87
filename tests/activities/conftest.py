"""Worlds that most tests of activities begin with."""

import pytest

from tests.activities.lives import Life
from tests.activities.rounds import World


@pytest.fixture
async def life():
    """A cluster with our definitions, a class and a pool."""
    installed = Life()
    await installed.install()
    return installed


@pytest.fixture
async def world():
    """A cluster with our definitions, a class and a pool, and the activity that plans its rounds."""
    installed = World()
    await installed.install()
    return installed
