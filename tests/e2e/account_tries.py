"""What Growth's account may do and may not, call by call, and the objects that the calls are about."""

from typing import Any, Final

from tests.builders import as_sent, node_pool
from tests.e2e.account_calls import (
    NODES,
    PODS,
    POOLS,
    Call,
    Object,
    annotation,
    create,
    delete,
    evict,
    label,
    listed,
    more_taints,
    no_taint,
    node,
    pod,
    pool,
    put,
    taint,
    together,
    tolerations,
)

LATER: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
DELAY: Final = "node-initialize.stage.kwok.x-k8s.io/delay"
MARK: Final = "growth.dev/hard-grace-over"
RESERVED: Final = {"key": "growth.dev/reserved", "operator": "Equal", "value": "mine", "effect": "NoSchedule"}
ITS: Final = {"preconditions": {"uid": "its"}}
FOREIGN: Final = "example.com/others"


def a_node(name: str, provider_id: str, *taints: Object, annotations: dict[str, str], **labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"team": "a", **labels}, "annotations": {FOREIGN: "x", **annotations}},
        "spec": {"providerID": provider_id, "taints": [taint(FOREIGN, "y"), *taints]},
        "status": {"capacity": {"cpu": "2", "pods": "10"}, "allocatable": {"cpu": "2", "pods": "10"}},
    }


def of_growth(name: str) -> dict[str, str]:
    return {"growth.dev/request": name, "growth.dev/pool": "bounded", "growth.dev/request-uid": "4f1c"}


OURS: Final = {"growth.dev/idle-since": "2026-01-01T00:00:00Z", "growth.dev/do-not-remove": "a sale"}
FIRST: Final = taint("growth.dev/unregistered")
THE_NODES: Final = (
    a_node("mine", "hcloud://1", taint("growth.dev/scale-down", "1"), annotations=OURS, **of_growth("mine")),
    a_node("told", "hcloud://2", annotations={}, **of_growth("told"), **{LATER: "growth"}),
    a_node("excluded", "hcloud://3", annotations={}, **of_growth("excluded"), **{LATER: ""}),
    a_node("fresh", "hcloud://4", FIRST, annotations={}, **{"topology.kubernetes.io/zone": "wrong"}),
    a_node("fake", "kwok://c/fake", annotations={"kwok.x-k8s.io/node": "unplayed", DELAY: "9s"}, **of_growth("fake")),
    # As a control plane's: bought by nobody. The second has the label of another machine's request.
    a_node("control", "hcloud://5", taint("growth.dev/reserved", "gone"), annotations={}),
    a_node("alias", "hcloud://6", annotations={}, **of_growth("mine")),
)


def a_pod(name: str, on: str | None, **labels: str) -> Object:
    others = [{"key": "example.com/gpu", "operator": "Exists"}]
    spec = {"containers": [{"name": "main", "image": "registry.example/app:1"}], "tolerations": others}
    where = {"nodeSelector": {"nowhere": "true"}} if on is None else {"nodeName": on}
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web", **labels}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | where}


# `last` got its label in time, on a Node of Growth's.
THE_PODS: Final = (
    a_pod("waits", None),
    a_pod("runs", "mine"),
    a_pod("last", "mine", **{MARK: "true"}),
    a_pod("apart", "control"),
)
THE_POOL: Final = as_sent(node_pool("bounded", types=["cx22"], limits={"max": 1}))
THE_POOL["metadata"] |= {
    "finalizers": ["example.com/others"],
    "annotations": {FOREIGN: "x", "growth.dev/paused": "a sale"},
    "labels": {"team": "a"},
}
KWOKS: Final = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "new", "labels": of_growth("new"), "annotations": {"kwok.x-k8s.io/node": "fake"}},
    "spec": {"providerID": "kwok://c/new", "taints": [FIRST]},
}


def another(**changes: Any) -> Object:
    """Return KWOK's Node with other annotations or another spec."""
    metadata = KWOKS["metadata"] | {key: changes.pop(key) for key in ("annotations",) if key in changes}
    return KWOKS | {"metadata": metadata, "spec": KWOKS["spec"] | changes}


REGISTERS: Final = together(
    listed(
        "spec", "taints", with_=lambda before: [taint(FOREIGN, "y"), taint("pool"), taint("growth.dev/reserved", "m")]
    ),
    label("growth.dev/request", "fresh"),
    label("from-the-pool", "x"),
    label("topology.kubernetes.io/zone", "right"),
    annotation("growth.dev/price-per-hour", "0.1"),
    annotation("growth.dev/template-hash", "v1:0123456789abcdef"),
)

