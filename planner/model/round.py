"""What the planner workflow and its one activity tell each other, and how objects and workflows are named."""

from typing import Annotated

from pydantic import Field

from api.meta import Timestamp
from api.model import Payload
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.model.plan import PlannerMemory, PlanResult

STARTS_PER_ROUND = 100
"""Child starts cost the planner's history three events each and about 40 ms: what is left waits for the next round."""


class StartNote(Payload):
    """What people are told of a lifecycle from its start: what machine it is about."""

    summary: str = Field(max_length=200)
    """One line for the Temporal UI."""
    details: str = Field(default="", max_length=1000)
    """Markdown for the Temporal UI."""
    pool: str = ""
    offering: str = ""
    """Server type and location, such as "cx33 fsn1"."""
    phase: str = ""


class RoundInput(Payload):
    """Input of `plan_round`."""

    run: str
    """Tells this run of the planner workflow from others; part of request names."""
    round: int
    memory: PlannerMemory = PlannerMemory()
    versions: Annotated[dict[str, str], Field(max_length=16)] = Field(default_factory=dict)
    """Highest resourceVersion seen by plural name: an older cache lists live."""


class RoundResult(Payload):
    """What `plan_round` did."""

    result: PlanResult
    summary: str = Field(max_length=400)
    """One line for the Temporal UI."""
    requests: Annotated[tuple[ObjectId, ...], Field(max_length=STARTS_PER_ROUND)] = ()
    """Requests without a workflow: start them."""
    removals: Annotated[tuple[ObjectId, ...], Field(max_length=STARTS_PER_ROUND)] = ()
    """Removals without a workflow: start them."""
    others: Annotated[dict[str, tuple[ObjectId, ...]], Field(max_length=16)] = Field(default_factory=dict)
    """Objects of other kinds without a workflow, by kind: start them."""
    notes: Annotated[dict[str, StartNote], Field(max_length=STARTS_PER_ROUND)] = Field(default_factory=dict)
    """On those to start, by uid."""
    memory: PlannerMemory = PlannerMemory()
    versions: Annotated[dict[str, str], Field(max_length=16)] = Field(default_factory=dict)
    failure: str = Field(default="", max_length=400)
    """Why nothing was decided, where the planner failed: it counts as a failed round."""
    is_open: bool = False
    """Something is unplaced, in flight or in cool-off: look again soon."""
    is_partial: bool = False
    """The fence's time ran out, or starts were left over: the next round goes on at once."""
    wake_at: Timestamp | None = None
    """The next moment at which time alone changes the answer."""

    def starts_of(self, kind: str) -> tuple[ObjectId, ...]:
        """Return the objects of this kind for which to start a workflow."""
        return {REQUEST.name: self.requests, REMOVAL.name: self.removals}.get(kind) or self.others.get(kind, ())


def planner_workflow_id(cluster: str) -> str:
    """Return the id of the planner workflow of a cluster."""
    return f"planner:{cluster}"


def cluster_of(workflow_id: str) -> str:
    """Return the cluster that a workflow id names: workflows learn it from their id, their input is only the object."""
    return workflow_id.split(":")[1]
