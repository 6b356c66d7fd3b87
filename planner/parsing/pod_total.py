"""What the containers of a pod come to together: of requests, and of limits.

Source: Kubernetes docs, "Init Containers: Resources"; KEP-753 for sidecars; AggregateContainerRequests in
component-helpers, resource/helpers.go.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

AmountT = TypeVar("AmountT", int, Fraction)


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
        add_to(running, amounts)
    for amounts, is_sidecar in init_containers:
        moment = dict(sidecars)
        add_to(moment, amounts)
        if is_sidecar:
            add_to(running, amounts)
            sidecars = moment
        raise_to(starting, moment)
    raise_to(running, starting)
    return running


def raise_to(total: dict[str, AmountT], floor: Mapping[str, AmountT]) -> None:
    """Let no amount of `total` be below that of `floor`."""
    for name, amount in floor.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def add_to(total: dict[str, AmountT], more: Mapping[str, AmountT]) -> None:
    """Add the amounts of `more` to those of `total`."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
