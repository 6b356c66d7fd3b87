"""Files that are made to hurt: each gives one clear line that names file, object and field, and nothing else is lost.

Source: STYLE.md, "Errors". A terminal obeys what it is sent: names of objects must not reach it as they are.
"""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from worker.commands.shared.tables import print_anywhere, table
from worker.printing import shown

DIGITS = "9" * 5000
GOOD = "apiVersion: v1\nkind: Pod\nmetadata: {name: good}\nspec: {containers: [{name: main}]}\n---\n"
BAD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: bad}}\nspec: {{{spec}containers: [{{name: main{container}}}]}}\n"
POOL = (
    "apiVersion: growth.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: default}}\n"
    "spec: {{serverTypes: [{{name: cx22}}], limits: {{max: {most}}}}}\n"
)
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)


def ran(folder: Path, text: str | bytes, name: str = "bad.yaml") -> tuple[int, str, str]:
    """Return exit code, output and errors of the command; the file is in the current folder."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    call = [sys.executable, "-m", "growth_autoscaler", "plan", "-f", name, "--now", "2026-01-01T00:00:00Z"]
    done = subprocess.run(call, cwd=folder, capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD + BOMB, "growth: bad.yaml:12:10: its aliases stand for more than 1,000,000 values: write them out"),
        ("kind: Pod\nkind: Node\n", "growth: bad.yaml:2:1: the key 'kind' stands twice in one mapping"),
        (
            '{"kind": "List", "items": [\n{"kind": "Pod", "spec": {"a\\\\": 1, "b" : "\\":", "b": 2}}]}',
            "growth: bad.yaml:2:49: the key 'b' stands twice in one mapping",
        ),
        (
            '{"kind": "Pod"}\n{"kind": 1, "kind": 2}',
            "growth: bad.yaml: the key 'kind' stands twice in one mapping",
        ),
        ("[" * 900 + "{}" + "]" * 900, "growth: bad.yaml: document 1" + ", item 1" * 17 + ": nested too deeply"),
        (GOOD.encode() + b"\xff", "growth: bad.yaml: not a text in UTF-8"),
        ("a: !!int x\n", "growth: bad.yaml:1:4: no value of the tag 'tag:yaml.org,2002:int'"),
    ],
    ids=["aliases", "twice", "twice in JSON", "twice in the second value", "deep", "encoding", "tag"],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, text, line):
    assert ran(tmp_path, text) == (2, "", line + "\n")


@pytest.mark.parametrize(
    ("spec", "container", "field"),
    [
        (f"priority: {DIGITS}, ", "", "spec.priority: '99999"),
        ("", f", resources: {{requests: {{cpu: {DIGITS}}}}}", "spec.containers[0].resources.requests.cpu: '99999"),
        ("", f', resources: {{requests: {{cpu: "{DIGITS}"}}}}', "spec.containers[0].resources.requests.cpu: '99999"),
        (f"priority: 0x{DIGITS}, ", "", "spec.priority: '0x9999"),
    ],
)
def test_numbers_of_5000_digits_stop_their_object_alone(tmp_path, spec, container, field):
    code, output, errors = ran(tmp_path, GOOD + BAD.format(spec=spec, container=container))
    assert code == 0
    (line,) = (line for line in errors.splitlines() if "bad" in line)
    assert line.startswith(f"growth: left out: bad.yaml: Pod bad: {field}")
    assert len(line) < 300
    assert "default/good" in output


def test_such_a_number_in_json_is_read_too(tmp_path):
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {"priority": 1234567}})
    text = text.replace("}}", ', "containers": [{"name": "main"}]}}').replace("1234567", DIGITS)
    code, _, errors = ran(tmp_path, text, "bad.json")
    assert (code, "left out: bad.json: Pod bad: spec.priority: '99999" in errors) == (0, True)


def test_one_in_a_pool_ends_the_command(tmp_path):
    code, output, errors = ran(tmp_path, POOL.format(most=DIGITS))
    assert (code, output) == (2, "")
    assert errors.startswith("growth: bad.yaml: NodePool default: ")
    assert "spec.limits.max" in errors


def test_what_steers_a_terminal_is_shown(tmp_path):
    name = "\x1b[31mred\x07\u202e\x9b2J\ud800"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "main"}]}}
    code, output, _ = ran(tmp_path, json.dumps([pod, {"kind": "Odd\x1b[2J", "apiVersion": "v1"}]), "bad.json")
    assert code == 0
    # Tables leave a bell out.
    assert r"default/\x1b[31mred\u202e\x9b2J\ud800" in output
    assert shown(output) == output


def test_a_terminal_gets_our_colours_and_no_others():
    paper = io.StringIO()
    rows = table("name")
    rows.add_row("a\x1b[2Jb")
    print_anywhere(Console(file=paper, force_terminal=True, color_system="standard"), lambda out: out.print(rows))
    assert r"a\x1b[2Jb" in paper.getvalue()
    assert "\x1b[2mname" in paper.getvalue()


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"name": "a\ngrowth: all is well"}, "Pod 'default/a\\ngrowth: all is well'"),
        ({"name": "a", "namespace": "b\n\x1b[2Jc"}, "Pod 'b\\n\\x1b[2Jc/a'"),
    ],
)
def test_a_name_that_no_cluster_takes_is_left_out_in_one_line(tmp_path, metadata, told):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "main"}]}}
    code, output, errors = ran(tmp_path, GOOD + "---\n" + json.dumps(pod))
    (line,) = (line for line in errors.splitlines() if "metadata.name" in line)
    problem = f"{told}: metadata.name: no name holds a line end"
    assert (code, line) == (0, f"growth: left out: bad.yaml: document 3: {problem}")
    assert "all is well" not in output
    assert "default/good" in output


def test_of_one_of_ours_it_ends_the_command(tmp_path):
    pool = {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": "a\nb"}, "spec": {}}
    code, output, errors = ran(tmp_path, json.dumps(pool))
    assert (code, output) == (2, "")
    assert errors == ("growth: bad.yaml: document 1: NodePool 'a\\nb': metadata.name: no name holds a line end\n")


def test_a_note_is_one_line_whatever_is_in_it(tmp_path):
    spec = {"containers": [{"name": "main"}], "runtimeClassName": "r\ngrowth: all is well"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    code, _, errors = ran(tmp_path, json.dumps(pod))
    assert code == 0
    assert "RuntimeClass r\\ngrowth: all is well is not known" in errors
