"""Steps that a round could not write to their end: what is there of them is taken back before anybody acts on it.

A step saves as a whole. A part of it would pay for machines that the rest was to fill.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from api.keys import LABEL_STEP
from api.v1alpha1.node_removal_request import CancelRecord, NodeRemovalRequest, RemovalPhase
from planner.model.plan import RemovalCancel, Snapshot


def step_label(name: str, size: int) -> str:
    """Return the value of the label of a step's removals: the name of the step, and how many removals it has."""
    return f"{name}.{size}"


def step_size(label: str) -> int:
    """Return how many removals a step has by its label; 0 where that cannot be read."""
    _, _, size = label.rpartition(".")
    return int(size) if size.isdecimal() and len(size) <= 4 else 0  # noqa: PLR2004 - no step has 10,000 machines


def cut_off(removals: Iterable[NodeRemovalRequest]) -> tuple[RemovalCancel, ...]:
    """Return the cancels of removals whose step is not whole and that nobody has begun.

    A round starts the workflows of a step only after the last of its removals was written. Later the others may have
    come to their ends.
    """
    steps: dict[str, list[NodeRemovalRequest]] = {}
    for removal in removals:
        label = removal.metadata.labels.get(LABEL_STEP)
        if label:
            steps.setdefault(label, []).append(removal)
    return tuple(
        RemovalCancel(member.metadata.name, why="The round that began its step was cut off")
        for label, members in steps.items()
        if len(members) < step_size(label) and not any(_is_begun(member) for member in members)
        for member in members
    )


def without(snapshot: Snapshot, cancels: Sequence[RemovalCancel]) -> Snapshot:
    """Return the snapshot in which these removals are cancelled: what was bought for them is unneeded at once.

    Else the workflow of such a request would begin at the end of this round, and buy.
    """
    if not cancels:
        return snapshot
    why = {cancel.removal: CancelRecord(at=snapshot.now, by="Planner", reason=cancel.why) for cancel in cancels}
    return replace(
        snapshot,
        removals=tuple(
            removal.model_copy(update={"status": removal.status.model_copy(update={"cancel": why[name]})})
            if (name := removal.metadata.name) in why
            else removal
            for removal in snapshot.removals
        ),
    )


def _is_begun(removal: NodeRemovalRequest) -> bool:
    status = removal.status
    is_new = status.phase is RemovalPhase.PENDING and status.tainted_at is None and status.cancel is None
    return not is_new or status.workflow_id is not None or removal.metadata.deletion_timestamp is not None
