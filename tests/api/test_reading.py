import pytest

from api.definitions import DEFINITIONS
from api.reading import UnreadableError, read
from api.v1alpha1.node_pool import NodePool
from tests.api.objects import API_VERSION, node_class, pool, removal, request
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
