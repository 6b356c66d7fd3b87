from datetime import UTC, datetime

import pytest

from api.v1alpha1.node_request import NodeRequestStatus
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import NodeSeen, RequestObservation, ServerSeen
from planner.lifecycle.step import Act, Done
from workflows.request_details import CANCEL, choices, ending, facts, how

AT = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
ASKED = {"create_attempt_at": AT, "attempts": 1}


def seen(phase, status=None, **fields):
    return RequestObservation(status=NodeRequestStatus(phase=phase, **(status or {})), **fields)


@pytest.mark.parametrize(
    ("phase", "effect"),
    [
        ("Pending", "give the machine up; a server that was asked for is deleted"),
        ("Provisioning", "give the machine up; its server is deleted"),
        ("Ready", "end this record and open the Node for all pods; the machine stays"),
        ("Unmet", "end this record; an offering without capacity is left out as long as before"),
        ("Failed", "end this record, so that the pool may buy again"),
        ("Deprovisioning", None),
    ],
)
def test_what_a_cancellation_does_is_told_as_long_as_it_does_anything(phase, effect):
    assert [(one.name, one.effect) for one in choices(seen(phase))] == ([] if effect is None else [(CANCEL, effect)])
    assert choices(seen(phase, deleting=True)) == []


def test_it_is_told_where_to_cancel():
    assert how("m-1", choices(seen("Pending"))).endswith("`growth requests cancel m-1`.")
    assert how("m-1", []) == "Nothing to decide now: it is ending."


def test_a_machine_that_boots():
    given = seen("Provisioning", ASKED, server=ServerSeen.CREATING, seats=3, awaited=2)
    assert list(facts(given)) == [
        "Create calls: 1, the last at 2026-11-01 12:00:00 UTC",
        "Server: created, boots",
        "Node: has not joined",
        "Planned pods: 3, of which 2 not bound yet",
    ]


def test_a_create_call_without_an_answer():
    given = seen("Pending", ASKED | {"message": "no answer within 20 s"})
    assert list(facts(given)) == [
        "Create calls: 1, the last at 2026-11-01 12:00:00 UTC",
        "Last answer: no answer within 20 s",
    ]


def test_a_machine_that_is_given_up_tells_why():
    status = {"reason": "JoinTimeout", "message": "The node was not Ready in time"}
    assert list(facts(seen("Deprovisioning", status))) == ["Why: JoinTimeout: The node was not Ready in time"]


@pytest.mark.parametrize(
    ("node", "status", "fact"),
    [
        (NodeSeen(name="a", ready=False), {}, "Node: joined, not Ready yet"),
        (NodeSeen(name="a", ready=True, reserved=True), {}, "Node: Ready, kept for its planned pods"),
        (None, {"registered_at": AT}, "Node: gone"),
    ],
    ids=["joined", "kept", "gone"],
)
def test_the_node_is_told(node, status, fact):
    assert fact in facts(seen("Provisioning", status, node=node))


def test_pods_are_not_told_once_the_node_is_open_for_all():
    given = seen("Ready", {"released_at": AT}, seats=3, awaited=0)
    assert not any(fact.startswith("Planned pods") for fact in facts(given))


@pytest.mark.parametrize("server", ServerSeen)
def test_every_state_of_the_server_has_words(server):
    assert any(fact.startswith("Server: ") for fact in facts(seen("Provisioning", server=server)))


@pytest.mark.parametrize(
    ("effect", "reason", "before", "end"),
    [
        (
            "hand_over",
            "JoinTimeout",
            seen("Deprovisioning", {"message": "The node was not Ready in time"}),
            Done(reason="JoinTimeout", message="The node was not Ready in time; removal m-1 deletes the server"),
        ),
        (
            "finish_request",
            "Expired",
            seen("Ready"),
            Done(reason="Ready", message="the machine came and stays; only its record ends"),
        ),
        (
            "finish_request",
            "Expired",
            seen("Unmet", {"reason": "QuotaExceeded", "message": "10 of 10 servers"}),
            Done(reason="QuotaExceeded", message="10 of 10 servers; no machine came"),
        ),
        ("finish_request", "Deleted", seen("Ready"), Done(reason="Deleted", message="it says")),
        ("forget_request", "DefinitionRemoved", seen("Ready"), Done(reason="DefinitionRemoved", message="it says")),
        ("mark_ready", "Ready", seen("Provisioning"), None),
    ],
)
def test_how_it_ended(effect, reason, before, end):
    assert ending("m-1", Act(effect=effect, reason=reason, message="it says"), before) == end


def test_effects_that_end_a_life_are_all_known():
    before = seen("Ready")
    ends = {effect for effect in RequestEffect if ending("m-1", Act(effect=effect, reason="X"), before) is not None}
    assert ends == {"hand_over", "finish_request", "forget_request"}
