"""Streams: what they are drawn from, and what a moment of one wants."""

from collections import Counter
from statistics import fmean

from benchmarks.churn.stream import DAY, GRID, draw


def test_a_seed_gives_the_same_stream():
    assert draw(1, days=2) == draw(1, days=2)
    assert draw(1, days=2) != draw(2, days=2)


def test_a_day_has_the_load_of_a_day():
    for seed in range(5):
        stream = draw(seed, days=2)
        loads = [sum(stream.wanted(hour * 3600)) for hour in range(48)]
        # More at two in the afternoon than at two in the night, on both days alike.
        assert loads[14] > 1.4 * loads[2] > 0
        assert 0.8 < loads[38] / loads[14] < 1.25
        assert 200 < max(loads) < 1000


def test_workloads_have_what_makes_moves_hard():
    workloads = [one for seed in range(10) for one in draw(seed, days=1).workloads]
    deployments = [one for one in workloads if not one.is_job]
    assert 0.4 < fmean(one.has_empty_dir for one in deployments) < 0.6
    blocked = [not one.lets_go(at) for one in deployments if one.has_budget for at in range(0, DAY, 3600)]
    assert 0.3 < fmean(blocked) < 0.36
    assert fmean(one.zone_skew is not None for one in deployments) > 0.1
    assert fmean(one.host_skew is not None for one in deployments) > 0.08


def test_changes_are_on_the_grid_and_in_order():
    stream = draw(4, days=3)
    assert list(stream.changes) == sorted(stream.changes)
    assert all(change.at % GRID == 0 for change in stream.changes)
    kinds = Counter("rollout" if c.rollout else "job" if c.job else "scale" for c in stream.changes)
    assert kinds["rollout"] > 30
    assert kinds["job"] > 100
    assert kinds["scale"] > 1000
    assert all(one.begin < one.end for one in stream.sold_out)


def test_a_steady_stream_has_one_moment():
    stream = draw(4, days=7, is_steady=True)
    assert {change.at for change in stream.changes} == {0}
    assert stream.sold_out == ()
    assert stream.wanted(0) == stream.wanted(6 * DAY)
