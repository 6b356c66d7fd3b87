"""Right objects of each kind, to be changed by tests."""

import copy
from typing import Any

Object = dict[str, Any]

API_VERSION = "growth.dev/v1alpha1"
CLASS_REF = {"kind": "KwokNodeClass", "name": "default"}
SMALL = {"name": "CAX11", "max": 3}
MACHINE: Object = {
    "name": "cax11",
    "capacity": {"cpu": "2", "memory": "4Gi"},
    "pricePerHour": "0.0106",
    "locations": [{"name": "fsn1"}],
}


def _object(kind: str, name: str, spec: Any) -> Object:
    return copy.deepcopy({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec})


def pool(*server_types: Any, name: str = "default", **spec: Any) -> Object:
    return _object("NodePool", name, {"serverTypes": list(server_types) or [SMALL], **spec})


def node_class(*server_types: Any, name: str = "default", **spec: Any) -> Object:
    return _object("KwokNodeClass", name, {"serverTypes": list(server_types) or [MACHINE], **spec})


def request(name: str = "default-abc", **spec: Any) -> Object:
    base = {"pool": "default", "serverType": "cax11", "location": "fsn1", "classRef": CLASS_REF}
    return _object("NodeRequest", name, base | spec)


def removal(name: str = "default-abc", **spec: Any) -> Object:
    base = {"serverName": name, "pool": "default", "serverType": "cax11", "location": "fsn1", "classRef": CLASS_REF}
    return _object("NodeRemovalRequest", name, base | spec)


def hetzner_class(name: str = "default", **spec: Any) -> Object:
    base = {
        "tokenSecretRef": {"namespace": "growth-system", "name": "hcloud"},
        "image": {"name": "debian-12"},
        "userData": {"template": "#!/bin/sh\nkubelet {{ kubelet.args }}\n"},
    }
    return _object("HetznerNodeClass", name, base | spec)
