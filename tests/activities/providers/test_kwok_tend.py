"""When simulated servers are looked at between calls: when one is due, and now and then for what nobody has told."""

import pytest

from activities.ports.cluster import CONFIG_MAPS
from activities.ports.errors import Unreachable
from activities.providers.kwok.provider import KwokProvider
from tests.activities.providers.clouds import NAME, SPACE, START

PASS_EVERY = 20
JOIN_FAULT = {"call": "join", "error": "transient"}


@pytest.fixture
def tended(cloud):
    """The provider, by the clock of its cloud."""

    def elapsed():
        return (cloud.now() - START).total_seconds()

    cloud.provider = KwokProvider(cloud.cluster, SPACE, cloud.now, elapsed)
    return cloud


async def lists_within(cloud, seconds, every=0.5):
    """Tend it for so long as the worker does, and return how often it has listed its servers."""
    before = cloud.cluster.reads.count(CONFIG_MAPS.plural)
    for _ in range(int(seconds / every)):
        await cloud.provider.tend()
        cloud.pass_time(every)
    return cloud.cluster.reads.count(CONFIG_MAPS.plural) - before


async def created_by_another(cloud):
    """Let another worker make a server after this one has looked."""
    await lists_within(cloud, 1)
    own, cloud.provider = cloud.provider, KwokProvider(cloud.cluster, SPACE, cloud.now)
    await cloud.create()
    cloud.provider = own


async def test_servers_that_run_are_listed_three_times_a_minute(tended):
    await tended.create()
    await lists_within(tended, 30)
    assert await tended.nodes() == [NAME]
    assert await lists_within(tended, 600) == 600 / PASS_EVERY


async def test_a_server_joins_when_its_boot_ends_without_a_list_before(tended):
    assert await lists_within(tended, 3) == 1
    await tended.create()
    # It boots for 10 s.
    assert await lists_within(tended, 10) == 0
    assert await lists_within(tended, 0.5) == 1
    assert await tended.nodes() == [NAME]


async def test_a_server_of_a_worker_that_died_joins_when_the_next_pass_finds_it(tended):
    await created_by_another(tended)
    await lists_within(tended, PASS_EVERY)
    assert await tended.nodes() == [NAME]


async def test_a_server_that_was_made_by_a_call_without_an_answer_is_noted_when_the_call_is_repeated(tended):
    await created_by_another(tended)
    await tended.create()
    await lists_within(tended, 10.5)
    assert await tended.nodes() == [NAME]


async def test_a_server_that_a_fault_holds_joins_soon_after_it_is_taken_off(tended):
    await tended.install(JOIN_FAULT)
    await tended.create()
    await lists_within(tended, 15)
    assert await tended.nodes() == []
    await tended.install()
    await lists_within(tended, 1)
    assert await tended.nodes() == [NAME]


async def test_a_pass_that_fails_is_made_again_at_once(tended):
    await tended.create()
    await lists_within(tended, 1)
    tended.pass_time(10)
    real = tended.cluster.list

    async def fail(resource, **selectors):
        raise Unreachable("no answer")

    tended.cluster.list = fail
    with pytest.raises(Unreachable):
        await tended.provider.tend()
    tended.cluster.list = real
    await tended.provider.tend()
    assert await tended.nodes() == [NAME]
