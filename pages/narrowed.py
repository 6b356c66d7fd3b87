"""Facts of a removal of which only some values are explored, as with the others its steps would be the same.

A drain reads what nearly all of its parts know, so each value that one part goes on with doubles the worlds of all
parts after it. What is left out here either cannot be in that phase, or brings the step that another value brings too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from api.v1alpha1.node_removal_request import RemovalPhase
from pages.exploration import NOW, Narrowing
from planner.lifecycle.decision import RETRIED
from planner.lifecycle.drain import EVICTING, Refusal
from planner.lifecycle.removal import DELETE_FAILED
from planner.lifecycle.seen import DrainLimit
from planner.lifecycle.step import DecisionKind

Facts = Mapping[str, Any]

_DUE: Final = frozenset({DrainLimit.GIVEN_UP, DrainLimit.TELL})
"""Limits of a drain that end its step once they are due, no matter how long ago that was."""


def _is_draining(facts: Facts) -> bool:
    return facts.get("status.phase") is RemovalPhase.DRAINING


def _drains(keep: Callable[[Any], bool]) -> Narrowing:
    """Return what leaves a drain with the values to keep, and other phases with all."""

    def narrow(values: Sequence[Any], facts: Facts) -> Sequence[Any]:
        return [value for value in values if keep(value)] if _is_draining(facts) else values

    return narrow


def _first(values: Sequence[Any], _facts: Facts) -> Sequence[Any]:
    return values[:1]


def _last(values: Sequence[Any], _facts: Facts) -> Sequence[Any]:
    return values[-1:]


def _has_effect(kinds: Sequence[Any], facts: Facts) -> Sequence[Any]:
    """Return the decisions that have an effect in the phase: to others it answers as to none."""
    is_reversible = facts["status.phase"].is_reversible
    return [kind for kind in kinds if (kind is DecisionKind.CANCEL) is is_reversible]


def _reasons(words: Sequence[Any], facts: Facts) -> Sequence[Any]:
    """Return the reasons that matter in a phase; no drain goes on while an annotation is answered."""
    is_drain = _is_draining(facts) and facts["decision"] is None
    known = (EVICTING, *Refusal) if is_drain else (DELETE_FAILED, RETRIED)
    return [words[0], *known]


def _limit_at(times: Sequence[Any], facts: Facts) -> Sequence[Any]:
    """Return when the next limit of a drain comes: never without one, and mostly only whether it has come matters."""
    match facts.get("drain.limit"):
        case None:
            return [None]
        case limit:
            ahead = [time for time in times if time is not None and time > NOW]
            past = [time for time in times if time is not None and time <= NOW]
            return [*past[-1:], *ahead] if limit in _DUE else [*past, *ahead]


def _not_drained(values: Sequence[Any], facts: Facts) -> Sequence[Any]:
    """Return what is known of pods that are waited for: none are where pods are asked to leave, or by a limit."""
    return [None] if facts.get("may_drain") or facts.get("drain.limit") else values


def _is_some(value: Any) -> bool:
    return value is not None


def _is_none(value: Any) -> bool:
    return value is None


ALONE: Final[Mapping[str, Narrowing]] = {"others": _last}
"""Of how many others there are depends only how often a lifecycle looks, which is not drawn."""
NARROWED: Final[Mapping[str, Narrowing]] = {
    **ALONE,
    "message.kind": _has_effect,
    "status.reason": _reasons,
    "drain.limit_at": _limit_at,
    # Only a sentence has it.
    "drain.deadline": _last,
    "drain.terminating": _first,
    "awaited": _not_drained,
    # A machine that replaces this one and is Ready holds up no more of a drain than none does.
    "replacement.unready_since": _drains(_is_some),
    # Written at the beginning of a drain, and at its end.
    "status.drain_started_at": _drains(_is_some),
    "status.detach_until": _drains(_is_none),
}
"""Which values of a field are explored, by its dotted name."""
