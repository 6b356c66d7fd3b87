"""`growth plan` with --set, --diff and --against: what it prints, and one clear line for what does not go together."""

import json
import re
import shlex
import sys

import pytest
import yaml

from tests.builders import kwok_node_class, node_pool, pod
from tests.e2e.printed import differences
from tests.project.documents import ROOT, commands
from worker import cli
from worker.commands.plan.assignments import setting

# Each fills a cx22 of 2 vCPU (0.0066): see tests/planner/scenes.py, KINDS.
FOUR = [pod(f"p-{k}", "2", "1Gi") for k in range(4)]
ONE_TYPE = {"types": [{"name": "cx22"}]}


@pytest.fixture
def objects(tmp_path):
    """Return a file of four pods that fill a cx22 each, and of a pool of at most three of these."""
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all([node_pool(**ONE_TYPE, limits={"max": 3}), kwok_node_class(), *FOUR]))
    return str(path)


def growth(monkeypatch, capsys, *words):
    """Run the command line and return exit code, output and error output."""
    monkeypatch.setattr(sys, "argv", ["growth", "plan", "--now", "2026-03-01T12:00:00Z", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return ended.value.code, out, err


SETTING = ("--set", "pool/default.limits.max=9")


def test_the_command_line(monkeypatch, capsys, objects):
    code, out, err = growth(monkeypatch, capsys, "-f", objects, *SETTING, "--diff")
    assert (code, err) == (0, "")
    assert out.startswith("0.0198 -> 0.0264 EUR per hour: 0.0066 more, 1 pod more with a place\n")
    assert "\n  3 x  cx22  fsn1      default    0.0066\n+ 1 x  cx22  fsn1      default    0.0066\n" in out
    assert growth(monkeypatch, capsys, "-f", objects, *SETTING, "--diff") == (0, out, "")


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_the_command_line_for_data(monkeypatch, capsys, objects, output):
    words = ("-f", objects, "-o", output)
    plain, changed, both = (
        yaml.safe_load(growth(monkeypatch, capsys, *words, *more)[1]) for more in ((), SETTING, (*SETTING, "--diff"))
    )
    assert plain["costPerHour"] == "0.0198"
    # Without --diff, the plan is that of the changed objects.
    assert changed["costPerHour"] == "0.0264"
    assert both["before"] == plain
    assert both["after"] == changed
    assert both["diff"]["costPerHour"] == {"before": "0.0198", "after": "0.0264", "difference": "0.0066"}


def test_one_pod_explained_as_if(monkeypatch, capsys, objects):
    words = ("-f", objects, "-o", "json")
    plain = json.loads(growth(monkeypatch, capsys, *words)[1])
    (missed,) = (entry["pod"] for entry in plain["unplaced"])
    told = json.loads(growth(monkeypatch, capsys, *words, *SETTING, "--explain", missed)[1])
    assert (told["pod"], told["reasons"], told["new"]["serverType"]) == (missed, [], "cx22")


def test_two_sets_of_files(monkeypatch, capsys, objects, tmp_path):
    new = tmp_path / "new.yaml"
    new.write_text(yaml.safe_dump_all([node_pool(**ONE_TYPE), kwok_node_class(), *FOUR, pod("p-4", "2", "1Gi")]))
    words = ("-f", str(new), "--against", objects, "--diff", "-o", "json")
    code, out, _ = growth(monkeypatch, capsys, *words)
    diff = json.loads(out)["diff"]
    assert code == 0
    assert diff["costPerHour"]["difference"] == "0.0132"
    # One had no place, and one was not there.
    assert sorted(len(entry["reasons"]) for entry in diff["placed"]) == [0, 1]
    code, out, _ = growth(monkeypatch, capsys, *words, "--set", "pool/default.limits.max=3")
    assert json.loads(out)["diff"]["costPerHour"]["difference"] == "0"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--diff"], "--diff compares with something: give --set PATH=VALUE, or --against FILE"),
        (["--against", "FILE"], "--against is for --diff"),
        ([*SETTING, "--diff", "--explain", "p-1"], "--explain tells of one plan: leave out --diff"),
        (["-f", "-", "--against", "-", "--diff"], "standard input can be read only once"),
        (["--set", "pool/default.limits.max=0", "--diff"], "--set pool/default.limits.max: NodePool default: "),
        (["--against", "/no/such/file", "--diff"], "/no/such/file: No such file or directory"),
    ],
)
def test_what_does_not_go_together_is_one_line(monkeypatch, capsys, objects, words, line):
    code, out, err = growth(
        monkeypatch, capsys, "-f", objects, *(objects if word == "FILE" else word for word in words)
    )
    assert (code, out) == (2, "")
    assert err.startswith(f"growth: {line}")
    assert err.count("\n") == 1


DOCUMENTED = [command for command in commands("docs/plan.md") if command.block.heading == "What if"]


def test_the_document_prints_what_the_command_does(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (command,) = (command for command in DOCUMENTED if command.prints is not None)
    code, out, _ = growth(monkeypatch, capsys, *shlex.split(command.program)[2:])
    assert code == 0
    assert differences(command.prints.text, out) == []


def test_every_setting_of_the_document_can_be_read():
    text = (ROOT / "docs" / "plan.md").read_text()
    rows = re.findall(r"^\| `'?((?:pool|class)/[^`]*?)'?` \|", text, re.MULTILINE)
    assert len(rows) >= 8
    for row in rows:
        setting(row)
