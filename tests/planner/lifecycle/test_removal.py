"""Every phase of a removal with every observation that its next step depends on. Source: docs/design.md#removal."""

from datetime import timedelta

import pytest

from api.v1alpha1.node_removal_request import CancelRecord, RemovalPhase
from planner.lifecycle.removal import RemovalEffect, next_step
from planner.lifecycle.seen import DecisionSeen, RemovalObservation, RemovalTimings, ServerSeen
from planner.lifecycle.step import Act, Decision, Done, Wait
from tests.planner.lifecycle.deaths import DEATHS
from tests.planner.lifecycle.drains import DRAINS
from tests.planner.lifecycle.leavings import LEAVINGS
from tests.planner.lifecycle.limits import LIMITS
from tests.planner.lifecycle.removals import NOW, ago, ahead, cooling, leaving, new, node, over, parked
from tests.planner.lifecycle.replacements import REPLACEMENTS
from tests.planner.lifecycle.waits import WAITS

CANCELLED = CancelRecord(at=NOW, by="Planner", reason="default/web-1 wants the node")
NOT_EMPTY = CancelRecord(at=NOW, by="NotEmpty", reason="1 pods are on the node or on their way to it: default/a")
NOT_OURS = ("cancel_removal", "NotOurs", None, "NotOurs")


def asked(kind, **words):
    return Decision(kind=kind, **words)


CANCEL, RETRY, SKIP, ABANDON = (asked(kind, by="Ada") for kind in ("cancel", "retry", "skip", "abandon"))


