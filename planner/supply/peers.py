"""What Nodes that are there tell of machines to come: volumes that they attach, labels, taints, and pods they carry.

Purchases and places ask for the same, so a round reads it once.
"""

from dataclasses import dataclass

from planner.model.node_class import NodeClass
from planner.model.plan import Snapshot
from planner.scheduling.attachments import AttachLimits
from planner.supply.observed.agreement import Agreements
from planner.supply.observed.carried import Carried
from planner.supply.observed.learned import with_learned_labels


@dataclass(frozen=True, slots=True)
class Peers:
    """The Nodes of a snapshot, read once, as examples of those to come."""

    classes: tuple[NodeClass, ...]
    """With the labels that drivers and controllers set on Nodes at the same places."""
    limits: AttachLimits
    agreements: Agreements
    carried: Carried


def peers_of(snapshot: Snapshot) -> Peers:
    """Return the Nodes of the snapshot as examples."""
    return Peers(
        classes=with_learned_labels(snapshot.classes, snapshot.nodes),
        limits=AttachLimits(snapshot.nodes),
        agreements=Agreements(snapshot.nodes, snapshot.now, snapshot.pools),
        carried=Carried(snapshot.daemon_sets, snapshot.nodes, snapshot.pods, snapshot.now, snapshot.pools),
    )
