"""One round: take the fence, look, decide, write, and say which workflows to start.

Source: docs/design.md#round.
"""

import logging
from collections.abc import Callable, Sequence, Sized
from typing import Any, Final

from temporalio import activity

from activities.objects.events import Recorder
from activities.objects.kinds import REMOVALS, REQUESTS, STORED_KINDS, StoredKind
from activities.objects.simulated_classes import BarrierLog
from activities.objects.start_notes import Prices, prices
from activities.ports.cluster import NODE_POOLS
from activities.ports.errors import NotFound
from activities.ports.ports import Ports
from activities.round.apply_plan import AppliedPlan, apply_plan
from activities.round.fence import WRITES_WITHIN, Fence, Fenced, Hold, RoundWrites
from activities.round.observe import DefinitionsGoing, Observation, Observer
from activities.round.pools import is_deleting, release_pool
from activities.round.warm_start import await_packer
from activities.round.workflow_starts import ObjectsByKind, WorkflowStarts, notes_on_started, started_fields
from api.quantity import format_price
from planner.model.plan import Plan, PlannedEvent, PlanResult, Snapshot
from planner.model.round import RoundInput, RoundResult
from planner.model.stages import Stopwatch
from planner.plan import plan as decide

_ENOUGH_TO_WRITE: Final = WRITES_WITHIN / 2
"""With less time left after deciding, the fence is renewed first."""
_SUMMARY_CHARACTERS: Final = 400

log = logging.getLogger(__name__)


class PlanActivities:
    """The planner workflow's one activity.

    Args:
        ports: the outside world.
        recorder: tells events.
        planner: decides; without one, the round of `planner.plan` with a packer of the ports.
        fence: lets one round write at a time.
        kinds: with a lifecycle: the workflows of their objects are started.
    """

    def __init__(
        self,
        ports: Ports,
        recorder: Recorder,
        *,
        planner: Callable[[Snapshot], Plan] | None = None,
        fence: Fence | None = None,
        kinds: Sequence[StoredKind[Any]] = STORED_KINDS,
    ) -> None:
        self._ports = ports
        self._recorder = recorder
        self._planner = planner
        self._fence = fence or Fence(ports)
        self._observer = Observer(ports, kinds)
        self._starts = WorkflowStarts(ports.now)
        self._barriers = BarrierLog()

    @activity.defn(name="plan_round")
    async def plan_round(self, round_input: RoundInput) -> RoundResult:
        """Run one round and return its result, with the objects that need a workflow.

        Raises:
            Unreachable: the API server does not answer; nothing was decided.
        """
        if self._ports.packers.is_starting:
            await await_packer(self._ports, self._fence)
        try:
            async with self._fence.held(f"{round_input.run}/{round_input.round}") as hold:
                result, events, observed = await self._round(round_input, hold)
        except Fenced as error:
            return _idle(round_input, f"Nothing was decided: {error}", is_partial=True)
        await self._recorder.tell_round(events, () if observed is None else observed.snapshot.pools)
        return result

    async def _round(
        self, round_input: RoundInput, hold: Hold
    ) -> tuple[RoundResult, Sequence[PlannedEvent], Observation | None]:
        writes = RoundWrites(hold)
        try:
            observed = await self._observer.observe(round_input.memory, round_input.versions)
        except DefinitionsGoing as going:
            return await self._let_go(round_input, writes, going), (), None
        if observed.simulated:
            self._barriers.tell(observed.simulated)
        watch = Stopwatch(self._ports.elapsed)
        try:
            plan = await self._ports.compute(lambda: self._decide(observed.snapshot, watch))
        except Exception as error:
            # A defect must not stop what needs no decision: lifecycles without a workflow are still started.
            log.exception("round %d: the planner failed", round_input.round)
            return self._undecided(round_input, observed, error), _failures(observed, error), observed
        self._tell_stages(round_input, plan, watch)
        if hold.time_left() < _ENOUGH_TO_WRITE:
            await hold.renew()
        applied = await apply_plan(self._ports, writes, observed, plan, round_input)
        self._ports.tell_round(observed.snapshot, plan)
        return self._result(round_input, observed, plan, applied, writes), (*applied.events, *plan.events), observed

    def _decide(self, snapshot: Snapshot, watch: Stopwatch) -> Plan:
        if self._planner is not None:
            return self._planner(snapshot)
        return decide(snapshot, self._ports.packers.for_round(), watch)

    def _tell_stages(self, round_input: RoundInput, plan: Plan, watch: Stopwatch) -> None:
        self._ports.tell_stages(watch.seconds)
        # Rounds that buy nothing come every few seconds while something is awaited.
        level = logging.INFO if plan.requests else logging.DEBUG
        log.log(level, "round %d: %s, planned in %s", round_input.round, _outline(plan), watch.summary)

    def _result(
        self, round_input: RoundInput, observed: Observation, plan: Plan, applied: AppliedPlan, writes: RoundWrites
    ) -> RoundResult:
        objects = _objects_by_kind(observed, applied)
        starts, is_left = self._starts.choose(objects)
        return RoundResult(
            result=plan.result,
            summary=_summary(plan, applied, writes),
            **started_fields(starts),
            notes=notes_on_started(objects, starts, _prices(observed.snapshot)),
            memory=plan.memory,
            versions={**round_input.versions, **observed.versions},
            is_open=bool(plan.unplaced or writes.failed)
            or any(stored.lifecycle.is_open(item) for stored, items in objects.items() for item in items)
            or any(map(is_deleting, observed.pools.values())),
            is_partial=is_left or writes.left > 0,
            wake_at=plan.wake_at,
        )

    def _undecided(self, round_input: RoundInput, observed: Observation, error: Exception) -> RoundResult:
        objects = _objects_by_kind(observed)
        starts, _ = self._starts.choose(objects)
        notes = notes_on_started(objects, starts, _prices(observed.snapshot))
        summary = f"Nothing was decided: the planner failed: {_one_line(error)}"
        update = {**started_fields(starts), "notes": notes, "failure": summary[:_SUMMARY_CHARACTERS]}
        return _idle(round_input, summary).model_copy(update=update)

    async def _let_go(self, round_input: RoundInput, writes: RoundWrites, going: DefinitionsGoing) -> RoundResult:
        """Take our finalizer off deleted pools; objects with a lifecycle are let go by their own workflows."""
        try:
            pools = (await self._ports.cluster.list(NODE_POOLS)).items
        except NotFound:
            pools = []
        await writes.each(
            [pool for pool in pools if is_deleting(pool)],
            lambda pool: f"finalizer of pool {pool['metadata']['name']}",
            lambda pool: release_pool(self._ports.cluster, pool),
        )
        starts, is_left = self._starts.choose(going.objects)
        return RoundResult(
            result=PlanResult.NO_DEMANDS,
            summary="Growth's CRDs are being removed: nothing is decided, no server is touched",
            **started_fields(starts),
            notes=notes_on_started(going.objects, starts, {}),
            memory=round_input.memory,
            versions=round_input.versions,
            is_open=bool(pools) or any(going.objects.values()),
            is_partial=is_left or writes.left > 0,
        )


