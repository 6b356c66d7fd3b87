"""The tables of docs/lifecycles.md: what each reason says, what is awaited under it, and what follows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pages.atlas import Line
from planner.lifecycle.outcome import GONE, STAYS, Outcome

_SYMBOL: Final = re.compile("<([a-z ]+)>")
"""What differs from case to case in a sentence of a step."""


def dictionary(lines: Sequence[Line]) -> str:
    """Return the tables of one lifecycle as Markdown: waits, steps, and what effects find out."""
    merged = _merged(lines)
    waits = (line for line in merged if line.kind == "wait")
    steps = [line for line in merged if line.kind != "wait"]
    return "\n".join(
        (
            "**Waits.** Each also ends when a look shows something else.\n",
            _table(("phase", "reason", "what is awaited", "until, and what happens then"), map(_wait, waits)),
            "**Steps.** The activity is the one that the Temporal UI shows.\n",
            _table(("phase", "reason", "activity", "what it is and does", "phase after it"), map(_step, steps)),
            "**Findings.** Reasons that an activity writes instead of its step's, because it finds them out.\n",
            _table(("activity", "reason", "what it says", "phase after it"), _findings(steps)),
        )
    )


def _merged(lines: Iterable[Line]) -> list[Line]:
    """Return the lines, those that differ in nothing but their phase as one with all their phases."""
    phases: dict[Line, list[str]] = {}
    for line in lines:
        phases.setdefault(replace(line, phase=""), []).append(line.phase or "any")
    return [replace(line, phase=", ".join(of)) for line, of in phases.items()]


def is_general(reason: str) -> bool:
    """Return whether the reason stands for any: the step takes over the one that the object has."""
    return _SYMBOL.fullmatch(reason) is not None


def _wait(line: Line) -> tuple[str, ...]:
    until = _either(line.deadlines) or "no deadline"
    then = f"; then {_either([_code(reason) for reason in line.then])}" if line.then else ""
    return line.phase, _code(line.reason), _sentences(line.messages), f"{until}{then}"


def _step(line: Line) -> tuple[str, ...]:
    reason = "the one it has" if is_general(line.reason) else _code(line.reason)
    effect = _code(line.effect) if line.effect else "none: the workflow ends"
    text = _sentences(line.messages)
    if line.deadlines:
        text += f"<br/>Sets a deadline: {_either(line.deadlines)}"
    own = dict.fromkeys(_phase_after(one) for one in line.outcomes)
    return line.phase, reason, effect, text, ", ".join(own) or GONE


def _findings(steps: Iterable[Line]) -> Iterator[tuple[str, ...]]:
    effects: dict[Outcome, dict[str, None]] = {}
    for line in steps:
        for outcome in line.outcomes:
            if outcome.reason:
                effects.setdefault(outcome, {})[_code(line.effect)] = None
    for outcome, found_by in effects.items():
        yield ", ".join(found_by), _code(outcome.reason), outcome.message, _phase_after(outcome)


def _phase_after(outcome: Outcome) -> str:
    return "as before" if outcome.phase == STAYS else outcome.phase


def _sentences(messages: Iterable[str]) -> str:
    """Return sentences in one cell, with what differs from case to case in italics."""
    return "<br/>".join(
        _SYMBOL.sub(r"*the \1 that was given*" if is_general(message) else r"*\1*", message)
        for message in sorted(messages, key=is_general)
    )


def _code(word: str) -> str:
    return f"`{word}`"


def _either(words: Sequence[str]) -> str:
    *others, last = words or ("",)
    return f"{', '.join(others)} or {last}" if others else last


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = (head, ["---"] * len(head), *rows)
    return "\n".join([*(f"| {' | '.join(row)} |" for row in text), ""])
