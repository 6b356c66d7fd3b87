"""Every metric of Growth's own: name, unit, labels and help. Whoever adds one adds a row; docs/metrics.md shows it."""

from typing import Final

from worker.metric import Kind, Metric
from worker.pool_metrics import POOL_METRICS

WAITING_PODS: Final = Metric(
    "growth_waiting_pods",
    Kind.GAUGE,
    "{pod}",
    "Pods that the scheduler found no node for, in the last round",
    {"place": "`planned` on a machine that is there or coming, `none` if no machine may be bought for it"},
    "Pods that stay without a place need a person: `kubectl growth why pod` says why.",
)
MACHINES: Final = Metric(
    "growth_machines",
    Kind.GAUGE,
    "{machine}",
    "Machines of each pool by phase, as the last round saw them",
    {"pool": "name of the pool", "phase": "`ready`, `in_flight` or `removing`, as in the pool's status"},
    "The size of each pool over time; machines in flight for long are servers that do not come.",
)
PRICE: Final = Metric(
    "growth_price_per_hour",
    Kind.GAUGE,
    "",
    "What the machines of each pool cost per hour together, in units of the currency",
    {"pool": "name of the pool", "currency": "of the price, such as EUR"},
    "The bill, and what a change of pool or class did to it.",
)
PARKED: Final = Metric(
    "growth_parked_removals",
    Kind.GAUGE,
    "{removal}",
    "Removals in phase CouldNotRemove, as the last round saw them",
    {"pool": "name of the pool"},
    "Each is a server that costs money and does not go: a person may retry, skip or abandon.",
)
BLOCKED: Final = Metric(
    "growth_blocked_machines",
    Kind.GAUGE,
    "{machine}",
    "Machines that policies would let go and that are kept, as the last round saw them",
    {
        "pool": "name of the pool",
        "reason": "what keeps them, such as `BlockedByBudget`",
    },
    "What the bill could be lower by, and why it is not: `kubectl growth why node` names the pod.",
)
DISRUPTIONS: Final = Metric(
    "growth_disruptions_allowed",
    Kind.GAUGE,
    "{machine}",
    "Further machines of each pool whose removal its budgets would let begin, as of the last round",
    {"pool": "name of the pool", "reason": "as in `scaleDown.budgets`; one without a limit is not shown"},
    "Zero for long means that machines which could go are paid for: `kubectl growth plan` names them.",
)
DUE: Final = Metric(
    "growth_due_machines",
    Kind.GAUGE,
    "{machine}",
    "Machines that should go by now, in the last round, also those that may not yet",
    {"pool": "name of the pool", "reason": "`Rotation`, `Drift`, `Repair` or `OverMax`"},
    "One that stays high waits for pods, a budget or room: the condition of its pool and `growth why node` say why.",
)
LAST_ROUND: Final = Metric(
    "growth_last_round_timestamp",
    Kind.GAUGE,
    "s",
    "When this worker last ran a round to its end, in seconds since 1970",
    use="Rounds come every minute at least. No newer one means that nothing is planned.",
)
ROUNDS: Final = Metric(
    "growth_rounds",
    Kind.COUNTER,
    "{round}",
    "Rounds that came to a plan",
    {"result": "`AllPlaced`, `NoDemands` or `IncompletePlacement`"},
    "How often Growth plans.",
)
REQUESTS: Final = Metric(
    "growth_requests",
    Kind.COUNTER,
    "{request}",
    "Requests for a machine by what came of them",
    {"outcome": "the phase that was reached: `Ready`, `Unmet`, `Failed`, or `Deprovisioning` for a machine given up"},
    "Failed asks for a person; many Unmet are a cloud that is sold out.",
)
REMOVALS: Final = Metric(
    "growth_removals",
    Kind.COUNTER,
    "{removal}",
    "Removals of a machine by what came of them",
    {"outcome": "`CouldNotRemove` each time one is parked, else the reason of its end, such as `Removed`, `Cancelled`"},
    "Many Cancelled beside Removed say that `idleAfter` is shorter than the gaps in the load.",
)
DECISIONS: Final = Metric(
    "growth_decisions",
    Kind.COUNTER,
    "{machine}",
    "Machines that rounds decided about",
    {
        "decision": "`grow` or `shrink`",
        "reason": "of a removal as it has it, such as `Empty`, `Underused`, `Drift`; of a purchase what it is for: "
        "`Pods`, `Headroom`, or `Ahead` for minimums and thresholds",
    },
    "What makes machines come and go. Much of both at once is a load that swings, or bounds that are too near.",
)
MACHINE_START: Final = Metric(
    "growth_machine_start",
    Kind.HISTOGRAM,
    "s",
    "Time from asking for a server until its Node is there",
    {"until": "`registered` as its Node joins, `ready` as it is Ready"},
    "How long pods wait for a machine: what `scaleUp.lock.min` and the time-outs have to leave.",
    (15.0, 30.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1200.0),
)
DRAIN: Final = Metric(
    "growth_drain",
    Kind.HISTOGRAM,
    "s",
    "Time from the beginning of a drain until no pod was left; drains that were taken back do not count",
    {},
    "Drains that last long are pods that may not leave: `kubectl growth why removal` names them.",
    (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0),
)
LOCK_TIME: Final = Metric(
    "growth_lock",
    Kind.HISTOGRAM,
    "s",
    "For how long locks of pools were closed, by what opened them",
    {"opened_by": "`Ready`, `Ended` as nothing came, or `Timeout`"},
    "Timeout is a pool whose machines come later than `scaleUp.lock.max`.",
    (60.0, 120.0, 180.0, 240.0, 300.0, 600.0, 900.0, 1800.0),
)
PROVIDER_CALLS: Final = Metric(
    "growth_provider_calls",
    Kind.COUNTER,
    "{call}",
    "Calls to providers, and how they ended",
    {
        "provider": "kind of its node classes",
        "call": "`create`, `get`, `list`, `delete`, `label`, or `tend` for what is due between them",
        "outcome": "`ok`, or the error, such as `NotFound`, `RateLimited`, `QuotaExceeded`, `InsufficientCapacity`",
    },
    "RateLimited is an account whose budget of calls is used up, by Growth or by others.",
)
PLANNING: Final = Metric(
    "growth_planning",
    Kind.HISTOGRAM,
    "s",
    "Time of each stage of a round: read, assemble, pack, check, decide",
    {"stage": "`read`, `assemble`, `pack`, `check`, `decide`"},
    "Where the time of a slow round goes.",
    (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
)
PACKING: Final = Metric(
    "growth_packing",
    Kind.HISTOGRAM,
    "s",
    "Time to answer one packing problem, by who answered it and why",
    {"answer": "`solver`, `small`, or why the fallback stood in: `fallback-because-cold`, `-late` or `-failed`"},
    "Packings by the stand-in are valid and may cost more.",
    (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0),
)
METRICS: Final = (
    WAITING_PODS,
    MACHINES,
    PRICE,
    PARKED,
    BLOCKED,
    DISRUPTIONS,
    DUE,
    *POOL_METRICS,
    LAST_ROUND,
    ROUNDS,
    DECISIONS,
    REQUESTS,
    MACHINE_START,
    REMOVALS,
    DRAIN,
    LOCK_TIME,
    PROVIDER_CALLS,
    PLANNING,
    PACKING,
)
