"""Worlds that most tests of activities begin with."""

import pytest

from tests.activities.lives import Life


@pytest.fixture
async def life():
    """A cluster with our definitions, a class and a pool."""
    installed = Life()
    await installed.install()
    return installed
