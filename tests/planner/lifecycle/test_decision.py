"""What people ask of a removal: refusals say what helps, and an annotation is read with all its slips."""

import pytest

from api.v1alpha1.node_removal_request import CancelRecord
from planner.lifecycle.decision import annotated, answer, decision_on, refusal
from planner.lifecycle.removal import next_step
from planner.lifecycle.seen import DecisionSeen, RemovalObservation, ServerSeen
from planner.lifecycle.step import Decision, DecisionKind
from tests.planner.lifecycle.removals import NOW, cooling, draining, leaving, new, over, parked

CANCELLED = {"cancel": CancelRecord(at=NOW, by="Planner")}
ONLY_PARKED = ("retry", "skip", "abandon")
IMMEDIATE = (
    "cannot cancel: the removal is immediate, as its machine was given up before pods could use it; "
    "pods that need one get another"
)
BEING_DELETED = (
    "cannot {}: the removal is not parked, its server is being deleted; "
    "wait until it is gone or the phase is CouldNotRemove"
)


@pytest.mark.parametrize(
    ("given", "kind", "why"),
    [
        (cooling(), "cancel", None),
        (cooling(CANCELLED), "cancel", None),
        (
            leaving(),
            "cancel",
            "too late to cancel: the server is being deleted; pods that need a machine get another",
        ),
        (
            parked(),
            "cancel",
            "too late to cancel: the server could not be deleted; abandon it to keep it, or retry or skip",
        ),
        *(
            (
                given,
                "cancel",
                IMMEDIATE,
            )
            for given in (new(immediate=True), leaving(immediate=True), parked(immediate=True))
        ),
        (RemovalObservation(exists=False), "cancel", "cannot cancel: the removal has ended, nothing is left to decide"),
        *((parked(), kind, None) for kind in ONLY_PARKED),
        *(
            (
                cooling(),
                kind,
                f"cannot {kind}: the removal is not parked, it cools off; cancel it to keep the machine",
            )
            for kind in ONLY_PARKED
        ),
        (draining(), "cancel", None),
        *(
            (
                draining(),
                kind,
                f"cannot {kind}: the removal is not parked, it drains its node; cancel it to keep the machine",
            )
            for kind in ONLY_PARKED
        ),
        *(
            (
                leaving(),
                kind,
                BEING_DELETED.format(kind),
            )
            for kind in ONLY_PARKED
        ),
        *(
            (given, kind, f"cannot {kind}: the removal is not parked, it goes on by itself")
            for given in (new(immediate=True), cooling(CANCELLED))
            for kind in ONLY_PARKED
        ),
        *(
            (RemovalObservation(exists=False), kind, f"cannot {kind}: the removal has ended, nothing is left to decide")
            for kind in ONLY_PARKED
        ),
    ],
)
def test_refusal(given, kind, why):
    assert refusal(given, DecisionKind(kind)) == why


@pytest.mark.parametrize(
    ("annotations", "by", "found"),
    [
        ({}, None, None),
        ({"growth.dev/decision-reason": "why"}, None, None),
        ({"growth.dev/decision": "retry"}, None, DecisionSeen(word="retry", by="Annotation")),
        ({"growth.dev/decision": "retry"}, "kubectl", DecisionSeen(word="retry", by="kubectl")),
        ({"growth.dev/decision": " re\ntry "}, None, DecisionSeen(word="re try")),
        ({"growth.dev/decision": ""}, None, DecisionSeen(word="")),
        (
            {"growth.dev/decision": "w" * 5000, "growth.dev/decision-reason": "r" * 5000},
            "b" * 128,
            DecisionSeen(word="w" * 64, reason="r" * 512, by="b" * 64),
        ),
    ],
    ids=["none", "reason alone", "one", "with its writer", "more than a word", "empty", "far too long"],
)
def test_what_stands_on_the_object(annotations, by, found):
    assert decision_on(annotations, by=by) == found


def noted(given, word, reason=""):
    return given.model_copy(update={"decision": DecisionSeen(word=word, reason=reason, by="kubectl")})


CANCEL = ("cancel_removal", "Cancelled", "kubectl")
REFUSED = ("answer_decision", "DecisionRefused", "")
UNKNOWN = ("answer_decision", "DecisionUnknown", "")
RETRIED = {"reason": "Retry"}

