"""An action that fails is read by the same table as a refused call, and what it says holds for the next calls, too."""

from dataclasses import replace

import pytest

from activities.ports.errors import InsufficientCapacity, QuotaExceeded, UnknownOutcome
from activities.ports.provider import ServerState
from activities.providers.hetzner.api.facts import ActionFacts
from tests.activities.providers.hetzner.scenes import ORDER, SUBNET, ProviderScene
from tests.builders import hetzner_node_class


async def broken(scene, name=ORDER.name, class_name="default"):
    """Return the server once its actions have failed."""
    await scene.tend_for(60)
    server = await scene.provider.get(name, class_name)
    assert server.state is ServerState.BROKEN
    return server


@pytest.fixture
async def scene():
    scene = ProviderScene()
    scene.network = scene.cloud.add_network("inside")
    return await scene.open(
        hetzner_node_class("in", networks=[{"name": "inside"}]),
        hetzner_node_class("ranged", networks=[{"name": "inside", "subnetIPRange": SUBNET}]),
        hetzner_node_class("default"),
    )


@pytest.mark.parametrize("name", ["in", "ranged"])
async def test_a_network_that_is_full_is_told_once(scene, name):
    scene.cloud.fill_network(scene.network, 0, by_action=True)
    await scene.create(name=name)
    server = await broken(scene, class_name=name)
    assert isinstance(server.failure, QuotaExceeded)
    assert "ip_not_available" in server.problem
    for number in range(10):
        with pytest.raises(QuotaExceeded):
            await scene.create(replace(ORDER, name=f"x-{number}", server_type="cx33", location="hel1"), name=name)
    assert scene.cloud.count("create_server") == 1
    assert (await scene.create(replace(ORDER, name="y"))).name == "y", "its class has no network"


async def test_what_is_cancelled_since_another_action_failed_does_not_hide_why(scene):  # hetznercloud/cli#255
    scene.fail("create_server", "action_error", command="attach_to_network", code="ip_not_available")
    await scene.create(name="in")
    await scene.tend_for(60)
    actions = scene.provider._projects.known[0].actions
    server = await scene.provider.get(ORDER.name, "in")
    number = int(server.provider_id.removeprefix("hcloud://"))
    cancelled = ActionFacts(1, "start_server", "error", 100, error_code="canceled", error_message="canceled")
    actions._take(number, cancelled, 0.0)
    assert "ip_not_available" in (await scene.provider.get(ORDER.name, "in")).problem


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("resource_unavailable", "error during placement", InsufficientCapacity),
        ("resource_limit_exceeded", "dedicated core limit exceeded", QuotaExceeded),
        ("service_error", "attach server to network: no subnet or IP available", QuotaExceeded),
        ("action_failed", "it went wrong", UnknownOutcome),
    ],
)
async def test_each_failure_is_what_the_table_says(scene, code, message, kind):
    scene.fail("create_server", "action_error", code=code, message=message)
    await scene.create()
    assert isinstance((await broken(scene)).failure, kind)


async def test_a_limit_that_an_action_tells_is_as_narrow_as_one_that_a_call_tells(scene):
    scene.fail("create_server", "action_error", code="resource_limit_exceeded", message="dedicated core limit exceeded")
    await scene.create(replace(ORDER, server_type="ccx13"))
    failure = (await broken(scene)).failure
    assert isinstance(failure, QuotaExceeded)
    assert failure.extent is not None
    assert "cx23" not in failure.extent.server_types
    with pytest.raises(QuotaExceeded):
        await scene.create(replace(ORDER, name="x", server_type="ccx23"))
    assert (await scene.create(replace(ORDER, name="y"))).server_type == "cx23"


async def test_what_is_remembered_of_creations_is_bounded_and_holds_no_user_data(scene):
    for number in range(3):
        await scene.create(replace(ORDER, name=f"x-{number}"))
    made = scene.provider._projects.known[0].made
    assert {creation.user_data for creation, _ in made.values()} == {""}
    await scene.tend_for(90)
    assert made == {}
