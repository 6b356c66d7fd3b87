"""How every effect runs: only while it is due, again after a conflict, and not for ever."""

import pytest

from activities.objects.kind_activities import TRIES, act_of, run_effect
from activities.ports.errors import Conflict, NotFound, UnknownOutcome
from planner.lifecycle.step import Act, EffectInput


class Effect:
    """Counts looks and executions, and fails as often as it is told."""

    def __init__(self, *failures, due=True):
        self.failures = list(failures)
        self.due = due
        self.looks = 0
        self.done = 0

    async def look(self):
        self.looks += 1
        return self.looks

    def is_due(self, _):
        return self.due

    async def __call__(self, _):
        if self.failures:
            raise self.failures.pop(0)
        self.done += 1


async def run(effect, look=None):
    return await run_effect(look or effect.look, effect.is_due, effect)


async def test_what_is_seen_afterwards_is_returned():
    effect = Effect()
    assert await run(effect) == 2
    assert effect.done == 1


async def test_what_is_not_due_is_not_done():
    effect = Effect(due=False)
    assert await run(effect) == 1
    assert effect.done == 0


async def test_what_is_gone_is_not_done():
    effect = Effect()

    async def gone():
        return None

    assert await run(effect, gone) is None
    assert effect.done == 0


@pytest.mark.parametrize("failure", [Conflict("changed"), NotFound("gone")])
async def test_what_changed_meanwhile_is_looked_at_again(failure):
    effect = Effect(*[failure] * (TRIES - 1))
    assert await run(effect) == TRIES + 1
    assert effect.done == 1


async def test_what_keeps_changing_is_left_to_the_retry_policy():
    effect = Effect(*[Conflict("changed")] * TRIES)
    with pytest.raises(Conflict):
        await run(effect)
    assert effect.looks == TRIES


async def test_other_errors_are_raised_at_once():
    effect = Effect(UnknownOutcome("?"))
    with pytest.raises(UnknownOutcome):
        await run(effect)
    assert effect.looks == 1


def test_only_a_look_does_without_a_step():
    act = Act(effect="give_up", reason="Any")
    assert act_of(EffectInput(name="a", uid="u", act=act)) == act
    with pytest.raises(ValueError, match="a: an effect needs the step"):
        act_of(EffectInput(name="a", uid="u"))
