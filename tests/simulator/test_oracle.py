from datetime import UTC, datetime

import pytest

from activities.ports.cluster import WatchEvent
from activities.ports.provider import Server, ServerState
from simulator.oracle import Oracle
from simulator.view import View
from tests.builders import node, node_request, pod


def resident(name="p", node="a", *, owner="ReplicaSet", **more):
    return pod(name, node=node, owner=(owner, "o"), **more)


def server(name):
    return Server(name, f"kwok://{name}", ServerState.RUNNING, "small", "fsn1", {}, datetime(2026, 1, 1, tzinfo=UTC))


def servers(*names):
    return {name: server(name) for name in names}


def view(*, pods=(), nodes=("a",), on="a", requests=(), removals=()):
    return View(
        pods={f"default/{p['metadata']['name']}": p for p in pods},
        nodes={name: node(name) for name in nodes},
        lifecycles={
            "NodeRequest": {r["metadata"]["name"]: r for r in requests},
            "NodeRemovalRequest": {r["metadata"]["name"]: r for r in removals},
        },
        servers=servers(*on),
    )


def test_a_history_in_good_order_passes():
    oracle = Oracle(most_servers=1)
    oracle.note_servers(servers("a"))
    oracle.note_pod(WatchEvent("MODIFIED", resident()))
    oracle.note_pod(WatchEvent("DELETED", resident()))
    oracle.note_servers({})
    oracle.note_servers(servers("b"))
    assert oracle.bought == ["a", "b"]
    assert oracle.judge(view(pods=[resident(node="b")], nodes="b", on="b"), servers=1) == []


@pytest.mark.parametrize("gone", [WatchEvent("MODIFIED", resident(phase="Succeeded")), None])
def test_a_server_that_goes_with_pods_is_a_violation_and_finished_pods_are_none(gone):
    oracle = Oracle(most_servers=1)
    oracle.note_servers(servers("a"))
    oracle.note_pod(WatchEvent("MODIFIED", resident()))
    oracle.note_pod(WatchEvent("MODIFIED", resident("agent", owner="DaemonSet")))
    if gone:
        oracle.note_pod(gone)
    oracle.note_servers({})
    assert oracle.violations == ([] if gone else ["server a went with pods on it"])


def test_a_server_that_a_person_gave_up_may_go_with_pods():
    oracle = Oracle(most_servers=1)
    oracle.note_servers(servers("a"))
    oracle.note_pod(WatchEvent("MODIFIED", resident()))
    oracle.excuse("a")
    oracle.note_servers({})
    assert oracle.violations == []


def test_too_many_servers_and_a_name_bought_twice_are_violations():
    oracle = Oracle(most_servers=1)
    oracle.note_servers(servers("a", "b"))
    oracle.note_servers({})
    oracle.note_servers(servers("a"))
    assert oracle.violations == ["2 servers at once, at most 1 are allowed", "server a was bought twice"]


@pytest.mark.parametrize(
    ("end", "wrong"),
    [
        (view(on="ab", nodes="ab"), "2 servers at the provider, 1 are wanted: ['a', 'b']"),
        (view(on="a", nodes="b"), "nodes ['b'] and servers ['a'] differ"),
        (view(pods=[resident(node=None)]), "pod default/p has no node"),
        (view(requests=[node_request("a", phase="Unmet")]), "NodeRequest/a is left in phase Unmet"),
        (view(requests=[node_request("a", phase="Ready")]), None),
    ],
)
def test_what_must_be_true_in_the_end(end, wrong):
    assert Oracle(most_servers=9).judge(end, servers=1) == ([wrong] if wrong else [])


def test_no_taint_of_ours_may_stay():
    end = view()
    end.nodes["a"] = node("a", taints=[{"key": "growth.dev/reserved"}, {"key": "example.org/other"}])
    assert Oracle(most_servers=9).judge(end, servers=1) == ["growth.dev/reserved taint left on a"]


def test_the_last_seat_of_a_pod_is_remembered():
    oracle = Oracle(most_servers=9)
    for name in ("first", "second"):
        seats = {"metadata": {"name": name}, "spec": {"reservedFor": [{"uid": "p"}]}}
        oracle.note_request(WatchEvent("ADDED", seats))
    assert oracle.planned == {"p": "second"}