ALLOWED: Final[dict[str, Call]] = {
    "pod: our toleration": pod("waits", tolerations(lambda before: [*before, RESERVED])),
    "pod: the mark of one that is deleted": pod("runs", label(MARK, "true")),
    "pod: deletion of a marked one": delete(f"{PODS}/last", **ITS),
    "pod: deletion of a marked one, with less than its own grace": delete(f"{PODS}/last", **ITS, gracePeriodSeconds=1),
    "pod: eviction": evict("apart", **ITS),
    "node: registration": node("fresh", REGISTERS),
    "node: its start given up": node("fresh", more_taints(taint("growth.dev/scale-down", "2"))),
    "node: our taint": node("mine", more_taints(taint("growth.dev/reserved", "mine"))),
    "node: no taint of ours": node("mine", no_taint("growth.dev/scale-down")),
    "node: a stale taint of ours on another's": node("control", no_taint("growth.dev/reserved")),
    "node: our annotations": node(
        "mine", annotation("growth.dev/idle-since", None), annotation("growth.dev/spared-at", "x")
    ),
    "node: today's hash": node("mine", annotation("growth.dev/template-hash", "v1:0123456789abcdef")),
    "node: abandoned": node("told", annotation("growth.dev/do-not-remove", "abandoned")),
    "node: off the load balancers": node("mine", label(LATER, "growth")),
    "node: back on them": node("told", label(LATER, None)),
    "node: deletion": delete(f"{NODES}/mine", **ITS),
    "node: deletion of one that never registered": delete(f"{NODES}/fresh", **ITS),
    "node of KWOK: creation": create(KWOKS),
    "node of KWOK: one of another simulated cloud": create(another(providerID="overcast://new")),
    "node of KWOK: one that is not played": create(another(annotations={"kwok.x-k8s.io/node": "unplayed"})),
    "node of KWOK: the end of its start": node("fake", no_taint(FOREIGN), annotation(DELAY, None)),
    "node of KWOK: played": node("fake", annotation("kwok.x-k8s.io/node", "fake")),
    "node of KWOK: devices": node("fake", put("status", "allocatable", "example.com/device", value="1"), status=True),
    "pool: our finalizer": pool(
        listed("metadata", "finalizers", with_=lambda before: [*before, "growth.dev/lifecycle"])
    ),
    "pool: our annotations": pool(annotation("growth.dev/paused", None)),
    "pool: status": pool(put("status", value={"conditions": []}), status=True),
}

