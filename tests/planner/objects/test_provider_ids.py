"""Whose Node it is: labels and provider ids side by side, whatever cloud controller has written the id.

Source: Kubernetes API reference, NodeSpec.providerID; k3s' and Talos' own controllers.
"""

import pytest

from planner.objects.provider_ids import NodeMarks, ServerMarks, has_other_scheme, is_same_machine, proves
from tests.tables import rows

OURS = ServerMarks("u-1", "hcloud://42")


@pytest.mark.parametrize("named", ["k3s://a", "talos://a", "kwok://c/a", "hrobot://42", "a", "hcloud:42", "://"])
def test_an_id_of_another_scheme_with_our_label_is_ours(named):
    assert is_same_machine(NodeMarks("u-1", named), OURS)
    assert is_same_machine(NodeMarks("", named, is_unregistered=True), OURS), "labels lost, startup taint there"
    assert not is_same_machine(NodeMarks("", named), OURS), "anybody's machine may have the name"
    assert not is_same_machine(NodeMarks("u-2", named, is_unregistered=True), OURS)


@rows(
    ("node", "server", "same"),
    {
        "the server's own id": (NodeMarks("", "hcloud://42"), OURS, True),
        "no id yet": (NodeMarks("u-1"), OURS, True),
        "neither id nor label": (NodeMarks(), OURS, True),
        "another server of the provider": (NodeMarks("", "hcloud://43", is_unregistered=True), OURS, False),
        "another server of the provider with our label": (NodeMarks("u-1", "hcloud://43"), OURS, False),
        "another request": (NodeMarks("u-2"), OURS, False),
        "another request with the server's own id": (NodeMarks("u-2", "hcloud://42"), OURS, False),
        "a server of unknown id": (NodeMarks("u-1", "k3s://a"), ServerMarks("u-1"), True),
        "a server of unknown id and request": (NodeMarks("u-1", "k3s://a"), ServerMarks(), True),
        "a request that is not known, and another scheme": (
            NodeMarks("u-1", "k3s://a"),
            ServerMarks("", "hcloud://42"),
            False,
        ),
    },
)
def test_marks_that_contradict_each_other_are_of_two_machines(node, server, same):
    assert is_same_machine(node, server) is same


def test_only_ids_that_are_known_have_schemes():
    assert has_other_scheme("k3s://a", "hcloud://1")
    assert not has_other_scheme("hcloud://2", "hcloud://1")
    assert not has_other_scheme("", "hcloud://1")
    assert not has_other_scheme("k3s://a", "")


@pytest.mark.parametrize(
    ("node", "server", "proven"),
    [
        (NodeMarks("uid", ""), ServerMarks("uid", "hcloud://1"), True),
        (NodeMarks("", "hcloud://1"), ServerMarks("uid", "hcloud://1"), True),
        (NodeMarks("other", "k3s://a"), ServerMarks("uid", "hcloud://1"), False),
        (NodeMarks(), ServerMarks(), False),
    ],
)
def test_a_node_proves_whose_a_server_is(node, server, proven):
    assert proves(node, server) is proven
