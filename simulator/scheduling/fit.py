"""The filters of kube-scheduler: why a pod may not run on a node.

Written from the scheduler's documentation over plain JSON, without the planner's predicates: where
the two judge differently, a planned pod stays pending in the simulation and its test fails.
Source: Kubernetes docs, "Scheduler configuration: scheduling plugins" (NodeUnschedulable,
TaintToleration, NodeAffinity, NodeResourcesFit, InterPodAffinity); messages as the scheduler's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from activities.ports.cluster import Object
from simulator.scheduling.pod_request import Amounts, amounts, occupied, pod_request

_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass(slots=True)
class FitHost:
    """A node with the pods that are bound to it."""

    node: Object
    pods: list[Object] = field(default_factory=list)
    allocatable: Amounts = field(init=False)
    used: Amounts = field(init=False)

    def __post_init__(self) -> None:
        status = self.node.get("status", {})
        self.allocatable = amounts(status.get("allocatable") or status.get("capacity"))
        self.used = occupied(self.pods)

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.node["metadata"]["name"]

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the node."""
        return self.node["metadata"].get("labels") or {}

    def place(self, pod: Object) -> None:
        """Count `pod` as bound here."""
        self.pods.append(pod)
        self.used = occupied(self.pods)


def not_simulated(pod: Object) -> str | None:
    """Return the first constraint of the pod that the simulated scheduler does not know, as a field path."""
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    if (affinity.get("podAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
        return "spec.affinity.podAffinity"
    if any(s.get("whenUnsatisfiable") == "DoNotSchedule" for s in spec.get("topologySpreadConstraints") or ()):
        return "spec.topologySpreadConstraints"
    if any("persistentVolumeClaim" in v or "ephemeral" in v for v in spec.get("volumes") or ()):
        return "spec.volumes"
    if any(p.get("hostPort") for c in spec.get("containers", ()) for p in c.get("ports") or ()):
        return "spec.containers.ports.hostPort"
    if spec.get("resourceClaims"):
        return "spec.resourceClaims"
    return None


def misfit(pod: Object, host: FitHost, hosts: Sequence[FitHost]) -> str | None:
    """Return why `pod` may not run on `host`, in the scheduler's words, or None when it may."""
    tolerations = pod["spec"].get("tolerations") or ()
    spec = host.node.get("spec", {})
    if spec.get("unschedulable") and not tolerates(tolerations, _CORDON):
        return "node(s) were unschedulable"
    if any(t["effect"] != "PreferNoSchedule" and not tolerates(tolerations, t) for t in spec.get("taints") or ()):
        return "node(s) had untolerated taint(s)"
    if not node_matches(pod, host.node):
        return "node(s) didn't match Pod's node affinity/selector"
    return _lacking(pod, host) or _repelled(pod, host, hosts)


def tolerates(tolerations: Iterable[Mapping[str, Any]], taint: Mapping[str, Any]) -> bool:
    """Whether one of the tolerations covers the taint.

    Source: Kubernetes docs, "Taints and tolerations".
    """
    return any(
        t.get("effect", "") in ("", taint["effect"])
        and (
            (t.get("operator") == "Exists" and t.get("key", "") in ("", taint["key"]))
            or (
                t.get("operator") in (None, "", "Equal")
                and t.get("key", "") == taint["key"]
                and (t.get("value") or "") == (taint.get("value") or "")
            )
        )
        for t in tolerations
    )


def node_matches(pod: Object, node: Object) -> bool:
    """Whether the node has what the pod's nodeSelector and required node affinity ask."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items()):
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_holds(e, labels) for e in term.get("matchExpressions") or ())
        and all(_holds(e, fields) for e in term.get("matchFields") or ())
        for term in required["nodeSelectorTerms"]
    )


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector accepts the labels: an empty one accepts all, a missing one nothing."""
    if selector is None:
        return False
    return all(labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items()) and all(
        _holds(e, labels) for e in selector.get("matchExpressions") or ()
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    values: list[str] = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _number(value) is not None and int(value or 0) > int(values[0])
        case "Lt":
            return _number(value) is not None and int(value or 0) < int(values[0])
        case _:
            return False


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def _lacking(pod: Object, host: FitHost) -> str | None:
    if host.used["pods"] + 1 > host.allocatable.get("pods", 0):
        return "Too many pods"
    for name, amount in pod_request(pod).items():
        if amount and host.used.get(name, 0) + amount > host.allocatable.get(name, 0):
            return f"Insufficient {name}"
    return None


def _repelled(pod: Object, host: FitHost, hosts: Sequence[FitHost]) -> str | None:
    for other_host in hosts:
        for other in other_host.pods:
            if _keeps_away(pod, other, host, other_host):
                return "node(s) didn't match pod anti-affinity rules"
            if _keeps_away(other, pod, host, other_host):
                return "node(s) didn't satisfy existing pods anti-affinity rules"
    return None


def _keeps_away(pod: Object, other: Object, here: FitHost, other_host: FitHost) -> bool:
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        domain = here.labels.get(term["topologyKey"])
        if domain is None or domain != other_host.labels.get(term["topologyKey"]):
            continue
        # An empty namespaceSelector means every namespace; other selectors need Namespace objects.
        everywhere = term.get("namespaceSelector") == {}
        namespaces = term.get("namespaces") or (pod["metadata"]["namespace"],)
        if (everywhere or other["metadata"]["namespace"] in namespaces) and selects(
            term.get("labelSelector"), other["metadata"].get("labels") or {}
        ):
            return True
    return False
