"""Claims, volumes and storage classes as the planner needs them: they tie pods to some of the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.objects.kinds import Requirement


@dataclass(frozen=True, slots=True)
class VolumeNeed:
    """The request of a claim, or the offer of a volume."""

    storage_class: str = ""
    size: int = 0
    """Bytes."""
    access_modes: frozenset[str] = frozenset()
    mode: str = "Filesystem"
    attributes_class: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    uid: str
    need: VolumeNeed = VolumeNeed()
    selector: tuple[Requirement, ...] | None = None
    """Which volumes may be bound: None does not ask."""
    volume: str = ""
    """Name of the volume that it is bound to, or is to be bound to."""
    is_bound: bool = False
    """Volume and claim have found each other for good."""
    is_lost: bool = False
    """Its volume is gone."""
    is_terminating: bool = False
    selected_node: str = ""
    """Where a volume is being made for it."""

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume."""

    name: str
    offer: VolumeNeed = VolumeNeed()
    labels: Mapping[str, str] = field(default_factory=dict)
    node_affinity: tuple[tuple[Requirement, ...], ...] = ()
    """Terms of which one must hold; empty means no condition."""
    located: tuple[tuple[Requirement, ...], ...] = ()
    """The same terms with what they ask of a node's name, which the scheduler passes over: where the data is."""
    claim: str = ""
    """namespace/name of the claim that it is kept for."""
    claim_uid: str = ""
    phase: str = ""
    """Empty where it is not told."""
    is_retained: bool = False
    """Its data is kept when its claim is gone."""
    is_available: bool = False
    is_terminating: bool = False
    driver: str = ""
    """CSI driver, also for a volume of an old plugin; empty for volumes that are not attached to nodes."""
    handle: str = ""


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass."""

    name: str
    driver: str = ""
    """CSI driver that makes volumes, also for an old plugin; empty where nothing does."""
    waits: bool = False
    """Volumes are bound when a pod that uses them has a node (WaitForFirstConsumer)."""
    allowed_topologies: tuple[tuple[Requirement, ...], ...] = ()
    """Terms of which one must hold; empty means no condition."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """Everything that says where pods with volumes can be."""

    claims: tuple[Claim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    classes: tuple[StorageClass, ...] = ()


@dataclass(frozen=True, slots=True)
class CsiNode:
    """What the CSI drivers on a node say of it."""

    name: str
    drivers: frozenset[str] = frozenset()
    """All that have registered on the node."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """How many volumes of each driver can be attached; one that is not here has no limit."""
    topology_keys: frozenset[str] = frozenset()
    """Labels of the node by which they say where volumes can be used from."""
