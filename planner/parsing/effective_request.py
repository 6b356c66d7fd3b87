"""The effective request of a pod: the amounts that it takes from a node, as the scheduler counts them.

Source: Kubernetes docs, "Resource requests and limits of Pod and Container", "Init Containers:
Resources", "Pod-level resources" and "Resize CPU and Memory Resources"; KEP-753 for sidecars;
PodRequests in component-helpers, resource/helpers.go.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final, TypeVar

from planner.parsing.json_part import Part

_NOTHING: Final = Part({})
OVERCOMMITTABLE: Final = frozenset({"cpu", "memory"})
"""Resources of which the containers of a node may ask for less than they may use."""
_HUGE_PAGES: Final = "hugepages-"

Amounts = Mapping[str, int]
AmountT = TypeVar("AmountT", int, Fraction)


def effective_request(spec: Part, status: Part = _NOTHING) -> dict[str, int]:
    """Return the amounts that a pod of this spec takes: cpu in millicores, all else in whole units, and `pods: 1`.

    The larger of what runs for long (containers and sidecars) and the hungriest moment of the
    start (an init container beside the sidecars begun before it); for cpu, memory and huge pages
    that the pod asks for as a whole, that instead; plus overhead. While a resize is under way, a
    container counts with the most of what it asks for, was allotted, and has.
    Amounts of zero are left out: they ask nothing of a node.

    Raises:
        FieldError: a field cannot be read.
    """
    running = _of_containers(spec, status)
    if spec.has("resources"):
        running |= _of_the_whole(spec.part("resources"), status, running)
    _add(running, spec.amounts("overhead"))
    running["pods"] = 1
    return {name: amount for name, amount in running.items() if amount}


def _of_containers(spec: Part, status: Part) -> dict[str, int]:
    states = {
        part.text("name"): part
        for group in ("containerStatuses", "initContainerStatuses")
        for part in status.parts(group)
        if part.has("resources")
    }
    is_infeasible = _is_infeasible(status)
    return pod_total(
        (
            _of_container(container, states.get(container.text("name")), is_infeasible=is_infeasible)
            for container in spec.parts("containers")
        ),
        (
            (_of_init_container(container, states, is_infeasible=is_infeasible), is_sidecar(container))
            for container in spec.parts("initContainers")
        ),
    )


def container_request(container: Part) -> dict[str, int]:
    """Return what a container asks for, without any change of it since."""
    # The API server fills a missing request from the limit; an object from a file never passed it.
    resources = container.part("resources")
    if not resources.has("limits"):
        return resources.amounts("requests")
    return resources.amounts("limits") | resources.amounts("requests")


def is_sidecar(container: Part) -> bool:
    """Return whether an init container runs as long as its pod."""
    return container.text("restartPolicy") == "Always"


def _of_init_container(container: Part, states: Mapping[str, Part], *, is_infeasible: bool) -> Amounts:
    # Only what runs for long can be resized.
    state = states.get(container.text("name")) if is_sidecar(container) else None
    return _of_container(container, state, is_infeasible=is_infeasible)


def _of_container(container: Part, state: Part | None, *, is_infeasible: bool) -> Amounts:
    requested = container_request(container)
    return requested if state is None else _resized(requested, state, is_infeasible=is_infeasible)


def _of_the_whole(resources: Part, status: Part, containers: Amounts) -> Amounts:
    """Return the requests of the pod as a whole, for those resources that can be requested so."""
    asked = _supported(resources.amounts("requests"))
    for name, limit in _supported(resources.amounts("limits")).items():
        # As the API server fills it in: a limit stands for a request that neither pod nor containers make.
        if name not in asked and not (name in OVERCOMMITTABLE and name in containers):
            asked[name] = limit
    if asked and status.has("resources"):
        most = _resized(asked, status, is_infeasible=_is_infeasible(status))
        return {name: most.get(name, 0) for name in asked}
    return asked


def _resized(asked: Amounts, state: Part, *, is_infeasible: bool) -> Amounts:
    most = {} if is_infeasible else dict(asked)
    _raise_to(most, state.part("resources").amounts("requests"))
    _raise_to(most, state.amounts("allocatedResources"))
    return most


def _is_infeasible(status: Part) -> bool:
    """Return whether the node can never grant the resize: the new request does not count then."""
    for condition in status.parts("conditions"):
        if condition.text("type") == "PodResizePending":
            return condition.text("reason") == "Infeasible"
    return False


def _supported(amounts: Amounts) -> dict[str, int]:
    return {n: amount for n, amount in amounts.items() if n in OVERCOMMITTABLE or n.startswith(_HUGE_PAGES)}


def pod_total(
    containers: Iterable[Mapping[str, AmountT]], init_containers: Iterable[tuple[Mapping[str, AmountT], bool]]
) -> dict[str, AmountT]:
    """Return the larger of what runs for long and the hungriest moment of the start, by resource.

    Args:
        containers: amounts of each.
        init_containers: amounts of each in their order, and whether it is a sidecar. A sidecar runs for long; any
            other runs beside the sidecars that were begun before it.
    """
    running: dict[str, AmountT] = {}
    sidecars: dict[str, AmountT] = {}
    starting: dict[str, AmountT] = {}
    for amounts in containers:
        _add(running, amounts)
    for amounts, runs_on in init_containers:
        moment = dict(sidecars)
        _add(moment, amounts)
        if runs_on:
            _add(running, amounts)
            sidecars = moment
        _raise_to(starting, moment)
    _raise_to(running, starting)
    return running


def _raise_to(total: dict[str, AmountT], floor: Mapping[str, AmountT]) -> None:
    for name, amount in floor.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def _add(total: dict[str, AmountT], more: Mapping[str, AmountT]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
