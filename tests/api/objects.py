"""Objects as people write them, each with a spec that tests of the API change."""

from typing import Any

from tests.builders import (
    as_sent,
    hetzner_node_class,
    kwok_node_class,
    node_pool,
    node_removal_request,
    node_request,
)

Object = dict[str, Any]

SMALL = {"name": "CAX11", "max": 3}
MACHINE: Object = {
    "name": "cax11",
    "capacity": {"cpu": "2", "memory": "4Gi"},
    "pricePerHour": "0.0106",
    "locations": [{"name": "fsn1"}],
}


def pool(*server_types: Any, name: str = "default", **spec: Any) -> Object:
    made = as_sent(node_pool(name, server_types or [SMALL], **spec))
    if "limits" not in spec:
        del made["spec"]["limits"]
    return made


def node_class(*server_types: Any, name: str = "default", **spec: Any) -> Object:
    return as_sent(kwok_node_class(*(server_types or [MACHINE]), name=name, **spec))


def request(name: str = "default-abc", **spec: Any) -> Object:
    return as_sent(node_request(name, "cax11", by_hand=True, spec=spec))


def removal(name: str = "default-abc", **spec: Any) -> Object:
    return as_sent(node_removal_request(name, "cax11", by_hand=True, spec=spec))


def hetzner_class(name: str = "default", **spec: Any) -> Object:
    return as_sent(hetzner_node_class(name, **spec))
