"""Removals of a round as it writes them: each with the machines that replace it, and a step whole or not at all.

The requests are written by then. A removal of which one was refused is not written, and neither is the rest of its
step; requests that are left over are cancelled. What a crash leaves is an unneeded request, or a part of a step: the
next round takes either back before anything acts on it (`planner.policies.unneeded_requests`, and `cut_off` of
`planner.supply.replacement.steps`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from activities.objects.removal_cancels import cancel
from activities.ports.cluster import Cluster, Object
from activities.round.fence import RoundWrites
from activities.round.observe import Observation
from activities.round.removals import Together, create_removal
from activities.round.requests import delete_requests
from api.v1alpha1.node_removal_request import PodMove
from planner.model.plan import PlannedRemoval, PlannedRequest
from planner.model.round import RoundInput
from planner.objects.kinds import Pod
from planner.supply.replacement.steps import step_label

_HASH_CHARACTERS: Final = 10

Bought = Sequence[tuple[PlannedRequest, Object]]
Written = list[tuple[PlannedRemoval, Object]]


async def write_removals(
    writes: RoundWrites,
    cluster: Cluster,
    observed: Observation,
    planned: Sequence[PlannedRemoval],
    *,
    bought: Bought,
    round_input: RoundInput,
) -> Written:
    """Create the removals, and return those that stay.

    Args:
        writes: of the round.
        cluster: where they are created.
        observed: what the plan was made of.
        planned: of the plan.
        bought: the requests of the plan that were written, each with its object.
        round_input: names the round, and with it each of its steps.
    """
    requests = {request.ordinal: (request, written) for request, written in bought}
    steps, labels = _steps(planned), step_labels(planned, round_input)
    whole = [of_step for of_step in steps.values() if all(set(r.replacement) <= set(requests) for r in of_step)]
    pods = {pod.key: pod for pod in observed.snapshot.pods} if any(_is_move(r) for r in planned) else {}
    written = await writes.each(
        [removal for of_step in whole for removal in of_step],
        lambda removal: f"removal of {removal.server}",
        lambda removal: create_removal(
            cluster,
            removal,
            observed.nodes.get(removal.node),
            _together(removal, labels.get(removal.server, ""), requests, pods),
        ),
    )
    created = {removal.server: item for removal, item in written}
    broken = [of_step for of_step in steps.values() if not all(removal.server in created for removal in of_step)]
    gone = {removal.server for of_step in broken for removal in of_step}
    await _take_back(writes, cluster, observed, [created[server] for server in created if server in gone])
    needed = {ordinal for removal in planned if removal.server not in gone for ordinal in removal.replacement}
    unneeded = {ordinal for of_step in broken for removal in of_step for ordinal in removal.replacement} - needed
    await delete_requests(writes, cluster, [requests[ordinal][1] for ordinal in sorted(unneeded & set(requests))])
    return written


def _steps(planned: Iterable[PlannedRemoval]) -> dict[str, list[PlannedRemoval]]:
    """Return the removals by their step; one without a step is one of its own."""
    steps: dict[str, list[PlannedRemoval]] = {}
    for removal in planned:
        steps.setdefault(removal.step or f"/{removal.server}", []).append(removal)
    return steps


def step_labels(planned: Iterable[PlannedRemoval], round_input: RoundInput) -> dict[str, str]:
    """Return the value of the label of each removal that moves its pods, by server: the same of one step in one round.

    A second execution of the round gives the same values, another round others.
    """
    labels: dict[str, str] = {}
    for name, of_step in _steps(planned).items():
        place = f"{round_input.run}/{round_input.round}/{name}"
        label = step_label(sha256(place.encode()).hexdigest()[:_HASH_CHARACTERS], len(of_step))
        labels |= {removal.server: label for removal in of_step if removal.step or _is_move(removal)}
    return labels


def label_by_ordinal(planned: Sequence[PlannedRemoval], round_input: RoundInput) -> dict[int, str]:
    """Return the label of the step that each request is for, by its ordinal, where it replaces machines."""
    labels = step_labels(planned, round_input)
    return {ordinal: labels[removal.server] for removal in planned for ordinal in removal.replacement}


def replaced_by_request(removals: Iterable[tuple[object, Object]]) -> dict[str, list[str]]:
    """Return the machines that go, by the request whose machine takes their place."""
    replaced: dict[str, list[str]] = {}
    for _, removal in removals:
        for name in removal["spec"].get("replacedBy") or ():
            replaced.setdefault(name, []).append(removal["metadata"]["name"])
    return replaced


async def _take_back(writes: RoundWrites, cluster: Cluster, observed: Observation, removals: Sequence[Object]) -> None:
    await writes.each(
        removals,
        lambda removal: f"cancel of removal {removal['metadata']['name']}",
        lambda removal: cancel(
            cluster, removal, "Another removal of its step could not be written", observed.snapshot.now
        ),
    )


def _is_move(planned: PlannedRemoval) -> bool:
    return bool(planned.moves or planned.replacement)


def _together(
    planned: PlannedRemoval, step: str, requests: Mapping[int, tuple[PlannedRequest, Object]], pods: Mapping[str, Pod]
) -> Together:
    replacement = [requests[ordinal] for ordinal in planned.replacement]
    return Together(
        replaced_by=tuple(written["metadata"]["name"] for _, written in replacement),
        moves=tuple(_moves(planned, replacement, pods)),
        step=step,
    )


def _moves(
    planned: PlannedRemoval, replacement: Sequence[tuple[PlannedRequest, Object]], pods: Mapping[str, Pod]
) -> Iterator[PodMove]:
    for move in planned.moves:
        yield _move(move.pod, move.node, pods)
    for request, written in replacement:
        # A machine that is kept for nobody has no seats: the room on it counts as taken like that on any other.
        for seat in () if request.reserve else request.seats:
            pod = pods.get(key := f"{seat.namespace}/{seat.name}")
            if pod is not None and pod.node_name == planned.node:
                yield _move(key, written["metadata"]["name"], pods)


def _move(key: str, node: str, pods: Mapping[str, Pod]) -> PodMove:
    pod = pods.get(key)
    return PodMove(pod=key, node=node, owner=None if pod is None or pod.owner is None else pod.owner.uid)
