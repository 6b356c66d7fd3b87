"""What every provider must do, whatever its cloud. A new provider adds a factory here and passes as it is."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from inspect import isawaitable
from typing import Any

import pytest

from activities.ports.errors import InvalidConfiguration, NotFound
from activities.ports.provider import Provider, ServerState
from activities.providers.kwok.provider import KwokProvider
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class
from tests.activities.providers.hetzner.yard import LABELS, ORDER, START, Yard, hetzner_class


@dataclass
class Cloud:
    """A provider and what a test must know of its cloud."""

    provider: Provider
    node_class: dict[str, Any]
    """Offers the server type in fsn1, and in nbg1, where it cannot be had."""
    clock: list[datetime]
    server_type: str
    price: Decimal
    """In EUR, in fsn1."""

    def pass_time(self, seconds):
        self.clock[0] += timedelta(seconds=seconds)


def kwok():
    clock = [START]
    offered = node_class(
        [machine("small", cpu=2, memory=4, price="0.0106", locations=["fsn1", {"name": "nbg1", "available": False}])]
    )
    provider = KwokProvider(MemoryCluster(lambda: clock[0]), "growth-system", lambda: clock[0])
    return Cloud(provider, offered, clock, "small", Decimal("0.0106"))


async def hetzner():
    yard = Yard()
    yard.cloud.withdraw("cx23", "nbg1", START)
    await yard.open(hetzner_class(locations=["fsn1", "nbg1"]))
    # 0.0088 for the server and 0.0008 for its IPv4 address: `simulator.hetzner.project.price_list`.
    return Cloud(yard.provider, await yard.node_class(), yard.clock, "cx23", Decimal("0.0096"))


@pytest.fixture(params=[kwok, hetzner])
async def cloud(request):
    made = request.param()
    return await made if isawaitable(made) else made


async def create(cloud, **changes):
    order = replace(ORDER, server_type=cloud.server_type)
    return await cloud.provider.create(cloud.node_class, replace(order, **changes))


async def create_and_boot(cloud):
    """A cloud may refuse to change a server while it is being made."""
    await create(cloud)
    cloud.pass_time(60)


def test_it_names_the_kind_of_its_class(cloud):
    assert cloud.provider.node_classes.kind.endswith("NodeClass")


def test_offerings_are_complete_priced_and_exact(cloud):
    all_of_them = cloud.provider.offerings(cloud.node_class)
    offerings = {o.location: o for o in all_of_them if o.server_type == cloud.server_type}
    assert set(offerings) == {"fsn1", "nbg1"}
    offering = offerings["fsn1"]
    assert (offering.price_per_hour, offering.currency) == (cloud.price, "EUR")
    assert {"cpu", "memory", "pods"} <= set(offering.allocatable)
    assert all(isinstance(amount, int) for amount in offering.allocatable.values())
    assert {"kubernetes.io/arch", "node.kubernetes.io/instance-type", "topology.kubernetes.io/region"} <= set(
        offering.labels
    )
    assert offering.available
    assert not offerings["nbg1"].available, "what cannot be had is told, not left out"


def test_a_class_that_cannot_be_read_is_a_configuration_error(cloud):
    with pytest.raises(InvalidConfiguration, match="spec"):
        cloud.provider.offerings({**cloud.node_class, "spec": {}})


async def test_a_server_is_created_and_found_under_its_name(cloud):
    created = await create(cloud)
    assert (created.name, created.server_type, created.location) == ("default-a1", cloud.server_type, "fsn1")
    assert created.state in {ServerState.CREATING, ServerState.RUNNING}
    assert created.provider_id
    assert LABELS.items() <= created.labels.items()
    assert await cloud.provider.get("default-a1") == created


async def test_the_name_is_the_key_of_a_repeated_call(cloud):
    created = await create(cloud)
    again = await create(cloud, labels={**LABELS, "growth.dev/request-uid": "another"})
    assert again.provider_id == created.provider_id
    assert again.labels["growth.dev/request-uid"] == "0f", "as it is, so that the caller sees whose it is"
    assert len(await cloud.provider.list("one")) == 1


async def test_a_server_runs_after_its_boot(cloud):
    await create(cloud)
    cloud.pass_time(600)
    assert (await cloud.provider.get("default-a1")).state is ServerState.RUNNING


async def test_a_name_without_a_server_is_not_found(cloud):
    with pytest.raises(NotFound):
        await cloud.provider.get("default-a1")


async def test_servers_are_listed_by_cluster(cloud):
    await create(cloud)
    await create(cloud, name="default-b2", labels={**LABELS, "growth.dev/cluster": "two"})
    assert [server.name for server in await cloud.provider.list("one")] == ["default-a1"]


async def test_deletion_is_idempotent_and_ends_in_not_found(cloud):
    await create_and_boot(cloud)
    await cloud.provider.delete("default-a1")
    await cloud.provider.delete("default-a1")
    cloud.pass_time(600)
    with pytest.raises(NotFound):
        await cloud.provider.get("default-a1")


async def test_what_never_was_is_deleted_without_error(cloud):
    await cloud.provider.delete("default-a1")


async def test_a_deleted_name_may_be_used_again(cloud):
    await create_and_boot(cloud)
    await cloud.provider.delete("default-a1")
    cloud.pass_time(600)
    again = await create(cloud, labels={**LABELS, "growth.dev/request-uid": "1f"})
    assert again.labels["growth.dev/request-uid"] == "1f"


async def test_labels_are_added(cloud):
    await create_and_boot(cloud)
    await cloud.provider.label("default-a1", {"growth.dev/abandoned": "true"})
    labels = (await cloud.provider.get("default-a1")).labels
    assert {**LABELS, "growth.dev/abandoned": "true"}.items() <= labels.items()


async def test_labels_of_a_server_that_is_gone_are_not_found(cloud):
    with pytest.raises(NotFound):
        await cloud.provider.label("default-a1", {"growth.dev/abandoned": "true"})


@pytest.mark.parametrize("changes", [{"server_type": "huge"}, {"location": "moon"}])
async def test_what_is_not_offered_is_a_configuration_error_that_names_it(cloud, changes):
    with pytest.raises(InvalidConfiguration, match=next(iter(changes.values()))):
        await create(cloud, **changes)
    assert await cloud.provider.list("one") == []
