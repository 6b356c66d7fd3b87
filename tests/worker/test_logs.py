import json
import logging
import warnings

import pytest
import structlog

from worker.logs import set_up_logging


@pytest.fixture
def logged(capsys):
    """Tells what was logged so far; afterwards logging is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield lambda: capsys.readouterr().err
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def test_json_holds_our_fields_and_those_of_libraries(logged):
    set_up_logging("auto", "info")
    structlog.stdlib.get_logger("worker.test").info("working", cluster="a")
    logging.getLogger("temporalio").warning("slow by %d s", 3)
    ours, theirs = (json.loads(line) for line in logged().splitlines())
    assert (ours["event"], ours["cluster"], ours["level"], ours["logger"]) == ("working", "a", "info", "worker.test")
    assert (theirs["event"], theirs["level"]) == ("slow by 3 s", "warning")
    assert ours["timestamp"].endswith("Z")


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_each_line_names_the_cluster_whoever_writes_it(logged, log_format):
    set_up_logging(log_format, "info", cluster="shop")
    structlog.stdlib.get_logger("worker.test").info("working", pool="default")
    logging.getLogger("temporalio").warning("slow by %d s", 3)
    warnings.warn("old", stacklevel=1)
    lines = logged().splitlines()
    assert len([line for line in lines if "shop" in line]) == 3
    if log_format == "json":
        assert [json.loads(line)["cluster"] for line in lines] == ["shop"] * 3
    else:
        assert lines[0].rstrip().endswith("cluster=shop pool=default")


def test_a_program_of_no_cluster_names_none(logged):
    set_up_logging("json", "info")
    logging.getLogger("temporalio").warning("slow")
    assert "cluster" not in json.loads(logged())


def test_an_error_is_one_line_of_json_with_its_traceback(logged):
    set_up_logging("json", "info")
    error = ValueError("no")
    structlog.stdlib.get_logger("worker.test").error("failed", exc_info=error)
    (line,) = logged().splitlines()
    assert "ValueError: no" in json.loads(line)["exception"]


def fail(token):
    """Fail with the token in a variable, as a defect in a provider would."""
    headers = {"Authorization": f"Bearer {token}"}
    raise RuntimeError(f"defect after {len(headers)} header")


@pytest.mark.parametrize("log_format", ["console", "json"])
@pytest.mark.parametrize(
    "log", [structlog.stdlib.get_logger("worker.test"), logging.getLogger("activities.test")], ids=["ours", "library"]
)
def test_a_traceback_shows_no_variable(logged, log_format, log):
    set_up_logging(log_format, "info")
    token = "k9" * 32
    try:
        try:
            fail(token)
        except RuntimeError as error:
            raise ValueError("no answer") from error
    except ValueError:
        log.exception("failed")
    written = logged()
    for shown in ("failed", "Traceback (most recent call last)", "in fail", "defect after 1 header", "no answer"):
        assert shown in written
    assert token[:8] not in written


def test_the_console_is_for_people(logged):
    set_up_logging("console", "info")
    structlog.stdlib.get_logger("worker.test").info("working", cluster="a")
    line = logged()
    assert "working" in line
    assert "cluster=a" in line
    assert not line.startswith("{")


def test_the_level_is_obeyed(logged):
    set_up_logging("json", "warning")
    structlog.stdlib.get_logger("worker.test").info("quiet")
    assert logged() == ""
