"""Carries a plan out in the order in which a crash at any point leaves nothing lost and nothing doubled.

First the writes that keep machines (cancels of cool-offs), then those that free pods of a place (deleted requests,
left seats), then those that give them one (seats, new requests), last those that remove machines. A write that is cut
off is decided anew by the next round. Source: docs/design.md#round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from activities.kube.json_patch import patch_if_same, set_field
from activities.objects.removal_cancels import BY_ROUND, cancel
from activities.objects.simulated_classes import write_condition
from activities.ports.cluster import (
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    Cluster,
    Object,
    PatchOp,
)
from activities.ports.ports import Ports
from activities.round.buffer_answers import answer_buffers
from activities.round.fence import RoundWrites
from activities.round.observe import Observation
from activities.round.pools import (
    Closing,
    close_pool,
    closing_of,
    hold_pools,
    is_deleting,
    unreadable_status,
    write_status,
)
from activities.round.provisioning_requests import answer_provisioning_requests
from activities.round.requests import create_request, delete_requests, move_seats, request_name
from activities.round.steps import label_by_ordinal, replaced_by_request, write_removals
from api.keys import (
    ANNOTATION_IDLE_SINCE,
    ANNOTATION_PODS_SINCE,
    ANNOTATION_TEMPLATE_HASH,
    ANNOTATION_UNDERUSED_SINCE,
)
from api.meta import format_timestamp
from api.quantity import format_price
from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.departure.replacement import MOVE_FAILED
from planner.model.plan import Plan, PlannedEvent, PlannedRemoval, PlannedRequest
from planner.model.round import RoundInput
from planner.report.machine_choice import named
from planner.report.scaling_events import scaling_events
from planner.supply.machines import machines_of

REQUESTED: Final = "Requested"
"""Reason of the event that tells why a machine is bought."""
_PODS_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """The objects that the round wrote."""

    requests: tuple[Object, ...]
    """New requests."""
    removals: tuple[Object, ...]
    """New removals."""
    events: tuple[PlannedEvent, ...]
    """Events about them."""


async def apply_plan(
    ports: Ports, writes: RoundWrites, observed: Observation, plan: Plan, round_input: RoundInput
) -> AppliedPlan:
    """Write what the plan says, as far as the fence's time goes, and return it."""
    cluster, now = ports.cluster, observed.snapshot.now
    closed = {name for name, pool in observed.pools.items() if is_deleting(pool)}
    pools = await hold_pools(writes, cluster, observed.pools)
    await _cancel_cool_offs(writes, cluster, observed, plan, now)
    closings = _closings(writes, observed, closed)
    cancelled, stuck = await _cancel_requests(writes, cluster, observed, plan, closings)
    stuck = await move_seats(writes, cluster, plan, observed.requests, stuck)
    removals = [planned for planned in plan.removals if planned.pool not in closed]
    steps = label_by_ordinal(removals, round_input) if removals else {}
    wanted = [planned for planned in plan.requests if planned.pool not in closed]
    bought = await _buy(writes, cluster, wanted, round_input, stuck=stuck, steps=steps)
    await _mark_nodes(writes, cluster, observed, _marks_of_pods(plan))
    new_removals: list[tuple[object, Object]] = []
    begun: list[PlannedRemoval] = []
    if removals:
        written = await write_removals(writes, cluster, observed, removals, bought=bought, round_input=round_input)
        begun = [planned for planned, _ in written]
        new_removals += written
    for closing_pool in closings:
        new_removals += await close_pool(
            writes, cluster, closing_pool, nodes=observed.nodes, cancelled=cancelled, now=now
        )
    statuses = {report.name: report.status for report in plan.pools if report.name in pools}
    for problem in observed.snapshot.problems:
        if problem.kind == NODE_POOLS.kind:
            statuses[problem.name] = unreadable_status(pools[problem.name], problem, now)
    await writes.each(
        [name for name in statuses if name not in closed],
        lambda name: f"status of pool {name}",
        lambda name: write_status(cluster, pools[name], statuses[name]),
    )
    await writes.each(
        observed.simulated,
        lambda simulated: f"condition of {'/'.join(simulated.key)}",
        lambda simulated: write_condition(cluster, simulated, now),
    )
    await answer_provisioning_requests(ports, writes, now)
    if observed.buffers.buffers:
        await answer_buffers(cluster, writes, observed.buffers, plan, now)
    # Last, as an upgrade asks for it on each Node, and nothing waits for it.
    await _mark_nodes(
        writes,
        cluster,
        observed,
        {name: {ANNOTATION_TEMPLATE_HASH: value} for name, value in plan.template_hashes.items()},
    )
    replaced = replaced_by_request(new_removals) if removals else {}
    return AppliedPlan(
        requests=tuple(request for _, request in bought),
        removals=tuple(removal for _, removal in new_removals),
        events=(
            # First: what goes beyond the budget of a round is summed up, and no later round tells of these.
            *scaling_events(
                [(planned, request["metadata"]["name"]) for planned, request in bought],
                begun,
                plan.pools,
                {pool.metadata.name: pool.metadata.uid for pool in observed.snapshot.pools},
            ),
            *(
                event
                for planned, request in bought
                for event in _events(planned, request, plan.currency, replaced.get(request["metadata"]["name"], ()))
            ),
            *(_event_of_move(removal) for _, removal in new_removals if removal["spec"].get("why")),
        ),
    )


