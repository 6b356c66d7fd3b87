"""Every activity executed twice, beside itself, and failing before it succeeds: the same world in the end."""

import pytest

from tests.chaos.play import all_of, play
from tests.chaos.rough import Failing, beside_itself, twice
from tests.chaos.stories import STORIES
from tests.chaos.table import by, keep, rows

ATTEMPTS = 3


async def repeated(service, stories, around):
    return await all_of(stories, lambda story: play(service, story, around.__name__, around=around))


@pytest.mark.timeout(240)
async def test_every_activity_may_be_executed_twice(service):
    ends = await repeated(service, STORIES, twice)
    assert not [str(end) for end in ends if end.wrong]


async def failing(service, stories, times, when):
    injected = {story.name: Failing(times, when) for story in stories}
    ends = await all_of(
        stories,
        lambda story: play(
            service, story, f"each activity fails {times} times, {when} its effects", around=injected[story.name]
        ),
    )
    assert all(one.failures for one in injected.values())
    return ends


@pytest.mark.timeout(240)
async def test_every_activity_may_fail_after_its_effects(service):
    ends = await failing(service, STORIES[:2], 1, "after")
    assert not [str(end) for end in ends if end.wrong]


@pytest.mark.chaos
@pytest.mark.timeout(1800)
async def test_every_activity_may_be_repeated_and_may_fail(service):
    named = [(f"executed {around.__name__}", around) for around in (twice, beside_itself)]
    ends = [(name, end) for name, around in named for end in await repeated(service, STORIES, around)]
    for times in range(1, ATTEMPTS + 1):
        for when in ("before", "after"):
            done = await failing(service, STORIES, times, when)
            ends += [(f"failing {times} times {when} their effects", end) for end in done]
    keep("rough activities", rows(by(ends), ("All activities", "Stories", "Outcome")))
    assert not [str(end) for _, end in ends if end.wrong]
