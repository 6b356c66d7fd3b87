"""The atlas of the lifecycles leaves nothing out, and says of some known steps what a person would."""

import ast
import inspect
import re
import sys
from dataclasses import replace
from datetime import timedelta
from types import CodeType, FunctionType

import pytest
from hypothesis import given

from api.v1alpha1.removal_budget import EVICTING_REASONS
from pages.atlas import ANY_PHASE, REMOVAL, REQUEST, lines_of
from pages.exploration import NOW, explore
from planner.lifecycle import decision, drain, removal, request
from planner.lifecycle.clocks import drain_limits
from planner.lifecycle.departure import replacement
from planner.lifecycle.seen import RemovalObservation
from planner.lifecycle.step import Act, Wait
from tests.planner.lifecycle import test_sweep
from tests.searching import searching

BOTH = pytest.mark.parametrize("lifecycle", [REQUEST, REMOVAL], ids=lambda lifecycle: lifecycle.kind)
NOT_REASONS = {"Person", "Planner", "Delete", "Timer", "Provider", "RemoveNow", *EVICTING_REASONS}
"""Words for who asked and why, which stand on the object beside the reason."""

ENDS = {
    "Cancelled",
    "DrainTimedOut",
    "HasLocalData",
    "MoveFailed",
    "NotDead",
    "NotEmpty",
    "NotOurs",
    "NotReplaced",
    "StepCancelled",
    "Withdrawn",
}
"""Reasons for which a removal ends before its point of no return. Source: docs/design.md#removal."""

OF_THE_LOOK = {
    "_holds_up",
    "_more",
    "_order",
    "_until_all_end",
    "force_at",
    "grace_left",
    "in_turn",
    "see_drain",
    "see_per_node_pods",
}


def line(lifecycle, phase, reason, effect=""):
    (one,) = (
        one
        for one in lines_of(lifecycle)
        if (one.phase, one.reason, one.effect) == (phase, reason, effect) and one.kind != "done"
    )
    return one


def codes(module, *, without=()):
    """The code of every function of a module, those inside functions too."""
    left = [
        one.__code__
        for name, one in vars(module).items()
        if isinstance(one, FunctionType) and one.__module__ == module.__name__ and name not in without
    ]
    while left:
        code = left.pop()
        yield code
        left += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


