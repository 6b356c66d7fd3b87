"""One word, one thing: no two classes of the rooms share a name."""

import ast
from collections import defaultdict

from tests.project.test_layout import ROOMS, ROOT


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
