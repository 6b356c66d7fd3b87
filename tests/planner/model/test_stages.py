"""Who watches a round is told of its stages, and the plan is the same."""

from contextlib import contextmanager

import pytest

from planner.model.stages import STAGES, Stopwatch
from planner.plan import plan
from tests.builders import pod
from tests.planner.scenes import scene


def test_each_stage_is_told_with_what_runs_within_it():
    told = []

    @contextmanager
    def watched(stage):
        told.append(("begins", stage))
        yield
        told.append(("ends", stage))

    given = scene(pod("a"))
    made = plan(given.snapshot(), stages=watched)
    assert made == plan(given.snapshot())
    assert [stage for what, stage in told if what == "begins"] == [
        "read",
        "assemble",
        "check",
        "assemble",
        "pack",
        "decide",
        "decide",
    ]
    inside = told[told.index(("begins", "check")) + 1 : told.index(("ends", "check"))]
    assert {stage for _, stage in inside} == {"assemble", "pack"}
    assert {stage for _, stage in told} == set(STAGES)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_seconds_are_added_up_and_never_counted_twice():
    clock = Clock()
    watch = Stopwatch(clock)
    with watch("read"):
        clock.now += 1
    clock.now += 50
    with watch("check"):
        clock.now += 2
        with watch("assemble"):
            clock.now += 0.25
        with watch("pack"):
            clock.now += 4
        clock.now += 8
        with watch("assemble"):
            clock.now += 0.25
    assert watch.seconds == {"read": 1, "assemble": 0.5, "pack": 4, "check": 10}
    assert list(watch.seconds) == ["read", "assemble", "pack", "check"]
    assert watch.summary == "15.500 s: read 1.000, assemble 0.500, pack 4.000, check 10.000"


def test_a_stage_that_fails_ends():
    clock = Clock()
    watch = Stopwatch(clock)

    def break_off() -> None:
        with watch("pack"):
            clock.now += 3
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        break_off()
    clock.now += 3
    assert watch.seconds == {"pack": 3}


def test_before_anything_ran_there_is_nothing():
    assert Stopwatch(Clock()).seconds == {}
