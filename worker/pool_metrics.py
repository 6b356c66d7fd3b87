"""The metrics of pools that a round tells once: what is requested of what they have, their Nodes, their locks.

They are the numbers that the round has decided by. One of a pool that is gone goes with the next round.
"""

from typing import Final

from worker.metric import Kind, Metric

_POOL: Final = "name of the pool"
_RESOURCE: Final = "`cpu` in cores, or `memory` in bytes"

POOL_REQUESTS: Final = Metric(
    "growth_pool_requests",
    Kind.GAUGE,
    "",
    "What pods of each pool request, those that wait for it included, without those of DaemonSets",
    {"pool": _POOL, "resource": _RESOURCE},
    "A pod that waits counts in each pool that it may use. Pods on machines that do not count are left out.",
)
POOL_CAPACITY: Final = Metric(
    "growth_pool_capacity",
    Kind.GAUGE,
    "",
    "Allocatable amounts of the Nodes of each pool, without those that go or are cordoned",
    {"pool": _POOL, "resource": _RESOURCE},
    "What requests are compared with. 0 in an empty pool.",
)
POOL_UTILISATION: Final = Metric(
    "growth_pool_utilisation",
    Kind.GAUGE,
    "",
    "Requests divided by capacity of each pool, as `scaleDown.group` goes by; may be above 1",
    {"pool": _POOL, "resource": "`cpu` or `memory`"},
    "Below its bounds machines go. A pool without capacity has no value: it is neither idle nor full.",
)
THRESHOLD_UTILISATION: Final = Metric(
    "growth_pool_threshold_utilisation",
    Kind.GAUGE,
    "",
    "The same with machines that are coming, before a purchase, as `scaleUp.thresholdPercent` goes by",
    {"pool": "name of a pool that grows by a threshold", "resource": "`cpu` or `memory`"},
    "Above the threshold the pool buys, unless its lock, a limit or a cool-down says no.",
)
POOL_NODES: Final = Metric(
    "growth_pool_nodes",
    Kind.GAUGE,
    "{node}",
    "Nodes of each pool by state; each is in one, the first that holds",
    {
        "pool": _POOL,
        "state": "`cordoned`, `forced` to go at once, `tainted` as it goes, `starting`, `unhealthy` as it is not Ready "
        "though it should be, `untainted`",
    },
    "They add up to the Nodes of the pool. Unhealthy ones ask for a look, or for `scaleDown.repair`.",
)
POOL_LIMITS: Final = Metric(
    "growth_pool_limits",
    Kind.GAUGE,
    "{machine}",
    "The fewest and the most machines of each pool, as its schedule has it now",
    {"pool": _POOL, "bound": "`min` or `max`"},
    "`growth_machines` beside it says how much is left.",
)
SCALE_DELTA: Final = Metric(
    "growth_scale_delta",
    Kind.GAUGE,
    "{machine}",
    "Machines that the last round asked for in each pool, less those whose removal it began",
    {"pool": _POOL},
    "Not 0 for long is a pool that does not come to rest.",
)
LOCK_CLOSED: Final = Metric(
    "growth_lock_closed",
    Kind.GAUGE,
    "",
    "Whether the lock of each pool is closed after a purchase: 1 or 0",
    {"pool": "name of a pool with `scaleUp.lock`"},
    "While it is, nothing more is bought and no removal begins by itself.",
)
LARGEST_PENDING: Final = Metric(
    "growth_largest_pending",
    Kind.GAUGE,
    "",
    "The largest request of a pod that waits for each pool",
    {"pool": _POOL, "resource": _RESOURCE},
    "Above the largest free amount, it waits for a machine however much is free in all: `scaleUp.starvation`.",
)
LARGEST_FREE: Final = Metric(
    "growth_largest_free",
    Kind.GAUGE,
    "",
    "The most that is free on one Ready Node of each pool, each resource on its own",
    {"pool": _POOL, "resource": _RESOURCE},
    "Never below 0, also where pods request more than a Node has.",
)
POOL_METRICS: Final = (
    POOL_REQUESTS,
    POOL_CAPACITY,
    POOL_UTILISATION,
    THRESHOLD_UTILISATION,
    POOL_NODES,
    POOL_LIMITS,
    SCALE_DELTA,
    LOCK_CLOSED,
    LARGEST_PENDING,
    LARGEST_FREE,
)
