import pytest

from tests.e2e.harness import ControlPlane, borrowed_control_plane


@pytest.fixture(scope="session")
def control_plane():
    with borrowed_control_plane() as plane:
        yield plane


@pytest.fixture(autouse=True)
def _control_plane_lives_on(request):
    """A test during which a process of the control plane died fails, with the tail of its log."""
    yield
    if "control_plane" in request.fixturenames:
        request.getfixturevalue("control_plane").check()


@pytest.fixture(scope="session")
def other_plane():
    """Lend the control plane of a second cluster."""
    plane = ControlPlane()
    try:
        yield plane
    finally:
        plane.close()
