"""Faults planted in the repair of machines whose kubelet has died: `simulator.campaign.mutations.planting`."""

from typing import Final

from activities.removals import dead_node
from planner.policies import repair
from simulator.campaign.mutations.planting import Change, Mutation


def _all_dead_at_once() -> list[Change]:
    return [(repair, "PERCENT_AT_ONCE", 10_000)]


def _outages_not_seen() -> list[Change]:
    """Repair one machine after the other while it is the cluster that fails."""
    return [(repair, "are_most", lambda *_: False), (dead_node, "are_most", lambda *_: False)]


REPAIR_MUTATIONS: Final = (
    Mutation("all dead machines go at once", _all_dead_at_once, first=150, within=70),
    Mutation("machines go as dead while most Nodes are not Ready", _outages_not_seen, first=100, within=40),
)
"""Each found by histories in which kubelets die."""
