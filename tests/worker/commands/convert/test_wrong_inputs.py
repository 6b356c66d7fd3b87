"""Inputs that no peer would read: one line with file, key and reason, and exit code 2."""

import sys
from pathlib import Path

import pytest
import yaml

from tests.worker.commands.convert.inputs_read import pools, stdin
from worker.cli import main
from worker.commands.convert.inputs import LARGEST

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
NODE_CLASS = "growth: --node-class: 'default' must be KIND/NAME"
VPSIE = (
    "apiVersion: autoscaler.vpsie.com/v1alpha1\nkind: NodeGroup\nmetadata: {name: a}\n"
    "spec: {minNodes: 1, maxNodes: 0, offeringIDs: [cx22]}\n"
)
ROWS = yaml.safe_load(Path(__file__).with_name("wrong.yaml").read_text())
WRONG = [
    *((row["peer"], row["text"], row["line"]) for row in ROWS),
    ("karpenter", b"\x00\xff\xfe", "growth: bad.yaml: not a text in UTF-8"),
    ("escalator", BOMB, "growth: bad.yaml:7:10: its aliases stand for more than 1,000,000 values: write them out"),
    ("karpenter", "[" * 900 + "{}" + "]" * 900, "growth: bad.yaml: document 1: is no mapping"),
    (
        "karpenter",
        "x" * (LARGEST + 1),
        "growth: bad.yaml: is larger than 8 MiB: give the autoscaler's own objects alone",
    ),
]


def refused(monkeypatch, capsys, *arguments: str) -> str:
    """Return the line that the command prints as it refuses."""
    monkeypatch.setattr(sys, "argv", ["growth", "convert", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    output, errors = capsys.readouterr()
    assert (ending.value.code, output) == (2, "")
    return errors


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_a_wrong_input_is_one_line(monkeypatch, capsys, tmp_path, wrong):
    peer, text, line = wrong
    (tmp_path / "bad.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.chdir(tmp_path)
    assert refused(monkeypatch, capsys, peer, "bad.yaml") == f"{line}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["karpenter"], "growth: name the files of karpenter, or - for standard input\n"),
        (["karpenter", "-", "-"], "growth: standard input can be read only once\n"),
        (["karpenter", "nowhere.yaml"], "growth: nowhere.yaml: No such file or directory\n"),
        (["vpsie", "a.yaml", "--node-class", "default"], f"{NODE_CLASS}, such as KwokNodeClass/default\n"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(monkeypatch, capsys, tmp_path, arguments, told):
    monkeypatch.chdir(tmp_path)
    assert refused(monkeypatch, capsys, *arguments) == told


def test_an_unknown_peer_names_those_that_there_are(monkeypatch, capsys):
    assert "escalator" in refused(monkeypatch, capsys, "keda", "a.yaml")


def test_ten_thousand_lines_are_read(tmp_path):
    group = (
        "- name: g{0}\n  label_key: k\n  label_value: v{0}\n  min_nodes: 0\n  max_nodes: 2\n"
        "  scale_up_threshold_percent: 70\n"
    )
    file = tmp_path / "many.yaml"
    file.write_text("node_groups:\n" + "".join(group.format(number) for number in range(1_700)))
    assert len(file.read_text().splitlines()) > 10_000
    assert list(pools("escalator", file)) == [f"g{number}" for number in range(1_700)]


def test_standard_input_is_a_file(monkeypatch, capsys):
    stdin(monkeypatch, VPSIE.encode())
    line = "growth: standard input: NodeGroup a: spec.maxNodes: 0 must be a whole number from 1 to 100000\n"
    assert refused(monkeypatch, capsys, "vpsie", "-") == line
