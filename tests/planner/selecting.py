"""Which pods the terms of raw pods select: for the checker, with nothing of the planner's."""

from collections.abc import Mapping
from typing import Any

from tests.planner.reading import REQUIRED, Json, expression_holds

Namespaces = Mapping[str, Mapping[str, str]]
HOSTNAME = "kubernetes.io/hostname"


def labels_of(pod: Json) -> dict[str, str]:
    return pod["metadata"].get("labels") or {}


def space_of(pod: Json) -> str:
    return pod["metadata"]["namespace"]


def selects(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects these labels: without one, nothing is selected; an empty one selects all."""
    if selector is None:
        return False
    return all(labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items()) and all(
        expression_holds(e, dict(labels)) for e in selector.get("matchExpressions") or ()
    )


def picks(term: Json, pod: Json, other: Json) -> bool:
    """Whether the labels of `other` are those that this term of `pod` speaks of."""
    mine, theirs = labels_of(pod), labels_of(other)
    same = all(theirs.get(k) == mine[k] for k in term.get("matchLabelKeys", ()) if k in mine)
    unlike = all(theirs.get(k) != mine[k] for k in term.get("mismatchLabelKeys", ()) if k in mine)
    return selects(term.get("labelSelector"), theirs) and same and unlike


def reaches(term: Json, pod: Json, other: Json, namespaces: Namespaces) -> bool:
    """Whether a term of pod affinity or anti-affinity of `pod` speaks of `other`."""
    names, selector = term.get("namespaces") or [], term.get("namespaceSelector")
    if not names and selector is None:
        names = [space_of(pod)]
    where = {"kubernetes.io/metadata.name": space_of(other), **namespaces.get(space_of(other), {})}
    return (space_of(other) in names or selects(selector, where)) and picks(term, pod, other)


def terms(pod: Json, kind: str) -> list[Json]:
    """Return the required terms of podAffinity or podAntiAffinity."""
    affinity: dict[str, Any] = pod["spec"].get("affinity") or {}
    return list((affinity.get(kind) or {}).get(REQUIRED) or ())


def spreads(pod: Json) -> list[Json]:
    """Return the topology spread constraints that must hold."""
    found = pod["spec"].get("topologySpreadConstraints") or ()
    return [c for c in found if c.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"]


def asks_of_others(pod: Json) -> bool:
    """Whether where a pod may land depends on where other pods are."""
    return bool(spreads(pod) or terms(pod, "podAffinity") or terms(pod, "podAntiAffinity"))


def clash(one: Json, other: Json, namespaces: Namespaces, ours: Mapping[str, str], theirs: Mapping[str, str]) -> bool:
    """Whether anti-affinity of either pod forbids the two nodes of these labels, which may be the same node."""
    return any(
        key in ours and ours[key] == theirs.get(key) and reaches(term, pod, met, namespaces)
        for pod, met in ((one, other), (other, one))
        for term in terms(pod, "podAntiAffinity")
        for key in [term["topologyKey"]]
    )


def ports(spec: Json) -> list[tuple[int, str, str]]:
    """Return the ports of the node that a pod takes as long as it runs: number, protocol, address."""
    lasting = [c for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"]
    on_host = spec.get("hostNetwork", False)
    return [
        (number, p.get("protocol") or "TCP", p.get("hostIP") or "0.0.0.0")
        for c in (*lasting, *spec["containers"])
        for p in c.get("ports", ())
        if (number := p.get("hostPort") or (p["containerPort"] if on_host else 0))
    ]


def same_port(one: Json, other: Json) -> int | None:
    """Return the port of the node that two pod specs both ask for, or None."""
    for number, protocol, address in ports(one):
        for n, p, a in ports(other):
            if (n, p) == (number, protocol) and (a == address or "0.0.0.0" in (a, address)):
                return number
    return None
