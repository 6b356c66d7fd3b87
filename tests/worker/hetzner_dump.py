"""A HetznerNodeClass as a cluster where Growth runs holds it, and a pool that buys of it.

Prices are those of reference tables of 2026-08, and stand for nothing: `growth` takes them from the object.
"""

from typing import Any

import yaml

from tests.builders import after, before, hetzner_node_class, node_pool

Json = dict[str, Any]
IPV4 = ("0.0008", "0.50")
IMAGES = {"amd64": 101, "arm64": 102}
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "lastTransitionTime": before(hours=1),
    "observedGeneration": 1,
}
KEYS = {**READY, "type": "SSHKeys", "status": "False", "reason": "SSHKeyNotFound", "message": "ops does not exist"}


def place(name: str, per_hour: str | None, per_month: str | None = None, **more: Any) -> Json:
    prices = {"pricePerHour": per_hour, "pricePerMonth": per_month}
    return {"name": name, **{key: price for key, price in prices.items() if price is not None}, **more}


def server_type(name: str, cores: int, memory: int, disk: int, *places: Json, **more: Any) -> Json:
    amounts = {"cores": cores, "memory": f"{memory}Gi", "disk": f"{disk}G"}
    return {"name": name, **amounts, "architecture": "amd64", "locations": list(places), **more}


CATALOGUE = [
    server_type("cx23", 2, 4, 40, place("fsn1", "0.0088", "5.49"), place("hel1", "0.0088", "5.49", available=False)),
    server_type("cx33", 4, 8, 80, place("fsn1", "0.0136", "8.49"), place("ash", "0.0200", "12.49")),
    server_type("cax11", 2, 4, 40, place("fsn1", "0.0096", "5.99"), architecture="arm64"),
    server_type("ccx13", 2, 8, 80, place("fsn1", "0.0689", "42.99"), dedicated=True),
    server_type("cpx11", 2, 2, 40, place("fsn1", "0.0070", "4.35", unavailableAfter=before(days=9))),
    server_type("cpx22", 2, 4, 80, place("fsn1", "0.0312", "19.49", unavailableAfter=after(days=30))),
    server_type("cpx32", 4, 8, 160, place("fsn1", None)),
]


def hetzner_class(name: str = "default", *, spec: Json | None = None, **status: Any) -> Json:
    """Return a class that is Ready, its prices read two minutes ago; `status` replaces fields, None takes one away."""
    whole = {
        "currency": "EUR",
        "readAt": before(minutes=2),
        "places": [
            {"name": "fsn1", "networkZone": "eu-central"},
            {"name": "hel1", "networkZone": "eu-central"},
            {"name": "ash", "networkZone": "us-east"},
        ],
        "ipv4": [
            {"location": location, "pricePerHour": IPV4[0], "pricePerMonth": IPV4[1]}
            for location in ("fsn1", "hel1", "ash")
        ],
        "serverTypes": CATALOGUE,
        "resolved": {
            "images": [{"architecture": one, "id": number, "name": "debian-12"} for one, number in IMAGES.items()]
        },
        "conditions": [READY],
    } | status
    usual = {
        "locations": ["fsn1", "hel1"],
        "userData": {"template": "#cloud-config\nruncmd: [join {{ kubelet.args }}]\n"},
    }
    known = {key: value for key, value in whole.items() if value is not None}
    made = hetzner_node_class(name, status=known, **usual | (spec or {}))
    made["metadata"]["generation"] = 1
    return made


def hetzner_pool(name: str = "default", types: Any = ("cx23", "cx33", "cax11", "ccx13"), **spec: Any) -> Json:
    return node_pool(name, types, template={"classRef": {"kind": "HetznerNodeClass", "name": "default"}}, **spec)


def dump(*objects: Json) -> str:
    """Return the objects as `kubectl get -o yaml` prints them."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(objects)})
