"""What the client reads of a project's catalogue and of what classes name, and what its token may do."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from activities.ports.errors import AuthenticationFailed
from activities.providers.hetzner.api.facts import LocationFacts, NamedFacts, NetworkFacts
from tests.activities.providers.hetzner.clients import READ_ONLY, World


@pytest.fixture
def world():
    return World()


async def test_the_catalogue_is_read_with_its_prices(world):
    world.cloud.publish_available("cx23", "nbg1", False)
    world.cloud.remove_price("cx23", "hel1")
    types = {each.name: each for each in await world.client.server_types()}
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
    prices = await world.client.prices()
    assert (prices.currency, prices.ipv4["fsn1"]) == ("EUR", (Decimal("0.0008"), Decimal("0.5")))
    assert LocationFacts("sin", "ap-southeast") in await world.client.locations()


async def test_a_withdrawn_type_says_from_when_on(world):
    until = datetime(2026, 12, 1, tzinfo=UTC)
    world.cloud.withdraw("cx23", "fsn1", until)
    (cx23,) = [each for each in await world.client.server_types() if each.name == "cx23"]
    assert {place.location: place.unavailable_after for place in cx23.places} == {
        "fsn1": until,
        "nbg1": None,
        "hel1": None,
    }


async def test_images_are_found_by_name_selector_and_id(world):
    (by_name,) = await world.client.images(name="debian-12", architecture="amd64")
    assert (by_name.id, by_name.name, by_name.architecture) == (world.image, "debian-12", "amd64")
    snapshot = world.cloud.add_image(architecture="arm", description="golden", labels={"role": "worker"})
    (by_label,) = await world.client.images(selector="role=worker", architecture="arm64")
    assert (by_label.id, by_label.name, by_label.is_available) == (snapshot, "golden", True)
    assert await world.client.images(selector="role=worker", architecture="amd64") == []
    assert await world.client.image(snapshot) == by_label
    assert await world.client.image(77) is None


async def test_what_a_class_names_is_listed(world):
    network, firewall, key = world.cloud.add_network("n"), world.cloud.add_firewall("f"), world.cloud.add_ssh_key("k")
    assert await world.client.networks() == [NetworkFacts(network, "n", (("10.0.1.0/24", "eu-central"),))]
    assert await world.client.firewalls() == [NamedFacts(firewall, "f")]
    assert await world.client.ssh_keys() == [NamedFacts(key, "k")]


async def test_a_token_that_may_write_is_found_out_in_one_call_that_changes_nothing(world):
    await world.made(labels={"a": "b"})
    before = world.count()
    await world.client.check_writable()
    assert world.count() - before == 1
    assert world.labels("a-1") == {"a": "b"}
    with pytest.raises(AuthenticationFailed, match="make a token that may read and write"):
        await world.client_of(READ_ONLY).check_writable()
    with pytest.raises(AuthenticationFailed, match="put a valid API token"):
        await world.client_of("x" * 64).check_writable()


async def test_a_read_only_token_reads_and_does_not_write(world):
    client = world.client_of(READ_ONLY)
    assert await client.servers("a=b") == []
    with pytest.raises(AuthenticationFailed):
        await client.create_server(world.creation())
