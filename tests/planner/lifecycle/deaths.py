"""Removals of machines with dead Nodes, for the table of the step function."""

from planner.lifecycle.step import Decision, Wait
from tests.planner.lifecycle.drains import CANCEL, EMPTY
from tests.planner.lifecycle.removals import ahead, cooling, draining, node, over

SILENT = node(ready=False)
GONE = {"node": SILENT, "gone_pods": 2}
ALIVE = {"node": node(), "alive": "Node a is Ready again"}
NOT_DEAD = ("cancel_removal", "NotDead", None, "NotDead")
DEATHS = {
    # name: (seen, decision, effect or kind of step, reason, deadline, by)
    "dead, cools off": (cooling(**GONE), None, Wait, "CoolOff", ahead(25), None),
    "dead, over": (over(**GONE), None, "commit_removal", "Dead", None, ""),
    "dead, over, without pods": (over(node=SILENT), None, "commit_removal", "Empty", None, ""),
    "dead, over, judged in a minute": (over(judged_at=ahead(60), **GONE), None, Wait, "CoolOff", ahead(60), None),
    "dead, over, judged before": (over(judged_at=ahead(-60), **GONE), None, "commit_removal", "Dead", None, ""),
    "dead, over, a pod that may still end": (
        over(occupant_count=1, occupants=("shop/a",), **GONE),
        None,
        "cancel_removal",
        "NotEmpty",
        None,
        "NotEmpty",
    ),
    "dead, cancelled": (over(**GONE), Decision(kind="cancel", by="Ada"), *CANCEL, "Ada"),
    "came back": (cooling(**ALIVE), None, *NOT_DEAD),
    "came back at the end": (over(**ALIVE), None, *NOT_DEAD),
    "came back, annotated to be kept": (
        over(node=node(keep=True), alive="Node a is Ready again"),
        None,
        *CANCEL,
        "Person",
    ),
    "drained, and died meanwhile": (
        draining(**EMPTY, node=SILENT, gone_pods=2),
        None,
        "commit_removal",
        "Dead",
        None,
        "",
    ),
}
