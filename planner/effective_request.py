"""What a pod takes from a node, as the scheduler counts it.

Source: Kubernetes docs, "Resource requests and limits of Pod and Container", "Init Containers:
Resources" and "Sidecar containers: Resource sharing within containers".
"""

from collections.abc import Mapping

from planner.json_part import Part


def effective_request(spec: Part) -> dict[str, int]:
    """Return what a pod of this spec takes: cpu in millicores, all else in whole units, and `pods: 1`.

    The larger of what runs for long (containers and sidecars) and the hungriest moment of the
    start (an init container beside the sidecars begun before it), plus overhead. Where requests
    stand for the whole pod, at least those: such a pod is not planned, but it fills its node.
    Amounts of zero are left out: they ask nothing of a node.

    Raises:
        FieldError: a field cannot be read.
    """
    running: dict[str, int] = {}
    for container in spec.parts("containers"):
        _add(running, _container_request(container))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.parts("initContainers"):
        request = _container_request(container)
        if container.text("restartPolicy") == "Always":
            _add(running, request)
            _add(sidecars, request)
            moment = sidecars
        else:
            moment = dict(sidecars)
            _add(moment, request)
        _raise_to(starting, moment)
    _raise_to(running, starting)
    _raise_to(running, spec.part("resources").amounts("requests"))
    _add(running, spec.amounts("overhead"))
    running["pods"] = 1
    return {name: amount for name, amount in running.items() if amount}


def _container_request(container: Part) -> Mapping[str, int]:
    # The API server fills a missing request from the limit; an object from a file never passed it.
    resources = container.part("resources")
    return resources.amounts("limits") | resources.amounts("requests")


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], floor: Mapping[str, int]) -> None:
    for name, amount in floor.items():
        total[name] = max(total.get(name, 0), amount)
