"""Who watches a round is told of its stages, and the plan is the same."""

from contextlib import contextmanager

from planner.model.stages import STAGES
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
