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
from tests.activities.providers.hetzner.scenes import CLUSTER as HETZNER_CLUSTER
from tests.activities.providers.hetzner.scenes import START, ProviderScene
from tests.builders import hetzner_node_class


def kwok():
    clock = [START]
    offered = node_class(
        [machine("small", cpu=2, memory=4, price="0.0106", locations=["fsn1", {"name": "nbg1", "available": False}])]
    )
    provider = KwokProvider(MemoryCluster(lambda: clock[0]), "growth-system", lambda: clock[0])

    def pass_time(seconds):
        clock[0] += timedelta(seconds=seconds)

    return Stage(provider, offered, "small", "fsn1", "nbg1", Decimal("0.0106"), "EUR", pass_time)


async def hetzner():
    assert HETZNER_CLUSTER == CLUSTER
    scene = ProviderScene()
    scene.cloud.withdraw("cx23", "nbg1", START)
    await scene.open(hetzner_node_class(locations=["fsn1", "nbg1"]))
    # 0.0088 for the server and 0.0008 for its IPv4 address: `simulator.hetzner.project.price_list`.
    price = Decimal("0.0096")
    return Stage(scene.provider, await scene.node_class(), "cx23", "fsn1", "nbg1", price, "EUR", scene.pass_time)


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
