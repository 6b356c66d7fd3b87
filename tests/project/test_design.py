"""The design page is cited by heading: each citation leads to a heading, and no other form of citation is left."""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.project.documents import ROOT
from tests.project.test_layout import tracked

PAGE: Final = "docs/design.md"
_CITATION: Final = re.compile(r"docs/design\.md(#[\w-]*)?")
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors() -> set[str]:
    """Return the anchors of the page's headings, as GitHub makes them."""
    headings = _HEADING.findall((ROOT / PAGE).read_text())
    return {"#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def citations() -> Iterator[tuple[str, str]]:
    """Yield each citation in code: the file and the anchor, empty where none is given."""
    for path in tracked("*.py"):
        name = str(path.relative_to(ROOT))
        if name != "tests/project/test_design.py":
            yield from ((name, match.group(1) or "") for match in _CITATION.finditer(path.read_text()))


CITED: Final = sorted(set(citations()))


@pytest.mark.parametrize(("file", "anchor"), CITED)
def test_a_citation_leads_to_a_heading(file, anchor):
    assert anchor in anchors()


def test_the_design_is_cited_by_heading_only():
    assert len(CITED) > 30
    by_number = [str(path) for path in tracked("*.py") if "design \N{SECTION SIGN}" in path.read_text()]
    assert not by_number


def test_each_heading_stands_once():
    headings = _HEADING.findall((ROOT / PAGE).read_text())
    assert len(headings) == len(set(headings))
