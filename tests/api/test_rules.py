import copy

import cel
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from api.names import LabelValue, OptionalLabelValue, TaintKey
from api.quantity import Price
from api.rules import RULES, Schema, distinct
from api.v1alpha1.node_pool import PoolName
from api.v1alpha1.node_request import RequestName
from api.v1alpha1.pool_parts.window import WEEKDAYS
from api.v1alpha1.removal_budget import BUDGET_REASONS, RemovalBudget
from tests.api.cel_rules import SCHEMAS, complaints
from tests.api.objects import MACHINE, SMALL, node_class, pool, removal, request
from tests.api.wrong_objects import WRONG_OBJECTS

BY_RULE = [name for name, wrong in WRONG_OBJECTS.items() if wrong.by_rule]


@pytest.mark.parametrize("name", BY_RULE)
def test_a_rule_says_what_is_wrong_and_no_other_rule_does(name):
    (message,) = complaints(WRONG_OBJECTS[name].given)
    assert WRONG_OBJECTS[name].says in message


@pytest.mark.parametrize(
    "whole",
    [
        pool(),
        pool({"name": "a", "min": 1, "max": 1}, {"name": "B"}, limits={"min": 1, "max": 1}),
        pool(SMALL, limits={"min": 3}, name="a" * 40),
        pool(
            SMALL | {"locations": ["fsn1", "FSN1"], "min": 1},
            {"pattern": "C?x*"},
            {"pattern": "c" * 63, "min": 0},
            {
                "requirements": [
                    {"key": "architecture", "operator": "In", "values": ["amd64", "arm64"]},
                    {"key": "cores", "operator": "NotIn", "values": ["1", "96"]},
                    {"key": "memory", "operator": "Gte", "values": ["1.5Gi"]},
                    {"key": "dedicated", "operator": "NotIn", "values": ["true"]},
                    {"key": "price", "operator": "Lte", "values": ["0.1"]},
                ]
            },
            limits={"max": 9},
            locations=["fsn1"],
            template={"annotations": {"example.com/a.b_c": "", "note": "ü: any text\n" * 80, "k8s": "x"}},
        ),
        pool(
            SMALL,
            template={
                "labels": {"example.com/team": "", "a": "A.b_c-1"},
                "taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute", "value": ""}],
            },
            scaleUp={"podBackoff": {"base": "1h", "max": "60m"}, "recordTTL": "0s"},
        ),
        pool(
            scaleDown={
                "budgets": [
                    {"nodes": 0, "days": ["Mon"], "start": "22:30", "end": "06:00", "timezone": "America/Sao_Paulo"},
                    {"nodes": "100%", "reasons": ["Drift", "Empty"]},
                    {"nodes": "0%", "reasons": ["Consolidation"]},
                    {"nodes": "007", "timezone": "Etc/GMT+5"},
                    {"nodes": 99_999, "days": ["Sat", "Sun"]},
                ]
            }
        ),
        node_class(),
        node_class(
            MACHINE | {"capacity": {"cpu": 2, "memory": 2**32}, "overhead": {"cpu": "2", "memory": "1e3"}},
            MACHINE | {"name": "b", "labels": {}, "locations": [{"name": "x", "zone": "x-1"}, {"name": "X"}]},
            currency="USD",
        ),
        request("a" * 63),
        removal("a", nodeName="a", reason="NotEmpty2"),
    ],
    ids=lambda whole: whole["kind"],
)
def test_no_rule_speaks_against_a_right_object(whole):
    assert complaints(whole) == []


BUDGET = st.fixed_dictionaries(
    {"nodes": st.sampled_from([0, 1, -1, 100_000, 99_999, "0", "0%", "000", "10%", "101%", "", "1.5", "%"])},
    optional={
        "reasons": st.sampled_from([["Empty"], list(BUDGET_REASONS)]),
        "days": st.sampled_from([["Sun"], list(WEEKDAYS), ["Mon", *WEEKDAYS[1:6]]]),
        "start": st.sampled_from(["00:00", "23:59", "24:00", "9:00", "09:60"]),
        "end": st.sampled_from(["00:00", "23:59", "", "07:30\n"]),
        "timezone": st.sampled_from(["UTC", "Europe/Berlin", "Europe/Nowhere", "/UTC", "a/../b", "Etc/GMT+5", "é"]),
    },
)


@settings(deadline=None)
@given(BUDGET)
def test_a_budget_is_refused_by_the_api_server_exactly_if_it_is_by_reading(budget):
    by_rules = complaints(pool(scaleDown={"budgets": [budget]}))
    try:
        RemovalBudget.model_validate(budget)
    except ValidationError:
        assert by_rules
    else:
        assert by_rules == []


LETTERS = st.text("aZ0-._/ \n\u00e9", max_size=8)


@pytest.mark.parametrize("kind", [PoolName, RequestName, LabelValue, OptionalLabelValue, TaintKey, Price])
@given(
    text=st.one_of(
        LETTERS,
        st.integers(36, 70).map(lambda length: "a" * length),
        st.integers(61, 66).map(lambda length: f"{'a.' * 126}a/{'b' * length}"),
        st.decimals(0, 10**10, places=8).map(str),
    )
)
@example(text="growth.dev/x")
def test_the_rule_of_the_api_server_accepts_what_reading_accepts(kind, text):
    adapter = TypeAdapter(kind)
    schema = adapter.json_schema()
    holds = len(text) <= schema["maxLength"] and all(cel.evaluate(r["rule"], {"self": text}) for r in schema[RULES])
    try:
        adapter.validate_python(text)
    except ValidationError:
        assert not holds
    else:
        assert holds


def changed(before, **spec):
    after = copy.deepcopy(before)
    after["spec"] |= spec
    return after


SEAT = {"namespace": "a", "name": "b", "uid": "c"}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (request(), changed(request(), reservedFor=[SEAT]), None),
        (request(reservedFor=[SEAT]), request(), None),
        (request(), changed(request(), pool="other"), "only reservedFor may change"),
        (request(), changed(request(), serverType="cax21"), "only reservedFor may change"),
        (request(), changed(request(), location="nbg1"), "only reservedFor may change"),
        (request(), changed(request(), classRef={"kind": "KwokNodeClass", "name": "b"}), "only reservedFor may change"),
        (removal(), removal(), None),
        (removal(), changed(removal(), immediate=True), "nothing here may change"),
        (removal(), changed(removal(), nodeName="n"), "nothing here may change"),
        (removal(nodeName="n"), removal(), "nothing here may change"),
        (pool(), changed(pool(), serverTypes=[{"name": "other", "max": 1}]), None),
    ],
)
def test_what_may_change(before, after, words):
    found = complaints(after, before)
    assert len(found) == (0 if words is None else 1)
    assert all(words in message for message in found)


def all_rules(schema: Schema, path: str):
    for rule in schema.get(RULES, []):
        yield path, rule
    for name, below in schema.get("properties", {}).items():
        yield from all_rules(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from all_rules(schema[key], f"{path}[]")


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_rule_compiles_and_speaks_in_one_line(kind):
    found = list(all_rules(SCHEMAS[kind], kind))
    assert found
    for path, rule in found:
        cel.compile(rule["rule"])
        assert rule["message"], path
        assert "\n" not in rule["message"], path
        assert "\\" not in rule["rule"], f"{path}: a backslash means one thing to CEL and another to Python"


def test_the_message_of_distinct_names_its_fields():
    check = distinct("key", "effect")
    assert check.message == "each key and effect may stand only once"
