"""Rows of a removal whose pods move to machines that are known. Source: docs/design.md#replacement."""

from datetime import timedelta

from api.v1alpha1.node_removal_request import CancelRecord
from planner.lifecycle.seen import ReplacementSeen, SuccessorsSeen
from planner.lifecycle.step import Decision, Wait
from tests.planner.lifecycle.removals import NOW, ago, ahead, cooling, draining, new, node

CANCEL = Decision(kind="cancel", by="Ada")
ON_IT = {"occupant_count": 2, "occupants": ("shop/a", "shop/b"), "may_drain": True}
GONE = "r was to take its place and is gone"


def replacement(**fields):
    """One machine that boots, of a pool that gives it ten minutes."""
    usual = {"names": ("r",), "awaited": ("r (Provisioning)",), "within": timedelta(minutes=10)}
    return ReplacementSeen(**(usual | fields))


COMING = replacement()
THERE = replacement(awaited=(), is_ready=True)
LOST = replacement(lost=GONE)


def waiting(seen=COMING, status=None, **fields):
    """One that was tainted 30 s ago, and whose machines have 9:30 min left."""
    times = {"scale_down_at": ahead(570), "tainted_at": ago(30)}
    return cooling(times | (status or {}), **{"replacement": seen} | ON_IT | fields)


def successors(count=1, since=5):
    return SuccessorsSeen(count=count, names=("shop/c",) if count else (), since=ago(since) if count else None)


def emptied(since=5, count=1, **fields):
    """One that was emptied just now, whose pods have successors without a Node."""
    return draining(
        **{"moves": 2, "occupant_count": 0, "occupants": (), "drain": {"in_turn": 0}} | fields,
        successors=successors(count, since),
    )


CANCELLED = {by: CancelRecord(at=NOW, by=by, reason="so it is") for by in ("NotReplaced", "MoveFailed")}
NOT_REPLACED = ("cancel_removal", "NotReplaced", None, "NotReplaced")

REPLACEMENTS = {
    # Pending: before the taint
    "replaced, new": (new(replacement=COMING, **ON_IT), None, "taint_node", "Replacement", ahead(600), ""),
    "replaced, new, Ready": (new(replacement=THERE, **ON_IT), None, "taint_node", "Replacement", ahead(600), ""),
    "replaced, new, lost": (new(replacement=LOST, **ON_IT), None, *NOT_REPLACED),
    "step cut off": (
        new(replacement=COMING, cut_off=True, **ON_IT),
        None,
        "cancel_removal",
        "StepCancelled",
        None,
        "StepCancelled",
    ),
    "replaced, end written, not tainted": (
        waiting(status={"tainted_at": None}, node=node(scale_down=False)),
        None,
        "taint_node",
        "Replacement",
        ahead(570),
        "",
    ),
    "replaced, new, cancelled": (new(replacement=COMING, **ON_IT), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "moves, new": (new(moves=2, **ON_IT), None, "taint_node", "Replacement", None, ""),
    # Pending: machines are awaited
    "awaits": (waiting(), None, Wait, "Replacement", ahead(570), None),
    "awaits, empty meanwhile": (
        waiting(occupant_count=0, occupants=()),
        None,
        Wait,
        "Replacement",
        ahead(570),
        None,
    ),
    "awaits the second": (
        waiting(replacement(names=("r", "s"), awaited=("s (Pending)",))),
        None,
        Wait,
        "Replacement",
        ahead(570),
        None,
    ),
    "awaits, cancelled": (waiting(), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "awaits, kept by a person": (
        waiting(node=node(keep=True)),
        None,
        "cancel_removal",
        "Cancelled",
        None,
        "Person",
    ),
    "awaits, Node gone": (waiting(node=None), None, "commit_removal", "NodeGone", None, ""),
    "awaits, lost": (waiting(LOST), None, *NOT_REPLACED),
    "awaits, late": (waiting(status={"scale_down_at": NOW}), None, *NOT_REPLACED),
    "awaits, late, nobody could see": (
        waiting(replacement(judged_at=ahead(90)), {"scale_down_at": ago(60)}),
        None,
        Wait,
        "Replacement",
        ahead(90),
        None,
    ),
    "awaits, Ready after the end": (
        waiting(THERE, {"scale_down_at": ago(5)}),
        None,
        "begin_drain",
        "Draining",
        None,
        "",
    ),
    # Pending: they are there
    "replaced": (waiting(THERE), None, "begin_drain", "Draining", None, ""),
    "replaced, tainted just now": (waiting(THERE, {"tainted_at": ago(2)}), None, Wait, "CoolOff", ahead(3), None),
    "replaced, empty": (
        waiting(THERE, occupant_count=0, occupants=()),
        None,
        "commit_removal",
        "Empty",
        None,
        "",
    ),
    "replaced, pool drains no more": (
        waiting(THERE, may_drain=False),
        None,
        "cancel_removal",
        "NotEmpty",
        None,
        "NotEmpty",
    ),
    "not replaced, tainted": (
        waiting(LOST, {"cancel": CANCELLED["NotReplaced"]}),
        None,
        "untaint_node",
        "NotReplaced",
        None,
        "",
    ),
    # Pending: the turn
    "another goes first": (waiting(None, moves=2, ahead="b"), None, Wait, "AwaitsTurn", None, None),
    "another goes first, cancelled": (
        waiting(None, moves=2, ahead="b"),
        CANCEL,
        "cancel_removal",
        "Cancelled",
        None,
        "Ada",
    ),
    "its turn": (
        waiting(None, {"scale_down_at": ago(30)}, moves=2),
        None,
        "begin_drain",
        "Draining",
        None,
        "",
    ),
    "replaced, another goes first": (waiting(THERE, moves=2, ahead="b"), None, Wait, "AwaitsTurn", None, None),
    # Draining
    "drains, replaced": (draining(replacement=THERE), None, "evict_pods", "Evicting", None, ""),
    "drains, lost": (draining(replacement=LOST), None, *NOT_REPLACED),
    "drains, not Ready for 119 s": (
        draining(replacement=replacement(awaited=("r (not Ready)",), unready_since=ago(119))),
        None,
        Wait,
        "ReplacementNotReady",
        ahead(1),
        None,
    ),
    "drains, not Ready for 120 s": (
        draining(replacement=replacement(awaited=("r (not Ready)",), unready_since=ago(120))),
        None,
        *NOT_REPLACED,
    ),
    "drained, lost": (
        draining(replacement=LOST, occupant_count=0, occupants=()),
        None,
        "commit_removal",
        "Drained",
        None,
        "",
    ),
    "drained, cancelled": (emptied(), CANCEL, "cancel_removal", "Cancelled", None, "Ada"),
    "drained, successors wait": (emptied(59), None, Wait, "SuccessorsBind", ahead(1), None),
    "drained, successors have waited": (emptied(60), None, "cancel_removal", "MoveFailed", None, "MoveFailed"),
    "drained, successors bound": (emptied(count=0), None, "commit_removal", "Drained", None, ""),
    "move failed, tainted": (
        draining({"cancel": CANCELLED["MoveFailed"]}, moves=2),
        None,
        "untaint_node",
        "MoveFailed",
        None,
        "",
    ),
}
