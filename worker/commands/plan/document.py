"""The plan as data: the stable JSON of `growth plan`.

    apiVersion          growth.dev/v1alpha1
    result              AllPlaced | NoDemands | IncompletePlacement
    requests[]          machines to buy: name (a placeholder), pool, serverType, location, pricePerHour,
                        pricePerMonth, pods[], why
    requests[].headroom pods of headroom that it has room for; left out where there are none
    requests[].why      shares (used of each resource, 0 to 1), binding (the resource with the highest share),
                        runnerUp and cheaper: serverType, location, pool, pricePerHour, or null; cheaper has an
                        obstacle, too: code and message of what keeps it from being bought
    placed[]            pods that existing or coming machines take: pod, and node or request
    nominated[]         pods that the scheduler keeps a node for, no demand therefore: pod, node
    unplaced[]          pod, reasons[]: code, message, and serverType where one is meant
    removals[]          nodes whose cool-off begins now: node, reason, at (its end); why, where it is Underused; where
                        pods are moved also savingPerHour (of the whole step), replacement[] (names of `requests` that
                        must be Ready first) and moves[] (pod, node)
    kept[]              nodes without pods that stay for the data on them: node, why
    cancelled[]         requests that nobody needs any more
    costPerHour         of `requests`
    costPerMonth        the same times 730, as pricePerMonth is everywhere: exact
    lowerBoundPerHour   no plan that places the same pods, and chooses as priorities say, costs less
    choiceCostsPerHour  by how much priorities make `requests` dearer than price alone; absent where they do not
    gapPercent          by how much the cost may be above the least possible; null where the bound is zero
    optimal             whether the two are equal
    currency            of all prices
    pools[]             name, counts (as seen: ready, inFlight, removing, total), utilisation (cpu, memory, of ready
                        nodes, 0 to 1), lock (after the plan; null in a pool that has none or has not bought: closed,
                        closedAt, requested, opensFrom and opensBy, openedAt, openedBy), delta (bought less removed),
                        pricePerHour, pricePerMonth and currency of the machines that are there or coming, conditions[],
                        choice
                        (costsPerHour, currency, at: what priorities cost in the last round that bought for it, this
                        one included; absent where they cost nothing),
                        budget[] (by reason: allowed at once, null without a limit, used, left, opensAt where it is 0),
                        due (machines that should go by now, by reason), blockedCount and blocked[], the first 20:
                        machines that a policy would let go and that are kept: node, trigger (reason of the removal),
                        reason, why; use (absent in a pool without bounds on it): growth (thresholdPercent) and
                        shrinking (lowerPercent, upperPercent), each with what the decision counted of cpu (thousandths
                        of a core) and memory (bytes): requested, capacity, percent, null where there is nothing
    buffers[]           CapacityBuffers that are read as headroom: name, pods that count, and, where they have no room,
                        reason (code, message); left out where there are none
    timing              only with --timing: seconds by stage of planning (read, assemble, pack, check, decide)

With --explain, of one pod:

    apiVersion, pod
    node, request       where it is or goes, if that is there or coming
    new                 the machine to buy for it: pool, serverType, location, pricePerHour, why
    reasons[]           why it has no place, as in unplaced[]
    nodes[]             fits, reason, example (figures of the first, or null), members[]: all nodes, grouped by reason
    offerings[]         the same of all machines that pools could buy

Pods are written as namespace/name, prices as decimal text, times in RFC 3339.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from api.keys import API_VERSION
from api.meta import format_timestamp
from api.quantity import format_price, price_per_month
from planner.model.plan import (
    Alternative,
    Because,
    BlockedMachine,
    BudgetState,
    Placed,
    Plan,
    PlannedRemoval,
    PlannedRequest,
    PoolReport,
    Reason,
    Unplaced,
)
from planner.model.pool_figures import PoolFigures
from planner.model.stages import Stage
from planner.objects.capacity_buffer import CapacityBuffer
from planner.objects.kinds import Pod
from planner.policies.pace.budgets import UNDERUSED
from worker.commands.plan.pool_use import lock_document, use_document
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.verdicts import verdicts

Json = dict[str, Any]
BLOCKED_NAMED: Final = 20
"""Machines of a pool that are named; the others are counted."""
_GAP_DECIMALS: Final = 2
_SHARE_DECIMALS: Final = 4
_SECOND_DECIMALS: Final = 6


def document(plan: Plan, seconds: Mapping[Stage, float] | None = None) -> Json:
    """Return the plan as JSON types; with the seconds of each stage, if they are given."""
    choice, figures = plan.choice_costs_per_hour, plan.figures()
    more = {"choiceCostsPerHour": format_price(choice)} if choice else {}
    return {
        "apiVersion": API_VERSION,
        "result": plan.result.value,
        "requests": [_request(request) for request in plan.requests],
        "placed": [{"pod": placed.pod} | _place(placed) for placed in plan.placed],
        "nominated": [{"pod": nominated.pod} | _place(nominated) for nominated in plan.nominated],
        "unplaced": [_unplaced(entry) for entry in plan.unplaced],
        "removals": [_removal(removal, plan) for removal in plan.removals],
        "kept": [{"node": machine.node, "why": machine.why} for machine in plan.kept_machines],
        "cancelled": list(plan.cancelled),
        "costPerHour": format_price(plan.cost_per_hour),
        "costPerMonth": format_price(price_per_month(plan.cost_per_hour)),
        "lowerBoundPerHour": format_price(plan.lower_bound_per_hour),
        **more,
        "gapPercent": gap_percent(plan),
        "optimal": plan.optimal,
        "currency": plan.currency,
        "pools": [
            _pool(report, blocked_of(plan, report.name), figures.get(report.name)) | _dry_run(report.name, plan)
            for report in plan.pools
        ],
        **_buffers(plan),
    } | ({} if seconds is None else {"timing": {stage: round(n, _SECOND_DECIMALS) for stage, n in seconds.items()}})


def _buffers(plan: Plan) -> Json:
    if not plan.buffers:
        return {}
    reasons = [(buffer, buffer_reason(buffer, plan)) for buffer in plan.buffers]
    return {
        "buffers": [
            {"name": buffer.key, "pods": buffer.count} | ({} if reason is None else {"reason": _reason(reason)})
            for buffer, reason in reasons
        ]
    }


def buffer_reason(buffer: CapacityBuffer, plan: Plan) -> Reason | None:
    """Return why a buffer has not all the room that it asks for; None where it has."""
    return Reason(buffer.code, buffer.message) if buffer.code else plan.short_buffers.get(buffer.key)


def explanation(pod: Pod, view: ClusterView) -> Json:
    """Return the explanation of one pod, as JSON types."""
    plan = view.plan
    placed = next((_place(placed) for placed in plan.placed if placed.pod == pod.key), {})
    bought = next((request for request in plan.requests if any(seat.uid == pod.uid for seat in request.seats)), None)
    new = {} if bought is None else {"new": {k: v for k, v in _request(bought).items() if k not in ("name", "pods")}}
    reasons = next((_unplaced(entry)["reasons"] for entry in plan.unplaced if entry.uid == pod.uid), [])
    on_node = {"node": pod.lands_on} if pod.lands_on else {}
    where = on_node | placed | new | {"reasons": reasons}
    return {"apiVersion": API_VERSION, "pod": pod.key} | where | verdicts(pod, view.snapshot).document()


def request_name(request: PlannedRequest) -> str:
    """Return the name that stands for a machine of a plan; the real one is given when it is bought."""
    return f"{request.pool}-new-{request.ordinal + 1}"


def blocked_of(plan: Plan, pool: str) -> list[BlockedMachine]:
    """Return the machines of a pool that policies would empty and that are kept."""
    return [machine for machine in plan.blocked if machine.pool == pool]


def gap_percent(plan: Plan) -> float | None:
    """Return by how many percent the cost may be above the least possible, None if nothing can be said."""
    if plan.cost_per_hour == plan.lower_bound_per_hour:
        return 0.0
    if not plan.lower_bound_per_hour:
        return None
    above = plan.cost_per_hour / plan.lower_bound_per_hour - 1
    return float(round(above * 100, _GAP_DECIMALS))


def _place(placed: Placed) -> Json:
    return {"node": placed.node} if placed.node is not None else {"request": placed.request}


def _request(request: PlannedRequest) -> Json:
    return {
        "name": request_name(request),
        "pool": request.pool,
        "serverType": request.server_type,
        "location": request.location,
        "pricePerHour": format_price(request.price_per_hour),
        "pricePerMonth": format_price(price_per_month(request.price_per_hour)),
        "pods": [f"{seat.namespace}/{seat.name}" for seat in request.seats],
        "why": _because(request.because),
    } | ({"headroom": request.headroom} if request.headroom else {})


def _removal(removal: PlannedRemoval, plan: Plan) -> Json:
    entry: Json = {"node": removal.node, "reason": removal.reason, "at": format_timestamp(removal.at)}
    if removal.reason == UNDERUSED:
        entry["why"] = removal.why
    if removal.saving_per_hour is None and not (removal.moves or removal.replacement):
        return entry
    return entry | {
        "savingPerHour": None if removal.saving_per_hour is None else format_price(removal.saving_per_hour),
        "replacement": [request_name(request) for request in replacements(removal, plan)],
        "moves": [{"pod": move.pod, "node": move.node} for move in removal.moves],
    }


def replacements(removal: PlannedRemoval, plan: Plan) -> list[PlannedRequest]:
    """Return the machines that are bought in place of this one and those that go with it."""
    return [request for request in plan.requests if request.ordinal in removal.replacement]


def _because(because: Because) -> Json:
    return {
        "binding": because.binding,
        "shares": {name: round(share, _SHARE_DECIMALS) for name, share in because.shares.items()},
        "runnerUp": None if because.runner_up is None else _alternative(because.runner_up),
        "cheaper": None if because.cheaper is None else _alternative(because.cheaper),
    }


def _alternative(other: Alternative) -> Json:
    entry: Json = {
        "serverType": other.server_type,
        "location": other.location,
        "pool": other.pool,
        "pricePerHour": format_price(other.price_per_hour),
    }
    if other.obstacle is None:
        return entry
    return entry | {"obstacle": {"code": other.obstacle.code, "message": other.obstacle.message}}


def _unplaced(entry: Unplaced) -> Json:
    return {"pod": entry.pod, "reasons": [_reason(reason) for reason in entry.reasons]}


def _reason(reason: Reason) -> Json:
    entry: Json = {"code": reason.code, "message": reason.message}
    return entry if reason.server_type is None else entry | {"serverType": reason.server_type}


def _pool(report: PoolReport, blocked: Sequence[BlockedMachine], figures: PoolFigures | None) -> Json:
    status, price = report.status.to_json(), report.status.price_per_hour
    choice = {"choice": status["choice"]} if report.status.choice is not None else {}
    return {
        "name": report.name,
        "counts": status["nodes"],
        "utilisation": {name: round(share, _SHARE_DECIMALS) for name, share in report.utilisation.items()},
        "lock": lock_document(report.lock),
        "delta": report.delta,
        "pricePerHour": None if price is None else format_price(price),
        "pricePerMonth": None if price is None else format_price(price_per_month(price)),
        "currency": report.status.currency,
        "conditions": status["conditions"],
        **choice,
        "budget": [_budget(state) for state in report.budget],
        "due": dict(report.due),
        "blockedCount": len(blocked),
        "blocked": [
            {"node": machine.node, "trigger": machine.trigger, "reason": machine.reason, "why": machine.why}
            for machine in blocked[:BLOCKED_NAMED]
        ],
        **use_document(figures),
    } | ({"bounds": report.bounds} if report.bounds else {})


def _dry_run(pool: str, plan: Plan) -> Json:
    """Return what the pool would do, if it is in dry run."""
    would = next((each for each in plan.dry_runs if each.pool == pool), None)
    if would is None:
        return {}
    requests = [{k: v for k, v in _request(request).items() if k != "name"} for request in would.requests]
    removals = [{"node": removal.node, "reason": removal.reason} for removal in would.removals]
    return {"dryRun": {"requests": requests, "removals": removals}}


def _budget(state: BudgetState) -> Json:
    return {
        "reason": state.reason,
        "allowed": state.allowed,
        "used": state.used,
        "left": state.left,
        "opensAt": None if state.opens_at is None else format_timestamp(state.opens_at),
    }
