"""Selectors as requirements: every operator, fields, and what selects nothing."""

from typing import Any

import pytest

from planner.objects.kinds import Requirement
from planner.objects.predicates import FIELD_NAME, NEVER, selects
from planner.parsing.json_part import FieldError, Part
from planner.parsing.selectors import label_selector, node_terms, optional_selector


def terms(*raw: dict[str, Any]) -> tuple[tuple[Requirement, ...], ...]:
    return node_terms(Part({"nodeSelectorTerms": list(raw)}, "required").parts("nodeSelectorTerms"))


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("operator", "values", "matching", "others"),
    [
        ("In", ["a", "b"], [{"k": "a"}, {"k": "b"}], [{}, {"k": "c"}, {"K": "a"}]),
        ("NotIn", ["a"], [{}, {"k": "b"}, {"k": ""}], [{"k": "a"}]),
        ("Exists", [], [{"k": ""}, {"k": "a"}], [{}]),
        ("DoesNotExist", [], [{}], [{"k": ""}]),
        ("Gt", ["3"], [{"k": "4"}, {"k": "10"}], [{}, {"k": "3"}, {"k": "2"}, {"k": "many"}, {"k": "3.5"}]),
        ("Lt", ["3"], [{"k": "2"}, {"k": "-5"}], [{}, {"k": "3"}, {"k": "10"}, {"k": ""}]),
        ("Gt", ["-3"], [{"k": "-2"}, {"k": "0"}], [{"k": "-3"}]),
        # The API server takes these; the scheduler cannot read them, and the term selects no node.
        ("Gt", ["many"], [], [{}, {"k": "5"}]),
        ("Lt", ["9223372036854775808"], [], [{}, {"k": "5"}]),
        ("Lt", ["٣"], [], [{"k": "2"}]),
    ],
)
def test_operators_of_node_affinity(operator: str, values: list[str], matching: list[dict], others: list[dict]):
    (term,) = terms({"matchExpressions": [expression("k", operator, *values)]})
    assert all(selects(term, labels) for labels in matching)
    assert not any(selects(term, labels) for labels in others)


def test_fields_and_expressions_of_a_term_must_all_hold():
    name = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    assert terms({"matchExpressions": [expression("disk", "Exists")], "matchFields": [name]}) == (
        (Requirement("disk", "Exists"), Requirement(FIELD_NAME, "In", ("node-1",))),
    )


def test_an_empty_term_selects_nothing_beside_others_that_do():
    assert terms({}, {"matchExpressions": [expression("disk", "Exists")]}) == (
        (NEVER,),
        (Requirement("disk", "Exists"),),
    )


def test_no_terms_select_no_node():
    assert terms() == ((NEVER,),)
    assert not selects((NEVER,), {})
    assert not selects((NEVER,), {"": ""})


def test_a_label_selector_holds_pairs_and_expressions():
    part = Part({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [expression("c", "NotIn", "3")]})
    assert label_selector(part) == (
        Requirement("a", "In", ("1",)),
        Requirement("b", "In", ("2",)),
        Requirement("c", "NotIn", ("3",)),
    )


def test_an_absent_selector_is_not_an_empty_one():
    assert optional_selector(Part({}), "labelSelector") is None
    assert optional_selector(Part({"labelSelector": None}), "labelSelector") is None
    assert optional_selector(Part({"labelSelector": {}}), "labelSelector") == ()


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ({"matchExpressions": [{"operator": "Exists"}]}, "matchExpressions[0].key: a name is needed"),
        ({"matchExpressions": [expression("k", "NotIn")]}, "NotIn needs at least one value"),
        ({"matchExpressions": [expression("k", "Gt")]}, "Gt needs one value"),
        (
            {"matchFields": [expression("metadata.uid", "In", "1")]},
            "matchFields[0].key: 'metadata.uid' is not metadata.name",
        ),
        ({"matchFields": [expression("metadata.name", "Exists")]}, "'Exists' is not one of In, NotIn"),
        ({"matchFields": [expression("metadata.name", "In", "a", "b")]}, "In needs one value"),
    ],
)
def test_what_no_api_server_would_take_is_named(term: dict[str, Any], message: str):
    with pytest.raises(FieldError) as raised:
        terms(term)
    assert message in str(raised.value)


def test_numbers_are_not_compared_in_label_selectors():
    with pytest.raises(FieldError, match="'Gt' is not one of In, NotIn, Exists, DoesNotExist"):
        label_selector(Part({"matchExpressions": [expression("k", "Gt", "1")]}))
