"""What changes from one plan to another, as data: the stable JSON of `growth plan --diff`.

    apiVersion          growth.dev/v1alpha1
    before, after       the two plans, each as `growth plan` prints it
    diff
        costPerHour     before, after, difference (below zero if the plan after costs less; null between two currencies)
        machines[]      pool, serverType, location, pricePerHour and before and after, how many of them are bought;
                        only where that changes
        placed[]        pods with a place only in the plan after: pod, node or request, reasons[] why they had none
        unplaced[]      pods without one only in the plan after: pod, reasons[]
        removals        dropped[], added[]: node, reason, at
        cancelled       dropped[], added[]: names of requests
        removalCancels  dropped[], added[]: names of removals

A machine whose price changes is two entries: none after at the old price, none before at the new one.
"""

from copy import deepcopy

from api.keys import API_VERSION
from api.meta import format_timestamp
from api.quantity import format_price
from planner.model.plan import PlannedRemoval
from worker.commands.plan.diff import PlanDiff
from worker.commands.plan.document import Json, document


def diff_document(diff: PlanDiff) -> Json:
    """Return both plans and what changes, as JSON types."""
    before, after = document(diff.before), document(diff.after)
    reasons = {entry["pod"]: entry["reasons"] for entry in before["unplaced"]}
    new = {entry.pod for entry in diff.unplaced}
    changes: Json = {
        "costPerHour": {
            "before": before["costPerHour"],
            "after": after["costPerHour"],
            "difference": None if diff.cost_difference is None else format_price(diff.cost_difference),
        },
        "machines": [
            {
                "pool": machines.pool,
                "serverType": machines.server_type,
                "location": machines.location,
                "pricePerHour": format_price(machines.price_per_hour),
                "before": machines.before,
                "after": machines.after,
            }
            for machines in diff.machines
            if machines.before != machines.after
        ],
        "placed": [
            {"pod": placed.pod}
            | ({"request": placed.request} if placed.node is None else {"node": placed.node})
            | {"reasons": reasons.get(placed.pod, [])}
            for placed in diff.placed
        ],
        "unplaced": [entry for entry in after["unplaced"] if entry["pod"] in new],
        "removals": {
            "dropped": [_removal(removal) for removal in diff.removals.dropped],
            "added": [_removal(removal) for removal in diff.removals.added],
        },
        "cancelled": {"dropped": list(diff.cancelled.dropped), "added": list(diff.cancelled.added)},
        "removalCancels": {
            "dropped": list(diff.cancelled_removals.dropped),
            "added": list(diff.cancelled_removals.added),
        },
    }
    # In YAML, one and the same value in two places would be printed as an anchor.
    return {"apiVersion": API_VERSION, "before": before, "after": after, "diff": deepcopy(changes)}


def _removal(removal: PlannedRemoval) -> Json:
    return {"node": removal.node, "reason": removal.reason, "at": format_timestamp(removal.at)}
