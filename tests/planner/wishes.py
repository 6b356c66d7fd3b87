"""Builds the parts of raw pods that speak of other pods, of ports and of names of nodes."""

from typing import Any

from tests.planner.reading import REQUIRED, Json

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def term(topology_key: str, labels: dict[str, str] | None = None, **more: Any) -> Json:
    """Return a term of pod affinity or anti-affinity; without labels it has no selector."""
    selector = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    return {"topologyKey": topology_key} | selector | more


def affinity(*, near: Json | None = None, away: Json | None = None, fields: Json | None = None) -> Json:
    """Return the affinity of a pod that must be near some pods, away from others, or on a node of some name."""
    made: Json = {}
    if near is not None:
        made["podAffinity"] = {REQUIRED: [near]}
    if away is not None:
        made["podAntiAffinity"] = {REQUIRED: [away]}
    if fields is not None:
        made["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [fields]}]}}
    return made


def named(name: str, operator: str = "In") -> Json:
    """Return what a term asks of a node's name."""
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def spread(topology_key: str = ZONE, max_skew: int = 1, app: str | None = None, **more: Any) -> Json:
    """Return a spread constraint that must hold, over the pods of an app."""
    selector = {} if app is None else {"labelSelector": {"matchLabels": {"app": app}}}
    must = {"whenUnsatisfiable": "DoNotSchedule"}
    return {"topologyKey": topology_key, "maxSkew": max_skew} | must | selector | more


def on_port(pod: Json, number: int = 8080, **more: Any) -> Json:
    """Give the pod's container a port of the node, and return the pod."""
    container = pod["spec"]["containers"][0]
    container.setdefault("ports", []).append({"containerPort": number, "hostPort": number} | more)
    return pod