async def _cancel_cool_offs(
    writes: RoundWrites, cluster: Cluster, observed: Observation, plan: Plan, now: datetime
) -> None:
    await writes.each(
        [planned for planned in plan.removal_cancels if planned.removal in observed.removals],
        lambda planned: f"cancel of removal {planned.removal}",
        lambda planned: cancel(
            cluster,
            observed.removals[planned.removal],
            planned.why or f"Wanted again by {_named(planned.pods)}",
            now,
            by=_by(observed.removals[planned.removal]),
        ),
    )


def _by(removal: Object) -> str:
    """Return who is told to cancel it: of pods that had begun to move, some found no place."""
    is_drained = removal.get("status", {}).get("phase") == RemovalPhase.DRAINING
    return MOVE_FAILED if is_drained else BY_ROUND


def _closings(writes: RoundWrites, observed: Observation, closed: set[str]) -> list[Closing]:
    if not closed:
        return []
    machines = list(machines_of(observed.snapshot).values())
    all_closings: list[Closing] = []
    for name in sorted(closed):
        try:
            all_closings.append(closing_of(observed.pools[name], observed, machines))
        except ValueError as error:
            writes.refuse(f"end of the deleted pool {name}", error)
    return all_closings


async def _cancel_requests(
    writes: RoundWrites, cluster: Cluster, observed: Observation, plan: Plan, closings: Sequence[Closing]
) -> tuple[set[str], frozenset[str]]:
    """Delete the requests that nobody needs.

    Return the names of those, and the uids of pods whose request could not be deleted.
    """
    unwanted = {name: observed.requests[name] for name in plan.cancelled if name in observed.requests}
    unwanted |= {request["metadata"]["name"]: request for closing_pool in closings for request in closing_pool.requests}
    cancelled = await delete_requests(writes, cluster, unwanted.values())
    stuck = frozenset(
        seat["uid"]
        for name, request in unwanted.items()
        if name not in cancelled
        for seat in request.get("spec", {}).get("reservedFor", ())
    )
    return cancelled, stuck


