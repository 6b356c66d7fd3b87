"""The drain of a removal, for the table of the step function: every observation that its next step depends on."""

from api.v1alpha1.node_removal_request import CancelRecord
from planner.lifecycle.seen import Blocker, PerNodePodsSeen
from planner.lifecycle.step import Decision, Wait
from tests.planner.lifecycle.removals import NOW, ago, ahead, draining, node, over

CANCELLED = {"cancel": CancelRecord(at=NOW, by="Planner", reason="pool default was deleted")}
ASKED = {"evict_attempted_at": ago(4)}
"""A round of evictions was made 4 s ago."""
REFUSED = {"reason": "BlockedByBudget", "message": "web needs 1 healthy pods and has 1 currently"}
EMPTY = {"occupant_count": 0, "occupants": (), "drain": {"in_turn": 0}}
EVICT = ("evict_pods", "Evicting", None, "")
BY_FORCE = ("evict_pods", "HardGrace", None, "")
CANCEL = ("cancel_removal", "Cancelled", None)


def _blocked(blocker, *, told, status=None, **fields):
    """A drain with a pod that must stay, which the removal says already or not."""
    drain = {"blocker": blocker, "blockers": ("shop/db must stay",), "is_told": told}
    return draining(status, drain=drain | fields.pop("drain", {}), **fields)


