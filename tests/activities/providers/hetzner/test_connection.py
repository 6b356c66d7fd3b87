"""How many calls are under way at a time."""

import asyncio

import pytest

from activities.ports.errors import RateLimited
from activities.providers.hetzner.api import connection
from activities.providers.hetzner.api.answer import ApiResponse
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.redaction import token_secret


class Slow:
    """Runs requests that end when a test says so."""

    def __init__(self):
        self.running = 0
        self.most = 0
        self.may_end = asyncio.Event()

    async def __call__(self, work):
        self.running += 1
        self.most = max(self.most, self.running)
        await self.may_end.wait()
        self.running -= 1
        return work()


def connected(slow):
    return connection.Connection(
        lambda method, path, **_: ApiResponse(body={}), token=token_secret("t" * 64), budget=CallBudget(), compute=slow
    )


async def test_no_more_than_five_calls_are_under_way():  # hetzner-k3s#39
    slow = Slow()
    calls = [asyncio.create_task(one) for one in _calls(connected(slow), 20)]
    await asyncio.sleep(0.05)
    assert slow.running == 5
    slow.may_end.set()
    await asyncio.gather(*calls)
    assert slow.most == 5


async def test_whoever_would_wait_long_is_sent_away_and_nothing_is_sent(monkeypatch):
    monkeypatch.setattr(connection, "_LONGEST_TURN_SECONDS", 0.05)
    slow = Slow()
    lent = connected(slow)
    calls = [asyncio.create_task(one) for one in _calls(lent, 5)]
    await asyncio.sleep(0.01)
    with pytest.raises(RateLimited, match="under way"):
        await lent.send("POST", "/servers")
    assert slow.most == 5
    slow.may_end.set()
    await asyncio.gather(*calls)
    assert (await lent.send("GET", "/servers")).body == {}


def _calls(lent, number):
    return [lent.send("GET", "/servers") for _ in range(number)]
