from structlog.stdlib import get_logger
from structlog.testing import capture_logs

from worker.log_once import PERIOD, LogOnce


def test_a_trouble_is_told_at_its_beginning_when_it_changes_and_seldom_while_it_lasts():
    times = iter((0.0, 1.0, PERIOD - 1, PERIOD - 1, 2 * PERIOD, 2 * PERIOD))
    told = LogOnce(get_logger(), clock=lambda: next(times))
    with capture_logs() as lines:
        for _ in range(3):
            told.warn("no answer", port=1)
        told.warn("no answer", port=2)
        told.warn("no answer", port=2)
    assert [(line["event"], line["port"], line["log_level"]) for line in lines] == [
        ("no answer", 1, "warning"),
        ("no answer", 2, "warning"),
        ("no answer", 2, "warning"),
    ]


def test_a_trouble_that_was_over_is_news_when_it_comes_back():
    told = LogOnce(get_logger(), clock=lambda: 0.0)
    with capture_logs() as lines:
        told.warn("no answer")
        told.over()
        told.warn("no answer")
    assert len(lines) == 2
