"""Drains with a limit, for the table of the step function: those that rounds ordered; and DaemonSet pods go last."""

from api.v1alpha1.node_removal_request import CancelRecord
from planner.lifecycle.seen import Blocker, PerNodePodsSeen
from planner.lifecycle.step import Decision, Wait
from tests.planner.lifecycle.removals import NOW, ago, ahead, draining, node, ordered

TIMED_OUT = ("cancel_removal", "DrainTimedOut", None, "DrainTimedOut")
EVICT = ("evict_pods", "Evicting", None, "")
FORCE = ("evict_pods", "TerminationGracePeriod", None, "")
ASKED = {"evict_attempted_at": ago(4)}
REFUSED = {"reason": "BlockedByBudget", "message": "web needs 1 healthy pods and has 1 currently", "evict_attempts": 6}
EMPTY = {"occupant_count": 0, "occupants": ()}
STUCK = {"in_turn": 0, "terminating": 2, "blocker": Blocker.TERMINATING, "blockers": ("shop/a",), "is_told": True}
KEPT = {"in_turn": 2, "blocker": Blocker.ANNOTATION, "blockers": ("shop/a is kept",), "is_told": True}
PER_NODE = PerNodePodsSeen(refusal="osd allows none to go", is_told=True)
DAEMONS = {"in_turn": 0, "daemons": 3}

