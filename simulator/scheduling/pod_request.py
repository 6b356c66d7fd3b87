"""What a pod asks of a node, read from its JSON as kube-scheduler reads it.

The planner has a reader of its own. This one shares nothing with it but the quantity parser (which
is tested against the official client's), so that a request the planner misreads shows up here as a
pod that does not land where it was planned.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from activities.ports.cluster import Object
from api.quantity import parse_amount

Amounts = dict[str, int]
"""Amount per resource: cpu in millicores, all else in whole units."""


def amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """Return a map of quantities as integers."""
    return {name: _amount(name, text) for name, text in (quantities or {}).items()}


def pod_request(pod: Object) -> Amounts:
    """Return the effective request of a pod.

    The larger of all containers together and the hungriest moment of the start; sidecars count in
    both; overhead comes on top; a request at pod level replaces what its containers ask.
    Source: Kubernetes docs, "Resource requests and limits of Pod and Container" and "Sidecar
    containers: resource sharing within containers".
    """
    spec = pod["spec"]
    running: Amounts = {}
    for container in spec.get("containers", ()):
        _add(running, _container_request(container))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers", ()):
        request = _container_request(container)
        if container.get("restartPolicy") == "Always":
            _add(running, request)
            _add(sidecars, request)
            moment = dict(sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, request)
        _raise_to(starting, moment)
    _raise_to(running, starting)
    running |= amounts((spec.get("resources") or {}).get("requests"))
    _add(running, amounts(spec.get("overhead")))
    return running


def occupies(pod: Object) -> bool:
    """Whether the pod takes room on its node: a finished one does not, a terminating one does."""
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def occupied(pods: Iterable[Object]) -> Amounts:
    """Return the sum of the pods' requests by resource, their number as `pods`."""
    total: Amounts = {"pods": 0}
    for pod in pods:
        if occupies(pod):
            _add(total, pod_request(pod))
            total["pods"] += 1
    return total


@lru_cache(maxsize=10_000)
def _amount(name: str, text: object) -> int:
    """Return the quantity as an integer; kept, as a scheduler reads the same few texts for every pod and node."""
    return parse_amount(name, text)


def _container_request(container: Mapping[str, Any]) -> Amounts:
    # The API server fills a missing request from the limit; objects that never passed one may lack it.
    resources = container.get("resources") or {}
    return amounts((resources.get("limits") or {}) | (resources.get("requests") or {}))


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, floor: Amounts) -> None:
    for name, amount in floor.items():
        total[name] = max(total.get(name, 0), amount)
