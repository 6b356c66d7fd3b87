"""All activities are there, under the names that the workflows call, and with the types that they send."""

from temporalio.activity import _Definition

from activities.registry import all_activities
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalObservation, RequestObservation
from planner.lifecycle.step import EffectInput
from tests.activities.lives import Life


def test_there_is_one_activity_for_each_effect_and_one_for_rounds():
    names = [_Definition.must_from_callable(each).name for each in all_activities(Life().ports)]
    assert sorted(names) == sorted([*RequestEffect, *RemovalEffect, "plan_round"])


def test_methods_are_named_as_their_activities():
    """The simulator calls them by these names."""
    for each in all_activities(Life().ports):
        assert each.__name__ == _Definition.must_from_callable(each).name


def test_effects_take_and_return_what_the_drivers_expect():
    for each in all_activities(Life().ports):
        found = _Definition.must_from_callable(each)
        if found.name in set(RequestEffect) | set(RemovalEffect):
            assert found.arg_types == [EffectInput]
            assert found.ret_type is (RequestObservation if found.name in set(RequestEffect) else RemovalObservation)
