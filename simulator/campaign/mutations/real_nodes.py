"""Faults planted where real Nodes are looked for, to show that histories with such a Node find them."""

from typing import Final

from activities.ports.simulated_kinds import SimulatedKinds
from simulator.campaign.mutations.planting import Change, Mutation


def _real_nodes_ignored() -> list[Change]:
    """Buy simulated machines whatever Nodes there are."""
    return [(SimulatedKinds, "real_node", lambda _self, _nodes: None)]


REAL_NODE_MUTATIONS: Final = (Mutation("real Nodes are ignored", _real_nodes_ignored, first=12),)
