"""What Growth's account may do, tried on the API server call by call: what Growth does, and what a thief would do."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

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
from tests.e2e.api_server import ApiServer, Refused
from tests.e2e.cluster_view import NAMESPACE
from tests.e2e.harness import ControlPlane
from tests.e2e.installed_base import installed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

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
)

ALLOWED: Final[dict[str, Call]] = {
    "pod: our toleration": pod("waits", tolerations(lambda before: [*before, RESERVED])),
    "pod: the mark of one that is deleted": pod("runs", label(MARK, "true")),
    "pod: deletion of a marked one": delete(f"{PODS}/last", **ITS),
    "pod: eviction": evict("apart", **ITS),
    "node: registration": node("fresh", REGISTERS),
    "node: its start given up": node("fresh", more_taints(taint("growth.dev/scale-down", "2"))),
    "node: our taint": node("mine", more_taints(taint("growth.dev/reserved", "mine"))),
    "node: no taint of ours": node("mine", no_taint("growth.dev/scale-down")),
    "node: a stale taint of ours on another's": node("control", no_taint("growth.dev/reserved")),
    "node: our annotations": node(
        "mine", annotation("growth.dev/idle-since", None), annotation("growth.dev/spared-at", "x")
    ),
    "node: abandoned": node("told", annotation("growth.dev/do-not-remove", "abandoned")),
    "node: off the load balancers": node("mine", label(LATER, "growth")),
    "node: back on them": node("told", label(LATER, None)),
    "node: deletion": delete(f"{NODES}/mine", **ITS),
    "node: deletion of one that never registered": delete(f"{NODES}/fresh", **ITS),
    "node of KWOK: creation": create(KWOKS),
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
    "node: creation with another provider id": create(another(providerID="hcloud://7")),
    "node: creation without the first taint": create(another(taints=[])),
    "node of KWOK: provider id": node("fake", put("spec", "unschedulable", value=True)),
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


@pytest.fixture(scope="module")
def admin(control_plane: ControlPlane) -> Iterator[ApiServer]:
    """Lend the admin's connection to a cluster with the base on it and the objects that are tried."""
    plane = control_plane
    with installed(plane):
        api = plane.api
        plane.kubectl("create", "serviceaccount", "another", "-n", NAMESPACE)
        for item in THE_NODES:
            api.create(item)
        plane.kubectl(
            "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [*THE_PODS, THE_POOL]})
        )
        try:
            account = as_account(plane, "growth")
            # Policies take effect a moment after they are there.
            plane.wait_for(lambda: refusal(FORBIDDEN["pod: image"], api, account) is not None, "policies act", 30)
            plane.wait_for(lambda: refusal(FORBIDDEN["pool: spec"], api, account) is not None, "policies act", 30)
            plane.wait_for(lambda: refusal(FORBIDDEN["node: cordon"], api, account) is not None, "policies act", 30)
            account.close()
            yield api
        finally:
            for item in THE_PODS:
                with suppress(Refused):
                    api.call("DELETE", f"{PODS}/{item['metadata']['name']}", gracePeriodSeconds="0")
            for item in THE_NODES:
                with suppress(Refused):
                    api.call("DELETE", f"{NODES}/{item['metadata']['name']}")
            plane.kubectl("patch", "nodepools", "bounded", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
            plane.kubectl("delete", "nodepools", "bounded")
            plane.kubectl("delete", "serviceaccount", "another", "-n", NAMESPACE)


def as_account(plane: ControlPlane, name: str, namespace: str = NAMESPACE) -> ApiServer:
    """Return a connection with a token of the service account."""
    token = plane.kubectl("create", "token", name, "-n", namespace).strip()
    return ApiServer(plane.url, plane.folder / "certificates" / "apiserver.crt", token)


@pytest.fixture(scope="module")
def account(control_plane: ControlPlane, admin: ApiServer) -> Iterator[ApiServer]:
    caller = as_account(control_plane, "growth")
    yield caller
    caller.close()


def refusal(call: Call, admin: ApiServer, caller: ApiServer) -> Refused | None:
    """Return how the API server refuses the call, or None if it does not."""
    try:
        call.make(admin, caller)
    except Refused as refused:
        return refused
    return None


def test_the_account_may_do_all_that_growth_does(admin: ApiServer, account: ApiServer):
    refused = {name: str(answer) for name, call in ALLOWED.items() if (answer := refusal(call, admin, account))}
    assert refused == {}


def test_the_account_may_do_nothing_else(admin: ApiServer, account: ApiServer):
    answers = {name: refusal(call, admin, account) for name, call in FORBIDDEN.items()}
    assert [name for name, answer in answers.items() if answer is None] == []
    # By a policy that says what it may do instead, and not because the call itself makes no sense.
    others = {
        name: str(answer) for name, answer in answers.items() if "ValidatingAdmissionPolicy 'growth-" not in str(answer)
    }
    assert others == {}
    errors = [str(answer) for answer in answers.values() if "expression" in str(answer)]
    assert errors == [], "an expression that fails refuses whatever it is asked"
    assert {answer.code for answer in answers.values() if answer is not None} == {403}


def test_calls_that_no_role_allows_need_no_policy(admin: ApiServer, account: ApiServer):
    answers = {name: refusal(call, admin, account) for name, call in BEYOND_RBAC.items()}
    assert [name for name, answer in answers.items() if answer is None or "cannot" not in str(answer)] == []


def test_the_same_calls_of_others_are_judged_by_none(admin: ApiServer):
    """The mark alone, without which the account deletes nothing, is put on a pod of another's Node by nobody."""
    answers = {name: refusal(call, admin, admin) for name, call in FORBIDDEN.items()}
    policies = {name for name, answer in answers.items() if "ValidatingAdmissionPolicy" in str(answer)}
    assert policies == {"pod: the mark on another's Node", "pod: the mark on one that waits"}


def test_the_api_server_finds_no_fault_in_the_policies(control_plane: ControlPlane, admin: ApiServer):
    """Source: Kubernetes docs, "Validating Admission Policy", type checking."""

    def checked() -> list[Object]:
        items = json.loads(control_plane.kubectl("get", "validatingadmissionpolicies", "-o", "json"))["items"]
        return [
            item for item in items if item.get("status", {}).get("observedGeneration") == item["metadata"]["generation"]
        ]

    control_plane.wait_for(lambda: len(checked()) == 4, "all policies are checked", 30)
    warnings = {item["metadata"]["name"]: item["status"].get("typeChecking") for item in checked()}
    assert set(warnings) == {"growth-deleted-pods", "growth-nodes", "growth-pods", "growth-pools"}
    assert all(each == {} for each in warnings.values())
