"""What the client reads of a project's catalogue and of what classes name, and what its token may do."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from activities.ports.errors import AuthenticationFailed
from activities.providers.hetzner.api.facts import LocationFacts, NamedFacts, NetworkFacts
from tests.activities.providers.hetzner.scenes import READ_ONLY, ClientScene


@pytest.fixture
def scene():
    return ClientScene()


async def test_the_catalogue_is_read_with_its_prices(scene):
    scene.cloud.publish_available("cx23", "nbg1", False)
    scene.cloud.remove_price("cx23", "hel1")
    types = {each.name: each for each in await scene.api.server_types()}
    cx23 = types["cx23"]
    assert (cx23.cores, cx23.memory_bytes, cx23.disk_bytes, cx23.architecture, cx23.dedicated) == (
        2,
        4 * 2**30,
        40 * 10**9,
        "amd64",
        False,
    )
    assert {
        place.location: (place.price_per_hour, place.price_per_month, place.available) for place in cx23.places
    } == {
        "fsn1": (Decimal("0.0088"), Decimal("5.49"), True),
        "nbg1": (Decimal("0.0088"), Decimal("5.49"), False),
        "hel1": (None, None, True),
    }
    assert types["cax11"].architecture == "arm64"
    assert types["ccx13"].dedicated
    prices = await scene.api.prices()
    assert (prices.currency, prices.ipv4["fsn1"]) == ("EUR", (Decimal("0.0008"), Decimal("0.5")))
    assert LocationFacts("sin", "ap-southeast") in await scene.api.locations()


async def test_a_withdrawn_type_says_from_when_on(scene):
    until = datetime(2026, 12, 1, tzinfo=UTC)
    scene.cloud.withdraw("cx23", "fsn1", until)
    (cx23,) = [each for each in await scene.api.server_types() if each.name == "cx23"]
    assert {place.location: place.unavailable_after for place in cx23.places} == {
        "fsn1": until,
        "nbg1": None,
        "hel1": None,
    }


async def test_images_are_found_by_name_selector_and_id(scene):
    (by_name,) = await scene.api.images(name="debian-12", architecture="amd64")
    assert (by_name.id, by_name.name, by_name.architecture) == (scene.image, "debian-12", "amd64")
    snapshot = scene.cloud.add_image(architecture="arm", description="golden", labels={"role": "worker"})
    (by_label,) = await scene.api.images(selector="role=worker", architecture="arm64")
    assert (by_label.id, by_label.name, by_label.is_available) == (snapshot, "golden", True)
    assert await scene.api.images(selector="role=worker", architecture="amd64") == []
    assert await scene.api.image(snapshot) == by_label
    assert await scene.api.image(77) is None


async def test_what_a_class_names_is_listed(scene):
    network, firewall, key = scene.cloud.add_network("n"), scene.cloud.add_firewall("f"), scene.cloud.add_ssh_key("k")
    assert await scene.api.networks() == [NetworkFacts(network, "n", (("10.0.1.0/24", "eu-central"),))]
    assert await scene.api.firewalls() == [NamedFacts(firewall, "f")]
    assert await scene.api.ssh_keys() == [NamedFacts(key, "k")]


async def test_a_token_that_may_write_is_found_out_in_one_call_that_changes_nothing(scene):
    await scene.boot(labels={"a": "b"})
    before = scene.cloud.count()
    await scene.api.check_writable()
    assert scene.cloud.count() - before == 1
    assert scene.servers()["a-1"].labels == {"a": "b"}
    with pytest.raises(AuthenticationFailed, match="make a token that may read and write"):
        await scene.client(READ_ONLY).check_writable()
    with pytest.raises(AuthenticationFailed, match="put a valid API token"):
        await scene.client("x" * 64).check_writable()


async def test_a_read_only_token_reads_and_does_not_write(scene):
    client = scene.client(READ_ONLY)
    assert await client.servers("a=b") == []
    with pytest.raises(AuthenticationFailed):
        await client.create_server(scene.creation())
