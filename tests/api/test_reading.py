from typing import Annotated

import pytest
from pydantic import Field

from api.definitions import DEFINITIONS
from api.keys import API_VERSION
from api.model import Model, Private, UnreadableError, read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.node_pool import NodePool
from tests.api.objects import hetzner_class, node_class, pool, removal, request
from tests.api.wrong_objects import WRONG_OBJECTS

MODELS = {definition.kind: definition.model for definition in DEFINITIONS}


@pytest.mark.parametrize("name", WRONG_OBJECTS)
def test_a_wrong_object_is_told_of_in_one_line_with_object_and_field(name):
    refusal = WRONG_OBJECTS[name]
    given = refusal.given
    with pytest.raises(UnreadableError) as caught:
        read(MODELS[given["kind"]], given)
    assert caught.value.fault == refusal.fault
    subject = f"{given['kind']} {given['metadata'].get('name', 'without a name')}"
    assert str(caught.value) == f"{subject}: {refusal.fault}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [pool(), node_class(), request(), removal()], ids=lambda given: given["kind"])
def test_right_objects_are_read_and_written_back_equal(given):
    model = MODELS[given["kind"]]
    whole = read(model, given)
    written = whole.to_json()
    assert read(model, written) == whole
    assert read(model, written).to_json() == written
    for part in ("apiVersion", "kind", "metadata"):
        assert written[part] == given[part]


def test_metadata_of_others_and_nulls_are_passed_over():
    given = pool()
    given["metadata"] |= {
        "managedFields": [{"manager": "kubectl"}],
        "creationTimestamp": None,
        "labels": None,
        "somethingNew": {"a": 1},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "new": 1}],
    }
    given["spec"]["limits"] = None
    found = read(NodePool, given)
    assert found.metadata.owner_references[0].uid == "u"
    assert found.spec.limits.max is None
    assert found.metadata.labels == {}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (None, "NodePool without a name: must be a mapping, not null"),
        ([1], "NodePool without a name: must be a mapping, not a list"),
        ("a pool", "NodePool without a name: must be a mapping, not 'a pool'"),
        ({}, "NodePool without a name: metadata: is missing (and 1 more)"),
        (
            pool() | {"apiVersion": "growth/v1alpha1"},
            f"NodePool default: apiVersion: must be '{API_VERSION}', not 'growth/v1alpha1'",
        ),
        (node_class(), "NodePool default: kind: must be 'NodePool', not 'KwokNodeClass' (and 3 more)"),
    ],
)
def test_what_is_no_such_object_at_all(given, line):
    with pytest.raises(UnreadableError) as caught:
        read(NodePool, given)
    assert str(caught.value) == line


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(UnreadableError) as caught:
        read(NodePool, pool(scaleDown={"mode": "x" * 5000}))
    assert str(caught.value).endswith(f"not '{'x' * 60}...'")


TOKEN = "S3cr3t_of-the/project"
"""No form of name allows it."""
TEXT = {"template": "{{ k3s.args }}"}
DNS_63 = 'must be lower-case letters, digits and "-", at most 63, starting and ending with a letter or digit'
REF = {"namespace": "a", "name": "b", "key": "c"}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"tokenSecretRef": TOKEN}, "spec.tokenSecretRef: must be a mapping, not text"),
        ({"tokenSecretRef": [TOKEN]}, "spec.tokenSecretRef: must be a mapping, not a list"),
        (
            {"tokenSecretRef": REF | {"name": TOKEN}},
            "spec.tokenSecretRef.name: must be the name of an object in Kubernetes",
        ),
        (
            {"tokenSecretRef": REF | {"namespace": TOKEN}},
            f"spec.tokenSecretRef.namespace: {DNS_63}",
        ),
        (
            {"tokenSecretRef": REF | {"key": TOKEN}},
            'spec.tokenSecretRef.key: must be letters, digits, "-", "_" and "."',
        ),
        ({"userData": TOKEN}, "spec.userData: must be a mapping, not text"),
        ({"userData": {"template": [TOKEN]}}, "spec.userData.template: must be text, not a list"),
        ({"userData": TEXT | {"variables": TOKEN}}, "spec.userData.variables: must be a mapping, not text"),
        (
            {"userData": TEXT | {"variables": {"tok": TOKEN}}},
            "spec.userData.variables.tok: must be a mapping, not text",
        ),
        (
            {"userData": TEXT | {"variables": {"tok": {"value": 9134567812345}}}},
            "spec.userData.variables.tok.value: must be text, not a number",
        ),
        (
            {"userData": TEXT | {"variables": {"tok": {"value": True}}}},
            "spec.userData.variables.tok.value: must be text, not true or false",
        ),
        (
            {"userData": TEXT | {"variables": {"tok": {"secretKeyRef": REF | {"name": TOKEN}}}}},
            "spec.userData.variables.tok.secretKeyRef.name: must be the name of an object in Kubernetes",
        ),
    ],
)
def test_what_may_be_a_secret_is_not_quoted(spec, fault):
    with pytest.raises(UnreadableError) as caught:
        read(HetznerNodeClass, hetzner_class(**spec))
    assert caught.value.fault == fault


class Inner(Model):
    open: int = 0
    hidden: Annotated[int, Private()] = 0


class Outer(Model):
    parts: tuple[Inner, ...] = ()
    named_parts: dict[str, Inner | None] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"parts": [{"hidden": "x"}]}, "parts[0].hidden: input should be a valid integer, unable to parse string"),
        ({"parts": [{"open": [1]}]}, "parts[0].open: must be a whole number, not a list"),
        ({"parts": [{"hidden": 1.5}]}, "parts[0].hidden: must be a whole number, not a number"),
        ({"parts": [{"open": 1.5}]}, "parts[0].open: must be a whole number, not 1.5"),
        ({"namedParts": {"open": {"hidden": 1.5}}}, "namedParts.open.hidden: must be a whole number, not a number"),
    ],
)
def test_a_field_is_private_wherever_its_model_stands(given, fault):
    with pytest.raises(UnreadableError) as caught:
        read(Outer, given)
    assert caught.value.fault.startswith(fault)
