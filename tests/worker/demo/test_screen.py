"""What a person sees: on a terminal, in a file, in a picture."""

import io
import time

from rich.console import Console

from pages.pictures import PictureRecorder
from simulator.view import View
from tests.worker.demo.terminal import seen
from worker.demo.scene import prices
from worker.demo.screen import Screen


def printed(width=None):
    output = io.StringIO()
    return Screen(prices(), Console(file=output, width=width)), output


def test_without_a_terminal_there_are_plain_lines_and_nothing_moves():
    screen, output = printed()
    with screen:
        screen.stage("Pods arrive")
        screen.progress(View({}, {}, {"NodeRequest": {}, "NodeRemovalRequest": {}}, {}), "machines")
        screen.passed("41 of 41 pods run")
    assert output.getvalue() == "\n1. Pods arrive\n  ✓ 41 of 41 pods run\n"


def test_at_rest_a_terminal_has_its_cursor_and_no_frame():
    output = io.StringIO()
    console = Console(file=output, width=80, force_terminal=True, highlight=False)
    nothing = View({}, {}, {"NodeRequest": {}, "NodeRemovalRequest": {}}, {})
    with Screen(prices(), console) as screen:
        screen.progress(nothing, "machines")
        time.sleep(0.3)
        assert seen(output.getvalue())[1] is False
        screen.still()
        lines, is_shown = seen(output.getvalue())
        assert ([line for line in lines if line], is_shown) == ([], True)
        before = len(output.getvalue())
        screen.progress(nothing, "machines")
        screen.passed("done")
        time.sleep(0.3)
        assert "\x1b[?25" not in output.getvalue()[before:]
        assert [line for line in seen(output.getvalue())[0] if line] == ["  ✓ done"]


def test_a_long_sentence_goes_on_below_itself():
    screen, output = printed()
    screen.line("+", "green", "default-0123456789", " ".join(["reason"] * 20))
    first, second = output.getvalue().splitlines()
    assert first.index("reason") == second.index("reason") == len("  0.0 s + default-0123456789 ")
    assert max(len(first), len(second)) <= 120


def test_other_peoples_words_are_no_markup():
    screen, output = printed()
    screen.note("[bold]web[/]")
    screen.line("+", "green", "[red]name", "[/]")
    screen.command("growth removals cancel [x]")
    screen.failure("[/nothing]")
    for words in ("[bold]web[/]", "[red]name [/]", "cancel [x]", "[/nothing]"):
        assert words in output.getvalue()


def test_a_recording_is_cut_in_two_pictures_that_load_nothing():
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    with PictureRecorder(console) as screen:
        for number in range(1, 7):
            screen.stage(f"Stage{number}")
        screen.cut("the end")
    first, second = screen.halves
    assert "Stage4" in first
    assert "Stage5" not in first
    assert "Stage5" in second
    assert "Stage6" in second
    for picture in screen.halves:
        assert picture.startswith("<svg")
        assert "@font-face" not in picture
        assert "url(http" not in picture.replace('"', "")
