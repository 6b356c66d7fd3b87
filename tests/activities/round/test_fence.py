"""The fence: one round writes at a time, whatever clocks, crashes and lost replies do."""

import asyncio
from datetime import timedelta

import pytest

from activities.ports.cluster import LEASES
from activities.ports.errors import Rejected, Unreachable
from activities.round.fence import HELD_FOR, NAME, WRITES_WITHIN, Fenced
from tests.activities.rounds import Crash, World


@pytest.fixture
def world():
    return World()


async def crashed_round(world):
    """Leave the fence held, as a killed worker does."""
    with pytest.raises(Crash):
        async with world.fence().held("dead"):
            raise Crash


async def test_the_lease_says_who_holds_it_and_for_how_long(world):
    async with world.fence().held("run-1/1"):
        spec = (await world.lease())["spec"]
        assert spec["holderIdentity"] == "run-1/1"
        assert spec["leaseDurationSeconds"] == 15
        assert spec["renewTime"] == "2026-11-01T12:00:00.000000Z"
    assert "holderIdentity" not in (await world.lease())["spec"]


async def test_a_released_fence_is_taken_at_once(world):
    async with world.fence().held("a"):
        pass
    before = world.now()
    async with world.fence().held("b") as hold:
        assert hold.can_write()
    assert world.now() == before


async def test_writes_may_begin_for_ten_seconds_from_before_the_take(world):
    patch = world.cluster.create

    async def slow(*args, **kwargs):
        world.pass_time(timedelta(seconds=3))
        return await patch(*args, **kwargs)

    world.cluster.create = slow
    async with world.fence().held("a") as hold:
        assert hold.time_left() == timedelta(seconds=7)
        world.pass_time(timedelta(seconds=6.999))
        assert hold.can_write()
        world.pass_time(timedelta(milliseconds=1))
        assert not hold.can_write()
        assert hold.time_left() == timedelta()


async def test_a_clock_that_went_back_ends_the_writing(world):
    async with world.fence().held("a") as hold:
        world.pass_time(timedelta(seconds=-1))
        assert not hold.can_write()


async def test_a_waiter_whose_clock_leaps_does_not_overtake(world):
    async with world.fence().held("alive") as alive:
        fence = world.fence()
        assert await fence._try("waiting") is None
        world.leap(timedelta(minutes=1))
        assert await fence._try("waiting") is None
        # The holder on the same machine cannot know whether it slept for that minute.
        assert not alive.can_write()


async def test_a_holder_whose_steady_clock_stood_still_while_it_slept_writes_no_more(world):
    async with world.fence().held("a") as hold:
        world.leap(WRITES_WITHIN)
        assert not hold.can_write()


def test_the_last_call_ends_before_anyone_else_may_take_over():
    # As docs/design.md#fence says; the client's time-out is 4 s.
    assert WRITES_WITHIN + timedelta(seconds=4) < HELD_FOR


async def test_after_a_crash_the_fence_is_taken_when_it_has_not_changed_for_15_seconds_of_the_waiters_clock(world):
    await crashed_round(world)
    # The holder's clock was wrong by a day: it plays no part.
    lease = await world.lease()
    await world.cluster.patch(
        LEASES,
        NAME,
        [{"op": "add", "path": "/spec/renewTime", "value": "2026-11-02T12:00:00.000000Z"}],
        namespace=lease["metadata"]["namespace"],
    )
    started = world.now()
    async with world.fence().held("next") as hold:
        waited = world.now() - started
        assert hold.can_write()
        assert (await world.lease())["spec"]["holderIdentity"] == "next"
    assert timedelta(seconds=15) <= waited <= timedelta(seconds=16)


async def test_waiting_goes_on_where_an_earlier_attempt_of_the_same_worker_left_it(world):
    await crashed_round(world)
    fence = world.fence()
    assert await fence._try("looking") is None
    world.pass_time(timedelta(seconds=14))
    started = world.now()
    async with fence.held("next"):
        assert world.now() - started <= timedelta(seconds=1.5)


