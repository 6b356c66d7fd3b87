import pytest

from tests.activities.providers.hetzner.scenes import ProviderScene


@pytest.fixture
async def scene():
    """A provider whose class has been looked up."""
    return await ProviderScene().open()


@pytest.fixture
async def booted(scene):
    """The scene, in which a server runs."""
    await scene.create()
    scene.pass_time(60)
    return scene
