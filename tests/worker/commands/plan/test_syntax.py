"""Texts as data: what PyYAML and json make of them is what comes out, and faults are placed."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from worker.commands.plan import syntax as plan_syntax
from worker.commands.plan.syntax import BadDocument


def documents(text):
    return plan_syntax.documents(text.encode())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, '"']))
def test_yaml_is_read_as_pyyaml_reads_it(value, in_flow, style):
    text = yaml.safe_dump(value, default_flow_style=in_flow, default_style=style, allow_unicode=True)
    assert list(documents(text)) == [yaml.load(text, Loader=yaml.CSafeLoader)]


@given(st.lists(VALUES.filter(lambda value: isinstance(value, (dict, list))), min_size=1, max_size=3))
def test_json_is_read_one_value_after_the_other(values):
    assert list(documents("\n".join(json.dumps(value, indent=2) for value in values))) == values


@pytest.mark.parametrize(
    "text",
    [
        "a: &one {b: 1}\nc: *one\nd: {<<: *one, e: 2}\n",
        "base: &base {a: 1, b: 1}\nover: &over {b: 2, c: 2}\nboth: {<<: [*base, *over], c: 3}\n",
        "a: !!str 1\nb: !!int '2'\nc: ! 3\nd: !!float 1\ne: !!null ''\n",
        "a: 0o17\nb: 0x1F\nc: 1_000\nd: 1e3\ne: .5\nf: yes\ng: ~\nh: '1'\ni: 1:30\n",
        'a: |\n  one\n  two\nb: >-\n  three\n  four\nc: "\\u00e9\\n"\n',
        "--- 1\n...\n---\n- a\n---\n",
        "? a\n: b\n? 1\n: c\n",
        "{a: [1, {b: c}], 'd': \"e\"}",
        "- - 1\n  - 2\n- {}\n- []\n",
        "",
        "# nothing\n",
    ],
)
def test_what_people_write_is_read_as_pyyaml_reads_it(text):
    assert list(documents(text)) == list(yaml.safe_load_all(text))


def test_a_time_stays_text():
    assert list(documents("a: 2026-03-01T11:00:00Z\nb: 2026-03-01\n")) == [
        {"a": "2026-03-01T11:00:00Z", "b": "2026-03-01"}
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: *b\n", ":1:4", "found undefined alias 'b'"),
        # libyaml knows the anchor, and a value within itself would have no end.
        ("a: &a [*a]\n", ":1:8", "found undefined alias 'a'"),
        (
            "a: !!python/object:os.system x\n",
            ":1:4",
            "the tag 'tag:yaml.org,2002:python/object:os.system' is not known",
        ),
        ("a: !!set {b}\n", ":1:4", "the tag 'tag:yaml.org,2002:set' is not known"),
        ("? [a]\n: b\n", ":1:3", "a key must be text, not a list or mapping"),
        ("a: {<<: 1}\n", ":1:5", "a merge key needs a mapping"),
        ("a: b: c\n", ":1:5", "mapping values are not allowed in this context"),
        ("a: \x07\n", "", "control characters are not allowed"),
        ("[" * 5000 + "]" * 5000, "", "nested too deeply"),
        (json.dumps({"a": ["x" * 100_000, 1]})[:-3], ":1:100012", "not JSON: Expecting"),
    ],
)
def test_faults_are_told_with_their_place(text, place, message):
    with pytest.raises(BadDocument) as raised:
        list(documents(text))
    assert message in str(raised.value)
    assert raised.value.place == place


MANAGERS = [{"manager": "kubectl", "fieldsV1": {"f:spec": {".": {}, "f:a]": {}}}}, {"manager": "kubelet"}]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_who_wrote_which_field_is_left_out_of_json_as_kubectl_prints_it(indent):
    one = {"metadata": {"labels": {"a": 'x"managedFields": [\n'}, "managedFields": MANAGERS, "name": "a"}, "spec": [1]}
    bare = {"metadata": {"labels": {"a": 'x"managedFields": [\n'}, "name": "a"}, "spec": [1]}
    whole = {"items": [one, one], "kind": "List"}
    (found,) = documents(json.dumps(whole, indent=indent))
    assert found == ({"items": [bare, bare], "kind": "List"} if indent else whole)


def test_a_fault_behind_it_is_told_with_its_place():
    text = json.dumps({"a": {"managedFields": MANAGERS * 2000, "name": "a"}, "z": "x" * 70_000}, indent=1)
    with pytest.raises(BadDocument) as raised:
        list(documents(text.removesuffix("}") + ", }"))
    assert raised.value.place == f":{text.count(chr(10)) + 1}:3"


@pytest.mark.parametrize(
    "item",
    [
        {"metadata": {"name": "a", "managedFields": MANAGERS}},
        {"managedFields": []},
        [{"managedFields": [1], "b": [{"managedFields": [2]}]}],
    ],
    ids=["last", "empty", "within"],
)
def test_json_stays_whole_without_it(item):
    def bare(value):
        if isinstance(value, list):
            return [bare(one) for one in value]
        if isinstance(value, dict):
            return {key: bare(one) for key, one in value.items() if key != "managedFields"}
        return value

    (found,) = documents(json.dumps(item, indent=2))
    assert bare(found) == bare(item)


def test_who_wrote_which_field_is_left_out_of_yaml():
    item = {"metadata": {"managedFields": MANAGERS, "name": "a"}, "spec": {"managedFields": 3, "b": 1}}
    assert list(documents(yaml.safe_dump(item))) == [{"metadata": {"name": "a"}, "spec": {"b": 1}}]


def test_a_text_in_another_encoding_is_refused():
    with pytest.raises(UnicodeDecodeError):
        list(plan_syntax.documents("a: ü".encode("latin-1")))
