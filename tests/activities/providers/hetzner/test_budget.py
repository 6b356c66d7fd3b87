"""The bucket of calls, on a clock that only a sleep or the test moves."""

import asyncio
import heapq
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.ports.errors import RateLimited
from activities.providers.hetzner.api.budget import CallBudget
from tests.searching import searching


class Clock:
    """A clock that jumps to the next sleeper when nobody else has anything to do."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._count = 0

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        wake = asyncio.Event()
        heapq.heappush(self._sleepers, (self.seconds + seconds, self._count, wake))
        await wake.wait()

    async def pass_until(self, moment: float) -> None:
        """Let everything happen that is due until then."""
        await settle()
        while self._sleepers and self._sleepers[0][0] <= moment:
            at, _, wake = heapq.heappop(self._sleepers)
            self.seconds = max(self.seconds, at)
            wake.set()
            await settle()
        self.seconds = max(self.seconds, moment)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def budget_on(clock: Clock, **given) -> CallBudget:
    return CallBudget(now=clock, sleep=clock.sleep, **given)


async def drained(clock: Clock, **given) -> CallBudget:
    """Return a budget of which every token is spent."""
    budget = budget_on(clock, **given)
    for _ in range(given.get("burst", 60)):
        await budget.spend()
    return budget


class Spending:
    """Calls in the background, and when each was let through."""

    def __init__(self, clock: Clock, budget: CallBudget) -> None:
        self._clock = clock
        self._budget = budget
        self._tasks: list[asyncio.Task[None]] = []
        self.let_through: list[tuple[str, float]] = []
        self.refused: list[str] = []

    def begin(self, name: str, *, first: bool = False) -> asyncio.Task[None]:
        task = asyncio.create_task(self._one(name, first=first))
        self._tasks.append(task)
        return task

    async def _one(self, name: str, *, first: bool) -> None:
        try:
            await self._budget.spend(first=first)
        except RateLimited:
            self.refused.append(name)
        else:
            self.let_through.append((name, self._clock() - 1_000.0))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task


async def test_a_burst_passes_at_once_and_the_rest_at_the_rate():
    clock = Clock()
    spending = Spending(clock, budget_on(clock, burst=3, per_second=0.5))
    for number in range(5):
        spending.begin(str(number))
    await clock.pass_until(1_010.0)
    assert [name for name, _ in spending.let_through] == ["0", "1", "2", "3", "4"]
    assert [at for _, at in spending.let_through] == pytest.approx([0, 0, 0, 2, 4])


async def test_deletions_go_before_those_who_waited_longer_and_each_kind_in_its_order():
    clock = Clock()
    spending = Spending(clock, await drained(clock, burst=2, per_second=1.0))
    spending.begin("read 1")
    spending.begin("read 2")
    await clock.pass_until(1_000.5)
    spending.begin("delete 1", first=True)
    spending.begin("delete 2", first=True)
    await clock.pass_until(1_010.0)
    assert [name for name, _ in spending.let_through] == ["delete 1", "delete 2", "read 1", "read 2"]
    assert [at for _, at in spending.let_through] == pytest.approx([1, 2, 3, 4])


async def test_who_would_wait_too_long_is_sent_away_at_once_and_told_when_to_come_back():
    clock = Clock()
    budget = await drained(clock, burst=2, per_second=0.9)
    spending = Spending(clock, budget)
    for number in range(4):
        spending.begin(str(number))
    await settle()
    with pytest.raises(RateLimited) as refused:
        await budget.spend()
    assert clock() == 1_000.0
    assert refused.value.retry_after_seconds == pytest.approx(5 / 0.9)
    assert str(refused.value) == "Growth has used up its calls to this project of Hetzner for now: more in 6 s"
    await clock.pass_until(1_010.0)
    assert [name for name, _ in spending.let_through] == ["0", "1", "2", "3"]


async def test_an_ordinary_call_that_deletions_overtake_for_too_long_is_sent_away_in_the_end():
    clock = Clock()
    spending = Spending(clock, await drained(clock, burst=1, per_second=1.0))
    spending.begin("read")
    for number in range(5):
        spending.begin(f"delete {number}", first=True)
    await clock.pass_until(1_020.0)
    assert spending.refused == ["read"]
    assert len(spending.let_through) == 5


async def test_a_clock_that_stands_still_makes_nobody_wait_for_ever():
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    budget = CallBudget(now=lambda: 7.0, sleep=sleep, burst=1, per_second=0.5)
    await budget.spend()
    with pytest.raises(RateLimited):
        await budget.spend()
    assert sum(slept) <= 5.0


async def test_who_is_cancelled_leaves_the_place_to_the_next():
    clock = Clock()
    spending = Spending(clock, await drained(clock, burst=1, per_second=1.0))
    given_up = spending.begin("given up")
    spending.begin("next")
    await clock.pass_until(1_000.5)
    given_up.cancel()
    await clock.pass_until(1_003.0)
    assert [name for name, _ in spending.let_through] == ["next"]
    await spending.stop()


async def test_nothing_is_spent_in_a_short_pause():
    clock = Clock()
    budget = budget_on(clock)
    budget.pause(4.0)
    budget.pause(1.0)
    spending = Spending(clock, budget)
    spending.begin("read")
    spending.begin("delete", first=True)
    await clock.pass_until(1_003.9)
    assert spending.let_through == []
    await clock.pass_until(1_004.0)
    assert [at for _, at in spending.let_through] == pytest.approx([4, 4])


async def test_a_long_pause_sends_everybody_away_until_it_is_over():
    clock = Clock()
    budget = budget_on(clock)
    budget.pause(30.0)
    with pytest.raises(RateLimited) as refused:
        await budget.spend(first=True)
    assert refused.value.retry_after_seconds == pytest.approx(30.0)
    await clock.pass_until(1_030.0)
    await budget.spend()


async def test_a_pause_reaches_those_who_wait_already():
    clock = Clock()
    budget = await drained(clock, burst=1, per_second=1.0)
    spending = Spending(clock, budget)
    spending.begin("read")
    await clock.pass_until(1_000.5)
    budget.pause(60.0)
    await clock.pass_until(1_002.0)
    assert spending.refused == ["read"]
    assert spending.let_through == []


async def test_hetzners_count_is_believed_when_it_is_smaller_and_never_when_it_is_larger():
    clock = Clock()
    budget = budget_on(clock, burst=60, per_second=0.1)
    budget.observe(2)
    budget.observe(3600)
    await budget.spend()
    await budget.spend()
    with pytest.raises(RateLimited):
        await budget.spend()


async def test_a_project_with_a_smaller_limit_is_refilled_more_slowly_and_one_with_a_larger_not_faster():
    clock = Clock()
    for limit, retry_after_seconds in ((360, 10.0), (36_000, 1 / 0.9), (3600, 1 / 0.9)):
        budget = await drained(clock, burst=1, longest_wait_seconds=0.5)
        budget.observe(0, limit)
        with pytest.raises(RateLimited) as refused:
            await budget.spend()
        assert refused.value.retry_after_seconds == pytest.approx(retry_after_seconds)


steps = st.lists(
    st.tuples(st.floats(0.0, 7.0), st.sampled_from(["spend", "delete", "pause", "observe"]), st.integers(0, 12)),
    min_size=5,
    max_size=60,
)


@searching(150)
@given(steps)
def test_in_no_window_are_more_spent_than_the_burst_and_what_came_back(course):
    burst, per_second = 5, 0.9

    async def play() -> list[float]:
        clock = Clock()
        budget = budget_on(clock, burst=burst, per_second=per_second)
        spending = Spending(clock, budget)
        for pause, step, number in course:
            await clock.pass_until(clock() + pause)
            match step:
                case "pause":
                    budget.pause(number / 4)
                case "observe":
                    budget.observe(number)
                case _:
                    for _ in range(number):
                        spending.begin(step, first=step == "delete")
        await clock.pass_until(clock() + 60)
        asked = sum(number for _, step, number in course if step in {"spend", "delete"})
        assert len(spending.let_through) + len(spending.refused) == asked
        return [at for _, at in spending.let_through]

    spent = asyncio.run(play())
    for start in range(len(spent)):
        for end in range(start, len(spent)):
            assert end - start + 1 <= burst + per_second * (spent[end] - spent[start]) + 1e-4


async def test_a_token_of_a_call_that_was_not_made_comes_back_once():
    budget = await drained(Clock(), burst=1, longest_wait_seconds=0.0)
    budget.give_back()
    budget.give_back()
    await budget.spend()
    with pytest.raises(RateLimited):
        await budget.spend()
