"""A break is a time without an answer, not a call that is lost. Source: issue 16, B4."""

from datetime import timedelta

from activities.ports.presence import Presence


def test_it_begins_with_the_client_and_anew_after_each_break():
    time = [1000.0]
    presence = Presence(lambda: time[0])

    def after(seconds, *, is_answered=None):
        time[0] += seconds
        if is_answered is not None:
            presence.note(is_answered=is_answered)
        return presence.lasts() // timedelta(seconds=1)

    assert after(0) == 0
    assert after(30, is_answered=True) == 30
    assert after(30) == 60, "whoever makes no call misses nothing"
    assert after(0, is_answered=False) == 60
    assert after(4, is_answered=True) == 64, "one call was lost"
    assert after(6, is_answered=False) == 70
    assert after(4, is_answered=False) == 74
    assert after(1, is_answered=False) == 0
    assert after(60) == 0, "it is away still"
    assert after(0, is_answered=True) == 0
    assert after(15, is_answered=True) == 15
