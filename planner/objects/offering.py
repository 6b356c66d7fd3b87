"""An offering: a server type in a location, with its price, amounts and labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

ResourceVector = Mapping[str, int]
"""Amount per resource name: `cpu` in millicores, all else in whole units (bytes, pods, devices)."""


@dataclass(frozen=True, slots=True)
class Offering:
    """What can be bought, before a pool adds its labels and taints."""

    server_type: str
    location: str
    price_per_hour: Decimal
    currency: str
    allocatable: ResourceVector
    """Before DaemonSets."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Well-known labels of the Node: architecture, os, instance type, region, zone, and the class's own."""
    attach_limits: Mapping[str, int] = field(default_factory=dict)
    """How many volumes of each CSI driver its machines can attach, as the class declares; Nodes know it better."""
    usual_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that a controller of the cloud sets on its Nodes unless it is told not to: expected until Nodes at a place
    of the class show that it does not."""
    available: bool = True
    """False: the provider says that it cannot be had."""
    unavailable_because: str = ""
    """Why not, such as "is no longer sold": the rest of a sentence that begins with the offering."""
    is_doubtful: bool = False
    """The provider says that it is sold out, which was seen to be wrong: one machine is tried first."""
    cores: int | None = None
    """Cores of the machine, whole ones, for pools that ask for types by them; None where the class does not tell."""
    millicores: int | None = None
    """Its cores in thousandths, where they need not be whole ones; None where `cores` tells, or nobody does."""
    memory: int | None = None
    """Memory of the machine in bytes, as advertised; None as of cores."""
    dedicated: bool | None = None
    """Whether its cores are for this machine alone; None as of cores."""
