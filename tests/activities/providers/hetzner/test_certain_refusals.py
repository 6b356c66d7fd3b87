"""Refusals that prove that nothing was created: what they are about, and what becomes of the class.

Source: Hetzner Cloud API, "Errors"; every 4xx with Hetzner's own JSON is a decision, whatever its code.
"""

from dataclasses import replace

import pytest

from activities.ports.errors import (
    ClassNotLookedUp,
    CreateRefused,
    InsufficientCapacity,
    InvalidConfiguration,
    UnknownOutcome,
)
from activities.providers.hetzner.api.error_table import classify
from activities.providers.hetzner.api.refusals import NameInUse, NamesGone
from tests.activities.providers.hetzner.scenes import ORDER, ProviderScene
from tests.builders import hetzner_node_class

CALL = "create server a-1 (cx23 in fsn1)"


@pytest.mark.parametrize("status", [400, 402, 403, 404, 409, 412, 418, 422, 423, 451, 499])
@pytest.mark.parametrize("code", ["a_code_of_tomorrow", "unknown_error", "service_error", "resource_in_use", "timeout"])
def test_a_4xx_in_hetzners_own_words_is_certain_whatever_its_code(status, code):
    error = classify(code, "no", verb="create", call=CALL, status=status)
    assert type(error) is CreateRefused
    assert error.retryable
    assert error.tries == 3


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, None])
def test_what_is_no_decision_leaves_the_outcome_unknown(status):
    assert type(classify("a_code_of_tomorrow", "no", verb="create", call=CALL, status=status)) is UnknownOutcome


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_gateways_4xx_without_json_leaves_the_outcome_unknown(status):
    assert type(classify(status, "Not Found", verb="create", call=CALL, status=status)) is UnknownOutcome


def test_what_is_locked_is_worth_more_tries_and_a_taken_name_is_looked_up():
    assert classify("conflict", "busy", verb="create", call=CALL, status=409).tries == 6
    assert type(classify("uniqueness_error", "taken", verb="create", call=CALL, status=409)) is NameInUse


@pytest.mark.parametrize("verb", ["read", "write", "delete"])
def test_other_calls_are_repeated_as_before(verb):
    assert type(classify("a_code_of_tomorrow", "no", verb=verb, call="x", status=422)) is UnknownOutcome


@pytest.mark.parametrize(
    ("fields", "message", "kind", "may_be_of_type"),
    [
        (["server_type"], "invalid input in field 'server_type'", InsufficientCapacity, None),
        ([], "image disk is bigger than server type disk", InsufficientCapacity, None),
        (["location"], "location disabled", InsufficientCapacity, None),
        (["image"], "image not found", NamesGone, True),
        (["ssh_keys"], "SSH key not found", NamesGone, False),
        (["firewalls"], "firewall not found", NamesGone, False),
        (["user_data"], "too long", InvalidConfiguration, False),
        ([], "invalid input", InvalidConfiguration, True),
    ],
)
def test_an_invalid_input_is_about_what_its_fields_say(fields, message, kind, may_be_of_type):
    details = {"fields": [{"name": name, "messages": ["no"]} for name in fields]}
    error = classify("invalid_input", message, details=details, verb="create", call=CALL, status=422)
    assert type(error) is kind
    assert getattr(error, "may_be_of_type", None) is may_be_of_type


@pytest.fixture
async def scene():
    return await ProviderScene().open()


async def test_the_status_of_an_answer_is_read(scene):
    scene.fail("create_server", "error", status=422, code="odd_error")
    with pytest.raises(CreateRefused, match="odd_error"):
        await scene.create()
    scene.fail("create_server", "error", status=500, code="odd_error")
    with pytest.raises(UnknownOutcome, match="odd_error"):
        await scene.create()


async def keyed():
    scene = ProviderScene()
    scene.key = scene.cloud.add_ssh_key("mine")
    scene.wall = scene.cloud.add_firewall("wall")
    scene.snapshot = scene.cloud.add_image(description="old", labels={"role": "worker"})
    spec = {"sshKeys": ["mine"], "firewalls": ["wall"], "image": {"selector": "role=worker"}}
    return await scene.open(hetzner_node_class(**spec))


async def test_a_key_that_is_gone_is_left_out_at_once():
    scene = await keyed()
    scene.pass_time(120)
    scene.cloud.remove(scene.key)
    with pytest.raises(ClassNotLookedUp, match="ssh_keys"):
        await scene.create()
    assert (await scene.create()).name == ORDER.name, "the class was looked up by that call"


async def test_an_image_that_was_replaced_is_found_at_once():
    scene = await keyed()
    scene.pass_time(120)
    scene.cloud.remove(scene.snapshot)
    newer = scene.cloud.add_image(description="new", labels={"role": "worker"})
    with pytest.raises(ClassNotLookedUp, match="image"):
        await scene.create()
    assert (await scene.create()).name == ORDER.name
    (images,) = [(await scene.node_class())["status"]["resolved"]["images"]]
    assert [image["id"] for image in images] == [newer]


async def test_a_firewall_that_is_gone_is_told_on_the_class_at_once():
    scene = await keyed()
    scene.pass_time(120)
    scene.cloud.remove(scene.wall)
    with pytest.raises(ClassNotLookedUp):
        await scene.create()
    conditions = {each["type"]: each for each in (await scene.node_class())["status"]["conditions"]}
    assert (conditions["Ready"]["status"], conditions["Ready"]["reason"]) == ("False", "FirewallNotFound")


async def test_a_class_that_was_just_looked_up_is_not_looked_up_again_and_again():
    scene = await keyed()
    scene.cloud.remove(scene.key)
    before = scene.cloud.count("read_catalogue")
    for number in range(5):
        with pytest.raises(InvalidConfiguration, match="ssh_keys"):
            await scene.create(replace(ORDER, name=f"x-{number}"))
    assert scene.cloud.count("read_catalogue") == before


async def test_a_network_reaches_each_zone_in_which_it_has_a_subnet_of_the_cloud():
    scene = ProviderScene()
    scene.cloud.add_network(
        "wide",
        subnets=[("10.0.1.0/24", "eu-central"), ("10.0.2.0/24", "us-east")],
        vswitches=[("10.0.9.0/24", "ap-southeast")],
    )
    await scene.open(
        hetzner_node_class("wide", networks=[{"name": "wide"}]),
        hetzner_node_class("narrow", networks=[{"name": "wide", "subnetIPRange": "10.0.2.0/24"}]),
    )

    async def places(name):
        return {offer.location for offer in scene.provider.offerings(await scene.node_class(name))}

    assert await places("wide") == {"fsn1", "nbg1", "hel1", "ash"}
    assert await places("narrow") == {"ash"}
    bought = await scene.create(replace(ORDER, server_type="cpx11", location="ash"), "wide")
    assert bought.location == "ash"


async def test_a_class_that_an_earlier_version_read_reaches_the_zone_that_it_knows():
    scene = ProviderScene()
    scene.cloud.add_network("wide", subnets=[("10.0.1.0/24", "eu-central"), ("10.0.2.0/24", "us-east")])
    await scene.open(hetzner_node_class("wide", networks=[{"name": "wide"}]))
    (network,) = (await scene.node_class("wide"))["status"]["resolved"]["networks"]
    earlier = {key: value for key, value in network.items() if key != "zones"}
    await scene.change("/status/resolved/networks", [earlier], name="wide", subresource="status")
    locations = {offer.location for offer in scene.provider.offerings(await scene.node_class("wide"))}
    assert locations == {"fsn1", "nbg1", "hel1"}
