"""Builds the parts of raw pods that speak of other pods, of ports and of names of nodes."""

from typing import Any

from tests.planner.reading import REQUIRED, Json

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


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


def in_zones(*zones: str, key: str = ZONE) -> Json:
    """Return a term of node affinity."""
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(zones)}]}


def preference(
    *, nodes: dict[int, Json] | None = None, near: dict[int, Json] | None = None, away: dict[int, Json] | None = None
) -> Json:
    """Return the affinity of a pod with preferred terms by their weights."""
    made: Json = {}
    if nodes:
        made["nodeAffinity"] = {PREFERRED: [{"weight": w, "preference": one} for w, one in nodes.items()]}
    if near:
        made["podAffinity"] = {PREFERRED: [{"weight": w, "podAffinityTerm": one} for w, one in near.items()]}
    if away:
        made["podAntiAffinity"] = {PREFERRED: [{"weight": w, "podAffinityTerm": one} for w, one in away.items()]}
    return made


def soft_spread(topology_key: str = ZONE, max_skew: int = 1, app: str | None = None, **more: Any) -> Json:
    """Return a spread constraint that shall hold if it can."""
    return spread(topology_key, max_skew, app, whenUnsatisfiable="ScheduleAnyway", **more)


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


def apart(**labels: str) -> Json:
    """Return the affinity that keeps a pod off nodes with pods of these labels."""
    return affinity(away=term(HOST, labels))


def needs(*terms: list[Json]) -> Json:
    """Return the affinity that asks for one of these lists of expressions."""
    listed = [{"matchExpressions": each} for each in terms]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}


def using(pod: Json, *claims: str) -> Json:
    """Give the pod volumes of these claims, and return it."""
    pod["spec"]["volumes"] = [
        {"name": f"v{k}", "persistentVolumeClaim": {"claimName": c}} for k, c in enumerate(claims)
    ]
    return pod


def own_disk(pod: Json, name: str = "scratch") -> Json:
    """Give the pod a volume whose claim is made for it, named after pod and volume, and return it."""
    pod["spec"]["volumes"] = [{"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    return pod
