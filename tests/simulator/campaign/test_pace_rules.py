"""The judges of paces, without a history: rates, cool-downs and windows, told by times alone."""

from datetime import timedelta

import pytest

from simulator.campaign.judging.paces.begun import Begun
from simulator.campaign.judging.paces.removals import RemovalPaces
from simulator.campaign.judging.paces.schedule import most_of_late
from simulator.campaign.judging.recorder import Witness
from simulator.clock import START

GROUP = {"slow": 1, "fast": 2, "every": "1m"}


def wrong(*, reason="Underused", now=100.0, begun=(), bought=(), **scale_down):
    """Return what is wrong with a removal that begins now, after others and after purchases at these times."""
    removals, purchases = Begun(), Begun()
    for at in begun:
        removals.add("default", "Underused", at)
    for at in bought:
        purchases.add("default", "a", at)
    rules = RemovalPaces(Witness(lambda: now), purchases, removals, window=6.0)
    removal = {"spec": {"pool": "default", "reason": reason}}
    return list(rules.excess(removal, [{"scaleDown": scale_down}]))


@pytest.mark.parametrize("reason", ["Underused", "OverMax"])
def test_a_rate_holds_for_every_and_not_for_a_round(reason):
    assert wrong(reason=reason, begun=[50.0], group=GROUP) == ["others began to go within group.every"]
    assert wrong(reason=reason, begun=[39.0], group=GROUP) == []
    assert wrong(reason="Empty", begun=[50.0], group=GROUP) == []


def test_a_round_begins_as_many_as_the_faster_rate():
    assert wrong(begun=[100.0], group=GROUP) == []
    assert wrong(begun=[100.0, 100.0], group=GROUP) == ["2 others go by this round, and 2 may: group"]


def test_machines_that_are_little_used_themselves_have_no_rate():
    assert wrong(begun=[50.0], group=GROUP, node={"window": "10s"}) == []


def test_cool_downs_hold_after_purchases_and_removals():
    assert wrong(bought=[80.0], cooldownAfterScaleUp="30s") == ["its pool bought a moment ago: cooldownAfterScaleUp"]
    assert wrong(bought=[60.0], cooldownAfterScaleUp="30s") == []
    assert wrong(begun=[80.0], cooldownAfterScaleDown="30s") == [
        "another began to go a moment ago: cooldownAfterScaleDown"
    ]
    assert wrong(begun=[60.0], cooldownAfterScaleDown="30s") == []


def test_the_largest_max_of_late_counts():
    spec = {"limits": {"max": 8}, "schedule": [{"start": "00:01", "end": "00:04", "max": 1}]}
    assert most_of_late([spec], START + timedelta(minutes=3), 45) == 1
    # Before and just after it began, a round may have read that more were allowed.
    assert most_of_late([spec], START + timedelta(seconds=30), 45) == 8
    assert most_of_late([spec], START + timedelta(seconds=90), 45) == 8
    assert most_of_late([{"limits": {"max": 8}}], START, 45) == 8
