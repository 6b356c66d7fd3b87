"""Everything that the step functions may ever answer, by phase: what docs/lifecycles.md is drawn from.

Nothing of it is written down here: the functions run on all that could be seen, and a wait runs once more at its
deadline, which tells what happens then.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from itertools import combinations
from typing import Any, Final

from pydantic.alias_generators import to_camel

from api.duration import format_duration
from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from pages.exploration import NOW, ExploredWorld, Narrowing, explore
from pages.narrowed import ALONE, NARROWED
from planner.lifecycle import removal, request
from planner.lifecycle.clocks.deadlines import told_late
from planner.lifecycle.drain import EVICTING, Refusal
from planner.lifecycle.outcome import REMOVAL_OUTCOMES, REQUEST_OUTCOMES, Outcome
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import LifecycleObservation, RemovalObservation, RequestObservation
from planner.lifecycle.step import Act, Decision, DecisionKind, Step, Wait

ANY_PHASE: Final = ""
"""The step is the same in every phase."""

_PHASE: Final = "status.phase"
_A_MOMENT: Final = timedelta(microseconds=1)
_SHOWN_TIME: Final = re.compile(r"[0-9-]{10} [0-9:]{8} UTC")
"""A time as `shown_time` writes it."""
_CALLED: Final[Mapping[str, str]] = {
    "drain.limit_at": "the next limit of the drain",
    "drain.deadline": "`forcedAt`",
    "awaited.until": "`hardGrace` after `taintedAt`",
    "successors.since": "the first of them was made",
}
"""Moments that are no fields of the object under their name, by dotted name."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLifecycle:
    """One of the two lifecycles, as far as its drawing needs it."""

    kind: str
    phases: type[StrEnum]
    effects: type[StrEnum]
    look: StrEnum
    """The effect that no step asks for: drivers look after each."""
    outcomes: Mapping[Any, tuple[Outcome, ...]]
    decide: Callable[[ExploredWorld, datetime], Step]
    """The step function, on what a world shows at a time."""
    late: StrEnum
    """The effect that tells on the object of a deadline that has passed, whatever is awaited."""
    words: Mapping[str, Sequence[str]]
    """Texts that its steps tell apart, by the name of the field."""
    narrow: Mapping[str, Narrowing]
    """Which values of a field are explored, where not all are, by its name."""


@dataclass(frozen=True, slots=True)
class Line:
    """What may happen in a phase under one reason."""

    phase: str
    """Or `ANY_PHASE`."""
    kind: str
    """wait, act or done."""
    effect: str
    """Empty for a wait and for the end."""
    reason: str
    messages: tuple[str, ...]
    """Sentences; what stands between angle brackets differs from case to case."""
    deadlines: tuple[str, ...]
    """When a wait ends by itself, or what deadline an effect sets, in the words of status and pool."""
    then: tuple[str, ...]
    """Reasons of the steps that may follow at the deadline of a wait."""
    outcomes: tuple[Outcome, ...]
    """How an effect may end."""


@dataclass(frozen=True, slots=True)
class _Answer:
    phase: str
    step: Step
    deadline: str
    then: str


@cache
def lines_of(lifecycle: DrawnLifecycle) -> tuple[Line, ...]:
    """Return all that may happen in a lifecycle: by phase, waits first, then effects in the order of their enum.

    Raises:
        ValueError: an effect has no outcomes, or a deadline is not what a field, the time or a duration make.
        TypeError: see `explore`.
        UndeclaredWordError: see `explore`.
    """
    alike: dict[tuple[str, str, str, str], list[_Answer]] = {}
    for answer in explore(lambda world: _ask(lifecycle, world), lifecycle.words, lifecycle.narrow):
        step = answer.step
        effect = step.effect if isinstance(step, Act) else ""
        alike.setdefault((answer.phase, type(step).__name__.lower(), effect, step.reason), []).append(answer)
    lines = [_line(lifecycle, key, answers) for key, answers in alike.items()]
    lines.append(_late_line(lifecycle))
    phases, effects = [*map(str, lifecycle.phases), ANY_PHASE], ["", *map(str, lifecycle.effects)]
    return tuple(sorted(lines, key=lambda line: (phases.index(line.phase), effects.index(line.effect))))


def _ask(lifecycle: DrawnLifecycle, world: ExploredWorld) -> _Answer:
    step = lifecycle.decide(world, NOW)
    phase = world.facts.get(_PHASE, ANY_PHASE)
    deadline = then = ""
    if isinstance(step, Act | Wait) and step.until is not None:
        deadline = _words_of(world, step.until)
        if isinstance(step, Wait):
            then = _then(lifecycle, world, step, step.until)
    return _Answer(str(phase), step, deadline, then)


def _then(lifecycle: DrawnLifecycle, world: ExploredWorld, wait: Wait, deadline: datetime) -> str:
    """Return the reason of the step that the deadline brings, or an empty text if something else ends the wait."""
    if lifecycle.decide(world, deadline - _A_MOMENT).reason != wait.reason:
        return ""
    return lifecycle.decide(world, deadline).reason


