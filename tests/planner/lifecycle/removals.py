"""Removals in each of their states, for the tables of the step function and of decisions."""

from datetime import UTC, datetime, timedelta

from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus, RemovalPhase
from planner.lifecycle.clocks.drain_limits import drain_limits, next_limit
from planner.lifecycle.seen import DrainSeen, NodeSeen, RemovalObservation, RemovalTimings, ServerSeen

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
TIMINGS = RemovalTimings(
    soft_grace=timedelta(seconds=40), max_attempts=3, retry=timedelta(seconds=20), parked_retry=timedelta(hours=2)
)


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


def ahead(seconds):
    return NOW + timedelta(seconds=seconds)


def node(**flags):
    return NodeSeen(name="a", **{"ready": True, "scale_down": True} | flags)


def seen(phase, status=None, **fields):
    return RemovalObservation(status=NodeRemovalRequestStatus(phase=phase, **(status or {})), timings=TIMINGS, **fields)


def new(status=None, **fields):
    """A removal of a node that carries no taint yet."""
    return seen(RemovalPhase.PENDING, status, **{"node": node(scale_down=False)} | fields)


def cooling(status=None, **fields):
    """One whose cool-off ends in 25 s."""
    times = {"scale_down_at": ahead(25), "tainted_at": ago(15)}
    return seen(RemovalPhase.PENDING, times | (status or {}), **{"node": node()} | fields)


def over(status=None, **fields):
    """One whose cool-off has ended."""
    return cooling({"scale_down_at": NOW, "tainted_at": ago(40)} | (status or {}), **fields)


def draining(status=None, *, drain=None, hard_grace=None, limits=None, **fields):
    """One that has been drained for 30 s, with two pods whose turn it is."""
    times = {"scale_down_at": ago(30), "tainted_at": ago(70), "drain_started_at": ago(30)}
    grace = None if hard_grace is None else timedelta(seconds=hard_grace)
    made = seen(
        RemovalPhase.DRAINING,
        times | (status or {}),
        **{
            "node": node(),
            "may_drain": True,
            "occupant_count": 2,
            "occupants": ("shop/a", "shop/b"),
            "drain": DrainSeen(**({"in_turn": 2} | (drain or {}))),
        }
        | fields,
    )
    seconds = {name: timedelta(seconds=number) for name, number in (limits or {}).items()}
    return made.model_copy(update={"timings": TIMINGS.model_copy(update={"hard_grace": grace} | seconds)})


def ordered(status=None, *, timeout=None, forced=None, **fields):
    """One that a round ordered, drained for 30 s; `timeout` and `forced` are the pool's limits in seconds."""
    given = {"drain_timeout": timeout, "termination_grace_period": forced}
    timings = RemovalTimings(**{n: timedelta(seconds=number) for n, number in given.items() if number is not None})
    drain = dict(fields.pop("drain", None) or {"in_turn": 2})
    force_at = drain.pop("force_at", None)
    made = draining(status, drain=drain, **fields)
    limits = drain_limits("Consolidation", made.status, timings)
    limit, at = next_limit(limits, made.status, force_at, NOW) or (None, None)
    seen_limits = {"limit": limit, "limit_at": at, "deadline": limits.deadline}
    return made.model_copy(update={"drain": made.drain.model_copy(update=seen_limits)})


def leaving(status=None, **fields):
    """One past its point of no return, before its first delete call."""
    return seen(RemovalPhase.DEPROVISIONING, status, **{"node": node(), "server": ServerSeen.RUNNING} | fields)


def parked(status=None, **fields):
    """One that gave up for the moment and tries again in an hour."""
    return seen(
        RemovalPhase.COULD_NOT_REMOVE,
        {"removal_attempts": 3, "retry_at": ahead(3600)} | (status or {}),
        **{"node": node(), "server": ServerSeen.RUNNING} | fields,
    )