def _idle(round_input: RoundInput, summary: str, *, is_partial: bool = False) -> RoundResult:
    return RoundResult(
        result=PlanResult.INCOMPLETE_PLACEMENT,
        summary=summary[:_SUMMARY_CHARACTERS],
        memory=round_input.memory,
        versions=round_input.versions,
        is_open=True,
        is_partial=is_partial,
    )


def _objects_by_kind(observed: Observation, applied: AppliedPlan | None = None) -> ObjectsByKind:
    """Return all objects with a lifecycle, those that the round has made first."""
    requests, removals = ((), ()) if applied is None else (applied.requests, applied.removals)
    begun = [removal for removal in removals if removal["metadata"]["name"] not in observed.removals]
    return {
        REQUESTS: (*requests, *observed.requests.values()),
        REMOVALS: (*begun, *observed.removals.values()),
        **observed.others,
    }


def _prices(snapshot: Snapshot) -> Prices:
    return prices((one.ref.kind, one.ref.name, one.offerings) for one in snapshot.classes)


def _failures(observed: Observation, error: Exception) -> list[PlannedEvent]:
    return [
        PlannedEvent(
            kind=NODE_POOLS.kind,
            name=pool.metadata.name,
            namespace=None,
            uid=pool.metadata.uid,
            reason="PlannerFailed",
            message=f"Nothing is bought or removed: the planner failed: {_one_line(error)}",
            warning=True,
        )
        for pool in observed.snapshot.pools
    ]


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _outline(plan: Plan) -> str:
    bound = format_price(plan.lower_bound_per_hour)
    cost = f"{format_price(plan.cost_per_hour)} {plan.currency}/h, at least {bound}"
    return f"{plan.result}, {_count(plan.requests, 'machine')} for {cost}" if plan.requests else str(plan.result)


def _summary(plan: Plan, applied: AppliedPlan, writes: RoundWrites) -> str:
    parts = [plan.result.value]
    if applied.requests:
        cost = f" for {format_price(plan.cost_per_hour)} {plan.currency}/h" if plan.currency else ""
        parts.append(f"{_count(applied.requests, 'machine')} to come{cost}")
    if applied.removals:
        parts.append(f"{_count(applied.removals, 'machine')} to go")
    if plan.unplaced:
        parts.append(f"{_count(plan.unplaced, 'pod')} without a place")
    if plan.problems:
        parts.append(f"{_count(plan.problems, 'object')} that cannot be read")
    if writes.failed:
        parts.append(f"{writes.failed} writes refused")
    if writes.left:
        parts.append(f"{writes.left} writes left to the next round")
    return ", ".join(parts)[:_SUMMARY_CHARACTERS]


def _count(items: Sized, noun: str) -> str:
    return f"1 {noun}" if len(items) == 1 else f"{len(items)} {noun}s"
