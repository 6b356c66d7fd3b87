from datetime import UTC, datetime

from workflows.messages import LifecycleReport
from workflows.ui_details import DETAILS_BYTES, Choice, details, quoted, waiting

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
COOL_OFF = LifecycleReport(
    phase="Pending",
    reason="CoolOff",
    message="Cool-off: at the deadline the node goes",
    until=datetime(2026, 11, 1, 12, 10, tzinfo=UTC),
    trouble="",
)


def shown(report: LifecycleReport = COOL_OFF, **given):
    return details(report, **{"facts": (), "choices": (), "how": "", "looked_at": None} | given)


def test_details_tell_where_it_stands_until_when_what_was_seen_and_what_a_person_can_do():
    text = shown(
        facts=["Pods on it: none"],
        choices=[Choice("cancel", "keep the machine")],
        how="Here: **Send an Update**.",
        looked_at=NOW,
    )
    assert text.split("\n") == [
        "**Pending** · CoolOff",
        "",
        "Cool-off: at the deadline the node goes",
        "",
        "- Deadline: **2026-11-01 12:10:00 UTC**",
        "- Pods on it: none",
        "- Seen at 12:00:00 UTC",
        "",
        "**You can now**",
        "",
        "- **cancel**: keep the machine",
        "",
        "Here: **Send an Update**.",
    ]


def test_trouble_stands_before_what_was_seen_before_it():
    lines = shown(COOL_OFF.model_copy(update={"trouble": "look: no answer"}), facts=["Pods on it: none"]).split("\n")
    trouble = lines.index("- **Trouble:** look: no answer; it goes on trying")
    assert trouble < lines.index("- Pods on it: none")


def test_before_the_first_look_something_stands_there():
    nothing = LifecycleReport(phase="", reason="", message="", until=None, trouble="")
    assert shown(nothing).startswith("**New** · FirstLook")


def test_without_choices_it_is_said_why():
    text = shown(how="Nothing to decide now: too late.")
    assert "You can now" not in text
    assert text.endswith("Nothing to decide now: too late.")


def test_details_stay_below_4_kib_whatever_others_say():
    report = COOL_OFF.model_copy(update={"message": "ü" * 1024, "trouble": "ü" * 1024})
    text = shown(report, facts=["ü" * 1024] * 10)
    assert len(text.encode()) <= DETAILS_BYTES < 4096


def test_others_words_are_no_markdown():
    assert quoted("a_b *c* [d](http://e) <f> `g`\n# h") == r"a\_b \*c\* \[d\](http://e) \<f\> \`g\` \# h"


def test_a_long_message_is_cut():
    assert quoted("word " * 400) == ("word " * 120)[:599] + "…"


def test_a_timer_says_until_when_first():
    assert waiting("it boots", datetime(2026, 11, 1, 13, 5, 9, tzinfo=UTC), NOW) == "Until 13:05:09 UTC: it boots"


def test_a_deadline_of_another_day_has_its_date():
    assert waiting("parked", datetime(2026, 11, 2, 3, 0, tzinfo=UTC), NOW) == "Until 2026-11-02 03:00:00 UTC: parked"


def test_a_wait_for_a_message_alone_has_no_deadline():
    assert waiting("the provider is silent", None, NOW) == "the provider is silent"
