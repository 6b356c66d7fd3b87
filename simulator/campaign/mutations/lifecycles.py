"""Faults planted in rounds and in the lifecycles of machines: `simulator.campaign.mutations.planting`."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from activities.objects import record as status
from activities.ports.errors import GrowthError
from activities.ports.identity import ClusterIdentity, Ownership
from activities.removals import cool_off as removals_cool_off
from activities.removals import drain as removals_drain
from activities.removals import end as removals_end
from activities.removals import look as removals_look
from activities.removals import server as removals_server
from activities.requests import create as requests_create
from activities.requests import end as requests_end
from activities.requests import failed_purchase
from activities.requests import node as requests_node
from activities.round import fence
from api.keys import LABEL_CLUSTER
from planner.lifecycle import leaving, removal, request, wakes
from planner.lifecycle.seen import RemovalObservation
from planner.placement import known_state
from planner.supply import limits, machines, seats
from planner.supply import places as supply
from simulator.campaign.mutations import local_data
from simulator.campaign.mutations.planting import Change, Mutation


async def _nothing(*_args: Any, **_more: Any) -> None:
    """Do nothing, where something should be done."""


async def _as_it_is(_cluster: Any, node: Any, *_args: Any, **_more: Any) -> Any:
    """Return the Node without changing it."""
    return node


def _absence_believed_at_once() -> list[Change]:
    return [(removal, "BELIEVE_ABSENCE_AFTER", timedelta()), (request, "BELIEVE_ABSENCE_AFTER", timedelta())]


def _emptiness_not_proved() -> list[Change]:
    real = removal.next_step

    def next_step(seen: RemovalObservation, decision: Any, now: Any) -> Any:
        return real(seen.model_copy(update={"occupant_count": 0, "occupants": ()}), decision, now)

    return [(removal, "next_step", next_step)]


def _taint_does_not_settle() -> list[Change]:
    return [(removal, "TAINT_SETTLES_AFTER", timedelta(seconds=-60))]


def _fence_always_granted() -> list[Change]:
    return [(fence.Fence, "_is_free", lambda _self, _lease: True)]


def _commit_without_condition() -> list[Change]:
    """Pass the point of no return whatever has been written on the removal since it was read."""
    real = removals_cool_off.write_step

    async def write_step(cluster: Any, record: Any, act: Any, **more: Any) -> Any:
        fresh = await cluster.get(record.resource, record.name)
        return await real(cluster, status.as_record(record.stored, fresh), act, **more)

    return [(removals_cool_off, "write_step", write_step)]


def _commit_not_recorded() -> list[Change]:
    """Delete the server as soon as the Node seems empty, and write the point of no return afterwards."""
    real = removals_cool_off.commit

    async def commit(ports: Any, recorder: Any, observed: Any, act: Any) -> None:
        provider = ports.providers[observed.record.model.spec.class_ref.kind]
        await provider.delete(observed.record.model.spec.server_name)
        await real(ports, recorder, observed, act)

    return [(removals_cool_off, "commit", commit)]


def _others_server_deleted() -> list[Change]:
    def is_ours(*_args: Any) -> bool:
        return True

    return [
        (requests_create, "is_server_of", lambda _ports, _server, _uid: True),
        (removals_look, "is_ours", is_ours),
        (removals_server, "is_ours", is_ours),
    ]


def _limits_without_those_in_flight() -> list[Change]:
    def counts(self: machines.Machine) -> bool:
        return self.node is not None or self.removal is not None

    return [(machines.Machine, "counts", property(counts))]


def _sums_without_those_in_flight() -> list[Change]:
    """Sum up the cores, memory and money of machines with Nodes alone."""
    real = limits.sums_of

    def sums_of(allowed: Any, counted: Any, offerings: Any) -> Any:
        return real(allowed, [machine for machine in counted if machine.node is not None], offerings)

    return [(limits, "sums_of", sums_of)]


def _reservation_never_released() -> list[Change]:
    return [(requests_node, "lift_taint", _as_it_is)]


def _end_not_written() -> list[Change]:
    return [(requests_node, "_end_reservation", _nothing)]


def _seats_not_counted() -> list[Change]:
    """Plan as if no pod had a seat on a coming machine: each round buys for it again."""
    real = supply.places

    def nothing(*known: Any) -> Any:
        return tuple(p for p in real(*known) if p.rank is not supply.Rank.IN_FLIGHT)

    def unseated(*_args: Any) -> Any:
        return seats.Seating({}, {}, {})

    return [(known_state, "places", nothing), (known_state, "settle_seats", unseated)]


def _shortage_not_remembered() -> list[Change]:
    async def at_once(ports: Any, *_args: Any) -> Any:
        return ports.now()

    return [(requests_create, "note_shortage", at_once), (failed_purchase, "note_miss", _nothing)]


def _taint_not_lifted_on_cancel() -> list[Change]:
    return [(removals_cool_off, "change_node", _tainting_only(removals_cool_off.change_node))]


def _tainting_only(real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def change_node(cluster: Any, node: Any, *, taints: Any = None, **more: Any) -> Any:
        before = node.get("spec", {}).get("taints") or []
        fewest = taints if taints is not None and len(taints) > len(before) else before
        return await real(cluster, node, taints=fewest, **more)

    return change_node


def _request_ends_before_its_removal_exists() -> list[Change]:
    return [(requests_end, "order_removal", _nothing)]


def _finalizer_dropped_on_sight() -> list[Change]:
    """End a deleted request at once, whatever has become of its server."""
    real = request.next_step

    def next_step(seen: Any, now: Any) -> Any:
        if seen.exists and seen.deleting:
            return request.finish(request.DELETED, "Deleted")
        return real(seen, now)

    return [(request, "next_step", next_step)]


def _cool_off_ignored() -> list[Change]:
    """Begin to delete as soon as the Node is tainted."""
    real = removal.next_step

    def next_step(seen: RemovalObservation, decision: Any, now: Any) -> Any:
        if seen.exists and seen.status.tainted_at is not None:
            past = seen.status.model_copy(update={"scale_down_at": seen.status.tainted_at})
            seen = seen.model_copy(update={"status": past})
        return real(seen, decision, now + removal.TAINT_SETTLES_AFTER)

    return [(removal, "next_step", next_step)]


def _delete_believed() -> list[Change]:
    """Take a delete call's yes for the end of the server."""
    real = removals_server.delete_server

    async def delete_server(ports: Any, recorder: Any, observed: Any) -> None:
        await real(ports, recorder, observed)
        await removals_end.let_go(ports.cluster, await _fresh(ports, observed.record))

    return [(removals_server, "delete_server", delete_server)]


