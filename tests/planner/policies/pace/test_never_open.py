"""Budgets that never let a machine go for something that its pool asks for: told by a condition, in one line."""

from api.v1alpha1.removal_budget import BUDGET_REASONS
from planner.plan import plan
from planner.policies.pace.never_open import never_open
from tests.builders import NOW
from tests.planner.scenes import scene
from tests.tables import rows

DAY = {"nodes": 0, "start": "08:00", "end": "20:00"}
NIGHT = {"nodes": "0%", "start": "20:00", "end": "08:00"}
WORKDAYS = {"nodes": 0, "days": ["Mon", "Tue", "Wed", "Thu", "Fri"]}
WEEKEND = {"nodes": 0, "days": ["Sat", "Sun"]}
NO_CONSOLIDATION = {"nodes": 0, "reasons": ["Consolidation"]}
CONSOLIDATES = {"mode": "drain", "consolidate": {}}
ALL = "scaleDown.budgets let no machine go at any time: say scaleDown.mode: none for that, or pause the pool"
OF_CONSOLIDATION = (
    "scaleDown.consolidate has no effect: scaleDown.budgets let no machine go for that at any time; drop either"
)


def said(scale_down, **spec):
    (pool,) = scene(scaleDown=scale_down, **spec).snapshot().pools
    reason = never_open(pool, NOW)
    return reason and (reason.code, reason.message)


@rows(
    ("budgets", "expected"),
    {
        "day and night": ([DAY, NIGHT], ALL),
        "the days of the week": ([WORKDAYS, WEEKEND], ALL),
        "each reason by itself": ([{"nodes": 0, "reasons": [reason]} for reason in BUDGET_REASONS], ALL),
        "of a zone that changes its clocks": (
            [DAY | {"timezone": "Europe/Berlin"}, NIGHT | {"timezone": "Europe/Berlin"}],
            ALL,
        ),
        "for what is asked for": ([NO_CONSOLIDATION], OF_CONSOLIDATION),
        "for that and more, in windows": (
            [DAY | {"reasons": ["Drift", "Consolidation"]}, NIGHT | {"reasons": ["Consolidation"]}],
            OF_CONSOLIDATION,
        ),
        "beside one that lets some go": ([{"nodes": 1}, NO_CONSOLIDATION], OF_CONSOLIDATION),
        "an hour a week is open": ([WORKDAYS, WEEKEND | {"days": ["Sat"]}], None),
        "a minute is open": ([DAY, NIGHT | {"start": "20:01"}], None),
        "for what is not asked for": ([{"nodes": 0, "reasons": ["Rotation", "Repair", "Drift"]}], None),
        "a share of which little is left": ([{"nodes": "1%"}], None),
        "no budget": (None, None),
    },
)
def test_what_is_told_of_a_pool_that_consolidates(budgets, expected):
    told = said(CONSOLIDATES | ({} if budgets is None else {"budgets": budgets}))
    assert told == (None if expected is None else ("NeverOpen", expected))


def test_a_pool_that_does_not_consolidate_may_say_that_it_never_does():
    assert said({"mode": "empty", "consolidate": {}, "budgets": [NO_CONSOLIDATION]}) is None
    assert said({"mode": "drain", "budgets": [NO_CONSOLIDATION]}) is None


def test_rotation_and_repair_are_asked_for_too():
    repair = {"conditions": [{"type": "KernelDeadlock", "status": "True", "after": "10m"}]}
    budgets = [{"nodes": 0, "reasons": ["Rotation", "Repair"]}]
    code, message = said({"mode": "drain", "repair": repair, "budgets": budgets}, rotation={"maxNodeAge": "720h"})
    assert code == "NeverOpen"
    assert message == (
        "rotation and scaleDown.repair.conditions have no effect: "
        "scaleDown.budgets let no machine go for that at any time; drop either"
    )


def test_more_changes_than_are_looked_at_are_not_judged():
    times = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 30)]
    windows = [
        {"nodes": 0, "start": start, "end": end} for start, end in zip(times, times[1:] + times[:1], strict=True)
    ]
    assert said(CONSOLIDATES | {"budgets": windows}) is None


def test_it_is_a_condition_of_the_pool_and_an_event():
    made = plan(scene(scaleDown=CONSOLIDATES | {"budgets": [NO_CONSOLIDATION]}).snapshot())
    (condition,) = (each for each in made.pools[0].status.conditions if each.type == "BudgetsInvalid")
    assert (condition.status, condition.reason, condition.message) == ("True", "NeverOpen", OF_CONSOLIDATION)
    assert [(event.kind, event.name, event.reason) for event in made.events] == [("NodePool", "default", "NeverOpen")]
