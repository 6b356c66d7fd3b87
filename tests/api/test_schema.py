from collections.abc import Iterator

import pytest
import yaml

from api.definitions import DEFINITIONS
from api.rules import Schema
from api.schema import FOLDER, main, render_definitions, stale_files
from tests.api.cel_rules import SCHEMAS

RENDERED = {
    definition.kind: yaml.safe_load(text)
    for definition, text in zip(DEFINITIONS, render_definitions().values(), strict=True)
}


def walk(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from walk(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from walk(schema[key], f"{path}[]")


@pytest.mark.parametrize("kind", RENDERED)
def test_every_part_is_structural(kind):
    """Kubernetes documentation, "Specifying a structural schema"."""
    for path, schema in walk(SCHEMAS[kind], kind):
        assert not schema.keys() & {"$ref", "$defs", "title", "const", "oneOf", "allOf", "prefixItems"}, path
        assert ("type" in schema) != (schema.get("x-kubernetes-int-or-string") is True), path
        assert not {"properties", "additionalProperties"} <= schema.keys(), path
        assert ("items" in schema) == (schema.get("type") == "array"), path
        assert set(schema.get("required", [])) <= schema.get("properties", {}).keys(), path
        assert schema.get("exclusiveMinimum", True) is True, path


@pytest.mark.parametrize("kind", RENDERED)
def test_every_field_of_spec_and_status_is_described(kind):
    for path, schema in walk(SCHEMAS[kind], kind):
        if path.startswith((f"{kind}.spec", f"{kind}.status")) and not path.endswith("[]"):
            assert schema["description"].endswith("."), path


@pytest.mark.parametrize("kind", RENDERED)
def test_a_status_has_no_defaults(kind):
    assert [p for p, s in walk(SCHEMAS[kind], kind) if ".status" in p and "default" in s] == []


@pytest.mark.parametrize("kind", RENDERED)
def test_conditions_are_a_map_by_type(kind):
    conditions = SCHEMAS[kind]["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert "type" in conditions["items"]["required"]


@pytest.mark.parametrize("kind", RENDERED)
def test_columns_end_with_state_and_age_and_are_at_most_six(kind):
    columns = RENDERED[kind]["spec"]["versions"][0]["additionalPrinterColumns"]
    narrow = [column["name"] for column in columns if column["priority"] == 0]
    assert len(narrow) <= 6
    state = {"Ready", "Phase"} & set(narrow)
    assert narrow[-2] in state or not state
    assert narrow[-1] == "Age"


@pytest.mark.parametrize("kind", RENDERED)
def test_columns_show_fields_that_exist(kind):
    for column in RENDERED[kind]["spec"]["versions"][0]["additionalPrinterColumns"]:
        path = column["jsonPath"]
        if path.startswith(".metadata"):
            continue
        schema = SCHEMAS[kind]
        for name in path.split("[")[0].split(".")[1:]:
            schema = schema["properties"][name]
        kind_of = "date" if schema.get("format") == "date-time" and column["type"] == "date" else schema["type"]
        assert kind_of == ("array" if "[" in path else column["type"]), path


def test_names():
    names = {kind: rendered["spec"]["names"] for kind, rendered in RENDERED.items()}
    assert {kind: name.get("shortNames", []) for kind, name in names.items()} == {
        "NodePool": ["gnp"],
        "KwokNodeClass": [],
        "HetznerNodeClass": [],
        "NodeRequest": ["nr"],
        "NodeRemovalRequest": ["nrr"],
    }
    assert {name["plural"] for name in names.values()} == {
        "nodepools",
        "kwoknodeclasses",
        "hetznernodeclasses",
        "noderequests",
        "noderemovalrequests",
    }
    for rendered in RENDERED.values():
        assert rendered["spec"]["names"]["categories"] == ["growth"]
        assert rendered["spec"]["scope"] == "Cluster"
        assert rendered["metadata"]["name"] == f"{rendered['spec']['names']['plural']}.growth.dev"
        assert rendered["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_the_committed_files_are_fresh():
    assert stale_files(FOLDER) == []
    assert main(["--check"]) == 0


def test_writing_makes_fresh_what_was_not(tmp_path, capsys):
    rendered = render_definitions()
    first = next(iter(rendered))
    (tmp_path / first).write_text("old")
    (tmp_path / "growth.dev_gone.yaml").write_text("of a kind that is no more")
    (tmp_path / "README.md").write_text("not ours")
    assert main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err.count("run make crds") == len(rendered) + 1
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    assert {file.name for file in tmp_path.iterdir()} == {*rendered, "README.md"}
