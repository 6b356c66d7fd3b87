"""Draws the two lifecycles from the step functions, with a dictionary of every reason: docs/lifecycles.md.

`python -m pages.lifecycles` writes it; with --check it only says whether it is fresh.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from pages.atlas import ANY_PHASE, DRAWN, DrawnLifecycle, Line, lines_of
from pages.generated import write_or_check
from pages.lifecycle_dictionary import dictionary, is_general
from planner.lifecycle.outcome import GONE, STAYS

FILE: Final = Path(__file__).resolve().parent.parent / "docs" / "lifecycles.md"
"""Where a checkout keeps the drawing."""
_WORDS_A_ROW: Final = 3
"""Of the reasons in a box: more would make the drawing too wide for a page."""
_GREEN: Final = "fill:#d8f0dc,stroke:#2e7d32,color:#111"
_ORANGE: Final = "fill:#fde8d0,stroke:#b45309,color:#111"
_COLOURS: Final = {
    RequestPhase.READY: _GREEN,
    RequestPhase.UNMET: _ORANGE,
    RequestPhase.FAILED: _ORANGE,
    RemovalPhase.COULD_NOT_REMOVE: _ORANGE,
}

_HEAD: Final = """\
<!-- Written by `make drawings` from the step functions in planner/lifecycle: change them there. -->

# The two lifecycles

A machine comes by a NodeRequest and goes by a NodeRemovalRequest. One workflow drives each object: it asks a pure
function for the next step, runs it as one activity or waits, looks again, and so on until the object is gone. This page
is everything that the two functions, `planner/lifecycle/request.py` and `planner/lifecycle/removal.py`, answer to
anything that can be seen.

In a drawing, a box is a phase, with what is awaited in it and the steps that leave it as it is; an arrow has the
reasons for which the phase changes; *gone* is the end: the object is deleted. Green is a machine that pods can use,
orange one that could not be had or could not be deleted.

The tables explain each reason. You meet reasons in `kubectl get noderequests`, in conditions and in events: there they
are of the last step that was taken; and in `growth requests list`, `growth removals list` and the Temporal UI: there
they are of what is under way. Words in *italics* stand for names and numbers. A deadline is a field of the object, a
duration one of its pool, as `kubectl get -o yaml` prints them.
"""

_LEADS: Final = {
    "NodeRequest": """\
## NodeRequest: a machine that shall come

Without trouble: the server is created and boots, its node joins and is kept for the pods that it was bought for, they
are bound, the node opens for all, and a little later the record goes. *Deprovisioning* is the hand-over: an immediate
NodeRemovalRequest deletes the server for certain.
""",
    "NodeRemovalRequest": """\
## NodeRemovalRequest: a machine that shall go

*Pending* is the cool-off, which can be cancelled; so can *Draining*, in which pods are asked to leave, in pools of mode
`drain`. The arrow to *Deprovisioning* is the point of no return. A machine that the provider does not delete parks in
*CouldNotRemove*, and waits for a person or for its next try.

`kubectl get noderemovalrequests` shows under WHY the reason of the removal as a whole: `Empty` (a round found the
machine idle), `PoolDeleted`, `Requested` (made by hand), or that for which its request gave the machine up.
""",
}


def drawing() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *(_chapter(lifecycle) for lifecycle in DRAWN)])


def _chapter(lifecycle: DrawnLifecycle) -> str:
    lines = lines_of(lifecycle)
    return "\n".join([_LEADS[lifecycle.kind], *_diagram(lifecycle, lines), "", dictionary(lines)])


def _diagram(lifecycle: DrawnLifecycle, lines: Sequence[Line]) -> list[str]:
    """Return the drawing as Mermaid, which GitHub shows."""
    arrows: dict[tuple[str, str], list[str]] = {}
    steps: dict[str, list[str]] = {}
    for line in lines:
        for outcome in line.outcomes:
            if line.phase != ANY_PHASE and outcome.phase != STAYS:
                arrows.setdefault((line.phase, outcome.phase), []).append(outcome.reason or line.reason)
            elif line.phase != ANY_PHASE:
                steps.setdefault(line.phase, []).append(line.reason)
    text = ["```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(lifecycle.phases))}"]
    for phase in lifecycle.phases:
        waits = [line.reason for line in lines if line.kind == "wait" and line.phase == phase]
        leaving = {word for (begin, _), words in arrows.items() if begin == phase for word in words}
        staying = [word for word in steps.get(phase, ()) if word not in leaving and word not in waits]
        text.append(f"    {phase}: {phase}")
        text += [
            f"    {phase}: {what} {_rows(words)}" for what, words in (("waits:", waits), ("does:", staying)) if words
        ]
    text += [f"    {begin} --> {end}: {_rows(words, len(words))}" for (begin, end), words in arrows.items()]
    text.append(f"    {GONE} --> [*]")
    for phase in lifecycle.phases:
        if phase in _COLOURS:
            text.append(f"    style {phase} {_COLOURS[phase]}")
    return [*text, "```"]


def _rows(words: Iterable[str], row: int = _WORDS_A_ROW) -> str:
    known = list(dict.fromkeys(word for word in words if not is_general(word)))
    return ",<br/>".join(", ".join(known[at : at + row]) for at in range(0, len(known), row))


def main(arguments: Sequence[str], file: Path = FILE) -> int:
    """Write the page, or with --check compare it; return the exit code."""
    return write_or_check(arguments, file, drawing(), source="the step functions say")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
