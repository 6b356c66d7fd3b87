"""The oracle of the campaign finds faults that are planted in the code. All of them: `make simulate`."""

import pickle
from dataclasses import replace

import pytest

from activities.round import fence
from planner.lifecycle import removal
from simulator.campaign.campaign import ALL_MUTATIONS, catch, judge
from simulator.campaign.mutations.planting import planted

QUICKEST = min(ALL_MUTATIONS, key=lambda mutation: mutation.within)


def test_a_planted_fault_is_found():
    caught = catch(QUICKEST)
    assert caught.violation, f"{caught.seeds} histories in which {QUICKEST.name} went right"


def _cannot_be_called():
    return [(removal, "next_step", lambda: None)]


def test_one_that_breaks_the_history_is_an_error_and_not_found():
    with pytest.raises(ExceptionGroup) as caught:
        catch(replace(QUICKEST, name="cannot be called", changes=_cannot_be_called, first=0, within=5))
    assert caught.value.subgroup(TypeError)


def test_there_are_enough_of_them_and_each_has_a_name():
    assert len(ALL_MUTATIONS) >= 20
    assert len({mutation.name for mutation in ALL_MUTATIONS}) == len(ALL_MUTATIONS)


def test_another_process_can_tell_which_it_found():
    for mutation in ALL_MUTATIONS:
        assert pickle.loads(pickle.dumps(mutation)) == mutation


def test_the_code_is_as_it_was_afterwards():
    before = removal.next_step, fence.Fence._is_free
    for mutation in ALL_MUTATIONS:
        with planted(mutation):
            pass
    assert (removal.next_step, fence.Fence._is_free) == before
    assert judge(0).wrong == ()
