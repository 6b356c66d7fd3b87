import asyncio
from datetime import timedelta

import pytest

from simulator.clock import START, Stuck, VirtualClock, run


def test_a_day_passes_at_once_and_to_the_microsecond():
    clock = VirtualClock()

    async def main():
        await asyncio.sleep(86_400)
        await asyncio.sleep(0.000_001)

    run(main, clock)
    assert clock.now() == START + timedelta(days=1, microseconds=1)


def test_timers_fire_in_the_order_of_their_moments_and_equal_ones_in_the_order_they_were_set():
    clock = VirtualClock()
    seen = []

    async def note(name, seconds):
        await asyncio.sleep(seconds)
        seen.append((name, clock.seconds()))

    async def main():
        await asyncio.gather(note("late", 5), note("first", 1), note("second", 1), note("between", 3))

    run(main, clock)
    assert seen == [("first", 1.0), ("second", 1.0), ("between", 3.0), ("late", 5.0)]


def test_a_deadline_cuts_a_wait_at_its_moment():
    clock = VirtualClock()

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await asyncio.Event().wait()

    run(main, clock)
    assert clock.seconds() == 2.5


def test_a_wait_that_nothing_can_end_is_told():
    with pytest.raises(Stuck, match="nothing can ever happen"):
        run(lambda: asyncio.Event().wait(), VirtualClock())


def test_two_tasks_that_answer_each_other_for_ever_are_told():
    async def main():
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Stuck, match="no time has passed"):
        run(main, VirtualClock())


def test_time_does_not_go_back():
    with pytest.raises(ValueError, match="cannot go back"):
        VirtualClock().advance(-1)


def test_the_smallest_wait_makes_progress():
    clock = VirtualClock()
    clock.advance(1e-12)
    assert clock.now() == START + timedelta(microseconds=1)
