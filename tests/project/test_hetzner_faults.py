"""The table of known faults in docs/hetzner.md: each fault that is known has a row, each row a test that is there."""

import ast
import re
from functools import cache

import pytest

from tests.project.documents import ROOT

TEXT = (ROOT / "docs" / "hetzner.md").read_text()
FAULTS = (
    # paperclipinc/karpenter-provider-hetzner: issues and pull requests, and what its source shows.
    *("p#62", "p#61", "p#64", "p#65", "p#68", "p#69", "p#70", "p PR#54"),
    *("p source, image", "p source, cache", "p source, IPv4"),
    # itsh-cloud/karpenter-provider-hcloud.
    *("i action", "i adopt", "i walk", "i orphans", "i flag", "i price", "i sizes", "i refresh", "i datacenter"),
    *("i names", "i token", "i spot"),
    # Issues of Cluster Autoscaler and others, by the numbers that tests name.
    *("2, ", "3, ", "4, ", "5, ", "6, ", "7, ", "8, ", "9, ", "10, ", "13, ", "16, ", "17, ", "25, ", "27, "),
    "ca source",
    # What a fake of the API must be able to do.
    *("scripted, 412", "scripted, 409 for an own", "scripted, 409 for a foreign", "scripted, 423", "scripted, 429"),
    *(
        "scripted, lost answer",
        "scripted, action error",
        "scripted, full network by action",
        "scripted, slow action",
        "scripted, delete 404",
    ),
    *("scripted, stuck deletion", "scripted, a list without", "scripted, limit 403"),
    *("scripted, limits of a part", "scripted, calls that wait", "scripted, project locked"),
    *("scripted, refused for no known reason", "scripted, 422 for keys", "scripted, price change"),
    "scripted, type withdrawn",
)
"""How the row of each known fault begins."""


def rows() -> list[list[str]]:
    """Return the cells of each row of the table."""
    table = TEXT.partition("\n## Known faults\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


ROWS = rows()
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([\w/]+\.py::\w+)`", row[-1])})


@cache
def functions(file: str) -> frozenset[str]:
    """Return the names of the test functions of a file below tests."""
    tree = ast.parse((ROOT / "tests" / file).read_text())
    found = (each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


def test_each_known_fault_has_its_row_and_there_is_no_other():
    assert [next((fault for fault in FAULTS if row[0].startswith(fault)), row[0]) for row in ROWS] == list(FAULTS)


def test_each_row_says_what_happens_and_names_a_test():
    assert [row for row in ROWS if len(row) != 3 or not row[1] or not re.search(r"`[\w/]+\.py::\w+`", row[-1])] == []
    assert [row[-1] for row in ROWS if re.sub(r"`[\w/]+\.py::\w+`|<br/>", "", row[-1])] == []


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_is_there(name: str):
    file, _, function = name.partition("::")
    assert (ROOT / "tests" / file).is_file()
    assert function in functions(file)