KEPT = [one for one in Blocker if one is not Blocker.TERMINATING]
DRAINS = {
    # name: (seen, decision, effect or kind of step, reason, deadline, by)
    # Pending, in a pool of mode drain
    "over, pods on it, drains": (
        over(occupant_count=2, may_drain=True),
        None,
        "begin_drain",
        "Draining",
        None,
        "",
    ),
    "over, empty, would drain": (over(may_drain=True), None, "commit_removal", "Empty", None, ""),
    "over, pods on it, drains, cancelled by message": (
        over(occupant_count=2, may_drain=True),
        Decision(kind="cancel", by="Ada"),
        *CANCEL,
        "Ada",
    ),
    # Draining: pods are asked to leave
    "pods to evict": (draining(), None, *EVICT),
    "evicted 4 s ago, some are left": (draining(ASKED), None, Wait, "Evicting", ahead(6), None),
    "evicted 10 s ago, some are left": (draining({"evict_attempted_at": ago(10)}), None, *EVICT),
    "all terminate": (
        draining(drain={"in_turn": 0, "terminating": 2}),
        None,
        Wait,
        "PodsLeave",
        None,
        None,
    ),
    "only pods on their way": (draining(drain={"in_turn": 0}), None, Wait, "PodsLeave", None, None),
    "evicted, empty": (draining(ASKED, **EMPTY), None, "commit_removal", "Drained", None, ""),
    "empty, tainted anew 4 s ago": (
        draining({"tainted_at": ago(4)}, **EMPTY),
        None,
        Wait,
        "TaintSettles",
        ahead(1),
        None,
    ),
    "empty, its taint not dated": (draining({"tainted_at": None}, **EMPTY), None, "taint_node", "TaintLost", None, ""),
    "taint taken off by someone, draining": (
        draining(node=node(scale_down=False)),
        None,
        "taint_node",
        "TaintLost",
        None,
        "",
    ),
    "node not Ready, draining": (draining(node=node(ready=False)), None, *EVICT),
    # Budgets, while it drains
    "a budget refused 4 s ago": (
        draining({"evict_attempts": 1} | ASKED | REFUSED),
        None,
        Wait,
        "BlockedByBudget",
        ahead(6),
        None,
    ),
    "a budget refused 10 s ago": (
        draining({"evict_attempts": 1, "evict_attempted_at": ago(10)} | REFUSED),
        None,
        *EVICT,
    ),
    "a budget refused for the third time 39 s ago": (
        draining({"evict_attempts": 3, "evict_attempted_at": ago(39)} | REFUSED),
        None,
        Wait,
        "BlockedByBudget",
        ahead(1),
        None,
    ),
    "a budget has refused for a day": (
        draining({"evict_attempts": 300} | ASKED | REFUSED),
        None,
        Wait,
        "BlockedByBudget",
        ahead(296),
        None,
    ),
    "a webhook refused": (
        draining({"evict_attempts": 1, "reason": "EvictionRefused", "message": "a webhook refused"} | ASKED),
        None,
        Wait,
        "EvictionRefused",
        ahead(6),
        None,
    ),
    "who was asked came back three times": (
        draining({"evict_attempts": 3, "reason": "Evicting", "message": "Evict 1 pods; they come back"} | ASKED),
        None,
        Wait,
        "Evicting",
        ahead(36),
        None,
    ),
    "killed in the middle of evictions": (
        draining({"evict_attempts": 1, "reason": "Draining"} | ASKED),
        None,
        Wait,
        "Evicting",
        ahead(6),
        None,
    ),
    # Pods that must stay
    **{
        f"{blocker}, not told": (_blocked(blocker, told=False), None, "tell_blockers", blocker, None, "")
        for blocker in Blocker
    },
    **{f"{blocker}, told": (_blocked(blocker, told=True), None, Wait, blocker, None, None) for blocker in Blocker},
    # A pod that belongs to the node, as of a storage system, has a budget
    "all left, a pod of the node's own is not told": (
        draining(per_node_pods=PerNodePodsSeen(refusal="osd allows none to go"), **EMPTY),
        None,
        "tell_blockers",
        "BlockedByBudget",
        None,
        "",
    ),
    "all left, a pod of the node's own is told": (
        draining(per_node_pods=PerNodePodsSeen(refusal="osd allows none to go", is_told=True), **EMPTY),
        None,
        Wait,
        "BlockedByBudget",
        None,
        None,
    ),
    # The deadline, counted from 30 s ago
    **{
        f"{blocker}, until its deadline": (
            _blocked(blocker, told=True, hard_grace=31),
            None,
            Wait,
            blocker,
            ahead(1),
            None,
        )
        for blocker in KEPT
    },
    **{
        f"{blocker}, at its deadline": (_blocked(blocker, told=True, hard_grace=30), None, *BY_FORCE)
        for blocker in KEPT
    },
    "pods that do not end, at the deadline": (
        _blocked(Blocker.TERMINATING, told=True, hard_grace=30),
        None,
        Wait,
        "BlockedByTerminating",
        None,
        None,
    ),
    "pods that must stay, others terminate, at the deadline": (
        _blocked(Blocker.BARE_POD, told=True, hard_grace=30, drain={"in_turn": 0, "terminating": 1}),
        None,
        Wait,
        "PodsLeave",
        None,
        None,
    ),
    "a deadline without a beginning": (
        _blocked(Blocker.BARE_POD, told=True, hard_grace=1, status={"drain_started_at": None}),
        None,
        Wait,
        "BlockedByBarePod",
        None,
        None,
    ),
    "a budget's pause ends with the deadline": (
        draining({"evict_attempts": 9} | ASKED | REFUSED, hard_grace=32),
        None,
        Wait,
        "BlockedByBudget",
        ahead(2),
        None,
    ),
    "a budget's pause is over at the deadline": (
        draining({"evict_attempts": 9} | ASKED | REFUSED, hard_grace=30),
        None,
        *BY_FORCE,
    ),
    "deleted by force 4 s ago, some are left": (draining(ASKED, hard_grace=20), None, Wait, "Evicting", ahead(6), None),
    "evicted in time": (draining(hard_grace=31), None, *EVICT),
    # Draining, and turned back
    "drains, cancelled by message": (draining(), Decision(kind="cancel", by="Ada"), *CANCEL, "Ada"),
    "blocked, cancelled by message": (
        _blocked(Blocker.BARE_POD, told=True),
        Decision(kind="cancel", by="Ada"),
        *CANCEL,
        "Ada",
    ),
    "drains, deleted": (draining(deleting=True), None, *CANCEL, "Delete"),
    "drains, annotated to be kept": (draining(node=node(keep=True)), None, *CANCEL, "Person"),
    "drains, cancelled": (draining(CANCELLED), None, "untaint_node", "Cancelled", None, ""),
    "drained, cancelled": (draining(CANCELLED, **EMPTY), None, "untaint_node", "Cancelled", None, ""),
    "drains, cancelled, not tainted": (
        draining(CANCELLED, node=node(scale_down=False)),
        None,
        "finish_removal",
        "Cancelled",
        None,
        "",
    ),
    "drains no more": (draining(may_drain=False), None, "cancel_removal", "NotEmpty", None, "NotEmpty"),
    "drains no more, empty": (draining(may_drain=False, **EMPTY), None, "commit_removal", "Drained", None, ""),
    "drains, Node gone": (draining(node=None), None, "commit_removal", "NodeGone", None, ""),
    "drains, another machine's Node": (
        draining(node=node(foreign=True)),
        None,
        "cancel_removal",
        "NotOurs",
        None,
        "NotOurs",
    ),
    "retry of a drain": (draining(), Decision(kind="retry"), *EVICT),
}
"""In the order of a life."""
