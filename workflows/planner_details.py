"""Details of the planner in the Temporal UI: the last round, the next one, and what a person can do."""

from datetime import datetime
from typing import Final

from api.meta import shown_time
from workflows.messages import PlannerReport
from workflows.ui_details import quoted

ABOUT: Final = """\
Each round looks at pods, nodes and Growth's objects, decides, writes NodeRequests for machines that shall come and
NodeRemovalRequests for machines that shall go, and starts a workflow for each. The timeline below has them by name.

- **nudge** (More Actions, Send a Signal, no input) runs a round at once.
- Cancelled, terminated or reset, nothing is lost: the worker starts a planner again, and machines in course go on.
- `growth status` tells what is there and what is awaited; `growth why pod NAMESPACE/NAME` tells why a pod waits.
"""


def round_details(report: PlannerReport, *, began_at: datetime | None) -> str:
    """Return the current details of the planner.

    Args:
        report: what it knows.
        began_at: when the round that runs now began; None between rounds.
    """
    lines = [f"**Round {report.round}** · {_standing(report, is_running=began_at is not None)}", ""]
    if report.summary:
        lines += [f"Last round: {quoted(report.summary)}" if began_at is not None else quoted(report.summary), ""]
    if report.failures:
        lines.append(f"- **{report.failures} failed** in a row: nothing is decided meanwhile; machines in course go on")
    if began_at is not None:
        lines.append(f"- Runs since {shown_time(began_at)}")
    elif report.next_at is not None:
        soon = "" if report.failures else ", or at once when something changes"
        lines.append(f"- Next round: **{shown_time(report.next_at)}**{soon}")
    return "\n".join(lines)


def _standing(report: PlannerReport, *, is_running: bool) -> str:
    if is_running:
        return "runs"
    return "failed" if report.failures else report.result
