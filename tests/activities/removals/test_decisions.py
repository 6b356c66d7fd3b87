"""Decisions by annotation: honoured once, else answered and taken off; nobody's newer value is lost."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Conflict
from planner.lifecycle.step import Act
from tests.activities.lives import NAME, SCALE_DOWN, START, at_each_write
from tests.activities.rounds import Crash

DECISION, REASON = "growth.dev/decision", "growth.dev/decision-reason"
OTHERS = {"example.org/owner": "shop"}
WITH_WORKFLOW = {"workflowId": "w"}
COOLING = WITH_WORKFLOW | {"phase": "Pending", "scaleDownAt": START + timedelta(minutes=1), "taintedAt": START}
OVER = WITH_WORKFLOW | {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
PARKED = WITH_WORKFLOW | {"phase": "CouldNotRemove", "removalAttempts": 5, "timesParked": 2}
PARKED["retryAt"] = START + timedelta(hours=4)
COMMIT = Act(effect="commit_removal", reason="Empty", message="Empty")
ANSWER = Act(effect="answer_decision", reason="DecisionUnknown")


async def with_removal(life, status, word=None):
    await life.add_leaving(status, SCALE_DOWN)
    if word is not None:
        await annotate(life, word)


async def annotate(life, word, reason=None, resource=NODE_REMOVAL_REQUESTS):
    wanted = OTHERS | {DECISION: word} | ({REASON: reason} if reason else {})
    await life.cluster.put(resource, NAME, "/metadata/annotations", wanted)


async def annotations(life):
    return (await life.removal())["metadata"].get("annotations")


async def events(life, name):
    """Return the status's and the cluster's events of this name."""
    in_status = [
        event["reason"] for event in (await life.removal())["status"].get("events", []) if event["name"] == name
    ]
    return in_status, [event["note"] for event in await life.events() if event["reason"] == name]


async def test_a_cancel_is_carried_out_with_writer_and_reason(life):
    await with_removal(life, COOLING)
    await annotate(life, "cancel", "the shop needs it")
    owned = [
        {"manager": "kubectl-edit", "fieldsV1": {"f:metadata": {"f:annotations": {"f:example.org/owner": {}}}}},
        {"manager": "growth", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": "kubectl-annotate", "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, f"f:{DECISION}": {}}}}},
    ]
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/managedFields", owned)
    seen = await life.do("cancel_removal")
    assert (seen.status.cancel.by, seen.status.cancel.reason) == ("kubectl-annotate", "the shop needs it")
    await life.do("untaint_node")
    assert not (await life.do("finish_removal")).exists
    assert (list(life.cloud.servers), await life.taints()) == ([NAME], [])
    assert ("NodeRemovalRequest", "DecisionRefused") not in await life.event_reasons()


@pytest.mark.parametrize("word", ["cancel", "rtry"])
async def test_an_annotation_before_the_commit_wins(life, word):
    await with_removal(life, OVER, word)
    assert (await life.do("commit_removal", COMMIT)).status.phase == "Pending"
    assert list(life.cloud.servers) == [NAME]


@pytest.mark.parametrize("finalizers", [["growth.dev/lifecycle"], []], ids=["held", "not held yet"])
async def test_an_annotation_between_the_look_and_the_commit_wins(life, finalizers):
    """The commit is conditional on the version that showed none."""
    await with_removal(life, OVER)
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/finalizers", finalizers)
    put_before_next_write(life, "cancel")
    assert (await life.do("commit_removal", COMMIT)).status.phase == "Pending"
    assert (await life.do("cancel_removal")).status.cancel.by == "Annotation"


def put_before_next_write(life, word, *, writes=1):
    """Let a person write the annotation while an activity has looked already, before its write of this number."""
    annotated = {"annotations": OTHERS | {DECISION: word}}
    life.cluster.overtake(
        "patch", NODE_REMOVAL_REQUESTS, lambda removal: removal["metadata"].update(annotated), number=writes
    )


async def test_a_retry_acts_once_and_is_taken_off_without_a_word(life):
    await with_removal(life, PARKED, "retry")
    seen = await life.do("resume_removal")
    assert (seen.status.phase, seen.status.times_parked) == ("Deprovisioning", 0)
    assert (await life.removal_step()).reason == "DecisionTaken"
    assert (await life.do("answer_decision")).decision is None
    assert await annotations(life) == OTHERS
    assert (await life.event_reasons()) == {("NodeRemovalRequest", "Retry")}
    assert (await life.removal_step()).effect == "delete_server"


@at_each_write(3)
async def test_killed_at_any_write_a_retry_acts_once(life, write, when):
    """Its writes: the status, the event that tells it, the annotation."""
    await with_removal(life, PARKED, "retry")
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    deaths = 0
    while (step := await life.removal_step()).effect != "delete_server":
        try:
            await life.do(step.effect)
        except Crash:
            deaths += 1
            life.restart()
    assert (deaths, await annotations(life)) == (1, OTHERS)
    in_status, _ = await events(life, "Retry")
    assert in_status == ["By Annotation: Try to delete the server again"]
    assert await events(life, "DecisionRefused") == ([], [])


@pytest.mark.parametrize(
    ("word", "effect", "write"),
    [
        *(("skip", "skip_server", write) for write in range(1, 5)),
        *(("abandon", "abandon_server", write) for write in range(1, 6)),
    ],
)
async def test_killed_at_any_write_the_end_of_a_parked_removal_is_completed(life, word, effect, write):
    """Also by a workflow that knows of no message: the annotation stays until the object is gone."""
    await with_removal(life, PARKED, word)
    await life.die_during(effect, None, "crash_after", write)
    if await life.removal() is not None:
        assert not (await life.do(effect)).exists
    assert (await life.node() is None) == (word == "skip")
    # Skipped or abandoned: no sweep shall take it for an orphan.
    assert "growth.dev/abandoned" in life.cloud.servers[NAME].labels


async def test_a_refused_decision_is_answered_and_never_acts_later(life):
    await with_removal(life, COOLING)
    await annotate(life, "retry", "soon")
    assert (await life.do("answer_decision")).decision is None
    assert await annotations(life) == OTHERS
    why = (
        "growth.dev/decision=retry has no effect: cannot retry: the removal is not parked, it cools off; "
        "cancel it to keep the machine"
    )
    assert await events(life, "DecisionRefused") == (
        [why],
        [f"NodeRemovalRequest {NAME}: annotation {why}. It is taken off"],
    )
    assert (await life.removal_step()).reason == "CoolOff"


async def test_an_unknown_word_is_answered_with_the_words_there_are(life):
    await with_removal(life, PARKED, "rtry")
    seen = await life.do("answer_decision")
    assert (seen.decision, seen.status.phase, seen.status.retry_at) == (None, "CouldNotRemove", PARKED["retryAt"])
    _, notes = await events(life, "DecisionUnknown")
    why = "growth.dev/decision=rtry is no decision: say cancel, retry, skip, abandon"
    assert notes == [f"NodeRemovalRequest {NAME}: annotation {why}. It is taken off"]
    version = (await life.removal())["metadata"]["resourceVersion"]
    assert await life.do("answer_decision", ANSWER) == seen
    assert (await life.removal())["metadata"]["resourceVersion"] == version


async def test_each_slip_of_a_person_is_answered_also_within_minutes(life):
    await with_removal(life, PARKED, "rtry")
    await life.do("answer_decision")
    life.pass_time(20)
    await annotate(life, "retr")
    await life.do("answer_decision")
    in_status, notes = await events(life, "DecisionUnknown")
    assert (len(in_status), len(notes)) == (2, 2)


@at_each_write(3)
async def test_killed_at_any_write_the_answer_is_given_before_the_annotation_goes(life, write, when):
    """Its writes: the status, the event, the annotation."""
    await with_removal(life, PARKED, "rtry")
    await life.die_during("answer_decision", None, when, write)
    if await annotations(life) == OTHERS:
        assert (when, write) == ("crash_after", 3)
    life.pass_time(1)
    await life.do("answer_decision", ANSWER)
    in_status, notes = await events(life, "DecisionUnknown")
    assert (len(in_status), await annotations(life)) == (1, OTHERS)
    assert notes


@pytest.mark.parametrize("writes", [1, 2], ids=["before the answer", "after it"])
async def test_a_newer_value_is_not_taken_off(life, writes):
    await with_removal(life, PARKED, "rtry")
    put_before_next_write(life, "retry", writes=writes)
    seen = await life.do("answer_decision")
    assert (seen.decision.word, await annotations(life)) == ("retry", OTHERS | {DECISION: "retry"})
    in_status, _ = await events(life, "DecisionUnknown")
    assert len(in_status) == writes - 1
    assert (await life.do("resume_removal")).status.phase == "Deprovisioning"


async def test_another_slip_is_answered_by_its_own_words(life):
    await with_removal(life, PARKED, "rtry")
    put_before_next_write(life, "retr")
    await life.do("answer_decision")
    in_status, _ = await events(life, "DecisionUnknown")
    assert in_status == ["growth.dev/decision=retr is no decision: say cancel, retry, skip, abandon"]


@pytest.mark.parametrize("effect", ["resume_removal", "skip_server"])
async def test_an_effect_that_was_asked_for_earlier_yields_to_what_stands_there_now(life, effect):
    """It was tried again and again while the provider or the API server did not answer."""
    await with_removal(life, PARKED, "abandon")
    before = await life.removal()
    await life.do(effect, Act(effect=effect, reason="Any", by="Annotation"))
    assert await life.removal() == before
    assert not (await life.do("abandon_server")).exists


async def test_what_keeps_changing_is_a_conflict(life):
    await with_removal(life, PARKED, "rtry")
    life.cluster.refuse_writes(Conflict("changed"), "patch", NODE_REMOVAL_REQUESTS)
    with pytest.raises(Conflict):
        await life.do("answer_decision", ANSWER)


async def test_a_request_tells_that_only_removals_take_decisions(life):
    await life.add_request()
    await annotate(life, "cancel", resource=NODE_REQUESTS)
    for _ in range(2):
        await life.look_request()
    (event,) = await life.events()
    assert event["note"] == (
        f"NodeRequest {NAME}: annotation growth.dev/decision=cancel has no effect: only removals take decisions; "
        f"to cancel a request, delete it: kubectl delete noderequest {NAME}"
    )
