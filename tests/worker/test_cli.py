import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from planner.lifecycle.kinds import KINDS
from worker.cli import app, main
from worker.commands.lifecycles.group_help import GROUP_HELP
from worker.commands.shared.next_steps import SHOWN_KINDS
from worker.settings import Settings


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
        (["run", "--bogus"], "Unknown option: --bogus. See `growth run --help`."),
        (["statsu"], 'Did you mean "status"?'),
        (["removals", "cancel"], "parameter NAME requires an argument. See `growth removals cancel --help`."),
        (["requests", "cancel", "a", "b"], "growth: b: that is more than the command takes. See `growth requests"),
        (["run", "--simulated-machines=maybe"], 'unable to convert "maybe" into bool. See `growth run --help`.'),
        (["run", "--simulated-machines", "--log-format", "xml"], "--log-format: must be 'auto', 'console' or 'json'"),
        (["run", "--log-format", "xml"], "--log-format: must be 'auto', 'console' or 'json', not 'xml'"),
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


def test_a_refusal_is_one_line_and_exit_code_1(tmp_path):
    done = run("removals", "cancel", "m-1", "--temporal-address", "127.0.0.1:1", "--data-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "growth: Temporal at 127.0.0.1:1 cannot be used: connection refused; --temporal-address "
        "(GROWTH_TEMPORAL_ADDRESS) names another\n"
    )


def test_a_wrong_option_of_a_command_is_exit_code_2():
    done = run("requests", "list", "--temporal-address", "here")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("growth: --temporal-address: must be host:port, such as localhost:7233")


def test_the_definitions_of_all_kinds_are_printed():
    done = run("crds")
    kinds = {one["spec"]["names"]["kind"] for one in yaml.safe_load_all(done.stdout)}
    assert kinds == {"NodePool", "KwokNodeClass", "HetznerNodeClass", "NodeRequest", "NodeRemovalRequest"}


def test_every_command_has_a_line_of_help():
    done = run("--help")
    assert done.returncode == 0
    for command in ("run", "plan", "catalogue", "demo", "crds", "requests", "removals", "purge"):
        assert any(line.split()[1:2] == [command] and len(line.split()) > 4 for line in done.stdout.splitlines())


def test_the_help_of_run_tells_of_every_setting():
    text = " ".join(run("run", "--help").stdout.replace("│", " ").split())
    for name, field in Settings.model_fields.items():
        option = f"--{name.replace('_', '-')}"
        assert option in text or f"GROWTH_{name.upper()}" in text, name
        if option in text and isinstance(field.default, str | Path):
            assert re.search(rf"{option}\b[^│]*\bdefault {re.escape(str(field.default))}\.", text), name


@pytest.mark.parametrize("module", ["status", "why"])
def test_commands_that_only_look_load_no_client_of_temporal(module):
    script = (
        f"import sys; import worker.commands.{module}.command; print({{'temporalio', 'uvicorn'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"


def test_a_plan_and_a_catalogue_of_files_load_neither_a_client_nor_temporal():
    script = (
        "import sys; from worker.cli import app; import worker.commands.plan.command;"
        "import worker.commands.catalogue.command;"
        "print(sorted({'kubernetes', 'temporalio', 'aiohttp', 'uvicorn', 'hcloud', 'requests'} & set(sys.modules)))"
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


def test_every_lifecycle_kind_has_a_command_group_and_is_told_of():
    assert list(GROUP_HELP) == [f"{kind.word}s" for kind in KINDS]
    assert [row.stored.lifecycle for row in SHOWN_KINDS] == list(KINDS)