async def _fresh(ports: Any, record: Any) -> Any:
    current = await ports.cluster.get(record.resource, record.name)
    return status.as_record(record.stored, current)


def _unknown_taken_for_refusal() -> list[Change]:
    """Take a create call without an answer for one that created nothing."""

    async def unknown(self: Any, record: Any, error: GrowthError) -> None:
        until = self._ports.now() + timedelta(seconds=10)
        changes = self._parked(record, requests_create.RequestPhase.UNMET, error.reason, str(error), until)
        await self._settle(record, error.reason, str(error), lambda _: changes)

    return [(requests_create.CreateOutcomes, "unknown", unknown)]


def _planner_buys_without_bounds() -> list[Change]:
    return [(known_state, "limits_left", _unbounded(known_state.limits_left))]


def _unbounded(real: Callable[..., Any]) -> Callable[..., Any]:
    def limits_left(machines: Any, offers: Any) -> Any:
        return real([m for m in machines if m.removal is None], offers)

    return limits_left


def _budgets_passed_by() -> list[Change]:
    """Delete the pods of a drained machine from the first moment on."""

    async def ask_to_leave(cluster: Any, pods: Any, **_more: Any) -> Any:
        return await removals_drain.delete_pods(cluster, pods, {})

    return [(removals_drain, "ask_to_leave", ask_to_leave)]


def _blockers_ignored() -> list[Change]:
    real = removals_look.see_drain

    def see_drain(pods: Any, status: Any, **more: Any) -> Any:
        return real([replace(pod, blocker=None) for pod in pods], status, **more)

    return [(removals_look, "see_drain", see_drain)]


def _drain_cancelled_without_untainting() -> list[Change]:
    """End a removal that is taken back in the middle of its drain as if its Node had no taint."""
    real = removal._is_tainted  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def is_tainted(seen: RemovalObservation) -> bool:
        is_back = seen.status.cancel is not None and seen.status.drain_started_at is not None
        return not is_back and real(seen)

    return [(removal, "_is_tainted", is_tainted)]


def _drained_before_empty() -> list[Change]:
    """Take a pod that was asked to leave, or terminates, for gone."""
    real = removal.next_step

    def next_step(seen: RemovalObservation, decision: Any, now: Any) -> Any:
        if seen.exists and seen.status.evict_attempted_at is not None:
            seen = seen.model_copy(update={"occupant_count": 0, "occupants": ()})
        return real(seen, decision, now)

    return [(removal, "next_step", next_step)]


def _cool_off_for_every_pool() -> list[Change]:
    real = known_state.places

    def places(*known: Any) -> Any:
        return tuple(replace(p, only_pool=None) if p.rank is supply.Rank.COOL_OFF else p for p in real(*known))

    return [(known_state, "places", places)]


