"""Names of workflows, their signals, queries and updates, and the search attributes that the Temporal UI shows.

A name here is part of histories that are still running: it is added to, never changed.
"""

from typing import Annotated, Final

from pydantic import Field
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from api.meta import Timestamp
from api.model import Payload
from planner.lifecycle.kinds import ObjectId
from planner.model.plan import PlannerMemory
from planner.model.round import StartNote

PLANNER: Final = "Planner"

NUDGE: Final = "nudge"
"""Signal to the planner: something changed, look at once."""
WAKE: Final = "wake"
"""Signal to a lifecycle: something that it may be waiting for changed."""
STATE: Final = "state"
"""Query: what a workflow knows and waits for."""

CLUSTER: Final = SearchAttributeKey.for_keyword("GrowthCluster")
POOL: Final = SearchAttributeKey.for_keyword("GrowthPool")
PHASE: Final = SearchAttributeKey.for_keyword("GrowthPhase")
NODE: Final = SearchAttributeKey.for_keyword("GrowthNode")
OFFERING: Final = SearchAttributeKey.for_keyword("GrowthOffering")
"""Server type and location, such as "cx33 fsn1"."""
REASON: Final = SearchAttributeKey.for_keyword("GrowthReason")
"""What is awaited; `FAILING` while what has to be done keeps failing; at the end, why it ended."""
DEADLINE: Final = SearchAttributeKey.for_datetime("GrowthDeadline")
SEARCH_ATTRIBUTES: Final = (CLUSTER, POOL, PHASE, NODE, OFFERING, REASON, DEADLINE)

FAILING: Final = "Failing"
"""Search attribute value of every workflow whose work keeps failing."""

SUMMARY_LENGTH: Final = 200
"""Temporal takes 400 bytes for a summary; a letter may take two."""


class Asked(Payload):
    """Who wants something of a removal, and why. What is wanted is the name of the message."""

    by: str = Field(default="Person", max_length=64)
    reason: str = Field(default="", max_length=512)


class PlannerState(Payload):
    """All that one run of the planner workflow hands to the next."""

    round: int = 0
    """Rounds of this planner so far, failed ones included."""
    memory: PlannerMemory = PlannerMemory()
    versions: Annotated[dict[str, str], Field(max_length=16)] = Field(default_factory=dict)
    failures: int = 0
    """Failed rounds since the last that succeeded."""


class PlannerReport(Payload):
    """The planner's answer to the query `state`."""

    round: int
    result: str
    """Result of the last round; empty before the first."""
    summary: str
    """What the last round did, or why it failed."""
    failures: int
    next_at: Timestamp | None
    """When the next round starts without a nudge; None while one runs."""
    nudges: tuple[str, ...]
    """What asks for a round and has not been answered by one."""


class LifecycleReport(Payload):
    """A lifecycle's answer to the query `state`."""

    phase: str
    """Empty before the first look."""
    reason: str
    message: str
    """What is awaited or done, and what happens at the deadline."""
    until: Timestamp | None
    trouble: str
    """Why the last activity failed; empty when it did not."""
    choices: tuple[str, ...] = ()
    """What a person can do now with an effect, as the Temporal UI calls it."""


def start_attributes(cluster: str, subject: ObjectId, note: StartNote | None) -> TypedSearchAttributes:
    """Return the search attributes of a lifecycle from its start, before a worker has looked at its object."""
    known = [(CLUSTER, cluster), (NODE, subject.name)]
    if note is not None:
        known += [(POOL, note.pool), (OFFERING, note.offering), (PHASE, note.phase)]
    return TypedSearchAttributes([SearchAttributePair(key, value) for key, value in known if value])


def short(text: str) -> str:
    """Return `text` on one line, cut to what Temporal takes as a summary."""
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_LENGTH else line[: SUMMARY_LENGTH - 1] + "…"
