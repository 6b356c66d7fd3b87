"""docs/migrating.md: each example prints what the document says, and docs/conversions.md is what the tables have."""

import re
import subprocess

import pytest

from api.v1alpha1.node_pool import NodePoolSpec, NodeTemplate
from api.v1alpha1.scale_down import ScaleDown
from pages.conversions import TABLES
from tests.e2e.printed import differences
from tests.project.documents import ROOT, commands
from worker.commands.convert.command import CONVERTERS

DOCUMENT = "docs/migrating.md"
EXAMPLES = ROOT / "deploy" / "examples" / "migrating"
PRINTED = [command for command in commands(DOCUMENT) if command.prints is not None]
GONE = {
    "selector": NodePoolSpec,
    "template.startupTaint": NodeTemplate,
    "scaleDown.safety": ScaleDown,
    "scaleDown.maxDeletesPerRound": ScaleDown,
    "scaleDown.taintEffect": ScaleDown,
}
"""Fields of an earlier proposal, with the model that has none of the name."""


@pytest.mark.parametrize("command", PRINTED, ids=lambda command: command.text)
def test_an_example_prints_what_the_document_says(command):
    done = subprocess.run(command.text, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert differences(command.prints.text, done.stdout) == [], done.stdout


def test_each_peer_has_a_section_and_an_example_that_the_document_runs():
    text = (ROOT / DOCUMENT).read_text()
    run = {f"{peer} {EXAMPLES.relative_to(ROOT)}/{peer}.yaml" for peer in CONVERTERS}
    assert {command.text.partition(" convert ")[2] for command in PRINTED} >= run
    assert {path.stem for path in EXAMPLES.iterdir()} == set(CONVERTERS)
    for peer in TABLES:
        section = re.search(rf"^## {peer}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert section is not None
        for part in ("**What differs**", "from it:**", "**Left out:**"):
            assert part in section.group(1), (peer, part)


def test_the_document_begins_with_the_clouds_that_people_come_from():
    first = (ROOT / DOCUMENT).read_text().split("\n\n")[1]
    assert "Escalator and Karpenter" in first
    assert "another cloud" in first


def test_fields_of_an_earlier_proposal_have_their_successors():
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", (ROOT / DOCUMENT).read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == set(GONE)
    for name, model in GONE.items():
        assert name.rpartition(".")[2] not in {field.alias or part for part, field in model.model_fields.items()}