async def test_a_holder_that_keeps_changing_the_lease_is_never_overtaken(world):
    async with world.fence().held("alive") as alive:

        async def sleep_while_the_other_works(seconds):
            await world.sleep(seconds)
            await alive.renew()

        fence = world.fence()
        fence._sleep = sleep_while_the_other_works
        with pytest.raises(Fenced, match="another round holds the fence growth-round in namespace growth-system"):
            async with fence.held("waiting"):
                pytest.fail("two rounds held the fence")
        assert alive.can_write()


async def test_who_waits_takes_over_soon_after_the_release(world):
    release = asyncio.Event()

    async def first():
        async with world.fence().held("first"):
            await release.wait()

    async def sleep(seconds):
        release.set()
        await world.sleep(seconds)

    holder = asyncio.create_task(first())
    await asyncio.sleep(0)
    fence = world.fence()
    fence._sleep = sleep
    started = world.now()
    async with fence.held("second"):
        assert world.now() - started <= timedelta(seconds=1)
    await holder


async def test_of_two_that_take_at_the_same_version_one_wins(world):
    async with world.fence().held("before"):
        pass
    get, both_have_read, readers = world.cluster.get, asyncio.Event(), []

    async def both_read_first(*args, **kwargs):
        lease = await get(*args, **kwargs)
        readers.append(lease)
        if len(readers) == 2:
            both_have_read.set()
        await both_have_read.wait()
        return lease

    world.cluster.get = both_read_first
    inside, most = [], 0

    async def one(name):
        nonlocal most
        async with world.fence().held(name):
            inside.append(name)
            most = max(most, len(inside))
            await asyncio.sleep(0)
            inside.remove(name)

    await asyncio.gather(one("a"), one("b"))
    assert readers[0] == readers[1]
    assert most == 1


async def test_renewing_begins_the_time_anew(world):
    async with world.fence().held("a") as hold:
        world.pass_time(timedelta(seconds=12))
        assert not hold.can_write()
        await hold.renew()
        assert hold.time_left() == WRITES_WITHIN
    assert "holderIdentity" not in (await world.lease())["spec"]


async def test_who_was_overtaken_cannot_renew_and_does_not_release_the_others_hold(world):
    async with world.fence().held("slow") as slow:
        world.pass_time(timedelta(seconds=20))
        await expire(world)
        await crashed_round(world)
        with pytest.raises(Fenced, match="taken by another round"):
            await slow.renew()
    assert (await world.lease())["spec"]["holderIdentity"] == "dead"


async def expire(world):
    """Free the fence, as the wait of another round does after a crash."""
    free = [{"op": "remove", "path": "/spec/holderIdentity"}]
    await world.cluster.patch(LEASES, NAME, free, namespace="growth-system")


async def test_after_an_unknown_outcome_the_fence_is_left_to_expire(world):
    async with world.fence().held("a") as hold:
        hold.keep()
    assert (await world.lease())["spec"]["holderIdentity"] == "a"


async def test_an_error_of_ours_releases_it_and_a_crash_does_not(world):
    with pytest.raises(Unreachable):
        async with world.fence().held("a"):
            raise Unreachable("the list had no answer")
    assert "holderIdentity" not in (await world.lease())["spec"]
    await crashed_round(world)
    assert (await world.lease())["spec"]["holderIdentity"] == "dead"


async def test_a_release_that_fails_does_not_fail_the_round(world, caplog):
    async with world.fence().held("a"):
        world.cluster.fail_with = Unreachable("no answer")
    assert "was not released and will expire" in caplog.text


async def test_a_lease_that_was_deleted_meanwhile_is_made_again(world):
    async with world.fence().held("a"):
        await world.cluster.delete(LEASES, NAME, namespace="growth-system")
    async with world.fence().held("b"):
        assert (await world.lease())["spec"]["holderIdentity"] == "b"


@pytest.mark.parametrize("error", [Unreachable("no answer"), Rejected("forbidden: leases")])
async def test_without_an_answer_nothing_is_held(world, error):
    world.cluster.fail_with = error
    with pytest.raises(type(error)):
        async with world.fence().held("a"):
            pytest.fail("not held")
