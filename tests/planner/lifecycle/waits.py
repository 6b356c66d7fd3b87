"""The wait for pods of a removal in a pool of mode `wait`, for the table of the step function."""

from planner.lifecycle.seen import LocalDataSeen, PodsAwaited
from planner.lifecycle.step import Decision, Wait
from tests.planner.lifecycle.removals import NOW, ago, ahead, cooling, draining, new, node, over

EVER = PodsAwaited()
TOLD = PodsAwaited(is_told=True)
UNTIL = PodsAwaited(until=ahead(50), is_told=True)
OVER = PodsAwaited(until=NOW)
PODS = {"occupant_count": 2, "occupants": ("shop/a", "shop/b")}
BY_FORCE = ("evict_pods", "HardGrace", None, "")
TAINT = ("taint_node", "TaintLost", None, "")
WAITS = {
    # name: (seen, decision, effect or kind of step, reason, deadline, by)
    "wait: new, pods on it": (new(awaited=EVER, **PODS), None, "taint_node", "CoolOff", ahead(40), ""),
    "wait: cools off, pods on it": (cooling(awaited=EVER, **PODS), None, Wait, "CoolOff", ahead(25), None),
    "wait: cools off, hardGrace over": (cooling(awaited=OVER, **PODS), None, Wait, "CoolOff", ahead(25), None),
    "wait: over, empty": (over(awaited=TOLD), None, "commit_removal", "Empty", None, ""),
    "wait: over, pods on it": (over(awaited=EVER, **PODS), None, "tell_blockers", "WaitsForPods", None, ""),
    "wait: told, for ever": (over(awaited=TOLD, **PODS), None, Wait, "WaitsForPods", None, None),
    "wait: told, hardGrace runs": (over(awaited=UNTIL, **PODS), None, Wait, "WaitsForPods", ahead(50), None),
    "wait: hardGrace over": (over(awaited=OVER, **PODS), None, "begin_drain", "HardGrace", None, ""),
    "wait: hardGrace over, empty": (over(awaited=OVER), None, "commit_removal", "Empty", None, ""),
    "wait: a person cancels": (
        over(awaited=TOLD, **PODS),
        Decision(kind="cancel", by="Ada"),
        "cancel_removal",
        "Cancelled",
        None,
        "Ada",
    ),
    "wait: taint taken off by someone": (
        over(awaited=TOLD, node=node(scale_down=False), **PODS),
        None,
        "taint_node",
        "CoolOff",
        NOW,
        "",
    ),
    "wait: data on it": (
        over(awaited=TOLD, local_data=LocalDataSeen(count=1, names=("db",)), **PODS),
        None,
        "tell_blockers",
        "HasLocalData",
        None,
        "",
    ),
    # Draining, in a pool of mode wait
    "wait: drains": (draining(may_drain=False, awaited=OVER), None, *BY_FORCE),
    "wait: drains, a pod must stay": (
        draining(may_drain=False, awaited=OVER, drain={"blocker": "BlockedByBarePod", "blockers": ("shop/a",)}),
        None,
        *BY_FORCE,
    ),
    "wait: drains, more time was given": (
        draining(may_drain=False, awaited=UNTIL),
        None,
        Wait,
        "WaitsForPods",
        ahead(50),
        None,
    ),
    "wait: drains, for ever by now": (draining(may_drain=False, awaited=TOLD), None, Wait, "WaitsForPods", None, None),
    "wait: drains, nobody knows since when": (
        draining({"tainted_at": None}, may_drain=False, awaited=EVER),
        None,
        *TAINT,
    ),
    "wait: drained": (
        draining(may_drain=False, awaited=OVER, occupant_count=0, occupants=(), drain={"in_turn": 0}),
        None,
        "commit_removal",
        "Drained",
        None,
        "",
    ),
    "wait: the mode is drain by now": (
        over({"tainted_at": ago(400)}, may_drain=True, **PODS),
        None,
        "begin_drain",
        "Draining",
        None,
        "",
    ),
}
