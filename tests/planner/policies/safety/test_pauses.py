"""The pause after what was given up: nothing that evicts begins before its end, and everything else may."""

from datetime import timedelta

import pytest

from api.meta import format_timestamp
from planner.objects.pauses import Pause, next_pause, read_pause, written
from planner.plan import POLICIES, plan
from planner.policies.port import Advice, MachineAction, Proposal
from tests.builders import NOW, before, node
from tests.planner.scenes import scene

PAUSE = "growth.dev/drain-pause"
MOVE_FAILED = "growth.dev/move-failed"
QUARTER = timedelta(minutes=15)


class Evicts:
    """A policy that wants the machine, with its pods or without."""

    def __init__(self, *, evicts):
        self.evicts = evicts

    def propose(self, view):
        return Advice(
            (Proposal("n", MachineAction.REMOVE, "Consolidation", "It saves", at=view.now, evicts=self.evicts),)
        )


def decided(value, *, evicts=True, key=PAUSE, **annotations):
    given = scene(node("n", annotations={key: value, **annotations}), limits={"max": 9}, scaleDown={"mode": "drain"})
    return plan(given.snapshot(), policies=(Evicts(evicts=evicts), *POLICIES))


def until(**after):
    return format_timestamp(NOW + timedelta(**after))


@pytest.mark.parametrize(("key", "reason"), [(PAUSE, "DrainTimedOut"), (MOVE_FAILED, "MoveFailed")])
def test_what_evicts_waits_for_the_end_of_the_pause_and_wakes_the_planner_then(key, reason):
    found = decided(f"{until(minutes=5)} 15m", key=key)
    assert found.removals == ()
    assert [blocked.reason for blocked in found.blocked] == [reason]
    assert found.wake_at == NOW + timedelta(minutes=5)


@pytest.mark.parametrize(
    "value",
    [
        f"{until(seconds=0)} 15m",
        f"{until(days=-1)} 24h",
        "",
        "soon",
        f"{until(minutes=5)}",
        f"{until(minutes=5)} -3m",
        f"{until(days=400)} 15m",
        f"{until(minutes=5)} 99h",
        "2026-01-01 15m",
    ],
    ids=[
        "over",
        "long over",
        "empty",
        "no time",
        "no length",
        "negative",
        "of a clock far ahead",
        "too long",
        "no zone",
    ],
)
def test_what_means_no_pause_keeps_nothing(value):
    assert [r.reason for r in decided(value).removals] == ["Consolidation"]


def test_an_empty_machine_goes_all_the_same():
    assert decided(f"{until(minutes=5)} 15m", evicts=False).removals
    found = decided(f"{until(minutes=5)} 15m", **{"growth.dev/idle-since": before(minutes=11)})
    assert [r.reason for r in found.removals] == ["Empty"]


def test_it_doubles_to_a_day_in_seven_steps_and_stays_there():
    pause, lengths = None, []
    moment = NOW
    for _ in range(9):
        pause = next_pause(pause, moment)
        lengths.append(pause.length / QUARTER)
        moment = pause.until + QUARTER
    assert lengths == [1, 2, 4, 8, 16, 32, 64, 96, 96]


@pytest.mark.parametrize(("after", "length"), [(timedelta(hours=23), 2 * QUARTER), (timedelta(days=1), QUARTER)])
def test_a_quiet_day_forgets_it(after, length):
    assert next_pause(Pause(NOW, QUARTER), NOW + after).length == length


def test_it_is_read_as_it_was_written():
    for minutes in (15, 30, 60, 960, 1440):
        pause = Pause(NOW, timedelta(minutes=minutes))
        assert read_pause({PAUSE: written(pause)}, PAUSE) == pause


def test_the_same_end_is_counted_once():
    first = next_pause(None, NOW)
    assert next_pause(first, NOW) == first
