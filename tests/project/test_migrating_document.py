"""docs/migrating.md: each example prints what the document says, and docs/conversions.md is what the tables have."""

import re
import subprocess

import pytest

from api.unsupported import OF_SCALE_DOWN, OF_SPEC, OF_TEMPLATE, UNSUPPORTED
from api.v1alpha1.node_pool import NodePoolSpec, NodeTemplate
from api.v1alpha1.scale_down import ScaleDown
from pages.conversions import FILE, TABLES, main, page
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
    refused = {*OF_SPEC[UNSUPPORTED], *OF_TEMPLATE[UNSUPPORTED], *OF_SCALE_DOWN[UNSUPPORTED]}
    assert {name.rpartition(".")[2] for name in GONE} <= refused


def test_the_page_of_settings_is_fresh(tmp_path):
    assert main(["--check"]) == 0, "run make drawings"
    assert main(["--check"], tmp_path / FILE.name) == 1


def test_the_page_has_each_setting_of_each_peer():
    text = page()
    for peer, tables in TABLES.items():
        _, _, section = text.partition(f"## {peer}\n")
        for table in tables.values():
            assert [name for name in table if f"`{name}`" not in section] == []


def test_fields_that_settings_become_are_fields():
    """A first word of a path is a field of spec, or another part of the object that the row names."""
    fields = {field.alias or part for part, field in NodePoolSpec.model_fields.items()}
    first = {
        re.split(r"[.\[]", row.becomes)[0]
        for peer in ("Escalator", "VPSie")
        for table in TABLES[peer].values()
        for row in table.values()
        if row.becomes and " " not in row.becomes
    }
    assert first <= fields | {"metadata"}
