"""What Nodes that are there tell of machines to come: volumes that they attach, labels, taints, and pods they carry."""

from dataclasses import dataclass

from planner.model.plan import Snapshot
from planner.scheduling.attachments import AttachLimits
from planner.supply.agreement import Agreements
from planner.supply.carried import Carried


@dataclass(frozen=True, slots=True)
class Peers:
    """The Nodes of a snapshot, read once, as examples of those to come."""

    limits: AttachLimits
    agreements: Agreements
    carried: Carried


def peers_of(snapshot: Snapshot) -> Peers:
    """Return the Nodes of the snapshot as examples."""
    return Peers(
        limits=AttachLimits(snapshot.nodes),
        agreements=Agreements(snapshot.nodes, snapshot.now),
        carried=Carried(snapshot.daemon_sets, snapshot.nodes, snapshot.pods, snapshot.now),
    )
