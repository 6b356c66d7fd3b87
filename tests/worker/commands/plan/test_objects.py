"""Which objects of some files a plan takes: each once, the latest state, and a count of the rest."""

import pytest

from worker.commands.plan.objects import Objects, items_of
from worker.errors import CommandError


def node(name="a", **changes):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **changes}}


def taken(*files):
    """Return the objects of files that hold one document each."""
    objects = Objects()
    for number, document in enumerate(files, start=1):
        file = f"f{number}"
        for where, kind, item in items_of(f"{file}: document 1", document):
            objects.add(file, where, kind, item)
    return objects


def test_lists_of_all_shapes_hold_objects():
    bare = {"metadata": {"name": "c"}}
    whole = {
        "kind": "List",
        "items": [node("a"), {"kind": "List", "items": [node("b")]}, {"kind": "NodeList", "items": [bare]}],
    }
    objects = taken(whole, [node("d"), [node("e")]], None)
    assert [item["metadata"]["name"] for item in objects.of("Node")] == ["a", "b", "c", "d", "e"]
    assert objects.of("Pod") == []
    assert objects.notes() == []


def test_what_no_plan_needs_is_counted_once_for_all_files():
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "x"}}
    policy = {"kind": "NetworkPolicy", "metadata": {"name": "x"}}
    objects = taken([role] * 1200, [role, policy, policy, {"kind": "Ingress"}, {"kind": "Ingress"}])
    assert objects.notes() == ["passed over, as no plan needs them: 2 Ingresses, 2 NetworkPolicies, 1,201 Roles"]


def test_kinds_of_others_that_have_the_same_name_are_passed_over():
    pools = [
        {"apiVersion": version, "kind": "NodePool", "metadata": {"name": "default"}}
        for version in ("karpenter.sh/v1", "karpenter.sh/v1", "growth.dev/v1alpha1", "growth/v1alpha1")
    ]
    typed = {"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList", "items": [{"metadata": {"name": "default"}}]}
    other = {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "x"}}
    objects = taken(pools, typed, other)
    assert objects.notes() == [
        (
            "passed over, as no plan needs them: "
            "1 Node of example.com/v1, 1 NodePool of growth/v1alpha1, 3 NodePools of karpenter.sh/v1"
        ),
        "NodePool of growth/v1alpha1: did you mean apiVersion: growth.dev/v1alpha1?",
    ]
    assert objects.of("Node") == []
    assert [pool["apiVersion"] for pool in objects.of("NodePool")] == ["growth.dev/v1alpha1"]


@pytest.mark.parametrize("version", ["growth.dev/v1beta1", "growth.dev/v1", None, 3])
def test_a_wrong_version_of_an_own_kind_is_not_passed_over(version):
    objects = taken({"apiVersion": version, "kind": "NodePool", "metadata": {"name": "a"}})
    assert len(objects.of("NodePool")) == 1
    assert objects.notes() == []


def test_a_list_of_nothing_is_empty():
    objects = taken({"apiVersion": "v1", "kind": "PodList", "items": None}, {"kind": "List", "items": None})
    assert objects.of("Pod") == objects.notes() == []
    assert taken({"kind": "AllowList", "metadata": {"name": "x"}}).notes() == [
        "passed over, as no plan needs them: 1 AllowList"
    ]


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        (node(), node(), ""),
        (node(uid="u", resourceVersion="9"), node(uid="u", resourceVersion="10"), "10"),
        (node(uid="u", resourceVersion="10"), node(uid="u", resourceVersion="9"), "10"),
    ],
    ids=["equal", "later", "earlier"],
)
def test_of_an_object_given_twice_the_latest_state_is_taken(first, second, left):
    objects = taken(first, second)
    (found,) = objects.of("Node")
    assert found["metadata"].get("resourceVersion", "") == left
    assert objects.notes() == ["given more than once, the latest state of each is taken: 1 Node"]


def test_two_objects_of_one_name_are_a_mistake():
    with pytest.raises(CommandError, match="f2: Node a stands twice, the first time in f1, and they differ"):
        taken(node(labels={"a": "b"}), node())
    with pytest.raises(CommandError, match="stands twice"):
        taken(node(uid="u"), node(uid="v"))


def test_names_are_of_a_namespace_where_the_kind_has_them():
    claims = [
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "a", **where}} for where in ({}, {"namespace": "shop"})
    ]
    objects = taken(claims)
    assert len(objects.of("PersistentVolumeClaim")) == 2
    assert objects.file_of("PersistentVolumeClaim", "a") == "f1"
    assert objects.file_of("PersistentVolumeClaim", "shop/a") == "f1"
    assert objects.file_of("PersistentVolumeClaim", "b") == "one of the files"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("words", "f1: document 1 is no object: it must have apiVersion, kind and metadata"),
        ([node(), 3], "f1: document 1, item 2 is no object: it must have apiVersion, kind and metadata"),
        ({"kind": "List", "items": [node(), {"metadata": {}}]}, "f1: document 1, item 2: kind is missing"),
        ({"kind": 3}, "f1: document 1: kind is missing"),
    ],
)
def test_what_is_no_object_is_told_with_its_place(document, message):
    with pytest.raises(CommandError) as raised:
        taken(document)
    assert str(raised.value) == message
