"""Rules between pods of different machines, in numbers: where pods of a group may be, given where others are.

A domain of most topology keys is a set of bins, given by position. Of the host name, each machine is a domain of its
own: there a row has no `domain_of`, and what it says by domain it says by bin.
Source: kube-scheduler's plugins PodTopologySpread and InterPodAffinity.
"""

from dataclasses import dataclass
from typing import Final

NO_DOMAIN: Final = -1
"""Of a bin whose machines lack the topology key."""


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """A hard spread of one group. All machines of a plan open together, so that what counts is how they end."""

    group: int
    counted: frozenset[int]
    """Groups whose pods it counts."""
    before: frozenset[int]
    """Groups of whose pods it is sure that they count where one of the group goes; others may come after it."""
    max_skew: int
    domain_of: tuple[int, ...] | None
    """Domain by bin, `NO_DOMAIN` where there is none; None for the host name."""
    present: tuple[int, ...]
    """Pods that are there, by domain."""
    counts: tuple[bool, ...]
    """Whether the machines of a bin count, by bin."""
    least: int | None = None
    """Pods in the emptiest domain that no bin belongs to; None where there is no such domain."""
    missing: int = 0
    """Domains short of minDomains; while there are any, the emptiest domain counts as empty."""
    later: tuple[int, ...] = ()
    """Pods that are there in the end, by domain: counted, but it is not sure that they come before one of the group."""
    held: frozenset[int] = frozenset()
    """Domains that pods of the group are in, whatever is decided."""
    fullest: int = 0
    """Of the host name: pods on the fullest machine that pods of the group are on and that no bin belongs to."""
    idle: frozenset[int] = frozenset()
    """Of `Topology.minimums`, by position, those of which a machine without pods is an empty domain."""


@dataclass(frozen=True, slots=True)
class NearRow:
    """One term of a required affinity of a group."""

    group: int
    met_by: frozenset[int]
    """Groups whose pods meet it."""
    alike: frozenset[int]
    """Groups with the same terms that meet them, so that one pod of them can begin for all."""
    domain_of: tuple[int, ...] | None
    present: tuple[bool, ...]
    """Whether a pod that meets it is there, by domain."""
    may_begin: bool
    """Whether the first pod may be anywhere: no pod that is there meets it, and the group does itself."""


@dataclass(frozen=True, slots=True)
class ApartRow:
    """Two groups, or one with itself, that never share a domain; of the host name, `GroupRow.apart` says it."""

    groups: tuple[int, int]
    domain_of: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Minimum:
    """Machines that come in any case: those that pods of the problem are on, and the rest without pods."""

    bins: frozenset[int]
    """Those of any of these are among them."""
    number: int


@dataclass(frozen=True, slots=True)
class Topology:
    """All rows of a problem."""

    spread: tuple[SpreadRow, ...] = ()
    near: tuple[NearRow, ...] = ()
    apart: tuple[ApartRow, ...] = ()
    standing: frozenset[int] = frozenset()
    """Bins whose machines are there, with pods of the problem or without, and so are domains in any case."""
    minimums: tuple[Minimum, ...] = ()