def _one_heir_for_many_seats() -> list[Change]:
    """Leave a pod that takes over a seat among those that wait for one."""

    class Heirs(list[Any]):
        def remove(self, value: Any) -> None:
            pass

    real = seats._heirs  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def heirs(*known: Any) -> Any:
        return {owner: Heirs(pods) for owner, pods in real(*known).items()}

    return [(seats, "_heirs", heirs)]


def _nobody_hears_of_nodes() -> list[Change]:
    return [(wakes, "_of_node", lambda _change, _known: ())]


def _volumes_not_awaited() -> list[Change]:
    return [(leaving, "_volumes_detach", lambda _seen, _now: None)]


def _load_balancers_not_awaited() -> list[Change]:
    """Delete the server in the same moment in which load balancers are told."""
    return [(leaving, "BALANCERS_LET_GO_AFTER", timedelta())]


def _label_left_after_a_drain() -> list[Change]:
    """Leave a machine that stays off load balancers for ever."""
    return [(removals_cool_off, "without_exclusion", lambda _node: {})]


def _uid_not_looked_at() -> list[Change]:
    """Know a server by its cluster's name alone."""

    def owner(self: ClusterIdentity, labels: Any) -> Ownership:
        return Ownership.OURS if labels.get(LABEL_CLUSTER) == self.name else Ownership.FOREIGN

    return [(ClusterIdentity, "owner", owner)]


def _unmarked_is_ours() -> list[Change]:
    """Take a server of this name that bears no uid for this cluster's."""
    real = ClusterIdentity.owner

    def owner(self: ClusterIdentity, labels: Any) -> Ownership:
        whose = real(self, labels)
        return Ownership.OURS if whose is Ownership.UNMARKED else whose

    return [(ClusterIdentity, "owner", owner)]


LIFECYCLE_MUTATIONS: Final = (
    Mutation("absence is believed at once", _absence_believed_at_once, first=60, within=200),
    Mutation("emptiness is not proved", _emptiness_not_proved),
    Mutation("the taint gets no time to settle", _taint_does_not_settle, first=190, within=30),
    Mutation("the fence is always granted", _fence_always_granted, first=6, within=80),
    Mutation("the point of no return is not conditional", _commit_without_condition, first=6, within=60),
    Mutation("the server is deleted before the point of no return is written", _commit_not_recorded),
    Mutation("another's server is adopted and deleted", _others_server_deleted, within=80),
    Mutation("servers of another cluster of that name are taken for ours", _uid_not_looked_at, first=6, within=40),
    Mutation("servers without a uid are taken for ours", _unmarked_is_ours, first=8, within=60),
    Mutation("bounds leave out machines in flight", _limits_without_those_in_flight, within=40),
    Mutation("limits in cores leave out machines in flight", _sums_without_those_in_flight, within=60),
    Mutation("bounds leave out machines under removal", _planner_buys_without_bounds, within=60),
    Mutation("the reservation's taint is never lifted", _reservation_never_released),
    Mutation("the end of a reservation is not written", _end_not_written),
    Mutation("reservations and machines in flight are ignored", _seats_not_counted),
    Mutation("shortages are not remembered", _shortage_not_remembered, first=205, within=60),
    Mutation("a cancel leaves the taint", _taint_not_lifted_on_cancel),
    Mutation("the request ends before its removal exists", _request_ends_before_its_removal_exists),
    Mutation("the finalizer is dropped on sight", _finalizer_dropped_on_sight),
    Mutation("the cool-off is ignored", _cool_off_ignored),
    Mutation("a delete call's yes is believed", _delete_believed),
    Mutation("no answer is taken for a refusal", _unknown_taken_for_refusal),
    Mutation("a drain passes budgets by", _budgets_passed_by),
    Mutation("a drain ignores pods that must stay", _blockers_ignored, first=10, within=30),
    Mutation(
        "a cancel in the middle of a drain leaves the taint", _drain_cancelled_without_untainting, first=10, within=150
    ),
    Mutation("an eviction is taken for the end of its pod", _drained_before_empty, first=45, within=60),
    Mutation("a server goes with its volumes attached", _volumes_not_awaited),
    Mutation("removals look for no local volumes", local_data.not_looked_at, first=38, within=12),
    Mutation("data goes with machines that a person removes", local_data.kept_in_rounds_alone, first=30, within=20),
    Mutation("load balancers get no time to let a machine go", _load_balancers_not_awaited),
    Mutation(
        "a drain that is taken back leaves the machine off load balancers",
        _label_left_after_a_drain,
        first=200,
        within=30,
    ),
    Mutation("a machine in its cool-off takes pods of every pool", _cool_off_for_every_pool, first=320, within=20),
    Mutation("one heir takes over several seats", _one_heir_for_many_seats, within=30),
    Mutation("a Node's change wakes nobody", _nobody_hears_of_nodes),
)
