"""Details of a lifecycle in the Temporal UI: its phase, its deadline, the facts, and the choices that a person has.

Markdown for the current details, one line for timers. Others' words are quoted, cut and never taken for markdown.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from api.meta import shown_time
from planner.lifecycle.seen import LifecycleObservation
from planner.lifecycle.step import Act, Done
from workflows.messages import LifecycleReport

DETAILS_BYTES: Final = 4000
"""The details stay well below 4 KiB: they travel with every query of the page."""
_QUOTED_CHARACTERS: Final = 600
"""A message may have 1024 characters, which the object holds in full."""
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|~#])")

Seen = TypeVar("Seen", bound=LifecycleObservation)


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice that a person has now."""

    name: str
    """As the Temporal UI calls it."""
    effect: str
    """What it does."""


@dataclass(frozen=True, slots=True, eq=False)
class Account(Generic[Seen]):
    """The account that people see of the lifecycles of a kind."""

    facts: Callable[[Seen], Iterable[str]]
    """The facts of the observation, a line each."""
    choices: Callable[[Seen], Sequence[Choice]]
    """The choices that would have an effect now."""
    how: Callable[[str, Seen, Sequence[Choice]], str]
    """Where to do it, in markdown, of the object's name and the choices; without choices, why there are none."""
    ending: Callable[[str, Act, Seen], Done | None]
    """How the lifecycle ended, of the object's name, an effect and what was seen before it: None if it was not the
    last one."""


def details(
    report: LifecycleReport, *, facts: Iterable[str], choices: Sequence[Choice], how: str, looked_at: datetime | None
) -> str:
    """Return the current details of a lifecycle.

    Args:
        report: where it stands.
        facts: what was seen, a line each; may hold others' words.
        choices: what would have an effect now.
        how: markdown on where to do it; without choices, why there are none.
        looked_at: when the facts were seen.
    """
    lines = [f"**{report.phase or 'New'}** · {report.reason or 'FirstLook'}", "", quoted(report.message), ""]
    if report.until is not None:
        lines.append(f"- Deadline: **{shown_time(report.until)}**")
    if report.trouble:
        lines.append(f"- **Trouble:** {quoted(report.trouble)}; it goes on trying")
    lines += [f"- {quoted(fact)}" for fact in facts]
    if looked_at is not None:
        lines.append(f"- Seen at {looked_at:%H:%M:%S} UTC")
    if choices:
        lines += ["", "**You can now**", ""]
        lines += [f"- **{choice.name}**: {choice.effect}" for choice in choices]
    lines += ["", how]
    return _bounded("\n".join(lines).strip())


def waiting(message: str, until: datetime | None, now: datetime) -> str:
    """Return the summary of a timer: its end and its reason. The end comes first, as long lines are cut."""
    if until is None:
        return message
    shown = f"{until:%H:%M:%S} UTC" if until.date() == now.date() else shown_time(until)
    return f"Until {shown}: {message}"


def quoted(text: str) -> str:
    """Return others' words on one line, cut, and as they are: no part of them is markdown."""
    line = " ".join(text.split())
    if len(line) > _QUOTED_CHARACTERS:
        line = f"{line[: _QUOTED_CHARACTERS - 1]}…"
    return _MARKDOWN.sub(r"\\\1", line)


def _bounded(text: str) -> str:
    return text.encode()[:DETAILS_BYTES].decode(errors="ignore")
