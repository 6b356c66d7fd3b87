"""docs/temporal-ui.md: its queries are run, its words compared with the code, its pictures measured."""

import re
import struct
from pathlib import Path

import pytest

from planner.lifecycle.step import DecisionKind
from worker.temporal.namespace import ensure_search_attributes
from workflows.messages import SEARCH_ATTRIBUTES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "temporal-ui.md"
TEXT = PAGE.read_text()
QUERIES = re.findall(r"^\| [^|]+ \| `([^`]+)` \|$", TEXT.split("## Find a machine")[1], re.MULTILINE)
PICTURES = re.findall(r"!\[[^\]]+\]\((pictures/[a-z-]+\.png)\)", TEXT)
MOST_BYTES = 150_000
PIXELS = range(700, 1101)
"""Width: readable at the 900 that a page has."""


def test_there_are_queries_and_pictures():
    assert len(QUERIES) >= 10
    assert len(PICTURES) >= 4


@pytest.mark.parametrize("query", QUERIES)
async def test_a_query_of_the_page_is_taken(client, query):
    await ensure_search_attributes(client)
    assert await client.count_workflows(query) is not None


def test_the_page_tells_every_attribute_and_no_other():
    assert set(re.findall(r"Growth(?:[A-Z]\w+)", TEXT)) == {key.name for key in SEARCH_ATTRIBUTES}


def test_the_page_tells_every_decision():
    table = TEXT.split("| word | has an effect | does |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` ", table, re.MULTILINE)) == set(DecisionKind)


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_there_small_and_readable(picture):
    data = (PAGE.parent / picture).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(data) <= MOST_BYTES
    # Width and height are the first two fields of a PNG's first chunk. Source: PNG specification, 11.2.2 IHDR.
    width, _ = struct.unpack(">II", data[16:24])
    assert width in PIXELS


def test_every_picture_is_shown():
    assert {f"pictures/{path.name}" for path in (PAGE.parent / "pictures").glob("*.png")} == set(PICTURES)
