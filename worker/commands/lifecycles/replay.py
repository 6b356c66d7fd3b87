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


def deed(found: ReplayFindings) -> Deed:
    """Return what to do for a removal."""
    if found.subject is None or found.phase is None or found.trouble or found.workflow is WorkflowState.PAUSED:
        return Deed.NOTHING
    is_parked = found.phase is RemovalPhase.COULD_NOT_REMOVE
    if found.workflow in _OPEN:
        return Deed.RETRY if is_parked else Deed.NOTHING
    return Deed.START_AND_RETRY if is_parked else Deed.START


def is_failure(found: ReplayFindings) -> bool:
    """Return whether nothing is done although the machine is not on its way out."""
    if deed(found) is not Deed.NOTHING or found.workflow is WorkflowState.RUNNING:
        return False
    return found.subject is not None or found.server not in {ReplayedServer.GONE, ReplayedServer.FOREIGN}


def forecast(found: ReplayFindings) -> str:
    """Return what happens when it is replayed, or why nothing does."""
    match deed(found):
        case Deed.RETRY:
            return f"is tried again: {_next(found)}"
        case Deed.START:
            return f"starts again from its object in phase {found.phase}: {_next(found)}"
        case Deed.START_AND_RETRY:
            return f"starts again from its object, and is tried again: {_next(found)}"
        case Deed.NOTHING:
            return _left_alone(found)


def _next(found: ReplayFindings) -> str:
    if found.phase is not None and (left := _CANCELLABLE.get(found.phase)):
        return f"what is left of {left}, then its server is deleted; it can be cancelled until then"
    match found.server:
        case ReplayedServer.EXISTS:
            return "its server is deleted, with all delete calls anew"
        case ReplayedServer.GONE:
            return "its server is gone, so its Node is deleted and it ends"
        case ReplayedServer.FOREIGN:
            return "the server of that name is of another machine and stays; it ends"
        case ReplayedServer.ERROR:
            return "its provider answers with an error, so it may park again"


def _left_alone(found: ReplayFindings) -> str:
    if found.trouble:
        return f"left alone: {found.trouble}"
    if found.workflow is WorkflowState.PAUSED:
        return "left alone: a person has paused its workflow; let it go on in the Temporal UI"
    if found.subject is not None:
        return f"left alone: it is under way in phase {found.phase}"
    if found.server is ReplayedServer.EXISTS:
        return "left alone: its object is gone and its server exists; a NodeRemovalRequest of that name deletes it"
    if found.server is ReplayedServer.ERROR:
        return "left alone: its object is gone, and its provider does not tell whether the server is"
    return "left alone: it has ended, and no server of its own is left"
