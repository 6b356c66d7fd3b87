"""Paused pools: nothing is bought, no removal begins, and what is under way ends."""

from datetime import timedelta

import pytest

from api.v1alpha1.node_pool import NodePool, PoolPause
from planner.plan import plan
from tests.builders import NOW, before, node, node_pool, pod
from tests.planner.scenes import scene

WHY, UNTIL = "growth.dev/paused", "growth.dev/paused-until"


def paused(annotations=None, **spec):
    pool = node_pool(types=["cx22"], **spec)
    pool["metadata"]["annotations"] = annotations or {}
    return pool


def conditions(made):
    return {each.type: (each.status, each.reason) for report in made.pools for each in report.status.conditions}


@pytest.mark.parametrize(
    ("annotations", "spec", "pause"),
    [
        ({}, {}, None),
        ({}, {"paused": True}, PoolPause("spec.paused is true")),
        ({WHY: "maintenance"}, {}, PoolPause("maintenance")),
        ({WHY: ""}, {}, PoolPause()),
        ({WHY: "true"}, {}, PoolPause()),
        ({WHY: "False"}, {}, None),
        ({WHY: "False"}, {"paused": True}, PoolPause("spec.paused is true")),
        ({WHY: "a\nb"}, {}, PoolPause("a b")),
        ({UNTIL: "2099-01-01T00:00:00Z"}, {}, None),
        ({WHY: "x", UNTIL: (NOW + timedelta(hours=1)).isoformat()}, {}, PoolPause("x", NOW + timedelta(hours=1))),
        ({WHY: "x", UNTIL: NOW.isoformat()}, {}, None),
        ({WHY: "x", UNTIL: NOW.isoformat()}, {"paused": True}, PoolPause("x")),
    ],
)
def test_a_pool_is_paused_by_its_spec_or_by_an_annotation(annotations, spec, pause):
    assert NodePool.model_validate(paused(annotations, **spec)).pause_at(NOW) == pause


@pytest.mark.parametrize("until", ["tomorrow", "2026-01-31T18:00:00"])
def test_an_end_that_cannot_be_read_ends_nothing_and_is_told(until):
    pause = NodePool.model_validate(paused({WHY: "x", UNTIL: until})).pause_at(NOW)
    assert pause is not None
    assert pause.until is None
    assert f"growth.dev/paused-until is no time such as 2026-01-31T18:00:00Z, so it ends nothing: {until}" in pause.why


def test_nothing_is_bought_and_the_reason_is_told():
    given = scene(pod("a", "1"), pools=[paused({WHY: "the bill"}, limits={"min": 1, "max": 5})])
    made = plan(given.snapshot())
    assert made.requests == ()
    (unplaced,) = made.unplaced
    assert [(reason.code, reason.message) for reason in unplaced.reasons] == [
        ("PoolPaused", "pool default is paused, so it buys nothing and no removal begins: the bill")
    ]
    assert conditions(made) | {"AtMax": 0, "Blocked": 0} == {
        "Ready": ("False", "PoolPaused"),
        "Paused": ("True", "PoolPaused"),
        "AtMax": 0,
        "Blocked": 0,
    }


def test_pods_still_go_onto_the_machines_that_are_there():
    given = scene(pod("a", "1"), node("n"), pools=[paused({WHY: "the bill"})])
    assert [placed.node for placed in plan(given.snapshot()).placed] == ["n"]


def test_no_idle_machine_goes_until_the_pause_is_over_and_the_planner_wakes_then():
    until = NOW + timedelta(hours=1)
    idle = node("n", annotations={"growth.dev/idle-since": before(minutes=30)})
    given = scene(idle, pools=[paused({WHY: "x", UNTIL: until.isoformat()})])
    made = plan(given.snapshot())
    assert made.removals == ()
    assert made.wake_at == until
    given.now = until
    assert [removal.node for removal in plan(given.snapshot()).removals] == ["n"]
