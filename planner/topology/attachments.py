"""Volumes that a node can attach, as one more resource for each CSI driver.

A volume that several pods share is counted for each of them: never too few.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from api.keys import LABEL_SERVER_TYPE
from planner.objects import Node, Pod

_PREFIX: Final = "attachable volumes of "
_NO_LIMIT: Final = 1 << 30


def asked(pod: Pod) -> Mapping[str, int]:
    """Return all that the pod takes of a node: its requests, and attachments by driver."""
    if not pod.attachments:
        return pod.requests
    drivers = Counter(_PREFIX + driver for driver, _ in pod.attachments)
    return {**pod.requests, **drivers}


def attachable(limits: Mapping[str, int], pods: Iterable[Pod]) -> dict[str, int]:
    """Return how many more volumes of each limited driver can be attached beside those of these pods."""
    if not limits:
        return {}
    used = Counter(driver for driver, _ in {volume for pod in pods for volume in pod.attachments})
    return {_PREFIX + driver: limit - used[driver] for driver, limit in limits.items()}


def least_limits(nodes: Iterable[Node]) -> dict[str, dict[str, int]]:
    """Return for each server type the least limit of each driver that any of its nodes has."""
    found: dict[str, dict[str, int]] = {}
    for node in nodes:
        if node.attach_limits:
            known = found.setdefault(node.labels.get(LABEL_SERVER_TYPE, "").lower(), {})
            for driver, limit in node.attach_limits.items():
                known[driver] = min(limit, known.get(driver, limit))
    return found


def amount_of(amounts: Mapping[str, int], name: str) -> int:
    """Return how much there is of a resource; a driver without a limit has no end."""
    return amounts.get(name, _NO_LIMIT if name.startswith(_PREFIX) else 0)
