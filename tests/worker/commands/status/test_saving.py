"""What `growth status` says of savings: those of pools that do not consolidate, and of the next round."""

from planner.plan import plan
from tests.builders import node, pod
from tests.planner.consolidation.quiet_scenes import quiet
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.status.saving import savings


def half_empty(**scale_down):
    pods = [pod(f"x{n}", cpu="500m", node=n, owner="web") for n in "abcd"]
    return scene(*map(node, "abcd"), types=["cx22"], pods=pods, scaleDown=scale_down)


def test_what_a_pool_would_save_that_does_not_consolidate():
    # Four pods of half a core fit on one machine of two, so three go: 3 x 0.0066 an hour, 730 hours a month.
    (line,) = savings(sight(half_empty()))
    assert line == (
        "Consolidation would save 14.45 EUR a month: 3 machines of default would go, 3 pods would move; "
        "it needs scaleDown.mode: drain and scaleDown.consolidate."
    )


def test_a_full_cluster_is_not_spoken_of():
    full = scene(node("a"), types=["cx22"], pods=[pod("x", cpu="1500m", node="a", owner="web")])
    assert list(savings(sight(full))) == []


def test_what_the_next_round_saves():
    given = half_empty(mode="drain", consolidate={})
    (line,) = savings(sight(quiet(given)))
    # Of four machines a tenth goes at once, rounded up: one of 0.0066 an hour.
    (removal,) = plan(given.snapshot()).removals
    assert line == f"The next round begins to save 4.82 EUR a month: {removal.node}."
