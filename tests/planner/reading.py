"""Reads raw API JSON for the checker: its own code path, nothing of the planner's is used here.

It knows the forms that scenes use and refuses others, so that it never agrees by not looking.
"""

from datetime import datetime
from fractions import Fraction
from typing import Any

Json = dict[str, Any]
Amounts = dict[str, int]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN_TAINTS = {"growth.dev/unregistered", "growth.dev/reserved", "growth.dev/scale-down"}
OLD_DISKS = {"awsElasticBlockStore", "azureDisk", "cinder", "gcePersistentDisk", "iscsi", "portworxVolume", "rbd"}
OLD_NAMES = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type": "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
}
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def quantity(text: str, resource: str) -> int:
    """Return millicores for cpu, whole units for all else, rounded up."""
    number = text.rstrip("kKMGim")
    suffix = text[len(number) :]
    value = Fraction(number) * (Fraction(1, 1000) if suffix == "m" else UNITS[suffix])
    if resource == "cpu":
        value *= 1000
    return -((-value.numerator) // value.denominator)


def amounts(part: Json | None) -> Amounts:
    return {name: quantity(str(text), name) for name, text in (part or {}).items()}


def plus(*parts: Amounts) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def most(*parts: Amounts) -> Amounts:
    return {name: max(p.get(name, 0) for p in parts) for name in {n for p in parts for n in p}}


def own_request(holder: Json) -> Amounts:
    """Return what a container or a whole pod asks for: a limit stands for a request that is not given."""
    resources = holder.get("resources", {})
    return amounts(resources.get("limits")) | amounts(resources.get("requests"))


def asked(spec: Json) -> Amounts:
    """Return the effective request of a pod spec, with one pod slot.

    What is asked for the pod as a whole stands in place of what its containers ask for.
    """
    main = plus(*(own_request(c) for c in spec["containers"]))
    side: Amounts = {}
    peak: Amounts = {}
    for c in spec.get("initContainers", ()):
        own = own_request(c)
        if c.get("restartPolicy") == "Always":
            side = plus(side, own)
            peak = most(peak, side)
        else:
            peak = most(peak, plus(side, own))
    whole = most(plus(main, side), peak) | own_request(spec)
    return plus(whole, amounts(spec.get("overhead")), {"pods": 1})


def expression_holds(e: Json, labels: dict[str, str]) -> bool:
    value = labels.get(e["key"])
    verdicts = {
        "In": lambda: value in e["values"],
        "NotIn": lambda: value not in e["values"],
        "Exists": lambda: value is not None,
        "DoesNotExist": lambda: value is None,
        "Gt": lambda: is_whole(value) and int(value or "") > int(e["values"][0]),
        "Lt": lambda: is_whole(value) and int(value or "") < int(e["values"][0]),
    }
    return verdicts[e["operator"]]()


def is_whole(value: str | None) -> bool:
    return value is not None and value.lstrip("-").isdigit()


def term_holds(term: Json, labels: dict[str, str], name: str) -> bool:
    """Whether a node of these labels and this name meets a node selector term; an empty one selects no node."""
    expressions, fields = term.get("matchExpressions", ()), term.get("matchFields", ())
    assert all(f["key"] == "metadata.name" for f in fields)
    return (
        bool(expressions or fields)
        and all(expression_holds(e, labels) for e in expressions)
        and all(expression_holds(f, {"metadata.name": name}) for f in fields)
    )


def wants(spec: Json, labels: dict[str, str], name: str) -> bool:
    """Whether the pod's node selector and node affinity allow this node; a machine to come has a name of no pod's."""
    if any(labels.get(k) != v for k, v in spec.get("nodeSelector", {}).items()):
        return False
    system = spec.get("os", {}).get("name")
    if system and labels.get("kubernetes.io/os", system) != system:
        return False
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    return required is None or any(term_holds(term, labels, name) for term in required["nodeSelectorTerms"])


def tolerates(spec: Json, taint: Json) -> bool:
    def covers(t: Json) -> bool:
        if t.get("effect") not in (None, "", taint["effect"]):
            return False
        if t.get("operator") == "Exists":
            return t.get("key") in (None, "", taint["key"])
        return t.get("key") == taint["key"] and t.get("value", "") == taint.get("value", "")

    return taint["effect"] == "PreferNoSchedule" or any(covers(t) for t in spec.get("tolerations", ()))


def key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def owner(pod: Json) -> Json:
    return next((o for o in pod["metadata"].get("ownerReferences", ()) if o.get("controller")), {})


def is_finished(pod: Json) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def kept_node(pod: Json, nodes: dict[str, Json]) -> str:
    """Return the node that the scheduler keeps for a pod that waits; a node that takes no pods is kept for none."""
    named = pod["status"].get("nominatedNodeName", "")
    node = nodes.get(named)
    waits = not (
        is_finished(pod)
        or pod["spec"].get("nodeName")
        or pod["spec"].get("schedulingGates")
        or "deletionTimestamp" in pod["metadata"]
    )
    if node is None or not waits or "deletionTimestamp" in node["metadata"] or node["spec"].get("unschedulable"):
        return ""
    is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
    return named if is_ready else ""


def is_demand(pod: Json) -> bool:
    unschedulable = any(
        c["type"] == "PodScheduled" and c["status"] == "False" and c.get("reason") == "Unschedulable"
        for c in pod["status"].get("conditions", ())
    )
    tied = owner(pod).get("kind") == "DaemonSet" or "kubernetes.io/config.mirror" in pod["metadata"].get(
        "annotations", {}
    )
    return (
        unschedulable
        and not tied
        and not pod["spec"].get("nodeName")
        and not pod["spec"].get("schedulingGates")
        and "deletionTimestamp" not in pod["metadata"]
        and not is_finished(pod)
    )


def is_beyond(pod: Json) -> bool:
    """Whether the pod has a constraint that this checker cannot judge, so that it must not be placed."""
    spec = pod["spec"]
    return bool(
        spec.get("resourceClaims")
        or any(set(v) & OLD_DISKS for v in spec.get("volumes", ()))
        or any(t.get("operator") in ("Gt", "Lt") for t in spec.get("tolerations", ()))
        or any(key in ("growth.dev/request", "growth.dev/request-uid") for key in hard_keys(spec))
    )


def hard_keys(spec: Json) -> list[str]:
    """Return the topology keys of all constraints of the pod that must hold."""
    affinity = spec.get("affinity", {})
    terms = [t for kind in ("podAffinity", "podAntiAffinity") for t in affinity.get(kind, {}).get(REQUIRED, ())]
    spreads = [s for s in spec.get("topologySpreadConstraints", ()) if s["whenUnsatisfiable"] == "DoNotSchedule"]
    return [constraint["topologyKey"] for constraint in (*terms, *spreads)]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def offering_node(pool: Json, kind: Json, place: Json, host: str) -> tuple[dict[str, str], list[Json], Amounts]:
    """Return labels, taints and allocatable of a Node of this server type in this pool."""
    labels = kind.get("labels", {}) | {
        "kubernetes.io/arch": kind.get("architecture", "amd64"),
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": host,
        "node.kubernetes.io/instance-type": kind["name"],
        "topology.kubernetes.io/region": place["name"],
        "topology.kubernetes.io/zone": place.get("zone") or place["name"],
        "growth.dev/pool": pool["metadata"]["name"],
        "growth.dev/server-type": kind["name"],
    }
    template = pool["spec"].get("template", {})
    labels |= {"growth.dev/request": host, "growth.dev/request-uid": f"uid-{host}"}
    labels |= {old: labels[new] for new, old in OLD_NAMES.items()}
    allocatable = {"pods": 110} | amounts(kind["capacity"])
    for name, kept in amounts(kind.get("overhead")).items():
        allocatable[name] -= kept
    return labels | template.get("labels", {}), template.get("taints", []), allocatable
