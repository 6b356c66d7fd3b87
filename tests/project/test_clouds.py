"""Planner, workflows, activities and worker serve any cloud: none is named there but where providers are."""

import ast
import re
import tomllib

from activities.providers.built_in import BUILT_IN, ENTRY_POINTS
from activities.providers.kinds import provider_kinds
from tests.project.documents import ROOT

ROOMS = ("planner", "workflows", "activities", "worker")
HOMES = ("activities/providers/", "worker/settings.py", "worker/commands/convert/")
"""Providers themselves, with the one table of what is built in, the settings, and what makes a node class of a kind
that is built in from another autoscaler's settings: each of those names its own clouds."""
CLOUDS = re.compile("hetzner|kwok", re.IGNORECASE)


def named(text):
    """Return the lines of code that name a cloud; docstrings and comments are prose, and may cite one."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            held = getattr(node, field, None)
            if isinstance(held, list):
                prose = [one for one in held if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
                setattr(node, field, [one for one in held if one not in prose] or [ast.Pass()])
    return [line for line in ast.unparse(tree).splitlines() if CLOUDS.search(line)]


def test_no_code_names_a_cloud_but_providers_and_settings():
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 150
    elsewhere = {file: str(file.relative_to(ROOT)) for file in files}
    found = {
        name: lines
        for file, name in elsewhere.items()
        if not name.startswith(HOMES) and (lines := named(file.read_text()))
    }
    assert found == {}


def test_a_cloud_that_is_named_in_code_is_found_and_one_in_prose_is_not():
    planted = '"""Of Hetzner."""\nKIND = "x"\n"""As KWOK."""\n\n\ndef f():\n    """Hetzner."""\n    # Hetzner\n'
    assert named(planted) == []
    assert named(planted + '    return "HetznerNodeClass"\n') == ["    return 'HetznerNodeClass'"]
    assert named(planted + "    return kwok_offerings()\n") == ["    return kwok_offerings()"]


def test_the_distribution_registers_what_is_built_in():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][ENTRY_POINTS] == {one.name: one.value for one in BUILT_IN}
    assert [one.load() for one in BUILT_IN] == list(provider_kinds())
