"""Every command in README.md and docs: tried here, in continuous integration, or on the walk through its document."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from cyclopts import CycloptsError, MissingArgumentError

from tests.project.documents import ELSEWHERE, ROOT, WALKED, Command, commands, documents, inline
from worker.cli import app

ALL = [command for document in documents() for command in commands(document)]
OFFLINE = sorted({c.text for c in ALL if not (c.needs_cluster or c.is_target or c.is_elsewhere)})
PLACEHOLDER = re.compile(r"\b[A-Z]+\b")


def shape(command: Command) -> str:
    """Return the command without what is filled in and without quoted text, which may differ from page to page."""
    return re.sub(r"\"[^\"]*\"", '""', PLACEHOLDER.sub("_", command.program))


def test_there_are_commands_of_each_kind():
    assert len(ALL) >= 50
    assert len(OFFLINE) >= 2
    assert {"make demo", "make test", "make sync"} <= {command.text for command in ALL}


@pytest.mark.parametrize("command", OFFLINE)
def test_a_command_without_a_cluster_works(command: str):
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {command.text.split()[1] for command in ALL if command.is_target}
    assert named <= targets


@pytest.mark.parametrize("document", sorted(WALKED))
def test_a_walk_runs_all_commands_of_its_document(document: str):
    walk = (ROOT / WALKED[document]).read_text()
    assert f'"{document}"' in walk
    assert "finish()" in walk
    assert sum(command.needs_cluster for command in commands(document)) >= 5


def test_other_documents_have_no_command_for_a_cluster_that_no_walk_runs():
    walked = {shape(c) for document in WALKED for c in commands(document)}
    others = [c for c in ALL if c.needs_cluster and c.block.document not in WALKED]
    assert [f"{c.block.where}: {c.text}" for c in others if shape(c) not in walked] == []


def test_what_cannot_be_run_is_little_and_has_a_reason():
    assert len(ELSEWHERE) <= 3
    for beginning, reason in ELSEWHERE.items():
        assert beginning.split()[0] in {"docker", "growth", "kwokctl"}
        assert len(reason) > 20
    for named in re.findall(r"tests/[\w/.]+", " ".join(ELSEWHERE.values())):
        assert (ROOT / named).exists(), named


def test_what_cannot_be_run_is_written_right():
    for command in (c for c in ALL if c.is_elsewhere):
        words = shlex.split(command.program)
        if words[0] == "growth":
            check_growth(words[1:])
        elif words[0] == "docker":
            assert (ROOT / words[words.index("-f") + 1]).is_file(), command.text
            assert (ROOT / words[-1]).is_dir(), command.text


@pytest.mark.parametrize("document", documents())
def test_shells_can_read_all_lines(document: str, tmp_path: Path):
    script = tmp_path / "script"
    script.write_text("\n".join(command.text for command in commands(document)))
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", documents())
def test_growth_has_the_commands_that_the_text_names(document: str):
    for piece in inline(document):
        words = piece.removeprefix(".venv/bin/").split()
        if words[:1] == ["growth"] and "--help" not in words and "…" not in piece:
            check_growth(words[1:])


def check_growth(words: list[str]) -> None:
    """Fail unless `growth` has this command with these options; running text may leave arguments out."""
    try:
        _, _, unused, *_ = app.parse_known_args(words)
    except MissingArgumentError:
        return
    except CycloptsError as error:
        pytest.fail(f"growth {' '.join(words)}: {error}")
    assert not unused, f"growth {' '.join(words)}: no such option"
