"""Local volumes: data that is on one machine alone, and goes with its server.

Nothing but its node affinity tells such a volume from others: it names the host, by host name, by name, or by a label
that no other Node has, such as the topology key of TopoLVM. One that names a zone can be used from the next machine
there, also while a single Node is in it.
Source: Kubernetes docs, "Persistent Volumes: Node affinity"; rancher/local-path-provisioner; topolvm/topolvm.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from api.keys import (
    GROUP,
    LABEL_ARCH,
    LABEL_HOSTNAME,
    LABEL_INSTANCE_TYPE,
    LABEL_OS,
    LABEL_REGION,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    LABEL_ZONE,
    OLD_LABELS,
)
from planner.objects.kinds import Node, Requirement
from planner.objects.predicates import FIELD_NAME, selects
from planner.objects.storage import Claim, Volume, Volumes

NAMED: Final = 3
"""Volumes that a message names; the others are counted."""
_OF_HOST: Final = frozenset({LABEL_HOSTNAME, FIELD_NAME, LABEL_REQUEST, LABEL_REQUEST_UID})
_PLACES: Final = (LABEL_ZONE, LABEL_REGION, OLD_LABELS[LABEL_ZONE], OLD_LABELS[LABEL_REGION])
_WIDE: Final = frozenset({*_PLACES, LABEL_OS, LABEL_ARCH, LABEL_INSTANCE_TYPE, *OLD_LABELS.values()})
"""Labels that the next machine of the same kind has as well."""
_WIDE_NAME: Final = re.compile(r"zone|region|location|datacenter|availability", re.IGNORECASE)
"""In the key by which the driver of a cloud says where its disks can be used from."""


@dataclass(frozen=True, slots=True)
class VolumeHost:
    """A Node, or the server that bears its name, as node affinity sees it."""

    name: str
    labels: Mapping[str, str]
    shared_keys: Collection[str] = ()
    """Labels that its pool gives to all machines."""

    @property
    def fields(self) -> Mapping[str, str]:
        """Its labels, and its name as matchFields ask for it."""
        return {LABEL_HOSTNAME: self.name, **self.labels, FIELD_NAME: self.name}

    def is_shared(self, key: str) -> bool:
        """Return whether the label says nothing of this host alone, whatever Nodes there are now."""
        value, prefix = self.labels.get(key), key.partition("/")[0]
        is_growths = prefix == GROUP and key not in _OF_HOST
        is_place = value is not None and any(self.labels.get(place) == value for place in _PLACES)
        return key in _WIDE or key in self.shared_keys or is_growths or is_place or bool(_WIDE_NAME.search(key))


@dataclass(frozen=True, slots=True)
class LocalVolume:
    """A volume whose data is on one machine."""

    name: str
    claim: str
    """namespace/name."""
    is_retained: bool = False
    """Its claim is gone, and its reclaim policy has its data kept."""

    def __str__(self) -> str:
        if self.is_retained:
            return f"volume {self.name}, retained after its claim {self.claim}"
        return f"volume {self.name} of claim {self.claim}"


def local_volume(volume: Volume, claim: Claim | None) -> LocalVolume | None:
    """Return the volume if it holds data, wherever that is; None if nobody has a claim to it.

    A phase that is not known yet, or that is none of those known here, is judged by the claim.

    Args:
        volume: to look at.
        claim: that it names, or that names it, if there is one.
    """
    key = volume.claim or ("" if claim is None else claim.key)
    if not key or volume.phase == "Failed":
        return None
    if volume.phase == "Released":
        return LocalVolume(volume.name, key, is_retained=True) if volume.is_retained else None
    is_its = claim is not None and ("" in (volume.claim_uid, claim.uid) or volume.claim_uid == claim.uid)
    return LocalVolume(volume.name, key) if volume.phase == "Bound" or is_its else None


def named(volumes: Collection[LocalVolume]) -> tuple[str, ...]:
    """Return the first few of the volumes in words, and how many more there are."""
    rest = len(volumes) - NAMED
    return (*(str(volume) for volume in list(volumes)[:NAMED]), *([f"{rest} more"] if rest > 0 else ()))


class LocalVolumes:
    """The local volumes of a cluster by their machine.

    Args:
        volumes: all there are.
        claims: all there are.
        labels: of every Node, as what one alone has names it.
    """

    def __init__(self, volumes: Iterable[Volume], claims: Iterable[Claim], labels: Iterable[Mapping[str, str]]) -> None:
        by_key = {claim.key: claim for claim in claims}
        by_volume = {claim.volume: claim for claim in by_key.values() if claim.volume}
        self._held: dict[str, tuple[Volume, LocalVolume]] = {}
        self._asked_by: dict[tuple[str, str | None], list[str]] = {}
        """Names of volumes by what a term asks for: key and value, None where any will do."""
        for volume in volumes:
            if not volume.located:
                continue
            local = local_volume(volume, by_key.get(volume.claim) if volume.claim else by_volume.get(volume.name))
            if local is None:
                continue
            self._held[volume.name] = (volume, local)
            for requirement in (requirement for term in volume.located for requirement in term):
                for pair in _pairs(requirement):
                    self._asked_by.setdefault(pair, []).append(volume.name)
        self._keys = {key for key, _ in self._asked_by}
        # With thousands of Nodes, a look at the others for each volume would take a round's time.
        self._counts: Counter[tuple[str, str | None]] = Counter(
            pair
            for of_node in labels
            for key in self._keys & of_node.keys()
            for pair in ((key, of_node[key]), (key, None))
        )

    def on(self, host: VolumeHost) -> tuple[LocalVolume, ...]:
        """Return the volumes whose data is on this host alone, or on those few that they name, by name."""
        if not self._held:
            return ()
        fields = host.fields
        names: set[str] = set()
        for key in self._keys & fields.keys():
            here, anywhere = (key, fields[key]), (key, None)
            # What many Nodes have names none of them: a zone may have thousands of volumes.
            if self._counts[here] <= 1 or key in _OF_HOST or fields[key] in (host.name, fields[LABEL_HOSTNAME]):
                names.update(self._asked_by.get(here, ()))
            if self._counts[anywhere] <= 1:
                names.update(self._asked_by.get(anywhere, ()))
        return tuple(self._held[name][1] for name in sorted(names) if self._is_on(self._held[name][0], host, fields))

    def _is_on(self, volume: Volume, host: VolumeHost, fields: Mapping[str, str]) -> bool:
        reached = [term for term in volume.located if selects(term, fields)]
        return bool(reached) and all(any(self._names(r, host, fields) for r in term) for term in reached)

    def _names(self, requirement: Requirement, host: VolumeHost, fields: Mapping[str, str]) -> bool:
        if requirement.operator not in ("In", "Exists"):
            return False
        value = fields[requirement.key]
        is_its_name = value in (host.name, fields[LABEL_HOSTNAME])
        if requirement.operator == "In" and (requirement.key in _OF_HOST or is_its_name):
            return True
        pair = (requirement.key, value if requirement.operator == "In" else None)
        return self._counts[pair] <= 1 and not host.is_shared(requirement.key)


def local_volumes(volumes: Volumes, nodes: Iterable[Node]) -> LocalVolumes:
    """Return the local volumes of a snapshot."""
    return LocalVolumes(volumes.volumes, volumes.claims, (node.labels for node in nodes))


def _pairs(requirement: Requirement) -> Iterable[tuple[str, str | None]]:
    if requirement.operator == "In":
        return ((requirement.key, value) for value in requirement.values)
    return ((requirement.key, None),) if requirement.operator == "Exists" else ()
