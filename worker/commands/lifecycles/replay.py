"""What replaying a removal means: pure, from what was seen of its object, its workflow and its server.

A parked removal gets the decision `retry`. One whose workflow was ended starts again from its
object, which tells where it stood. One that is under way is left alone.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.kinds import ObjectId
from worker.commands.lifecycles.running import WorkflowState


class ReplayedServer(StrEnum):
    """What the provider says of the server."""

    EXISTS = "exists"
    GONE = "gone"
    FOREIGN = "not its own"
    """A server of that name exists, of another machine."""
    ERROR = "error"
    """The provider answers with an error."""


class Deed(StrEnum):
    """What is done to replay a removal."""

    RETRY = "Retry"
    START = "Start"
    START_AND_RETRY = "StartAndRetry"
    """It was parked when its workflow was ended: started alone, it would be parked again."""
    NOTHING = "Nothing"


@dataclass(frozen=True, slots=True)
class ReplayFindings:
    """A removal that was named, and what belongs to it."""

    name: str
    pool: str
    phase: RemovalPhase | None
    """None: there is no object, or it cannot be read."""
    workflow: WorkflowState
    server: ReplayedServer
    subject: ObjectId | None = None
    """None without an object."""
    parking: str = ""
    """Tells this parking of the removal from the next; empty while it is not parked."""
    answer: str = ""
    """What the provider answered, when it was an error."""
    trouble: str = ""
    """Why it cannot be replayed, when a person must mend something first."""


_CANCELLABLE: Final = {RemovalPhase.PENDING: "its cool-off", RemovalPhase.DRAINING: "its drain"}
_OPEN: Final = frozenset({WorkflowState.RUNNING, WorkflowState.PAUSED})


def deed(findings: ReplayFindings) -> Deed:
    """Return the action that replays a removal."""
    if (
        findings.subject is None
        or findings.phase is None
        or findings.trouble
        or findings.workflow is WorkflowState.PAUSED
    ):
        return Deed.NOTHING
    is_parked = findings.phase is RemovalPhase.COULD_NOT_REMOVE
    if findings.workflow in _OPEN:
        return Deed.RETRY if is_parked else Deed.NOTHING
    return Deed.START_AND_RETRY if is_parked else Deed.START


def is_failure(findings: ReplayFindings) -> bool:
    """Return whether nothing is done although the machine is not on its way out."""
    if deed(findings) is not Deed.NOTHING or findings.workflow is WorkflowState.RUNNING:
        return False
    return findings.subject is not None or findings.server not in {ReplayedServer.GONE, ReplayedServer.FOREIGN}


def forecast(findings: ReplayFindings) -> str:
    """Return a sentence: the effect of a replay, or the reason why there is none."""
    match deed(findings):
        case Deed.RETRY:
            return f"is tried again: {_next(findings)}"
        case Deed.START:
            return f"starts again from its object in phase {findings.phase}: {_next(findings)}"
        case Deed.START_AND_RETRY:
            return f"starts again from its object, and is tried again: {_next(findings)}"
        case Deed.NOTHING:
            return _left_alone(findings)


def _next(findings: ReplayFindings) -> str:
    if findings.phase is not None and (left := _CANCELLABLE.get(findings.phase)):
        return f"what is left of {left}, then its server is deleted; it can be cancelled until then"
    match findings.server:
        case ReplayedServer.EXISTS:
            return "its server is deleted, with all delete calls anew"
        case ReplayedServer.GONE:
            return "its server is gone, so its Node is deleted and it ends"
        case ReplayedServer.FOREIGN:
            return "the server of that name is of another machine and stays; it ends"
        case ReplayedServer.ERROR:
            return "its provider answers with an error, so it may park again"


def _left_alone(findings: ReplayFindings) -> str:
    if findings.trouble:
        return f"left alone: {findings.trouble}"
    if findings.workflow is WorkflowState.PAUSED:
        return "left alone: a person has paused its workflow; let it go on in the Temporal UI"
    if findings.subject is not None:
        return f"left alone: it is under way in phase {findings.phase}"
    if findings.server is ReplayedServer.EXISTS:
        return "left alone: its object is gone and its server exists; a NodeRemovalRequest of that name deletes it"
    if findings.server is ReplayedServer.ERROR:
        return "left alone: its object is gone, and its provider does not tell whether the server is"
    return "left alone: it has ended, and no server of its own is left"
