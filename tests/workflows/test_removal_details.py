from datetime import UTC, datetime, timedelta

import pytest

from api.v1alpha1.node_removal_request import CancelRecord, NodeRemovalRequestStatus, RemovalPhase
from planner.lifecycle.decision import refusal
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import NodeSeen, RemovalObservation, RemovalTimings, ReplacementSeen, ServerSeen
from planner.lifecycle.step import Act, DecisionKind, Done
from workflows.removal_details import choices, description, ending, facts, how

AT = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
CANCEL = CancelRecord(at=AT, by="night shift", reason="the sale starts")
NODE = NodeSeen(name="m-1", ready=True, scale_down=True)


def seen(phase=RemovalPhase.PENDING, status=None, **fields):
    return RemovalObservation(status=NodeRemovalRequestStatus(phase=phase, **(status or {})), **{"node": NODE} | fields)


COOLS_OFF = seen()
CANCELLED = seen(status={"cancel": CANCEL})
IMMEDIATE = seen(immediate=True)
DRAINING = seen(RemovalPhase.DRAINING, {"drain_started_at": AT}, occupants=("shop/a",), occupant_count=1)
DELETING = seen(RemovalPhase.DEPROVISIONING)
PARKED = seen(RemovalPhase.COULD_NOT_REMOVE)
GONE = RemovalObservation(exists=False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (COOLS_OFF, ["cancel"]),
        (CANCELLED, []),
        (IMMEDIATE, []),
        (DRAINING, ["cancel"]),
        (DELETING, []),
        (PARKED, ["retry", "skip", "abandon"]),
        (GONE, []),
        (PARKED.model_copy(update={"crds_going": True}), []),
    ],
    ids=["cools off", "cancelled", "immediate", "draining", "deleting", "parked", "gone", "definitions going"],
)
def test_only_what_would_be_accepted_now_is_offered(given, words):
    offered = choices(given)
    assert [one.name for one in offered] == words
    assert all(refusal(given, DecisionKind(one.name)) is None for one in offered)


def test_it_is_told_where_to_decide():
    text = how("m-1", PARKED)
    assert "**Send an Update**" in text
    assert "`growth removals retry m-1`" in text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (CANCELLED, "it is cancelled already"),
        (IMMEDIATE, "cannot cancel: the removal is immediate"),
        (DELETING, "too late to cancel: the server is being deleted"),
    ],
    ids=["cancelled", "immediate", "deleting"],
)
def test_why_there_is_nothing_to_decide_is_told(given, why):
    assert how("m-1", given).startswith(f"Nothing to decide now: {why}")


def test_a_cool_off_tells_of_the_pods_that_would_keep_the_machine():
    assert list(facts(seen(occupants=("shop/a", "shop/b"), occupant_count=7))) == [
        "Node: m-1, Ready, takes no new pods",
        "Pods on it or on their way to it: shop/a, shop/b and 5 more",
    ]
    assert "Pods on it or on their way to it: none" in facts(COOLS_OFF)


def test_a_drain_tells_since_when_and_until_when_pods_may_stay():
    assert list(facts(DRAINING)) == [
        "Node: m-1, Ready, takes no new pods",
        "Drained since 2026-11-01 12:00:00 UTC",
        "Pods on it or on their way to it: shop/a",
    ]
    ends = DRAINING.model_copy(update={"timings": RemovalTimings(hard_grace=timedelta(minutes=30))})
    fact = "Drained since 2026-11-01 12:00:00 UTC; from 2026-11-01 12:30:00 UTC on pods are deleted whatever keeps them"
    assert fact in facts(ends)


def test_a_parked_removal_tells_why_and_what_was_tried():
    status = {"message": "Delete call 2: it is locked", "removal_attempts": 2, "remove_attempted_at": AT}
    given = seen(
        RemovalPhase.COULD_NOT_REMOVE, status, server=ServerSeen.RUNNING, timings=RemovalTimings(max_attempts=2)
    )
    assert list(facts(given)) == [
        "Why: Delete call 2: it is locked",
        "Server: exists, runs",
        "Delete calls: 2 of 2, the last at 2026-11-01 12:00:00 UTC",
        "Node: m-1, Ready, takes no new pods",
    ]


def test_a_cancel_tells_by_whom_and_why():
    assert "Cancelled at 2026-11-01 12:00:00 UTC by night shift: the sale starts" in facts(CANCELLED)


@pytest.mark.parametrize(
    ("node", "fact"),
    [
        (None, "Node: there is none"),
        (NodeSeen(name="m-1", ready=False), "Node: m-1, not Ready"),
        (NodeSeen(name="m-1", ready=True, foreign=True), "Node: m-1 is not this machine's"),
    ],
    ids=["none", "not ready", "foreign"],
)
def test_the_node_is_told(node, fact):
    assert fact in facts(seen(node=node))


@pytest.mark.parametrize("server", ServerSeen)
def test_every_state_of_the_server_has_words(server):
    assert any(fact.startswith("Server: ") for fact in facts(seen(RemovalPhase.DEPROVISIONING, server=server)))


@pytest.mark.parametrize(
    ("effect", "act", "before", "end"),
    [
        ("finish_removal", {"reason": "Removed"}, DELETING, Done(reason="Removed", message="it says")),
        (
            "finish_removal",
            {"reason": "Cancelled"},
            CANCELLED,
            Done(reason="Cancelled", message="by night shift: the sale starts; the machine stays"),
        ),
        ("skip_server", {"reason": "Skipped", "by": "Ann"}, PARKED, Done(reason="Skipped", message="by Ann: it says")),
        (
            "forget_removal",
            {"reason": "DefinitionRemoved"},
            PARKED,
            Done(reason="DefinitionRemoved", message="it says"),
        ),
        ("delete_server", {"reason": "DeleteServer"}, DELETING, None),
    ],
)
def test_how_it_ended(effect, act, before, end):
    assert ending(Act(effect=effect, message="it says", **act), before) == end


@pytest.mark.parametrize("kind", DecisionKind)
def test_a_decision_says_when_it_has_an_effect(kind):
    when = "Until the point of no return: " if kind == "cancel" else "While it is parked: "
    assert description(kind).startswith(when)


def test_effects_that_end_a_life_are_all_known():
    ends = {effect for effect in RemovalEffect if ending(Act(effect=effect, reason="X"), PARKED) is not None}
    assert ends == {"finish_removal", "forget_removal", "skip_server", "abandon_server"}


def test_it_tells_which_machines_replace_it_and_whose_turn_it_is():
    coming = ReplacementSeen(names=("m-2", "m-3"), awaited=("m-3 (Provisioning)",))
    told = list(facts(seen(replacement=coming, ahead="m-9")))
    assert "Replaced by m-2 (Ready), m-3 (Provisioning)" in told
    assert "First of its step: m-9" in told
    assert not any("Replaced" in line for line in facts(seen()))
