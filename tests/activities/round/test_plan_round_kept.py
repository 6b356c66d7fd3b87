"""What a machine costs and shall have for pods is kept on its request when the server is asked for."""

from dataclasses import replace
from decimal import Decimal

import pytest

from activities.ports.errors import UnknownOutcome
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.requests.as_planned import planned_fields
from api.model import read
from api.v1alpha1.node_request import NodeRequest
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, Life


async def asking():
    life = Life()
    life.cloud.boot_image = "114690387"
    await life.install()
    await life.add_request()
    return life


async def change_class(life, path, value):
    change = [{"op": "replace", "path": f"/spec/serverTypes/0{path}", "value": value}]
    await MemoryCluster.patch(life.cluster, KWOK_NODE_CLASSES, "default", change)


async def kept(life):
    status = (await life.request())["status"]
    return {key: status.get(key) for key in ("pricePerHour", "currency", "plannedAllocatable", "plannedImage")}


AS_LISTED = {
    "pricePerHour": "0.01",
    "currency": "EUR",
    "plannedAllocatable": {"cpu": "4000m", "memory": str(8 * 2**30), "pods": "110"},
    "plannedImage": "114690387",
}


async def test_the_create_call_keeps_price_room_and_image():
    life = await asking()
    await life.do("create_server")
    assert await kept(life) == AS_LISTED


async def test_they_are_there_before_the_call_is_made():
    life = await asking()
    before = []

    async def look():
        before.append(await kept(life))

    life.cloud.during["create"] = look
    await life.do("create_server")
    assert before == [AS_LISTED]


async def test_a_later_price_changes_nothing():
    life = await asking()
    await life.do("create_server")
    await change_class(life, "/pricePerHour", "0.0168")
    assert (await kept(life))["pricePerHour"] == "0.01"


async def test_another_create_call_is_at_the_price_of_its_moment():
    life = await asking()
    life.cloud.fail["create"] = UnknownOutcome("no answer")
    with pytest.raises(UnknownOutcome):
        await life.do("create_server")
    del life.cloud.fail["create"]
    await change_class(life, "/pricePerHour", "0.0168")
    await life.do("create_server")
    assert (await kept(life))["pricePerHour"] == "0.0168"
    assert list(life.cloud.servers) == [NAME]


@pytest.mark.parametrize(("path", "value"), [("/name", "cx99"), ("/pricePerHour", "cheap")], ids=["gone", "unreadable"])
async def test_without_an_offering_the_provider_is_asked_all_the_same(path, value):
    life = await asking()
    await change_class(life, path, value)
    await life.do("create_server")
    assert await kept(life) == dict.fromkeys(AS_LISTED)
    assert "create" in life.cloud.calls


async def test_a_price_with_more_digits_than_the_definition_takes_is_rounded():
    life = await asking()
    month = Decimal("8.49")

    class Divided(type(life.cloud)):
        def offerings(self, node_class):
            return tuple(replace(o, price_per_hour=month / 730) for o in super().offerings(node_class))

    ports = replace(life.ports, providers={"KwokNodeClass": Divided(life.now)})
    node_class = await life.find(KWOK_NODE_CLASSES, "default")
    request = read(NodeRequest, await life.request())
    written = planned_fields(ports, node_class, request.spec)["price_per_hour"]
    assert written == Decimal("0.011630137")
