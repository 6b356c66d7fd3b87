"""Volumes that a node can attach, as one more resource for each CSI driver.

A volume counts once for a node, however many of its pods use it. Amounts that pods ask for add up, so a
volume that several of them share is counted for each, but where `Slots` knows better.

Source: kube-scheduler's plugin NodeVolumeLimits.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.keys import LABEL_INSTANCE_TYPE, LABEL_SERVER_TYPE
from planner.objects.kinds import Node, Pod

Handle = tuple[str, str]
"""CSI driver and handle of a volume."""
_PREFIX: Final = "attachable volumes of "
_NO_LIMIT: Final = 1 << 30
_OWN_ROWS: Final = 16
"""Machines of which slots are counted apart: each costs a row of the problem."""


def asked(pod: Pod, attached: Collection[Handle] = ()) -> Mapping[str, int]:
    """Return all that the pod takes of a node: its requests, and by driver its volumes that are not attached there."""
    if not pod.attachments:
        return pod.requests
    drivers = Counter(_PREFIX + driver for driver, handle in pod.attachments if (driver, handle) not in attached)
    return {**pod.requests, **drivers}


def attachable(limits: Mapping[str, int], pods: Iterable[Pod]) -> dict[str, int]:
    """Return the number of further volumes of each limited driver that can be attached beside those of these pods."""
    if not limits:
        return {}
    volumes = {volume for pod in pods if pod.attachments for volume in pod.attachments}
    used = Counter(driver for driver, _ in volumes) if volumes else {}
    return {_PREFIX + driver: limit - used.get(driver, 0) for driver, limit in limits.items()}


class AttachLimits:
    """How many volumes of each driver a machine to come can attach, as Nodes and classes say.

    What Nodes of its own type say comes first: the least that any of them takes; no limit where the driver has
    registered on all of them without one. Then what the class declares. For a driver of which neither knows anything,
    the least that a Node of any type takes: a machine that took more would be a guess, paid for before it is proved
    wrong. A Node that takes none, such as one that only runs the driver's controller, says nothing of others.

    Args:
        nodes: all there are, of whatever pool.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._of_type: dict[str, dict[str, int | None]] = {}
        self._of_any: dict[str, int] = {}
        for node in nodes:
            if not node.drivers:
                continue
            server_type = node.labels.get(LABEL_SERVER_TYPE) or node.labels.get(LABEL_INSTANCE_TYPE, "")
            known = self._of_type.setdefault(server_type.lower(), {})
            for driver in node.drivers:
                limit = node.attach_limits.get(driver)
                before = known.get(driver)
                known[driver] = before if limit is None else limit if before is None else min(limit, before)
                if limit is not None and limit > 0:
                    self._of_any[driver] = min(limit, self._of_any.get(driver, limit))

    def of(self, server_type: str, declared: Mapping[str, int]) -> dict[str, int]:
        """Return the limits by driver of a machine of this type, whose class declares these."""
        limits = {**self._of_any, **declared, **self._of_type.get(server_type.lower(), {})}
        return {driver: limit for driver, limit in limits.items() if limit is not None}

    def of_node(self, node: Node, server_type: str, declared: Mapping[str, int]) -> dict[str, int]:
        """Return the limits of a machine whose Node is there while drivers may still have to register on it."""
        limits = self.of(server_type, declared)
        return {driver: n for driver, n in limits.items() if driver not in node.drivers} | dict(node.attach_limits)

    def borrowed(self, server_type: str, declared: Mapping[str, int]) -> frozenset[str]:
        """Return the drivers whose limit is that of Nodes of other types, as nothing is known of this one."""
        return frozenset(self._of_any.keys() - declared.keys() - self._of_type.get(server_type.lower(), {}).keys())


def amount_of(amounts: Mapping[str, int], name: str) -> int:
    """Return the amount of a resource; a driver without a limit has no end of slots."""
    amount = amounts.get(name)
    return (_NO_LIMIT if is_attachments(name) else 0) if amount is None else amount


