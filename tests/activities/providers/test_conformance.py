"""What every provider must do, whatever its cloud, on those that are built in."""

from datetime import timedelta
from decimal import Decimal
from inspect import isawaitable

import pytest

from activities.providers.kinds import provider_kinds
from activities.providers.kwok.provider import KwokProvider
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class
from simulator.conformance.provider import CHECKS, CLUSTER, Stage
from tests.activities.providers.hetzner.yard import CLUSTER as HETZNER_CLUSTER
from tests.activities.providers.hetzner.yard import START, Yard, hetzner_class


def passing(clock):
    def pass_time(seconds):
        clock[0] += timedelta(seconds=seconds)

    return pass_time


def kwok():
    clock = [START]
    offered = node_class(
        [machine("small", cpu=2, memory=4, price="0.0106", locations=["fsn1", {"name": "nbg1", "available": False}])]
    )
    provider = KwokProvider(MemoryCluster(lambda: clock[0]), "growth-system", lambda: clock[0])
    return Stage(provider, offered, "small", "fsn1", "nbg1", Decimal("0.0106"), "EUR", passing(clock))


async def hetzner():
    assert HETZNER_CLUSTER == CLUSTER
    yard = Yard()
    yard.cloud.withdraw("cx23", "nbg1", START)
    await yard.open(hetzner_class(locations=["fsn1", "nbg1"]))
    # 0.0088 for the server and 0.0008 for its IPv4 address: `simulator.hetzner.project.price_list`.
    price = Decimal("0.0096")
    return Stage(yard.provider, await yard.node_class(), "cx23", "fsn1", "nbg1", price, "EUR", passing(yard.clock))


@pytest.mark.parametrize("make", [kwok, hetzner])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_a_provider_conforms(check, make):
    made = make()
    await check(await made if isawaitable(made) else made)


@pytest.mark.parametrize("make", [kwok, hetzner])
async def test_it_reads_the_classes_of_its_registered_kind(make):
    made = make()
    provider = (await made if isawaitable(made) else made).provider
    (registered,) = [kind for kind in provider_kinds() if kind.kind == provider.node_classes.kind]
    assert registered.node_classes == provider.node_classes
    assert provider.node_classes.kind.endswith("NodeClass")