def _line(lifecycle: DrawnLifecycle, key: tuple[str, str, str, str], answers: Sequence[_Answer]) -> Line:
    phase, kind, effect, reason = key
    return Line(
        phase=phase,
        kind=kind,
        effect=effect,
        reason=reason,
        messages=_distinct_sentences(lifecycle, [_SHOWN_TIME.sub("<time>", answer.step.message) for answer in answers]),
        deadlines=tuple(sorted({one.deadline for one in answers if one.deadline}, key=lambda text: (len(text), text))),
        then=tuple(dict.fromkeys(answer.then for answer in answers if answer.then)),
        outcomes=_outcomes(lifecycle, effect) if effect else (),
    )


def _late_line(lifecycle: DrawnLifecycle) -> Line:
    """Return what every wait may be preceded by. Explored for each of them it would double the worlds."""
    wait = Wait(reason="", message="<what is awaited>", until=NOW)
    seen = LifecycleObservation(status=RequestObservation().status, named_deadline=NOW)
    step = told_late(wait, seen, NOW, lifecycle.late)
    return _line(lifecycle, (ANY_PHASE, "act", str(lifecycle.late), step.reason), [_Answer(ANY_PHASE, step, "", "")])


def _outcomes(lifecycle: DrawnLifecycle, effect: str) -> tuple[Outcome, ...]:
    known = lifecycle.outcomes.get(lifecycle.effects(effect))
    if known is None:
        msg = f"where {effect} leads is not known: add it to planner/lifecycle/outcome.py"
        raise ValueError(msg)
    return known


def _distinct_sentences(lifecycle: DrawnLifecycle, messages: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences as they were found, of those that differ in names only the one that names most."""
    names = re.compile("|".join(["<[a-z ]+>", "[0-9]+", *(w for words in lifecycle.words.values() for w in words)]))
    by_form: dict[str, str] = {}
    for message in dict.fromkeys(messages):
        form = names.sub("", message).strip()
        known = by_form.get(form, "")
        by_form[form] = known if known.count("<") >= message.count("<") and known else message
    return tuple(by_form.values())


def _words_of(world: ExploredWorld, moment: datetime) -> str:
    """Return in words how a moment comes about: each one shown has a part of its own that tells which it was."""
    moments = {name: told for name, told in world.facts.items() if isinstance(told, datetime)}
    durations = {told: name for name, told in world.facts.items() if isinstance(told, timedelta)}
    for name, known in (moments | {"": NOW}).items():
        rest = moment - known
        since = f"after {_field(name)}" if name else "from now"
        if name and not rest:
            return _field(name)
        for duration, of in durations.items():
            times, left = divmod(rest, duration)
            if times >= 1 and not left:
                return f"{f'{times} times ' if times > 1 else ''}{_field(of)} {since}"
        if rest > timedelta() and not rest % timedelta(seconds=1):
            return f"{format_duration(rest)} {since}"
        words = _sum_of(durations, rest)
        if words:
            return f"{words} {since}"
        if name and rest < timedelta() and not rest % timedelta(seconds=1):
            return f"{format_duration(-rest)} before {_field(name)}"
    msg = f"the deadline {moment.isoformat()} comes from nothing that was shown: {world.facts}"
    raise ValueError(msg)


def _sum_of(durations: Mapping[timedelta, str], whole: timedelta) -> str:
    """Return in words which of the durations, one or two, make the whole with some seconds more or less, if any do."""
    for chosen in (*((one,) for one in durations), *combinations(durations, 2)):
        left = whole - sum(chosen, timedelta())
        if left % timedelta(seconds=1):
            continue
        words = " and ".join(_field(durations[each]) for each in chosen)
        if left > timedelta():
            return f"{words} and {format_duration(left)}"
        return f"{format_duration(-left)} before {words}" if left else words
    return ""


def _field(name: str) -> str:
    return _CALLED.get(name) or f"`{to_camel(name.rpartition('.')[2])}`"


def _decide_request(world: ExploredWorld, now: datetime) -> Step:
    return request.decide(world.imagine(RequestObservation), now)


def _decide_removal(world: ExploredWorld, now: datetime) -> Step:
    message = world.tell("message", Decision | None, None) if now == NOW else None
    return removal.decide(world.imagine(RemovalObservation), message, now)


REQUEST: Final = DrawnLifecycle(
    kind="NodeRequest",
    phases=RequestPhase,
    effects=RequestEffect,
    look=RequestEffect.LOOK,
    outcomes=REQUEST_OUTCOMES,
    decide=_decide_request,
    late=RequestEffect.TELL_DELAY,
    words={},
    narrow=ALONE,
)
REMOVAL: Final = DrawnLifecycle(
    kind="NodeRemovalRequest",
    phases=RemovalPhase,
    effects=RemovalEffect,
    look=RemovalEffect.LOOK,
    outcomes=REMOVAL_OUTCOMES,
    decide=_decide_removal,
    late=RemovalEffect.TELL_BLOCKERS,
    words={
        "message.by": (),
        "decision.by": (),
        "decision.word": tuple(DecisionKind),
        "status.cancel.by": tuple(sorted(removal.BY_ITSELF)),
        "status.reason": (removal.DELETE_FAILED, removal.RETRIED, EVICTING, *Refusal),
    },
    narrow=NARROWED,
)
DRAWN: Final = (REQUEST, REMOVAL)
"""Every kind, in the order of the page."""
