"""The networks that a server which was made stopped is attached to before it starts, kept in its labels.

So it is finished as it was begun, whatever worker does it and whatever its class says by then.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from api.keys import LABEL_NETWORK
from api.v1alpha1.hetzner_node_class_status import ResolvedNetwork

_VALUE: Final = re.compile(r"([0-9]{1,19})(?:_([0-9.]{7,15})-([0-9]{1,2}))?")
"""A label's value has no slash."""

Attachment = tuple[int, str | None]
"""A network and the range that the address comes from, None where Hetzner may choose."""


def network_labels(networks: Sequence[ResolvedNetwork]) -> dict[str, str]:
    """Return the labels of a server with an address of a chosen subnet; none where Hetzner may choose all."""
    if not any(network.subnet_ip_range for network in networks):
        return {}
    return {
        _key(number): f"{one.id}_{one.subnet_ip_range.replace('/', '-')}" if one.subnet_ip_range else str(one.id)
        for number, one in enumerate(networks, start=1)
    }


def attachments(labels: Mapping[str, str]) -> tuple[Attachment, ...]:
    """Return the networks that the labels of a server name; what a person made of one is passed over."""
    networks: list[Attachment] = []
    while (value := labels.get(_key(len(networks) + 1))) is not None and (match := _VALUE.fullmatch(value)):
        network, address, length = match.groups()
        networks.append((int(network), f"{address}/{length}" if address else None))
    return tuple(networks)


def _key(number: int) -> str:
    return LABEL_NETWORK if number == 1 else f"{LABEL_NETWORK}-{number}"