def is_enough(amounts: Mapping[str, int], wanted: Mapping[str, int]) -> bool:
    """Return whether the amounts hold the wanted ones: asked of each group and each kind or place."""
    for name, amount in wanted.items():  # noqa: SIM110 - in half the time of a generator
        if amount_of(amounts, name) < amount:
            return False
    return True


def limits_in(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the volumes of each limited driver that are among these amounts."""
    return {driver: n for name, n in amounts.items() if (driver := driver_of(name))}


def driver_of(name: str) -> str:
    """Return the driver whose attachments the resource is; empty for every other resource."""
    return name.removeprefix(_PREFIX) if is_attachments(name) else ""


def is_attachments(name: str) -> bool:
    """Return whether the resource is the attachments of a driver."""
    return name.startswith(_PREFIX)


def shared_volumes(pods: Iterable[Pod]) -> frozenset[Handle]:
    """Return the volumes that more than one of the pods use."""
    users = Counter(volume for pod in pods for volume in set(pod.attachments))
    return frozenset(volume for volume, number in users.items() if number > 1)


@dataclass(frozen=True, slots=True)
class OwnRow:
    """A resource that only one bin has a limit of: slots for volumes that are not attached to it yet."""

    name: str
    bin: int
    free: int
    asks: Mapping[int, int]
    """By class."""


class Slots:
    """Free slots for volumes, and the classes of pods that look for some.

    Of the volumes of a pod, those that others use too are the same for its whole class: see `pod_group.pod_groups`.

    Attributes:
        no_limit: more than all pods ask for.
        rows: slots that are counted apart.
    """

    def __init__(self, classes: Iterable[Sequence[Pod]]) -> None:
        self._asks: list[Pod] = []
        self._volumes: dict[str, dict[int, set[Handle]]] = {}
        """By resource and class, of classes that have some."""
        self.no_limit = 1
        self.rows: list[OwnRow] = []
        for i, pods in enumerate(classes):
            for volume in {volume for pod in pods for volume in pod.attachments}:
                self._volumes.setdefault(_PREFIX + volume[0], {}).setdefault(i, set()).add(volume)
            self._asks.append(pods[0])
            self.no_limit += sum(len(pod.attachments) for pod in pods)
        self._wanted = {v for by_class in self._volumes.values() for volumes in by_class.values() for v in volumes}

    def attached(self, pods: Iterable[Pod]) -> frozenset[Handle]:
        """Return those of the volumes that are attached where these pods run."""
        if not self._wanted:
            return frozenset()
        return frozenset(volume for pod in pods for volume in pod.attachments if volume in self._wanted)

    def free(self, b: int, name: str, left: int, held: Sequence[int], attached: Collection[Handle]) -> int:
        """Return the slots that the problem gives to a bin where `left` are free for volumes not attached yet.

        They have no end where pods that share volumes would else be counted too often: where the volumes
        of all classes that it may hold fit, and on a machine that has some of them, whose slots are
        counted in a row of their own then. Elsewhere each pod counts: never too few.

        Args:
            b: index of the bin.
            name: the resource.
            left: free slots of its driver.
            held: classes that the bin may hold.
            attached: volumes that it has already.
        """
        by_class = self._volumes.get(name, {})
        users = [i for i in held if i in by_class]
        if _all_fit([by_class[i] for i in users], left, attached):
            return self.no_limit
        apart = {i: asked(self._asks[i], attached).get(name, 0) for i in users}
        if len(self.rows) < _OWN_ROWS and any(asked(self._asks[i]).get(name, 0) != n for i, n in apart.items()):
            self.rows.append(OwnRow(f"{name} on bin {b}", b, left, apart))
            return self.no_limit
        return left


def _all_fit(by_class: Iterable[Collection[Handle]], left: int, attached: Collection[Handle]) -> bool:
    """Return whether there are slots for all of these volumes that are not attached yet."""
    new: set[Handle] = set()
    for volumes in by_class:
        new.update(volume for volume in volumes if volume not in attached)
        if len(new) > left:
            return False
    return True
