"""What a pool would save that does not consolidate: looked at seldom, in quiet rounds, and told by a condition."""

from decimal import Decimal

import pytest

from planner.consolidation import forgone as looking
from planner.model.saving import PoolPotential
from planner.plan import plan
from tests.builders import NOW, after, before, node, node_pool, node_request, pod
from tests.planner.consolidation.quiet_scenes import CONSOLIDATES, quiet
from tests.planner.scenes import scene

SAVES = (
    "Consolidation would save 14.45 EUR a month, 75 % of its price: 3 machines would go, 3 pods would move; "
    "it needs scaleDown.mode: drain and scaleDown.consolidate"
)
"""Four pods of half a core fit on one machine of two, so three of four go: 3 x 0.0066 an hour, 730 hours a month."""


def half_empty(*others, status=None, **scale_down):
    pods = [pod(f"x{n}", cpu="500m", node=n, owner="web") for n in "abcd"]
    given = scene(*map(node, "abcd"), *others, types=["cx22"], pods=pods, scaleDown=scale_down)
    given.pools[0]["status"] = status or {}
    return given


def condition(pool_report):
    found = {each.type: each for each in pool_report.status.conditions}.get("SavingForgone")
    return found and (found.status, found.reason, found.message)


def reported(given):
    (report,) = plan(given.snapshot()).pools
    return report


def looked(at, **more):
    return {"consolidation": {"lookedAt": at}, **more}


def told(message="Consolidation would save much"):
    return {
        "conditions": [
            {
                "type": "SavingForgone",
                "status": "True",
                "reason": "NotConsolidated",
                "message": message,
                "lastTransitionTime": before(hours=1),
            }
        ]
    }


@pytest.fixture
def looks(monkeypatch):
    """Count the looks."""
    number = []
    look = looking.potential
    monkeypatch.setattr(looking, "potential", lambda known, decided: number.append(known) or look(known, decided))
    return number


@pytest.mark.parametrize("scale_down", [{}, {"mode": "none"}, {"mode": "drain"}, {"consolidate": {}}])
def test_a_pool_is_told_what_it_would_save(scale_down):
    report = reported(half_empty(**scale_down))
    assert condition(report) == ("True", "NotConsolidated", SAVES)
    assert report.status.consolidation.looked_at == NOW


def test_it_is_looked_at_again_after_ten_minutes_and_not_before(looks):
    recent = half_empty(status=looked(before(minutes=9, seconds=59), **told()))
    report = reported(recent)
    assert looks == []
    assert condition(report) == ("True", "NotConsolidated", "Consolidation would save much")
    assert report.status.consolidation.to_json() == {"lookedAt": before(minutes=9, seconds=59)}
    report = reported(half_empty(status=looked(before(minutes=10), **told())))
    assert len(looks) == 1
    assert condition(report) == ("True", "NotConsolidated", SAVES)
    assert report.status.consolidation.looked_at == NOW


def test_a_look_that_is_to_come_was_none(looks):
    reported(half_empty(status=looked(after(hours=1))))
    assert len(looks) == 1


@pytest.mark.parametrize(
    "busy",
    [
        pytest.param([pod("waits", cpu="500m")], id="a pod waits"),
        pytest.param([node_request("coming", "cx22", createAttemptAt=before(seconds=1))], id="a machine is coming"),
        pytest.param([node("idle", annotations={"growth.dev/idle-since": before(hours=1)})], id="a machine goes"),
    ],
)
def test_a_round_with_something_to_do_does_not_look(busy, looks):
    report = reported(half_empty(*busy, status=told()))
    assert looks == []
    assert report.status.consolidation is None
    assert condition(report) == ("True", "NotConsolidated", "Consolidation would save much")


def test_the_condition_is_over_once_the_pool_consolidates(looks):
    report = reported(quiet(half_empty(status=looked(before(hours=1), **told()), **CONSOLIDATES)))
    assert looks == []
    assert condition(report) == ("False", "NoSavingForgone", "")
    assert report.status.consolidation.looked_at is None


def test_a_pool_that_consolidates_and_others_never_told_have_no_condition():
    assert condition(reported(quiet(half_empty(**CONSOLIDATES)))) is None
    full = scene(node("a"), types=["cx22"], pods=[pod("x", cpu="1500m", node="a", owner="web")])
    report = reported(full)
    assert condition(report) is None
    assert report.status.consolidation.looked_at == NOW


def test_a_pool_without_machines_is_not_looked_at(looks):
    report = reported(scene())
    assert looks == []
    assert report.status.consolidation is None


def test_the_condition_is_over_once_there_is_nothing_to_save():
    given = scene(node("a"), types=["cx22"], pods=[pod("x", cpu="1500m", node="a", owner="web")])
    given.pools[0]["status"] = looked(before(hours=1), **told())
    assert condition(reported(given)) == ("False", "NoSavingForgone", "")


@pytest.mark.parametrize(("machines", "is_said"), [(19, True), (20, True), (21, False)])
def test_less_than_a_twentieth_of_the_price_is_not_worth_saying(machines, is_said):
    """One machine can go, as its pod fits beside the one of another; the rest are full."""
    names = [f"n{i:02}" for i in range(machines)]
    pods = [pod(f"x{n}", cpu="500m" if n in names[:2] else "1900m", node=n, owner="web") for n in names]
    given = scene(*map(node, names), types=["cx22"], pods=pods)
    made = plan(given.snapshot())
    assert made.potential.machines == 1
    assert (condition(made.pools[0]) is not None) is is_said


def test_each_pool_has_the_share_of_its_own_machines():
    given = scene(
        *(node(n) for n in "ab"),
        *(node(n, pool="other") for n in "cd"),
        types=["cx22"],
        pods=[pod(f"x{n}", cpu="500m", node=n, owner="web") for n in "abcd"],
    )
    given.pools.append(node_pool("other", ["cx22"], matchUnselectedPods=True))
    made = plan(given.snapshot())
    going = {name: each.machines for name, each in made.potential.pools.items()}
    assert sum(going.values()) == 3
    assert made.potential.pools == {
        name: PoolPotential(Decimal("0.0066") * number, number, number) for name, number in going.items()
    }
    assert {report.name: condition(report)[2].split(":")[0] for report in made.pools if report.name in going} == {
        name: f"Consolidation would save {0.0066 * 730 * number:.2f} EUR a month, {50 * number} % of its price"
        for name, number in going.items()
    }
