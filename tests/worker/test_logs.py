import io
import json
import logging
import sys

import pytest
import structlog

from worker.logs import set_up_logging


@pytest.fixture
def stderr(monkeypatch):
    """What is logged; afterwards logging is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    yield text
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def test_json_holds_our_fields_and_those_of_libraries(stderr):
    set_up_logging("auto", "info")
    structlog.stdlib.get_logger("worker.test").info("working", cluster="a")
    logging.getLogger("temporalio").warning("slow by %d s", 3)
    ours, theirs = (json.loads(line) for line in stderr.getvalue().splitlines())
    assert (ours["event"], ours["cluster"], ours["level"], ours["logger"]) == ("working", "a", "info", "worker.test")
    assert (theirs["event"], theirs["level"]) == ("slow by 3 s", "warning")
    assert ours["timestamp"].endswith("Z")


def test_an_error_is_one_line_of_json_with_its_traceback(stderr):
    set_up_logging("json", "info")
    try:
        raise ValueError("no")
    except ValueError:
        structlog.stdlib.get_logger("worker.test").exception("failed")
    (line,) = stderr.getvalue().splitlines()
    assert "ValueError: no" in json.loads(line)["exception"]


def test_the_console_is_for_people(stderr):
    set_up_logging("console", "info")
    structlog.stdlib.get_logger("worker.test").info("working", cluster="a")
    assert "working" in stderr.getvalue()
    assert "cluster=a" in stderr.getvalue()
    assert not stderr.getvalue().startswith("{")


def test_the_level_is_obeyed(stderr):
    set_up_logging("json", "warning")
    structlog.stdlib.get_logger("worker.test").info("quiet")
    assert stderr.getvalue() == ""
