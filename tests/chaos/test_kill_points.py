"""The worker dies before and after every effect of every activity, and the world is right in the end."""

from random import Random

import pytest

from activities.registry import all_activities
from planner.lifecycle.arrival.effect import RequestEffect
from planner.lifecycle.clocks.deadlines import LATE
from tests.activities.lives import Life
from tests.chaos.hetzner_stage import HETZNER_STORIES, HetznerStage, quick_provider
from tests.chaos.play import all_of, kill_at, record
from tests.chaos.points import BESIDE, WHOLE, Point
from tests.chaos.stories import STORIES
from tests.chaos.table import by, keep, rows

SEED = 6
SAMPLE = 20
HETZNER_SAMPLE = 6
BY_NAME = {story.name: story for story in (*STORIES, *HETZNER_STORIES)}
DELAY = tuple((BY_NAME["is late"], Point(RequestEffect.TELL_DELAY, LATE, WHOLE, side)) for side in ("before", "after"))
"""Whoever tells of a delay has begun just now: sampled always, as few points are met so soon after an outage."""


def each_once(points):
    """Return every point once, in a story drawn by the seed from those that meet it."""
    pairs = [(name, point) for name in sorted(points) for point in sorted(points[name])]
    Random(SEED).shuffle(pairs)
    return list({point: (BY_NAME[name], point) for name, point in pairs}.values())


@pytest.fixture
async def hetzner_points(service):
    """The points that stories with Hetzner's servers meet, with the provider as quick as the rest."""
    with quick_provider():
        yield await record(service, HETZNER_STORIES, at=HetznerStage)


def calls_of(points):
    """Return what workers asked Hetzner's API for, apart from looks."""
    return {point.effect.rsplit(" ", 1)[0] for of in points.values() for point in of if "servers" in point.effect}


@pytest.mark.timeout(240)
async def test_each_activity_is_met_and_a_worker_may_die_at_sampled_points(service, points):
    met = {point.activity for of in points.values() for point in of}
    names = {one.__name__ for one in all_activities(Life().ports)}
    assert met >= names, f"no story meets {sorted(names - met)}: add one to tests/chaos/stories.py"
    assert met - names == {BESIDE}
    sample = Random(SEED).sample(each_once(points), SAMPLE)
    ends = await all_of([*DELAY, *sample], lambda pair: kill_at(service, *pair))
    assert not [str(end) for end in ends if end.wrong]
    # In their story, the first worker is away on purpose.
    assert [end.met and end.lives > 2 for end in ends[: len(DELAY)]] == [True, True]
    assert sum(end.met and end.lives > 1 for end in ends[len(DELAY) :]) >= SAMPLE - 2


@pytest.mark.chaos
@pytest.mark.timeout(3600)
async def test_a_worker_killed_at_any_point_leaves_the_right_world(service, points):
    pairs = each_once(points)
    ends = await all_of(pairs, lambda pair: kill_at(service, *pair))
    named = [(point.activity, end) for (_, point), end in zip(pairs, ends, strict=True)]
    keep("kill points", rows(by(named), ("Activity", "Kill points", "Outcome")))
    assert not [str(end) for end in ends if end.wrong]
    assert sum(end.met and end.lives > 1 for end in ends) >= 0.97 * len(ends)


@pytest.mark.timeout(240)
async def test_a_worker_may_die_between_calls_to_hetzner(service, hetzner_points):
    assert calls_of(hetzner_points) >= {
        "post servers",
        "post servers actions attach_to_network",
        "post servers actions poweron",
        "delete servers",
    }
    about = [(story, point) for story, point in each_once(hetzner_points) if "server" in point.effect]
    sample = Random(SEED).sample(about, HETZNER_SAMPLE)
    ends = await all_of(sample, lambda pair: kill_at(service, *pair, at=HetznerStage))
    assert not [str(end) for end in ends if end.wrong]
    assert sum(end.met and end.lives > 1 for end in ends) >= HETZNER_SAMPLE - 2


@pytest.mark.chaos
@pytest.mark.timeout(3600)
async def test_a_worker_killed_at_any_point_leaves_the_right_world_with_hetzner(service, hetzner_points):
    pairs = each_once(hetzner_points)
    ends = await all_of(pairs, lambda pair: kill_at(service, *pair, at=HetznerStage))
    named = [(point.activity, end) for (_, point), end in zip(pairs, ends, strict=True)]
    keep("kill points with Hetzner", rows(by(named), ("Activity", "Kill points", "Outcome")))
    assert not [str(end) for end in ends if end.wrong]
    assert sum(end.met and end.lives > 1 for end in ends) >= 0.95 * len(ends)
