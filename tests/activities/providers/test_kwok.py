"""What simulated servers do when they are called: scripted failures, stock, and answers as a cloud gives them."""

import asyncio
from dataclasses import replace

import pytest

from activities.ports.cluster import CONFIG_MAPS, NAMESPACES
from activities.ports.errors import (
    AuthenticationFailed,
    Conflict,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    Rejected,
    UnknownOutcome,
    Unreachable,
)
from tests.activities.providers.clouds import NAME, ORDER, SPACE


async def test_the_stock_is_what_exists_at_most(cloud):
    await cloud.install(locations=[{"name": "fsn1", "stock": 2}, "nbg1"])
    orders = [replace(ORDER, name=f"default-{n}") for n in range(5)]
    results = await asyncio.gather(
        *(cloud.provider.create(cloud.node_class, order) for order in orders), return_exceptions=True
    )
    assert [type(result) for result in results].count(InsufficientCapacity) == 3
    await cloud.create(name="elsewhere", location="nbg1")
    await cloud.provider.delete("default-0")
    assert (await cloud.create()).name == NAME


async def test_what_is_sold_out_is_refused(cloud):
    await cloud.install(locations=[{"name": "fsn1", "available": False}])
    with pytest.raises(InsufficientCapacity, match="small in fsn1"):
        await cloud.create()


ERRORS = {
    "capacity": InsufficientCapacity,
    "quota": QuotaExceeded,
    "transient": UnknownOutcome,
    "configuration": InvalidConfiguration,
    "authentication": AuthenticationFailed,
}


@pytest.mark.parametrize(("error", "raised"), ERRORS.items())
@pytest.mark.parametrize("call", ["create", "delete"])
async def test_a_scripted_failure_has_no_effect(cloud, call, error, raised):
    if call == "delete":
        await cloud.create()
    await cloud.install({"call": call, "error": error})
    for _ in range(3):
        with pytest.raises(raised, match="small in fsn1" if call == "create" else NAME):
            await (cloud.create() if call == "create" else cloud.provider.delete(NAME))
    assert len(await cloud.provider.list("one")) == (1 if call == "delete" else 0)


@pytest.mark.parametrize("fault", [{"serverType": "large"}, {"location": "nbg1"}, {"call": "delete"}])
async def test_a_fault_of_something_else_does_not_matter(cloud, fault):
    await cloud.install({"call": "create", **fault})
    assert (await cloud.create()).name == NAME


async def test_a_lost_reply_takes_effect(cloud):
    await cloud.install({"call": "create", "lostReply": True}, {"call": "delete", "lostReply": True})
    with pytest.raises(UnknownOutcome):
        await cloud.create()
    assert (await cloud.create()).name == NAME, "the repeated call finds it"
    with pytest.raises(UnknownOutcome):
        await cloud.provider.delete(NAME)
    with pytest.raises(NotFound):
        await cloud.provider.get(NAME)


async def test_failures_are_counted_by_server_over_restarts(cloud):
    await cloud.install({"call": "create", "times": 2}, {"call": "create", "error": "quota", "times": 1})
    for expected in (UnknownOutcome, UnknownOutcome, QuotaExceeded):
        with pytest.raises(expected):
            await cloud.create()
        cloud.restart()
    with pytest.raises(UnknownOutcome):
        await cloud.create(name="default-b2")
    assert (await cloud.create()).name == NAME


async def test_a_later_server_of_that_name_meets_the_faults_anew(cloud):
    await cloud.install({"call": "create", "times": 1})
    for _ in range(2):
        with pytest.raises(UnknownOutcome):
            await cloud.create()
        await cloud.create()
        await cloud.provider.delete(NAME)


async def test_many_servers_count_at_once(cloud):
    await cloud.install({"call": "create", "times": 1})
    for expected in (10, 0):
        results = await asyncio.gather(*(cloud.create(name=f"a-{n}") for n in range(10)), return_exceptions=True)
        assert [type(result) for result in results].count(UnknownOutcome) == expected


async def test_a_mended_class_heals_its_servers(cloud):
    """As an operator does it who lets a parked removal try again."""
    await cloud.create()
    await cloud.install({"call": "delete", "error": "authentication"})
    with pytest.raises(AuthenticationFailed):
        await cloud.provider.delete(NAME)
    await cloud.install()
    await cloud.provider.delete(NAME)
    assert await cloud.provider.list("one") == []


@pytest.fixture
def without_namespace(cloud):
    """ConfigMaps are refused until their namespace is made."""

    def missing(verb, resource, _):
        if (verb, resource) == ("create", CONFIG_MAPS) and not cloud.cluster._store.shelf(NAMESPACES).items:
            raise NotFound(f"namespaces {SPACE!r} not found")

    cloud.cluster.refuse = missing


async def test_the_namespace_is_made_when_it_is_missing(cloud, without_namespace):
    await cloud.create()
    assert (await cloud.cluster.get(NAMESPACES, SPACE))["metadata"]["name"] == SPACE


async def test_the_counters_make_the_namespace_too(cloud, without_namespace):
    await cloud.install({"call": "create", "times": 1})
    with pytest.raises(UnknownOutcome):
        await cloud.create()
    await cloud.create()


async def test_another_config_map_of_that_name_is_not_touched(cloud):
    other = {"metadata": {"name": NAME}, "data": {"key": "value"}}
    await cloud.cluster.create(CONFIG_MAPS, other, namespace=SPACE)
    with pytest.raises(InvalidConfiguration, match="no record"):
        await cloud.create()
    with pytest.raises(NotFound):
        await cloud.provider.get(NAME)
    await cloud.provider.delete(NAME)
    assert (await cloud.record())["data"] == {"key": "value"}


@pytest.mark.parametrize(
    ("error", "raised"),
    [(Unreachable("?"), UnknownOutcome), (Conflict("?"), UnknownOutcome), (Rejected("?"), InvalidConfiguration)],
    ids=lambda value: getattr(value, "reason", None),
)
async def test_the_api_servers_answers_become_a_clouds(cloud, error, raised):
    cloud.cluster.fail_with = error
    with pytest.raises(raised):
        await cloud.create()