ROWS = {
    # name: (seen, decision, effect or kind of step, reason, deadline, by)
    "gone": (RemovalObservation(exists=False), None, Done, "Gone", None, None),
    "gone, asked": (RemovalObservation(exists=False), CANCEL, Done, "Gone", None, None),
    "definitions going": (
        leaving(deleting=True, crds_going=True),
        None,
        "forget_removal",
        "DefinitionRemoved",
        None,
        "",
    ),
    # Pending: the cool-off begins
    "new": (new(), None, "taint_node", "CoolOff", ahead(40), ""),
    "new, end written, not tainted": (
        cooling({"tainted_at": None}, node=node(scale_down=False)),
        None,
        "taint_node",
        "CoolOff",
        ahead(25),
        "",
    ),
    "tainted, time not written": (cooling({"tainted_at": None}), None, "taint_node", "CoolOff", ahead(25), ""),
    "tainted, end not written": (cooling({"scale_down_at": None}), None, "taint_node", "CoolOff", ahead(40), ""),
    "taint taken off by someone": (cooling(node=node(scale_down=False)), None, "taint_node", "CoolOff", ahead(25), ""),
    "taint taken off after the end": (
        over(node=node(scale_down=False)),
        None,
        "taint_node",
        "CoolOff",
        NOW,
        "",
    ),
    # Pending: the cool-off runs
    "cools off": (cooling(), None, Wait, "CoolOff", ahead(25), None),
    "cools off, pods on it": (cooling(occupant_count=2), None, Wait, "CoolOff", ahead(25), None),
    "cools off, node not Ready": (cooling(node=node(ready=False)), None, Wait, "CoolOff", ahead(25), None),
    "over, tainted 4 s ago": (over({"tainted_at": ago(4)}), None, Wait, "CoolOff", ahead(1), None),
    "over, tainted 5 s ago": (over({"tainted_at": ago(5)}), None, "commit_removal", "Empty", None, ""),
    # Pending: the cool-off ends
    "over, empty": (over(), None, "commit_removal", "Empty", None, ""),
    "over, empty, node not Ready": (over(node=node(ready=False)), None, "commit_removal", "Empty", None, ""),
    "over, pods on it": (
        over(occupant_count=2, occupants=("default/a", "default/b")),
        None,
        "cancel_removal",
        "NotEmpty",
        None,
        "NotEmpty",
    ),
    "another machine's Node": (new(node=node(scale_down=False, foreign=True)), None, *NOT_OURS),
    "another machine's Node, at the end": (over(node=node(foreign=True)), None, *NOT_OURS),
    "Node gone": (cooling(node=None), None, "commit_removal", "NodeGone", None, ""),
    "Node never came": (new(node=None), None, "commit_removal", "NodeGone", None, ""),
    # Pending, and cancelled
    "cancelled by message": (cooling(), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "cancelled by message before the taint": (new(), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "cancelled by message at the end": (over(), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "cancelled by message, Node gone": (cooling(node=None), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "deleted": (cooling(deleting=True), None, "cancel_removal", "Cancelled", None, "Delete"),
    "deleted at the end": (over(deleting=True), None, "cancel_removal", "Cancelled", None, "Delete"),
    "annotated to be kept": (cooling(node=node(keep=True)), None, "cancel_removal", "Cancelled", None, "Person"),
    "annotated to be kept at the end": (
        over(node=node(keep=True)),
        None,
        "cancel_removal",
        "Cancelled",
        None,
        "Person",
    ),
    "cancelled, tainted": (cooling({"cancel": CANCELLED}), None, "untaint_node", "Cancelled", None, ""),
    "cancelled, tainted, over": (over({"cancel": CANCELLED}), None, "untaint_node", "Cancelled", None, ""),
    "cancelled, deleted": (cooling({"cancel": CANCELLED}, deleting=True), None, "untaint_node", "Cancelled", None, ""),
    "cancelled, not tainted": (
        cooling({"cancel": CANCELLED}, node=node(scale_down=False)),
        None,
        "finish_removal",
        "Cancelled",
        None,
        "",
    ),
    "cancelled, Node gone": (cooling({"cancel": CANCELLED}, node=None), None, "finish_removal", "Cancelled", None, ""),
    "not empty, tainted": (over({"cancel": NOT_EMPTY}), None, "untaint_node", "NotEmpty", None, ""),
    "not empty, not tainted": (
        over({"cancel": NOT_EMPTY}, node=node(scale_down=False)),
        None,
        "finish_removal",
        "NotEmpty",
        None,
        "",
    ),
    "another machine's Node, which others tainted": (
        new(status={"cancel": CANCELLED}, node=node(foreign=True)),
        None,
        "finish_removal",
        "Cancelled",
        None,
        "",
    ),
    "another machine's Node since the taint": (
        cooling({"cancel": CANCELLED}, node=node(foreign=True)),
        None,
        "untaint_node",
        "Cancelled",
        None,
        "",
    ),
    "cancelled twice": (cooling({"cancel": CANCELLED}), CANCEL, "untaint_node", "Cancelled", None, ""),
    # Pending: what makes no sense yet
    "retry of a cool-off": (cooling(), RETRY, Wait, "CoolOff", ahead(25), None),
    "skip of a cool-off": (cooling(), SKIP, Wait, "CoolOff", ahead(25), None),
    "abandon of a cool-off": (cooling(), ABANDON, Wait, "CoolOff", ahead(25), None),
    # Pending: handed over
    "handed over": (new(immediate=True), None, "commit_removal", "HandOver", None, ""),
    "handed over without a Node": (new(immediate=True, node=None), None, "commit_removal", "HandOver", None, ""),
    "handed over, cancelled": (new(immediate=True), CANCEL, "commit_removal", "HandOver", None, ""),
    "handed over, deleted": (new(immediate=True, deleting=True), None, "commit_removal", "HandOver", None, ""),
    "handed over, pods on it": (new(immediate=True, occupant_count=1), None, "commit_removal", "HandOver", None, ""),
    # Deprovisioning
    "past the point of no return": (leaving(), None, "delete_server", "DeleteServer", None, ""),
    "too late to cancel": (leaving(), CANCEL, "delete_server", "DeleteServer", None, ""),
    "too late to delete": (leaving(deleting=True), None, "delete_server", "DeleteServer", None, ""),
    "pods came after": (leaving(occupant_count=1), None, "delete_server", "DeleteServer", None, ""),
    "still boots": (leaving(server=ServerSeen.CREATING), None, "delete_server", "DeleteServer", None, ""),
    "broken": (leaving(server=ServerSeen.BROKEN), None, "delete_server", "DeleteServer", None, ""),
    "provider silent": (leaving(server=ServerSeen.UNKNOWN), None, "delete_server", "DeleteServer", None, ""),
    "asked 19 s ago": (
        leaving({"removal_attempts": 1, "remove_attempted_at": ago(19)}),
        None,
        Wait,
        "ServerDeletion",
        ahead(1),
        None,
    ),
    "asked 20 s ago": (
        leaving({"removal_attempts": 1, "remove_attempted_at": ago(20)}),
        None,
        "delete_server",
        "DeleteServer",
        None,
        "",
    ),
    "asked, is being deleted": (
        leaving({"removal_attempts": 1, "remove_attempted_at": ago(1)}, server=ServerSeen.DELETING),
        None,
        Wait,
        "ServerDeletion",
        ahead(19),
        None,
    ),
    "last attempt, just made": (
        leaving({"removal_attempts": 3, "remove_attempted_at": ago(1)}),
        None,
        Wait,
        "ServerDeletion",
        ahead(19),
        None,
    ),
    "attempts used up": (
        leaving({"removal_attempts": 3, "remove_attempted_at": ago(20)}),
        None,
        "park_removal",
        "RemovalFailed",
        ahead(7200),
        "",
    ),
    "resumed": (
        leaving({"removal_attempts": 0, "remove_attempted_at": ago(1)}),
        None,
        "delete_server",
        "DeleteServer",
        None,
        "",
    ),
    "server gone": (leaving(server=ServerSeen.ABSENT), None, "delete_node", "ServerGone", None, ""),
    "server and Node gone": (leaving(server=ServerSeen.ABSENT, node=None), None, "finish_removal", "Removed", None, ""),
    "server gone after the last attempt": (
        leaving({"removal_attempts": 3, "remove_attempted_at": ago(20)}, server=ServerSeen.ABSENT, node=None),
        None,
        "finish_removal",
        "Removed",
        None,
        "",
    ),
    "absent, 59 s after the create call": (
        leaving(server=ServerSeen.ABSENT, create_attempt_at=ago(59)),
        None,
        Wait,
        "AbsenceProof",
        ahead(1),
        None,
    ),
    "absent, 60 s after the create call": (
        leaving(server=ServerSeen.ABSENT, create_attempt_at=ago(60), node=None),
        None,
        "finish_removal",
        "Removed",
        None,
        "",
    ),
    "appears within the 60 s": (
        leaving(create_attempt_at=ago(30)),
        None,
        "delete_server",
        "DeleteServer",
        None,
        "",
    ),
    "Node joined late": (
        leaving(server=ServerSeen.ABSENT, create_attempt_at=ago(90), node=node(scale_down=False, unregistered=True)),
        None,
        "delete_node",
        "ServerGone",
        None,
        "",
    ),
    "another's server": (leaving(server=ServerSeen.FOREIGN, node=None), None, "finish_removal", "NotOurs", None, ""),
    "another's server, Node tainted": (
        leaving(server=ServerSeen.FOREIGN),
        None,
        "untaint_node",
        "NotOurs",
        None,
        "",
    ),
    "server gone, another machine's Node": (
        leaving(server=ServerSeen.ABSENT, node=node(foreign=True)),
        None,
        "finish_removal",
        "Removed",
        None,
        "",
    ),
    # CouldNotRemove
    "parked": (parked(), None, Wait, "Parked", ahead(3600), None),
    "parked, provider silent": (parked(server=ServerSeen.UNKNOWN), None, Wait, "Parked", ahead(3600), None),
    "parked, deleted": (parked(deleting=True), None, Wait, "Parked", ahead(3600), None),
    "parked, too late to cancel": (parked(), CANCEL, Wait, "Parked", ahead(3600), None),
    "parked, retry": (parked(), RETRY, "resume_removal", "Retry", None, "Ada"),
    "parked, skip": (parked(), SKIP, "skip_server", "Skipped", None, "Ada"),
    "parked, abandon": (parked(), ABANDON, "abandon_server", "Abandoned", None, "Ada"),
    "parked, time is over": (parked({"retry_at": NOW}), None, "resume_removal", "Retry", None, "Timer"),
    "parked, no end known": (parked({"retry_at": None}), None, "resume_removal", "Retry", None, "Timer"),
    "parked, server gone": (parked(server=ServerSeen.ABSENT), None, "resume_removal", "Retry", None, "Provider"),
    "parked, another's server": (parked(server=ServerSeen.FOREIGN), None, "resume_removal", "Retry", None, "Provider"),
    "parked, server gone, skip": (parked(server=ServerSeen.ABSENT), SKIP, "resume_removal", "Retry", None, "Provider"),
    # What stands on the object goes first: test_decision.py has the table
    "annotated with nonsense": (
        parked(decision=DecisionSeen(word="rtry")),
        RETRY,
        "answer_decision",
        "DecisionUnknown",
        None,
        "",
    ),
}


ROWS |= DRAINS | LEAVINGS | DEATHS | LIMITS | REPLACEMENTS | WAITS


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_next_step(row):
    given, decision, step, *words = row
    found = next_step(given, decision, NOW)
    assert (found.effect if isinstance(found, Act) else type(found)) == step
    assert [found.reason, getattr(found, "until", None), getattr(found, "by", None)] == words


def test_every_effect_but_the_look_has_a_row():
    told = {row[2] for row in ROWS.values() if isinstance(row[2], str)}
    assert told == set(RemovalEffect) - {RemovalEffect.LOOK}


def test_every_phase_has_a_row():
    assert {row[0].status.phase for row in ROWS.values()} == set(RemovalPhase)


def test_a_cancel_names_the_pods():
    step = next_step(over(occupant_count=2, occupants=("default/a", "default/b")), None, NOW)
    assert step.message == "2 pods are on the node or on their way to it: default/a, default/b"


@pytest.mark.parametrize(
    ("parked_retry", "times_parked", "wait"),
    [
        (timedelta(hours=4), 0, timedelta(hours=4)),
        (timedelta(hours=4), 1, timedelta(hours=8)),
        (timedelta(hours=4), 2, timedelta(hours=16)),
        (timedelta(hours=4), 3, timedelta(days=1)),
        (timedelta(hours=4), 10**6, timedelta(days=1)),
        (timedelta(seconds=1), 3, timedelta(seconds=8)),
        (timedelta(days=3), 0, timedelta(days=3)),
        (timedelta(days=3), 5, timedelta(days=3)),
    ],
)
def test_a_removal_that_parks_again_and_again_waits_longer_each_time(parked_retry, times_parked, wait):
    used_up = {"removal_attempts": 5, "remove_attempted_at": ago(3600), "times_parked": times_parked}
    found = next_step(
        leaving(used_up).model_copy(update={"timings": RemovalTimings(parked_retry=parked_retry)}), None, NOW
    )
    assert (found.effect, found.until) == ("park_removal", NOW + wait)


ACCEPTED = {"reason": "Empty", "message": "The node is empty"}
REFUSED = {"reason": "DeleteFailed", "message": "Delete call 3: locked"}
FAILED = "delete_server of server 42: disk is in use (server_error)"


@pytest.mark.parametrize(
    ("status", "problem", "why"),
    [
        (REFUSED, "", "Delete call 3: locked"),
        (REFUSED, FAILED, "Delete call 3: locked"),
        (ACCEPTED, FAILED, f"its provider took them and says of the server: {FAILED}"),
        (ACCEPTED, "", "its provider took them and does not say why"),
    ],
)
def test_a_parked_removal_says_what_the_provider_answered(status, problem, why):
    used_up = status | {"removal_attempts": 3, "remove_attempted_at": ago(20)}
    found = next_step(leaving(used_up, server=ServerSeen.BROKEN, server_problem=problem), None, NOW)
    assert found.effect == "park_removal"
    assert found.message == f"The server still exists after 3 delete calls: {why}"