LIMITS = {
    # name: (seen, decision, effect or kind of step, reason, deadline, by)
    # The drain began 30 s ago. drainTimeout
    "ordered, pods to evict": (ordered(), None, *EVICT),
    "ordered, a budget refuses, until the pause": (
        ordered(ASKED | REFUSED),
        None,
        Wait,
        "BlockedByBudget",
        ahead(296),
        None,
    ),
    "ordered, a budget refuses, until its time is over": (
        ordered(ASKED | REFUSED, timeout=40),
        None,
        Wait,
        "BlockedByBudget",
        ahead(10),
        None,
    ),
    "ordered, a budget refuses, its time is over": (ordered(ASKED | REFUSED, timeout=30), None, *TIMED_OUT),
    "ordered, without a word of the pool": (ordered({"drain_started_at": ago(899)}), None, *EVICT),
    "ordered, 15 min after its beginning": (ordered({"drain_started_at": ago(900)}), None, *TIMED_OUT),
    "ordered, a pod that does not end": (ordered(drain=STUCK), None, Wait, "BlockedByTerminating", ahead(870), None),
    "ordered, a pod that does not end, its time is over": (ordered(drain=STUCK, timeout=9), None, *TIMED_OUT),
    "ordered, a pod that must stay": (ordered(drain=KEPT), None, Wait, "BlockedByAnnotation", ahead(870), None),
    "ordered, a pod that must stay, its time is over": (ordered(drain=KEPT, timeout=30), None, *TIMED_OUT),
    "ordered, its time is over, not told yet why": (
        ordered(drain=KEPT | {"is_told": False}, timeout=30),
        None,
        *TIMED_OUT,
    ),
    "ordered, its time is over before balancers were told": (
        ordered(node=node(balanced=True), timeout=30),
        None,
        *TIMED_OUT,
    ),
    "ordered, all terminate": (
        ordered(drain={"in_turn": 0, "terminating": 2}),
        None,
        Wait,
        "PodsLeave",
        ahead(870),
        None,
    ),
    "ordered, emptied at the last moment": (
        ordered(drain={"in_turn": 0}, timeout=30, **EMPTY),
        None,
        "commit_removal",
        "Drained",
        None,
        "",
    ),
    "ordered, empty, its taint not dated, its time is over": (
        ordered({"tainted_at": None}, timeout=30, **EMPTY),
        None,
        "taint_node",
        "TaintLost",
        None,
        "",
    ),
    "ordered, empty, tainted anew, its time is over": (
        ordered({"tainted_at": ago(4)}, timeout=30, **EMPTY),
        None,
        Wait,
        "TaintSettles",
        ahead(1),
        None,
    ),
    "ordered, a pod of the node's own stays": (
        ordered(per_node_pods=PER_NODE, drain={"in_turn": 0}, **EMPTY),
        None,
        Wait,
        "BlockedByBudget",
        ahead(870),
        None,
    ),
    "ordered, a pod of the node's own stays, its time is over": (
        ordered(per_node_pods=PER_NODE, drain={"in_turn": 0}, timeout=30, **EMPTY),
        None,
        *TIMED_OUT,
    ),
    "ordered, its time is over, cancelled by message": (
        ordered(timeout=30),
        Decision(kind="cancel", by="Ada"),
        "cancel_removal",
        "Cancelled",
        None,
        "Ada",
    ),
    "ordered, given up": (
        ordered({"cancel": CancelRecord(at=NOW, by="DrainTimedOut", reason="not drained")}, timeout=30),
        None,
        "untaint_node",
        "DrainTimedOut",
        None,
        "",
    ),
    "ordered, given up, its Node is free": (
        ordered({"cancel": CancelRecord(at=NOW, by="DrainTimedOut")}, node=node(scale_down=False)),
        None,
        "finish_removal",
        "DrainTimedOut",
        None,
        "",
    ),
    "a person's, a day after its beginning": (
        draining({"drain_started_at": ago(86_400)}, limits={"drain_timeout": 30}),
        None,
        *EVICT,
    ),
    # terminationGracePeriod
    "a person's, no terminationGracePeriod": (draining(limits={"termination_grace_period": 30}), None, *EVICT),
    "ordered, pods are told": (ordered(forced=60), None, "tell_deadline", "ForcedLater", ahead(30), ""),
    "ordered, pods were told another time": (
        ordered({"forced_at": ahead(99)}, forced=60),
        None,
        "tell_deadline",
        "ForcedLater",
        ahead(30),
        "",
    ),
    "ordered, pods were told": (
        ordered({"forced_at": ahead(30)}, forced=60, drain={"in_turn": 2, "force_at": ahead(1)}),
        None,
        *EVICT,
    ),
    "ordered, a budget refuses until a pod is due": (
        ordered(ASKED | REFUSED | {"forced_at": ahead(30)}, forced=60, drain={"in_turn": 2, "force_at": ahead(1)}),
        None,
        Wait,
        "BlockedByBudget",
        ahead(1),
        None,
    ),
    "ordered, a pod must stay until one is due": (
        ordered({"forced_at": ahead(30)}, forced=60, drain=KEPT | {"force_at": ahead(1)}),
        None,
        Wait,
        "BlockedByAnnotation",
        ahead(1),
        None,
    ),
    "ordered, a pod must stay and one is due": (
        ordered({"forced_at": ahead(30)}, forced=60, drain=KEPT | {"force_at": NOW}),
        None,
        *FORCE,
    ),
    "ordered, a critical pod is due while others end": (
        ordered({"forced_at": ahead(30)}, forced=60, drain={"in_turn": 0, "terminating": 1, "force_at": NOW}),
        None,
        *FORCE,
    ),
    "ordered, others end until a critical one is due": (
        ordered({"forced_at": ahead(30)}, forced=60, drain={"in_turn": 0, "terminating": 1, "force_at": ahead(3)}),
        None,
        Wait,
        "PodsLeave",
        ahead(3),
        None,
    ),
    "ordered, one that terminates too slowly is due": (
        ordered({"forced_at": ahead(30)}, forced=60, drain=STUCK | {"force_at": ago(5)}),
        None,
        *FORCE,
    ),
    "ordered, a deletion was refused 4 s ago": (
        ordered(
            ASKED | {"forced_at": ahead(30), "evict_attempts": 1}, forced=60, drain={"in_turn": 2, "force_at": ago(9)}
        ),
        None,
        Wait,
        "Evicting",
        ahead(6),
        None,
    ),
    "ordered, all deleted, and one does not end": (
        ordered({"forced_at": NOW}, forced=30, timeout=60, drain=STUCK),
        None,
        Wait,
        "BlockedByTerminating",
        ahead(60),
        None,
    ),
    "ordered, one has not ended long after": (
        ordered({"forced_at": ago(20)}, forced=10, timeout=20, drain=STUCK),
        None,
        *TIMED_OUT,
    ),
    "ordered, a week, told a day before": (
        ordered(ASKED | REFUSED, forced=86_400 + 130, drain={"in_turn": 2, "force_at": ahead(86_500)}),
        None,
        Wait,
        "BlockedByBudget",
        ahead(100),
        None,
    ),
    "ordered, a week, a day before": (
        ordered(forced=86_400 + 130, drain={"in_turn": 2, "force_at": ahead(86_400)}),
        None,
        "tell_deadline",
        "ForcedLater",
        ahead(86_500),
        "",
    ),
    # DaemonSet pods
    "all others left, DaemonSet pods": (draining(drain=DAEMONS, **EMPTY), None, "evict_pods", "DaemonSets", None, ""),
    "DaemonSet pods were asked": (
        draining({"daemons_asked_at": ago(1)}, drain=DAEMONS, **EMPTY),
        None,
        Wait,
        "DaemonSets",
        None,
        None,
    ),
    "DaemonSet pods have left": (
        draining({"daemons_asked_at": ago(9)}, drain={"in_turn": 0}, **EMPTY),
        None,
        "commit_removal",
        "Drained",
        None,
        "",
    ),
    "DaemonSet pods, and others": (draining(drain={"in_turn": 2, "daemons": 3}), None, *EVICT),
    "DaemonSet pods have their time, whatever the drain's": (
        ordered({"daemons_asked_at": ago(1)}, timeout=30, drain=DAEMONS, **EMPTY),
        None,
        Wait,
        "DaemonSets",
        None,
        None,
    ),
}
