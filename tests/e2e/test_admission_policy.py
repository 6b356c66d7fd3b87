"""What Growth's account may do, tried on the API server call by call: what Growth does, and what a thief would do."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.e2e.account_calls import NODES, PODS, Call, Object, label, more_taints, node, pod, put, taint, tolerations
from tests.e2e.account_tries import (
    ALLOWED,
    BEYOND_RBAC,
    FORBIDDEN,
    RESERVED,
    THE_NODES,
    THE_PODS,
    THE_POOL,
    a_node,
    a_pod,
    of_growth,
)
from tests.e2e.api_server import ApiServer, Refused
from tests.e2e.cluster_view import NAMESPACE
from tests.e2e.harness import ControlPlane
from tests.e2e.installed_base import installed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


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
            for name in ("pod: image", "pod: the mark on another's Node", "pool: spec", "node: cordon"):
                # A policy takes effect a moment after it is there.
                plane.wait_for(
                    lambda name=name: refusal(FORBIDDEN[name], api, account) is not None, f"{name} fails", 30
                )
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


def test_whoever_has_the_role_is_bounded_in_whichever_namespace(control_plane: ControlPlane, admin: ApiServer):
    """As an overlay may name account and namespace otherwise: the policies ask the binding, and not for a name."""
    plane = control_plane
    plane.kubectl("create", "namespace", "elsewhere")
    plane.kubectl("create", "serviceaccount", "other", "-n", "elsewhere")
    other = as_account(plane, "other", "elsewhere")
    try:
        assert "cannot patch" in str(refusal(ALLOWED["node: our taint"], admin, other))
        subject = {"kind": "ServiceAccount", "name": "other", "namespace": "elsewhere"}
        change = [{"op": "add", "path": "/subjects/-", "value": subject}]
        plane.kubectl("patch", "clusterrolebinding", "growth", "--type=json", "-p", json.dumps(change))
        plane.wait_for(lambda: refusal(ALLOWED["node: our taint"], admin, other) is None, "it has the role", 30)
        answers = {name: str(refusal(call, admin, other)) for name, call in FORBIDDEN.items()}
        assert [name for name, answer in answers.items() if "ValidatingAdmissionPolicy 'growth-" not in answer] == []
    finally:
        other.close()
        change = [{"op": "remove", "path": "/subjects/1"}]
        plane.kubectl("patch", "clusterrolebinding", "growth", "--type=json", "-p", json.dumps(change))
        plane.kubectl("delete", "namespace", "elsewhere")


def test_the_largest_objects_do_not_exhaust_an_expression(admin: ApiServer, account: ApiServer):
    """An expression that costs too much refuses the call. Source: Kubernetes docs, "CEL in Kubernetes", cost limits."""
    labels = {f"example.com/{index}": "x" * 63 for index in range(1000)}
    many = [taint(f"example.com/{index}", "x" * 63) for index in range(500)]
    large = a_node("large", "hcloud://8", *many, annotations=dict.fromkeys(labels, "y" * 100), **of_growth("large"))
    large["metadata"]["labels"] |= labels
    full = a_pod("full", None, **labels)
    full["spec"]["tolerations"] = [
        {"key": f"example.com/{index}", "operator": "Equal", "value": "x" * 63, "effect": "NoSchedule"}
        for index in range(500)
    ]
    for body in (large, full):
        admin.create(body)
    try:
        for call in (
            node("large", more_taints(taint("growth.dev/scale-down", "1"))),
            node("large", label("node.kubernetes.io/exclude-from-external-load-balancers", "growth")),
            pod("full", tolerations(lambda before: [*before, RESERVED])),
        ):
            assert refusal(call, admin, account) is None
        for call in (node("large", label("team", "b")), pod("full", label("app", "b"))):
            assert "may" in str(refusal(call, admin, account))
    finally:
        admin.call("DELETE", f"{NODES}/large")
        admin.call("DELETE", f"{PODS}/full", gracePeriodSeconds="0")


def test_a_server_side_apply_is_judged_as_a_patch(admin: ApiServer, account: ApiServer):
    def apply(spec: Object) -> None:
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine"}, "spec": spec}
        query = {"fieldManager": "thief", "force": "true", "dryRun": "All"}
        account.call("PATCH", f"{NODES}/mine", body, "application/apply-patch+yaml", **query)

    with pytest.raises(Refused, match="may change the taints of a Node"):
        apply({"unschedulable": True})
    with pytest.raises(Refused, match="may neither change nor remove taints of others"):
        apply({"taints": [taint("example.com/x")]})
    apply({})


def test_nobody_is_refused_while_the_api_server_starts(control_plane: ControlPlane, admin: ApiServer):
    """A policy whose parameter was not read yet refuses all; bindings of roles are read before the first call.

    Source: kubernetes/kubernetes#141367, and #130887 for one that was deleted and came again, as here by other tests.
    """
    plane = control_plane
    plane.stop("kube-apiserver")
    plane.start("kube-apiserver")
    plane.wait_for(admin.answers, "the API server is back")
    account = as_account(plane, "growth")
    calls: dict[str, Call] = {
        "a person's cordon": node("control", put("spec", "unschedulable", value=True)),
        "a person's label": pod("runs", label("a", "b")),
    }
    assert {name: str(answer) for name, call in calls.items() if (answer := refusal(call, admin, admin))} == {}
    assert {name: str(answer) for name, call in ALLOWED.items() if (answer := refusal(call, admin, account))} == {}
    assert [name for name, call in FORBIDDEN.items() if refusal(call, admin, account) is None] == []
    account.close()
