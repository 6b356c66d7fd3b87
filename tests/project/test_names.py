"""One word, one thing: no two classes of the rooms share a name, and a name says what it holds."""

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.project.test_layout import ROOMS, ROOT

PRONOUNS = {
    *("found", "one", "told", "there", "those", "these", "that", "them", "it", "what", "who", "which", "mine"),
    *("theirs", "ours", "thing", "things", "sought", "kept", "driven", "sight"),
}
"""A reader of the line alone cannot say what they hold."""
PAYLOAD_FIELDS = {("planner/model/plan.py", "sought")}
"""Part of stored histories."""


def class_names() -> dict[str, list[str]]:
    """Return the files that define each public class, by its name."""
    found = defaultdict(list)
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_a_class_name_stands_for_one_thing():
    names = class_names()
    assert len(names) > 300
    assert {name: files for name, files in names.items() if len(files) > 1} == {}


def bound_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of what is assigned, taken as an argument or defined, but in comprehensions and lambdas."""
    short = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, short) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name


def pronouns(file: str, source: str) -> list[str]:
    """Return where a source binds a name that stands for nothing."""
    names = bound_names(ast.parse(source))
    return [f"{file}:{line} {name}" for line, name in names if name in PRONOUNS and (file, name) not in PAYLOAD_FIELDS]


@pytest.mark.parametrize("room", [*ROOMS, "benchmarks", "pages"])
def test_a_name_says_what_it_holds(room: str):
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    assert [where for path in files for where in pronouns(str(path.relative_to(ROOT)), path.read_text())] == []


@pytest.mark.parametrize("planted", ["found = 1", "def told(): pass", "def f(one): pass", "for there in x: pass"])
def test_a_planted_pronoun_is_seen(planted: str):
    assert len(pronouns("x.py", planted)) == 1


def test_comprehensions_may_have_short_names():
    assert pronouns("x.py", "names = [one.name for one in nodes]") == []
