"""Which cluster a server or placement group belongs to: names of clusters are chosen, and two may have chosen one.

The uid of the namespace kube-system is each cluster's own, from its first moment to its last, and survives a restore.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from api.keys import LABEL_CLUSTER, LABEL_CLUSTER_UID


class Ownership(StrEnum):
    """Whose something at a provider is, by its labels."""

    OURS = "ours"
    UNMARKED = "unmarked"
    """It bears this cluster's name and no uid, as an earlier version made it: ours only if an object here proves it."""
    FOREIGN = "another's"
    """It bears another name, or this one's with another uid: it is never touched."""


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """What tells a cluster from all others."""

    name: str
    """`GROWTH_CLUSTER`."""
    uid: str = ""
    """Of its namespace kube-system. Empty where it was not asked for: then the name alone tells."""

    def labels(self) -> dict[str, str]:
        """Return the labels by which what is made for the cluster is known at a provider."""
        return {LABEL_CLUSTER: self.name, **({LABEL_CLUSTER_UID: self.uid} if self.uid else {})}

    def owner(self, labels: Mapping[str, str]) -> Ownership:
        """Return whose something with these labels is."""
        if labels.get(LABEL_CLUSTER) != self.name:
            return Ownership.FOREIGN
        marked = labels.get(LABEL_CLUSTER_UID, "")
        if not self.uid or marked == self.uid:
            return Ownership.OURS
        return Ownership.FOREIGN if marked else Ownership.UNMARKED

    def is_namesake(self, labels: Mapping[str, str]) -> bool:
        """Return whether something is of another cluster that bears this one's name."""
        return labels.get(LABEL_CLUSTER) == self.name and self.owner(labels) is Ownership.FOREIGN