FORBIDDEN: Final[dict[str, Call]] = {
    "pod: image": pod("runs", put("spec", "containers", value=[{"name": "main", "image": "registry.example/evil:1"}])),
    "pod: deadline": pod("runs", put("spec", "activeDeadlineSeconds", value=1)),
    "pod: label": pod("runs", label("app", "db")),
    "pod: further label": pod("runs", label("growth.dev/pool", "x")),
    "pod: no label": pod("runs", label("app", None)),
    "pod: annotation": pod("runs", annotation("growth.dev/safe-to-evict", "true")),
    "pod: finalizer": pod("runs", put("metadata", "finalizers", value=["growth.dev/lifecycle"])),
    "pod: owner": pod(
        "runs",
        put("metadata", "ownerReferences", value=[{"apiVersion": "v1", "kind": "Pod", "name": "waits", "uid": "1"}]),
    ),
    "pod: another toleration": pod("waits", tolerations(lambda before: [*before, {"key": "x", "operator": "Exists"}])),
    "pod: toleration of all": pod("waits", tolerations(lambda before: [*before, {"operator": "Exists"}])),
    "pod: our key, whatever the value": pod(
        "waits", tolerations(lambda before: [*before, {"key": "growth.dev/reserved", "operator": "Exists"}])
    ),
    "pod: our key, whatever the effect": pod(
        "waits", tolerations(lambda before: [*before, {k: v for k, v in RESERVED.items() if k != "effect"}])
    ),
    "pod: the mark on another's Node": pod("apart", label(MARK, "true")),
    "pod: the mark on one that waits": pod("waits", label(MARK, "true")),
    "pod: deletion of one without the mark": delete(f"{PODS}/runs", **ITS),
    "pod: deletion on another's Node": delete(f"{PODS}/apart", **ITS),
    "pod: deletion at once": delete(f"{PODS}/last", **ITS, gracePeriodSeconds=0),
    "pod: deletion by name": delete(f"{PODS}/last"),
    "pod: eviction at once": evict("runs", **ITS, gracePeriodSeconds=0),
    "pod: eviction by name": evict("runs"),
    "node: cordon": node("mine", put("spec", "unschedulable", value=True)),
    "node: pod addresses": node(
        "mine", put("spec", "podCIDR", value="10.9.0.0/24"), put("spec", "podCIDRs", value=["10.9.0.0/24"])
    ),
    "node: label of others": node("mine", label("team", "b")),
    "node: no label of others": node("mine", label("team", None)),
    "node: further label": node("mine", label("example.com/x", "y")),
    "node: our label, later": node("mine", label("growth.dev/pool", "other")),
    "node: no label of ours": node("mine", label("growth.dev/request", None)),
    "node: our label on another's": node("control", label("growth.dev/request", "control")),
    "node: our label on one with another's": node("alias", label("growth.dev/request", "alias")),
    "node: no label at registration": node("fresh", label("team", None)),
    "node: no taint of others at registration": node("fresh", no_taint(FOREIGN)),
    "node: others' balancer label, off": node("excluded", label(LATER, None)),
    "node: others' balancer label, ours": node("excluded", label(LATER, "growth")),
    "node: balancer label, another value": node("mine", label(LATER, "x")),
    "node: balancer label on another's": node("control", label(LATER, "growth")),
    "node: annotation of others": node("mine", annotation(FOREIGN, "z")),
    "node: no annotation of others": node("mine", annotation(FOREIGN, None)),
    "node: further annotation": node("mine", annotation("example.com/x", "y")),
    "node: our annotation on another's": node("control", annotation("growth.dev/idle-since", "x")),
    "node: a hash on another's": node("control", annotation("growth.dev/template-hash", "v1:0123456789abcdef")),
    "node: a person's wish to keep it": node("mine", annotation("growth.dev/do-not-remove", None)),
    "node: KWOK's annotation": node("mine", annotation("kwok.x-k8s.io/node", "fake")),
    "node: finalizer": node("mine", put("metadata", "finalizers", value=["growth.dev/lifecycle"])),
    "node: taint of others": node("mine", more_taints(taint("example.com/x"))),
    "node: no taint of others": node("mine", no_taint(FOREIGN)),
    "node: another value of a taint of others": node(
        "mine", listed("spec", "taints", with_=lambda before: [each | {"value": "z"} for each in before])
    ),
    "node: our taint on another's": node("control", more_taints(taint("growth.dev/scale-down", "1"))),
    "node: our taint on one with another's label": node("alias", more_taints(taint("growth.dev/scale-down", "1"))),
    "node: our taint, which ends pods": node("mine", more_taints(taint("growth.dev/reserved", "m", "NoExecute"))),
    "node: first taint": node("mine", more_taints(FIRST)),
    "node: first taint on another's": node("control", more_taints(FIRST)),
    "node: another taint of our group": node("mine", more_taints(taint("growth.dev/other"))),
    "node: status": node("mine", put("status", "allocatable", "cpu", value="64"), status=True),
    "node: deletion of another's": delete(f"{NODES}/control", **ITS),
    "node: deletion of one with another's label": delete(f"{NODES}/alias", **ITS),
    "node: creation": create(another(annotations={})),
    "node: creation without the first taint": create(another(taints=[])),
    "node of KWOK: cordon": node("fake", put("spec", "unschedulable", value=True)),
    "node of KWOK: further taint": node("fake", more_taints(taint("example.com/x"))),
    "node of KWOK: conditions": node(
        "fake", put("status", "conditions", value=[{"type": "Ready", "status": "True"}]), status=True
    ),
    "node of KWOK: label by its status": node("fake", label("team", "b"), status=True),
    "pool: spec": pool(put("spec", "limits", "max", value=1000)),
    "pool: label": pool(label("team", "b")),
    "pool: finalizer of others": pool(put("metadata", "finalizers", value=["growth.dev/lifecycle"])),
    "pool: another finalizer": pool(listed("metadata", "finalizers", with_=lambda before: [*before, "example.com/x"])),
    "pool: annotation of others": pool(annotation(FOREIGN, "z")),
    "pool: no annotation of others": pool(annotation(FOREIGN, None)),
    "pool: further annotation": pool(annotation("example.com/x", "y")),
}

BEYOND_RBAC: Final[dict[str, Call]] = {
    "pod: status": Call(f"{PODS}/runs", put("status", "phase", value="Failed"), subresource="/status"),
    "pod: resources": Call(f"{PODS}/runs", put("spec", "tolerations", value=[]), subresource="/resize"),
    "pod: a further container": Call(
        f"{PODS}/runs", put("spec", "nodeName", value="x"), subresource="/ephemeralcontainers"
    ),
    "pod: all": delete(PODS),
    "pod: creation": Call(PODS, method="POST", body=a_pod("new", "mine")),
    "node: all": delete(NODES),
    "pool: deletion": delete(f"{POOLS}/bounded"),
}
"""Without any policy: no rule of a role allows them."""
