"""What replaying means, as a table: by object, workflow and server."""

import pytest

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.kinds import ObjectId
from worker.commands.lifecycles.replay import Deed, ReplayedServer, ReplayFindings, deed, forecast, is_failure
from worker.commands.lifecycles.running import WorkflowState

SUBJECT = ObjectId(name="m-1", uid="u-1")
CLOSED = sorted(set(WorkflowState) - {WorkflowState.RUNNING, WorkflowState.PAUSED})


def found(
    phase: RemovalPhase | None = RemovalPhase.COULD_NOT_REMOVE,
    workflow: WorkflowState = WorkflowState.RUNNING,
    server: ReplayedServer = ReplayedServer.EXISTS,
    *,
    subject: ObjectId | None = SUBJECT,
    trouble: str = "",
) -> ReplayFindings:
    return ReplayFindings("m-1", "default", phase, workflow, server, subject, trouble=trouble)


@pytest.mark.parametrize(
    ("phase", "workflow", "expected"),
    [
        (RemovalPhase.COULD_NOT_REMOVE, WorkflowState.RUNNING, Deed.RETRY),
        (RemovalPhase.DEPROVISIONING, WorkflowState.RUNNING, Deed.NOTHING),
        (RemovalPhase.PENDING, WorkflowState.RUNNING, Deed.NOTHING),
        (RemovalPhase.DRAINING, WorkflowState.RUNNING, Deed.NOTHING),
        *((RemovalPhase.COULD_NOT_REMOVE, closed, Deed.START_AND_RETRY) for closed in CLOSED),
        *((RemovalPhase.DEPROVISIONING, closed, Deed.START) for closed in CLOSED),
        *((RemovalPhase.PENDING, closed, Deed.START) for closed in CLOSED),
        *((RemovalPhase.DRAINING, closed, Deed.START) for closed in CLOSED),
        *((phase, WorkflowState.PAUSED, Deed.NOTHING) for phase in RemovalPhase),
    ],
)
def test_parked_ones_are_asked_and_closed_ones_start_again(phase, workflow, expected):
    one = found(phase, workflow)
    assert deed(one) is expected
    # What is under way goes on by itself; what a person has paused does not.
    assert is_failure(one) is (workflow is WorkflowState.PAUSED)


@pytest.mark.parametrize("workflow", WorkflowState)
def test_nothing_is_done_while_a_person_must_mend_something_first(workflow):
    one = found(workflow=workflow, trouble="spec.pool: is missing")
    assert deed(one) is Deed.NOTHING
    assert forecast(one) == "left alone: spec.pool: is missing"


@pytest.mark.parametrize(
    ("server", "failure", "told"),
    [
        (
            ReplayedServer.EXISTS,
            True,
            "its object is gone and its server exists; a NodeRemovalRequest of that name deletes it",
        ),
        (ReplayedServer.ERROR, True, "its object is gone, and its provider does not tell whether the server is"),
        (ReplayedServer.GONE, False, "it has ended, and no server of its own is left"),
        (ReplayedServer.FOREIGN, False, "it has ended, and no server of its own is left"),
    ],
)
def test_without_an_object_nothing_is_done_and_a_server_that_is_left_is_told_of(server, failure, told):
    one = found(None, WorkflowState.TERMINATED, server, subject=None)
    assert deed(one) is Deed.NOTHING
    assert is_failure(one) is failure
    assert forecast(one) == f"left alone: {told}"


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (ReplayedServer.EXISTS, "its server is deleted, with all delete calls anew"),
        (ReplayedServer.GONE, "its server is gone, so its Node is deleted and it ends"),
        (ReplayedServer.FOREIGN, "the server of that name is of another machine and stays; it ends"),
        (ReplayedServer.ERROR, "its provider answers with an error, so it may park again"),
    ],
)
def test_what_happens_then_depends_on_the_server(server, told):
    assert forecast(found(server=server)) == f"is tried again: {told}"
    closed = found(RemovalPhase.DEPROVISIONING, WorkflowState.FAILED, server)
    assert forecast(closed) == f"starts again from its object in phase Deprovisioning: {told}"
    lost = found(workflow=WorkflowState.MISSING, server=server)
    assert forecast(lost) == f"starts again from its object, and is tried again: {told}"


@pytest.mark.parametrize(
    ("phase", "what"), [(RemovalPhase.PENDING, "its cool-off"), (RemovalPhase.DRAINING, "its drain")]
)
def test_what_can_still_be_cancelled_goes_on_where_it_was(phase, what):
    assert forecast(found(phase, WorkflowState.TERMINATED)) == (
        f"starts again from its object in phase {phase}: what is left of {what}, then its server is deleted; "
        "it can be cancelled until then"
    )