STEPS = {
    # name: (seen, word of the annotation, effect, reason, by)
    "new": (new(), "cancel", *CANCEL),
    "cools off": (cooling(), "cancel", *CANCEL),
    "cool-off over": (over(), "cancel", *CANCEL),
    "in capitals": (over(), "Cancel", *CANCEL),
    "drains": (draining(), "cancel", *CANCEL),
    "Node gone": (cooling(node=None), "cancel", *CANCEL),
    "deleted too": (cooling(deleting=True), "cancel", *CANCEL),
    "cancelled": (cooling(CANCELLED), "cancel", "untaint_node", "Cancelled", ""),
    "handed over": (new(immediate=True), "cancel", *REFUSED),
    "past the point of no return": (leaving(), "cancel", *REFUSED),
    "cancel of a parked one": (parked(), "cancel", *REFUSED),
    "retry of a cool-off": (cooling(), "retry", *REFUSED),
    "skip of a cool-off": (cooling(), "skip", *REFUSED),
    "abandon at the end of a cool-off": (over(), "abandon", *REFUSED),
    "abandon of a cancelled one": (cooling(CANCELLED), "abandon", *REFUSED),
    "retry while it is being deleted": (leaving(), "retry", *REFUSED),
    "parked, retry": (parked(), "retry", "resume_removal", "Retry", "kubectl"),
    "retry, carried out": (leaving(RETRIED), "retry", "answer_decision", "DecisionTaken", ""),
    "skip in its place": (leaving(RETRIED), "skip", *REFUSED),
    "retry again, after a delete call": (
        leaving(RETRIED | {"removal_attempts": 1, "remove_attempted_at": NOW}),
        "retry",
        *REFUSED,
    ),
    "parked, skip": (parked(), "skip", "skip_server", "Skipped", "kubectl"),
    "parked, abandon": (parked(), "abandon", "abandon_server", "Abandoned", "kubectl"),
    "skip, cut off on its way": (parked(deleting=True), "skip", "skip_server", "Skipped", "kubectl"),
    "skip of a server that is gone": (parked(server=ServerSeen.ABSENT), "skip", "resume_removal", "Retry", "Provider"),
    "retry of a drain": (draining(), "retry", *REFUSED),
    "nonsense, cools off": (cooling(), "rtry", *UNKNOWN),
    "nonsense at the end": (over(), "rtry", *UNKNOWN),
    "nonsense, handed over": (new(immediate=True), "rtry", *UNKNOWN),
    "nonsense, is being deleted": (leaving(), "rtry", *UNKNOWN),
    "nonsense, parked": (parked(), "rtry", *UNKNOWN),
    "nothing": (parked(), "", *UNKNOWN),
    "definitions going": (parked(deleting=True, crds_going=True), "skip", "forget_removal", "DefinitionRemoved", ""),
}


@pytest.mark.parametrize("row", STEPS.values(), ids=STEPS)
def test_an_annotation_is_honoured_as_a_message_or_answered(row):
    given, word, *wanted = row
    step = next_step(noted(given, word), None, NOW)
    assert [step.effect, step.reason, step.by] == wanted


def test_what_stands_on_the_object_goes_before_a_message():
    message = Decision(kind=DecisionKind.RETRY, by="Ada")
    assert next_step(noted(parked(), "abandon"), message, NOW).effect == "abandon_server"
    assert next_step(noted(parked(), "rtry"), message, NOW).effect == "answer_decision"
    assert next_step(noted(RemovalObservation(exists=False), "retry"), message, NOW).reason == "Gone"


def test_an_annotation_is_a_decision_by_its_writer_with_its_reason():
    assert annotated(noted(parked(), "RETRY", "unlocked it")) == Decision(
        kind=DecisionKind.RETRY, by="kubectl", reason="unlocked it"
    )
    assert annotated(noted(cooling(), "cancel")) == Decision(
        kind=DecisionKind.CANCEL, by="kubectl", reason="Cancelled by annotation"
    )


@pytest.mark.parametrize(
    "given", [parked(), noted(parked(), "rtry"), noted(parked(), "cancel"), noted(cooling(), "skip")]
)
def test_an_annotation_without_an_effect_is_no_decision(given):
    assert annotated(given) is None


def test_each_annotation_either_has_an_effect_or_is_answered():
    for given in (
        cooling(),
        cooling(CANCELLED),
        new(immediate=True),
        leaving(),
        leaving({"reason": "Retry"}),
        parked(),
    ):
        for word in (*DecisionKind, "rtry", ""):
            seen = noted(given, word)
            assert (annotated(seen) is None) == (answer(seen) is not None), (given, word)


def test_the_answer_names_annotation_and_value_and_what_helps():
    unknown = answer(noted(parked(), "rtry"))
    assert unknown is not None
    assert unknown.message == "growth.dev/decision=rtry is no decision: say cancel, retry, skip, abandon"
    refused = answer(noted(cooling(), "retry"))
    assert refused is not None
    assert refused.message == (
        "growth.dev/decision=retry has no effect: cannot retry: the removal is not parked, it cools off; "
        "cancel it to keep the machine"
    )