@pytest.mark.parametrize(
    ("lifecycle", "wanted"),
    [
        (REQUEST, [*codes(request, without=("next_step",))]),
        # `next_step` adds words on deadlines, which a row has in columns of its own.
        # `is_by_person`, `refusal` and `decision_on` are for others too: what calls them in the steps has asked part
        # of it before.
        (
            REMOVAL,
            [
                *codes(removal, without=("next_step", "is_by_person")),
                # The limits themselves are for the look, too.
                *codes(drain_limits, without=("drain_limits", "next_limit")),
                *codes(decision, without=("refusal", "decision_on")),
                # The rest is for the look, which sorts pods.
                *codes(drain, without=OF_THE_LOOK),
            ],
        ),
    ],
    ids=["request", "removal"],
)
def test_every_line_of_the_step_functions_is_explored(lifecycle, wanted):
    """A branch that the imagined world cannot reach would be missing from the drawing."""
    lines = {(code, number) for code in wanted for *_, number in code.co_lines() if number != code.co_firstlineno}
    left = {(code, number) for code, number in lines if number is not None}
    known = {code for code, _ in left}

    def trace(frame, event, _argument):
        if frame.f_code not in known:
            return None
        left.discard((frame.f_code, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for _ in explore(lambda world: lifecycle.decide(world, NOW), lifecycle.words, lifecycle.narrow):
            if not left:
                break
    finally:
        sys.settrace(before)
    assert not {f"{code.co_name} line {number}" for code, number in left}


@BOTH
def test_every_effect_is_there_but_the_look(lifecycle):
    assert {one.effect for one in lines_of(lifecycle) if one.effect} == set(lifecycle.effects) - {lifecycle.look}


def literals(module):
    """The CamelCase words in the code of a module: its reasons."""
    tree = ast.parse(inspect.getsource(module))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if re.fullmatch("([A-Z][a-z]+)+", text)} - NOT_REASONS


@pytest.mark.parametrize(
    ("lifecycle", "modules"),
    [(REQUEST, [request]), (REMOVAL, [removal, decision, drain, drain_limits, replacement])],
    ids=["request", "removal"],
)
def test_every_reason_in_the_source_is_there(lifecycle, modules):
    words = set().union(*map(literals, modules))
    assert len(words) > 15
    shown = {one.reason for one in lines_of(lifecycle)} | {
        outcome.reason for one in lines_of(lifecycle) for outcome in one.outcomes
    }
    # "Cancelled" and the like stand in sentences too; there they are no reason on their own.
    assert words - shown == set()


@searching(300)
@given(test_sweep.requests)
def test_whatever_is_seen_of_a_request_its_step_is_there(seen):
    check(REQUEST, seen, request.next_step(seen, test_sweep.NOW))


@searching(300)
@given(test_sweep.removals, test_sweep.decisions)
def test_whatever_is_seen_of_a_removal_its_step_is_there(seen, message):
    check(REMOVAL, seen, removal.next_step(seen, message, test_sweep.NOW))


def check(lifecycle, seen, step):
    effect = step.effect if isinstance(step, Act) else ""
    reasons = {
        one.reason
        for one in lines_of(lifecycle)
        if one.phase in (ANY_PHASE, seen.status.phase)
        and one.effect == effect
        and (one.kind == "wait") == isinstance(step, Wait)
    }
    # A hand-over takes over the reason that the request has, which the atlas tells as such.
    assert step.reason in reasons or "<reason>" in reasons


def test_the_reasons_of_a_cancel_are_those_under_which_it_is_carried_out():
    """A word that ends a removal by itself must be among the declared words of the record."""
    recorded, carried = (
        {one.reason for one in lines_of(REMOVAL) if one.phase in ("Pending", "Draining") and one.effect == effect}
        for effect in ("cancel_removal", "untaint_node")
    )
    assert recorded == carried == ENDS


def test_waits_tell_until_when_and_what_comes_then():
    """Source: docs/design.md#lifecycles."""
    boot = line(REQUEST, "Provisioning", "ServerBoot")
    assert boot.kind == "wait"
    assert boot.deadlines == (
        "`provisioningDeadline`",
        "2 times `provisioningTimeout` after `provisioningDeadline`",
    )
    assert set(boot.then) == {"ProvisioningTimeout", "ServerBoot"}, "one that its provider works on gets more time"
    node = line(REQUEST, "Provisioning", "NodeReady")
    assert set(node.deadlines) == {"`joinDeadline`"}
    assert set(node.then) == {"JoinTimeout", "PodsBound"}
    assert set(line(REQUEST, "Provisioning", "Startup").then) == {"StartupTimeout", "Ready"}
    cool_off = line(REMOVAL, "Pending", "CoolOff")
    assert set(cool_off.deadlines) == {"`scaleDownAt`", "5s after `taintedAt`", "`judgedAt`"}
    ends = {"Dead", "Empty", "NotEmpty", "Draining", "BlockedByBudget", "WaitsForPods", "HardGrace"}
    assert set(cool_off.then) == ends
    deletion = line(REMOVAL, "Deprovisioning", "ServerDeletion")
    assert deletion.deadlines == ("`retry` after `removeAttemptedAt`",)
    assert set(deletion.then) == {"DeleteServer", "RemovalFailed"}
    answer = line(REQUEST, "Ready", "ServerAnswer")
    assert (answer.deadlines, answer.then) == ((), ())
    bare = line(REMOVAL, "Draining", "BlockedByBarePod")
    assert bare.deadlines == ("the next limit of the drain", "`hardGrace` after `drainStartedAt`")
    assert {"HardGrace", "DrainTimedOut", "ForcedLater", "TerminationGracePeriod"} <= set(bare.then)
    budget = line(REMOVAL, "Draining", "BlockedByBudget")
    assert {"10s after `evictAttemptedAt`", "5m after `evictAttemptedAt`"} <= set(budget.deadlines)
    assert {"Evicting", "HardGrace", "DrainTimedOut", "ForcedLater", "TerminationGracePeriod"} <= set(budget.then)


def test_effects_tell_the_deadline_that_they_set():
    assert set(line(REQUEST, "Pending", "CreateServer", "create_server").deadlines) == {
        "`provisioningDeadline`",
        "`provisioningTimeout` from now",
    }
    parked = line(REMOVAL, "Deprovisioning", "RemovalFailed", "park_removal")
    assert {"`parkedRetry` from now", "2 times `parkedRetry` from now"} <= set(parked.deadlines)


def test_sentences_read_for_all_cases():
    assert "Node <name> is Ready" in line(REQUEST, "Provisioning", "Ready", "mark_ready").messages
    assert line(REQUEST, "Ready", "PodsBind").messages == ("<awaited> of <seats> planned pods are not bound",)
    assert line(REMOVAL, "Pending", "NotEmpty", "cancel_removal").messages == (
        "<occupant count> pods are on the node or on their way to it: <occupants>",
    )
    assert line(REQUEST, "Provisioning", "ServerBroken", "give_up").messages == (
        "The provider says that the server will not run: <server problem>",
        "The provider says that the server will not run",
    )
    assert line(REQUEST, "Pending", "BuyingPaused", "mark_unmet").messages == (
        "Its class is refused <refused part> until then: <pause message>",
        "Nothing of its class is bought until then: <pause message>",
    )
    # A number is of one case, but for how often it is looked again.
    told = [re.sub("again every 5s", "", message) for one in lines_of(REQUEST) for message in one.messages]
    assert not [message for message in told if re.search("[0-9]", message)]


def test_what_does_not_depend_on_the_phase_is_told_once():
    assert line(REQUEST, ANY_PHASE, "DefinitionRemoved", "forget_request")
    assert line(REMOVAL, ANY_PHASE, "DefinitionRemoved", "forget_removal")


def test_an_effect_without_an_outcome_is_an_error():
    act = Act(effect=REMOVAL.look, reason="Odd", message="")
    unknown = replace(REMOVAL, outcomes={}, decide=lambda _world, _now: act)
    with pytest.raises(ValueError, match=r"leads is not known: add it to planner/lifecycle/outcome\.py"):
        lines_of(unknown)


def test_a_deadline_from_nowhere_is_an_error():
    def decide(world, now):
        reason = "Odd" if world.imagine(RemovalObservation).exists else "Odder"
        return Wait(reason=reason, message="", until=now + timedelta(milliseconds=500))

    with pytest.raises(ValueError, match="comes from nothing that was shown"):
        lines_of(replace(REMOVAL, decide=decide))
