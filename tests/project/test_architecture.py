"""docs/architecture.md speaks of what there is: files, rooms, activities."""

import re
from configparser import ConfigParser

import pytest

from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from tests.project.documents import ROOT, blocks, inline

DOCUMENT = "docs/architecture.md"
CODE = sorted(set(inline(DOCUMENT)))
FILES = [word for word in CODE if word.endswith(".py")]
DRAWING = next(block.text for block in blocks(DOCUMENT) if block.language == "mermaid")


@pytest.mark.parametrize("name", FILES)
def test_a_named_file_exists(name):
    assert (ROOT / name).is_file()


def test_files_are_named_with_their_room():
    assert len(FILES) > 30
    assert all("/" in name for name in FILES)


def test_every_room_is_told_of_and_drawn():
    law = ConfigParser()
    law.read(ROOT / ".importlinter")
    layers = [layer for layer in law["importlinter:contract:layers"]["layers"].split("\n") if layer]
    rooms = [room for layer in layers for room in layer.split(" | ")]
    assert len(rooms) >= 6
    assert {f"{room}/" for room in rooms} <= set(CODE)
    # Nothing flows through these: benchmarks measure, pages are written, the package finds the rooms.
    aside = {"benchmarks", "pages", "growth_autoscaler"}
    assert all(f'"{room}/' in DRAWING for room in rooms if room not in aside)
    assert " > ".join(f"({layer})" if "|" in layer else layer for layer in layers) in CODE


def test_named_activities_exist():
    activities = {"plan_round", *RequestEffect, *RemovalEffect}
    named = {word for word in CODE if re.fullmatch("[a-z]+(_[a-z]+)+", word)}
    assert len(named) > 10
    assert named <= activities
    assert set(re.findall("[a-z]+_[a-z]+", DRAWING)) <= activities


def test_links_lead_to_documents():
    links = re.findall(r"\]\(([^)#]+)", (ROOT / DOCUMENT).read_text())
    assert links
    assert all((ROOT / "docs" / link).is_file() for link in links)
