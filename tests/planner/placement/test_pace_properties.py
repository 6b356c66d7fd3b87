"""Drawn scenes: fields of growth at neutral values change no plan, and at others they break no rule."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.plan import plan
from tests.planner.checker import violations
from tests.planner.scenes import Scene
from tests.planner.strategies import scenes

NEUTRAL = {
    "estimators": ["binPack"],
    "thresholdPercent": 1,
    "starvation": True,
    "batchMax": 0,
    "maxInFlight": 0,
    "podGrace": "0s",
    "cooldown": "0s",
}
FIELDS = {
    "estimators": st.sampled_from([["binPack"], ["threshold"], ["binPack", "threshold"]]),
    "thresholdPercent": st.sampled_from([20, 70, 110]),
    "starvation": st.booleans(),
    "batchMax": st.integers(0, 3),
    "maxInFlight": st.integers(0, 3),
    "podGrace": st.sampled_from(["0s", "30s"]),
    "cooldown": st.sampled_from(["0s", "1m"]),
    "lock": st.just({"min": "1m", "max": "5m"}),
    "breaker": st.just({"failures": 2, "halfOpenAfter": "5m"}),
}
SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def with_fields(scene: Scene, scale_up) -> Scene:
    """Return the scene with these fields in each pool."""
    for pool in scene.pools:
        pool["spec"]["scaleUp"] = {**pool["spec"].get("scaleUp", {}), **scale_up}
    return scene


@settings(SLOW, max_examples=60)
@given(scenes(are_sociable=False))
def test_neutral_fields_change_nothing(scene):
    before = plan(scene.snapshot())
    assert plan(with_fields(scene, NEUTRAL).snapshot()) == before


@settings(SLOW, max_examples=100)
@given(scenes(are_sociable=False), st.fixed_dictionaries({}, optional=FIELDS))
def test_plans_with_these_fields_break_no_rule(scene, scale_up):
    made = plan(with_fields(scene, scale_up).snapshot())
    assert violations(scene, made) == []
