"""Documents on pools: each example prints what its document says, and what they show of a pool is in a file."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.printed import differences
from tests.project.documents import ROOT, Command, blocks, commands

DOCUMENTS = ("docs/pools.md", "docs/growth.md", "docs/shrinking.md")
EXAMPLES = ROOT / "deploy" / "examples" / "pools"
PRINTED = [command for name in DOCUMENTS for command in commands(name) if command.prints is not None]
SHOWN = [block for name in DOCUMENTS for block in blocks(name) if block.language == "yaml"]


def is_part(wanted: Any, whole: Any) -> bool:
    """Return whether a mapping has all that another one has; anything else has to be the same."""
    if isinstance(wanted, Mapping) and isinstance(whole, Mapping):
        return all(key in whole and is_part(value, whole[key]) for key, value in wanted.items())
    return bool(wanted == whole)


@pytest.mark.parametrize("command", PRINTED, ids=lambda command: command.text)
def test_an_example_prints_what_the_document_says(command: Command):
    done = subprocess.run(command.text, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert command.prints is not None
    assert differences(command.prints.text, done.stdout) == [], done.stdout


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.where)
def test_what_is_shown_is_in_an_example(block):
    for shown in yaml.safe_load_all(block.text):
        examples = [item for path in EXAMPLES.glob("*.yaml") for item in yaml.safe_load_all(path.read_text())]
        assert any(is_part(shown, item) for item in examples), block.where


def test_each_example_is_run_by_a_document():
    text = "".join(Path(ROOT / name).read_text() for name in DOCUMENTS)
    assert [path.name for path in EXAMPLES.glob("*.yaml") if str(path.relative_to(ROOT)) not in text] == []
