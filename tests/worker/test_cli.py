import subprocess
import sys

import pytest
import yaml

from worker.cli import app, main


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `growth` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from worker.cli import main; main()", *arguments],
        env={"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--bogus"], "Unknown option"),
        (["nonsense"], "Unknown command"),
        (["removals", "cancel"], "requires an argument"),
        (["requests", "cancel", "a", "b"], "Unused Tokens"),
        (["run", "--log-format", "xml"], "log_format (GROWTH_LOG_FORMAT)"),
    ],
)
def test_wrong_usage_is_one_clear_line(capsys, monkeypatch, arguments, told):
    monkeypatch.setattr(sys, "argv", ["growth", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("growth: ")
    assert error.count("\n") == 1
    assert told in error


def test_a_refusal_is_one_line_and_exit_code_1(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["growth", "removals", "cancel", "m-1"])
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", "127.0.0.1:1")
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 1
    assert capsys.readouterr().err == (
        "growth: Temporal at 127.0.0.1:1 does not answer: is the worker up? Else set GROWTH_TEMPORAL_ADDRESS, "
        "or GROWTH_DATA_DIR to the folder of its embedded server\n"
    )


def test_the_definitions_of_all_kinds_are_printed():
    done = run("crds")
    kinds = {one["spec"]["names"]["kind"] for one in yaml.safe_load_all(done.stdout)}
    assert kinds == {"NodePool", "KwokNodeClass", "NodeRequest", "NodeRemovalRequest"}


def test_every_command_has_a_line_of_help():
    done = run("--help")
    assert done.returncode == 0
    for command in ("run", "plan", "demo", "crds", "requests", "removals"):
        assert any(line.split()[1:2] == [command] and len(line.split()) > 4 for line in done.stdout.splitlines())


def test_a_plan_loads_neither_a_client_nor_temporal():
    script = (
        "import sys; from worker.cli import app; import worker.plan_command;"
        "print(sorted({'kubernetes', 'temporalio', 'aiohttp', 'uvicorn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_the_version_is_known_without_an_installation():
    assert run("--version").stdout.strip() == app.version()


def test_a_reader_that_has_seen_enough_is_no_error():
    command = [sys.executable, "-c", "from worker.cli import main; main()", "crds"]
    with subprocess.Popen(command, env={"PYTHONPATH": "."}, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as growth:
        assert growth.stdout is not None
        assert growth.stderr is not None
        growth.stdout.close()
        told = growth.stderr.read()
    assert (growth.returncode, told) == (141, b"")
