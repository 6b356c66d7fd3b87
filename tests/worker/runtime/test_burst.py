import asyncio

import pytest

from worker.runtime.watches import Bursts


class Inbox:
    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.at: list[float] = []

    async def send(self, receiver: str, reason: str) -> None:
        self.messages.append((receiver, reason))
        self.at.append(asyncio.get_running_loop().time())


@pytest.fixture
async def inbox():
    return Inbox()


async def test_a_burst_is_one_message_after_it_went_quiet(inbox):
    bursts = Bursts(inbox.send, quiet=0.05, longest=1)
    began = asyncio.get_running_loop().time()
    for _ in range(3):
        bursts.add("planner", "pod unschedulable")
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.1)
    assert inbox.messages == [("planner", "pod unschedulable and 2 more")]
    assert inbox.at[0] - began >= 0.04 + 0.05


async def test_what_goes_on_and_on_is_told_in_between(inbox):
    bursts = Bursts(inbox.send, quiet=0.05, longest=0.12)
    began = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() - began < 0.3:
        bursts.add("planner", "pod unschedulable")
        await asyncio.sleep(0.01)
    assert len(inbox.messages) >= 2
    assert inbox.at[0] - began < 0.12 + 0.05


async def test_receivers_do_not_wait_for_each_other(inbox):
    bursts = Bursts(inbox.send, quiet=0.03, longest=1)
    bursts.add("a", "one")
    bursts.add("b", "two")
    bursts.add("a", "three")
    await asyncio.sleep(0.08)
    assert sorted(inbox.messages) == [("a", "one, three"), ("b", "two")]


async def test_a_change_after_the_message_is_a_new_burst(inbox):
    bursts = Bursts(inbox.send, quiet=0.02, longest=1)
    bursts.add("a", "one")
    await asyncio.sleep(0.05)
    bursts.add("a", "two")
    await asyncio.sleep(0.05)
    assert inbox.messages == [("a", "one"), ("a", "two")]


async def test_nothing_is_sent_after_close(inbox):
    bursts = Bursts(inbox.send, quiet=0.02, longest=1)
    bursts.add("a", "one")
    await bursts.close()
    await asyncio.sleep(0.05)
    assert inbox.messages == []