async def _buy(
    writes: RoundWrites,
    cluster: Cluster,
    wanted: Sequence[PlannedRequest],
    round_input: RoundInput,
    *,
    stuck: frozenset[str],
    steps: Mapping[int, str],
) -> list[tuple[PlannedRequest, Object]]:
    # A machine all of whose pods kept another place would be bought for nobody.
    needed = [p for p in wanted if not p.seats or any(seat.uid not in stuck for seat in p.seats)]
    return await writes.each(
        needed,
        lambda planned: f"request {request_name(round_input, planned)}",
        lambda planned: create_request(
            cluster, request_name(round_input, planned), planned, stuck, steps.get(planned.ordinal, "")
        ),
    )


async def _mark_nodes(
    writes: RoundWrites, cluster: Cluster, observed: Observation, marks: Mapping[str, Mapping[str, str | None]]
) -> None:
    """Set annotations of Nodes, by name, or remove those without a value."""

    async def mark(name: str) -> Object:
        def operations(node: Object) -> Sequence[PatchOp]:
            wanted = marks[name].items()
            made = [op for key, value in wanted for op in set_field(node, ("metadata", "annotations", key), value)]
            # The map is made once, where the Node has none.
            return [op for position, op in enumerate(made) if op not in made[:position]]

        # A node's status changes all the time; the annotations have no other writer.
        return await patch_if_same(cluster, NODES, observed.nodes[name], operations, lambda _: True)

    await writes.each([name for name in marks if name in observed.nodes], lambda name: f"marks of node {name}", mark)


def _marks_of_pods(plan: Plan) -> dict[str, dict[str, str | None]]:
    """Return what rounds remember of the pods of Nodes: since when there are none, few, or the same."""
    marks: dict[str, dict[str, str | None]] = {}
    for name, since in plan.idle_since.items():
        marks.setdefault(name, {})[ANNOTATION_IDLE_SINCE] = None if since is None else format_timestamp(since)
    for name, since in plan.underused_since.items():
        marks.setdefault(name, {})[ANNOTATION_UNDERUSED_SINCE] = None if since is None else format_timestamp(since)
    for name, value in plan.pods_since.items():
        marks.setdefault(name, {})[ANNOTATION_PODS_SINCE] = value
    return marks


def _events(planned: PlannedRequest, request: Object, currency: str, replaced: Sequence[str]) -> list[PlannedEvent]:
    name, uid = request["metadata"]["name"], request["metadata"]["uid"]
    machine = f"{planned.server_type} in {planned.location}"
    price = f"{format_price(planned.price_per_hour)} {currency}/h"
    pods = f" ({_named([f'{seat.namespace}/{seat.name}' for seat in planned.seats])})" if planned.seats else ""
    instead_of = f". It takes the place of {_named(replaced)}" if replaced else ""
    other = planned.because.runner_up
    instead = "" if other is None else f"; next: {named(other, planned.location, planned.pool)}"
    return [
        PlannedEvent(
            kind=NODE_REQUESTS.kind,
            name=name,
            namespace=None,
            uid=uid,
            reason=REQUESTED,
            message=f"{machine} at {price}. {planned.why}{pods}{instead_of}",
        ),
        *(
            PlannedEvent(
                kind=PODS.kind,
                name=seat.name,
                namespace=seat.namespace,
                uid=seat.uid,
                reason="MachineRequested",
                message=f"Machine {name} of pool {planned.pool} is to take this pod: {machine} at {price}{instead}",
                machine=name,
            )
            for seat in planned.seats
        ),
    ]


def _event_of_move(removal: Object) -> PlannedEvent:
    """Return the event that tells why the pods of a machine move."""
    metadata, spec = removal["metadata"], removal["spec"]
    return PlannedEvent(
        kind=NODE_REMOVAL_REQUESTS.kind,
        name=metadata["name"],
        namespace=None,
        uid=metadata["uid"],
        reason=spec["reason"],
        message=spec["why"],
    )


def _named(pods: Sequence[str]) -> str:
    rest = len(pods) - _PODS_NAMED
    return ", ".join(pods[:_PODS_NAMED]) + (f" and {rest} more" if rest > 0 else "")
