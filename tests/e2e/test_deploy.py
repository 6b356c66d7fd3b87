"""The kustomize base on a real API server, and the worker under the account that it makes."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from activities.round.provisioning_requests import NOT_SERVED
from planner.parsing.capacity_buffers import READ, ROOM_KEPT, TEMPLATE_NOT_FOUND
from tests.builders import as_sent, deployment, hetzner_node_class, node_pool, node_request
from tests.e2e import capacity_buffers
from tests.e2e.cluster_view import NAMESPACE, ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.installed_base import calls, installed, refused
from tests.e2e.provisioning_requests import answers, ask, forget
from tests.e2e.scene import account_kubeconfig, scene
from tests.e2e.workloads import removal, single_pod
from tests.project.deploy_base import ROOT, one

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:growth"
ACCOUNTS = f"system:serviceaccounts:{NAMESPACE}"
POOL = as_sent(
    node_pool(
        types=["cx22", "cx32"],
        limits={"max": 5},
        scaleUp={"unavailableTTL": "5m", "recordTTL": "1s"},
        scaleDown={
            "mode": "drain",
            "idleAfter": "1s",
            "softGrace": "3s",
            "hardGrace": "5s",
            # Asked for, and not served here: no machine goes for that.
            "node": {"basis": "usage"},
        },
    )
)
SOLD_OUT = [{"serverType": "cx22", "call": "create", "error": "capacity"}]
CLASS = [
    {"op": "add", "path": "/spec/faults", "value": SOLD_OUT},
    # Nodes of cx32 state their device late.
    {"op": "add", "path": "/spec/serverTypes/1/capacity/example.com~1device", "value": "1"},
    {"op": "add", "path": "/spec/serverTypes/1/startup", "value": {"devicesAfter": "1s"}},
]
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "hetzner", "namespace": NAMESPACE},
    "stringData": {"token": "0123456789abcdef" * 4},
}
READS = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "growth-hetzner", "namespace": NAMESPACE},
    "rules": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["hetzner"], "verbs": ["get"]}],
}
BOUND = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": READS["metadata"],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "growth-hetzner"},
    "subjects": [{"kind": "ServiceAccount", "name": "growth", "namespace": NAMESPACE}],
}
"""As deploy/hetzner brings them with a class."""
HETZNER = as_sent(hetzner_node_class(tokenSecretRef={"namespace": NAMESPACE, "name": "hetzner"}))
# It fails before the cloud is asked, which could not tell that there is no server.
OF_HETZNER = {"classRef": {"kind": "HetznerNodeClass", "name": "default"}}
BY_HAND = as_sent(node_request("by-hand", "cx23", pool="nowhere", by_hand=True, spec=OF_HETZNER))
DENIED = [
    ("get", "", "secrets", NAMESPACE),
    ("list", "", "secrets", NAMESPACE),
    ("get", "", "secrets", "kube-system"),
    ("list", "", "secrets", None),
    ("get", "", "configmaps", "kube-system"),
    ("update", "coordination.k8s.io", "leases", "kube-system"),
    ("create", "", "pods", "default"),
    ("create", "", "pods/exec", "default"),
    ("patch", "", "pods/status", "default"),
    ("create", "", "serviceaccounts/token", NAMESPACE),
    ("create", "", "namespaces", None),
    ("get", "", "nodes/proxy", None),
    ("update", "", "nodes/status", None),
    ("delete", "growth.dev", "nodepools", None),
    ("delete", "apiextensions.k8s.io", "customresourcedefinitions", None),
    ("get", "apiextensions.k8s.io", "customresourcedefinitions", None),
    ("escalate", "rbac.authorization.k8s.io", "clusterroles", None),
    ("bind", "rbac.authorization.k8s.io", "clusterroles", None),
    ("create", "rbac.authorization.k8s.io", "clusterrolebindings", None),
    ("impersonate", "", "users", None),
    ("patch", "admissionregistration.k8s.io", "validatingadmissionpolicies", None),
    ("delete", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", None),
    ("patch", "rbac.authorization.k8s.io", "clusterrolebindings", None),
]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

Right = tuple[str, str, str]
"""Group, resource with its subresource, verb."""


def used(made: list[dict[str, Any]]) -> set[Right]:
    """Return the rights that the calls needed."""
    rights: set[Right] = set()
    for call in made:
        subject = call["objectRef"]
        resource = "/".join(part for part in (subject["resource"], subject.get("subresource")) if part)
        rights.add((subject.get("apiGroup", ""), resource, call["verb"]))
    return rights


def granted(objects: list[dict[str, Any]]) -> set[Right]:
    """Return the rights that the base gives."""
    rules = one(objects, "ClusterRole")["rules"] + one(objects, "Role")["rules"]
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def may(plane: ControlPlane, verb: str, group: str, resource: str, namespace: str | None, *, name: str = "") -> bool:
    """Return whether the API server would let the account do it: to all objects, if none is named."""
    plural, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "subresource": subresource, "name": name}
    asked["namespace"] = namespace or ""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": ACCOUNT,
            "groups": [ACCOUNTS, "system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": asked,
        },
    }
    return json.loads(plane.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(review)))["status"]["allowed"]


def test_the_account_may_do_what_the_worker_does_and_nothing_else(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with (
        installed(plane) as objects,
        scene(
            plane,
            tmp_path,
            cluster="account",
            separate=False,
            kubeconfig=account_kubeconfig(plane, tmp_path),
            quick=True,
        ) as growth,
    ):
        assert may(plane, "patch", "", "nodes", None)
        assert [what for what in DENIED if may(plane, *what)] == []
        # The fence of an earlier scenario, which would not have to be made.
        plane.kubectl("delete", "lease", "growth-round", "-n", NAMESPACE, "--ignore-not-found")
        before = len(calls(plane))
        view = ClusterView(plane)
        plane.replace(POOL)
        plane.kubectl("patch", "kwoknodeclasses", "default", "--type=json", "-p", json.dumps(CLASS))
        for body in (SECRET, HETZNER):
            plane.kubectl("create", "-f", "-", stdin=json.dumps(body))
        growth.start()
        try:
            _without_right(plane)
            # Defined while the worker runs, which follows the kind from then on.
            ask(plane)
            _looked_up(plane)
            _cancelled_by_hand(plane, view)
            _there_and_back(plane, view)
            _drained_by_hand(plane, view)
            _answered(plane)
            _buffered(plane, view)
            plane.kubectl("delete", "nodepools.growth.dev", "default", "--timeout=30s")
        except BaseException:
            # A missing right shows first as something that does not happen.
            print("refused:", *sorted(set(refused(calls(plane)[before:]))), sep="\n  ")
            raise
        finally:
            forget(plane)
            capacity_buffers.forget(plane)
            plane.kubectl("delete", "secret", "hetzner", "-n", NAMESPACE)
            plane.kubectl("delete", "role,rolebinding", "growth-hetzner", "-n", NAMESPACE)
        made = calls(plane)[before:]
        # By RBAC or a policy; the Secret until its right came.
        assert {call for call in refused(made) if "/secrets/hetzner" not in call} == set()
        assert used(made) == granted(objects) | {("", "secrets", "get")}


def _answered(plane: ControlPlane) -> None:
    """A ProvisioningRequest is told that nobody serves it, some time after it was made."""
    plane.wait_for(
        lambda: answers(plane) == [("Failed", "True", NOT_SERVED)], "the ProvisioningRequest is answered", 120
    )


def _buffered(plane: ControlPlane, view: ClusterView) -> None:
    """A CapacityBuffer has a machine as long as it is there; one whose template is not there is told so."""
    capacity_buffers.define(plane)
    capacity_buffers.make(plane)
    kept = [("ReadyForProvisioning", "True", READ), ("Provisioning", "True", ROOM_KEPT)]
    plane.wait_for(lambda: capacity_buffers.told(plane, "web") == kept, "the buffer is told of its room", 120)
    missing = [("ReadyForProvisioning", "False", TEMPLATE_NOT_FOUND)]
    for kind in capacity_buffers.SCALABLE:
        plane.wait_for(lambda kind=kind: capacity_buffers.told(plane, kind.lower()) == missing, f"{kind} is missed", 30)
    plane.wait_for(lambda: len(view.nodes()) == 1, "a machine is there for the buffer", 60)
    plane.kubectl("delete", capacity_buffers.NAME, "--all", "-n", "default", "--timeout=30s")
    plane.wait_for(lambda: not view.nodes() and not view.servers(), "it goes with the buffer", 90)
    plane.wait_for(lambda: not view.items("noderemovalrequests"), "its removal has ended", 90)


def _without_right(plane: ControlPlane) -> None:
    """The class whose Secret may not be read names the role that lacks, and goes on when it is there."""

    def says_so() -> bool:
        ready = _ready_of_class(plane)
        return ready.get("reason") == "InvalidToken" and "resourceNames: [hetzner]" in ready["message"]

    plane.wait_for(says_so, "the class says which right lacks", 60)
    for body in (READS, BOUND):
        plane.kubectl("create", "-f", "-", stdin=json.dumps(body))
    # A cloud that does not answer says nothing of a class that was looked up before: it has to be another one.
    plane.kubectl("patch", "hetznernodeclasses", "default", "--type=merge", "-p", '{"spec":{"locations":["fsn1"]}}')
    assert may(plane, "get", "", "secrets", NAMESPACE, name="hetzner")
    assert not may(plane, "get", "", "secrets", NAMESPACE, name="another")


def _looked_up(plane: ControlPlane) -> None:
    """The class of a cloud that does not answer says so: its token was read, and its status could be written."""
    plane.wait_for(
        lambda: _ready_of_class(plane).get("reason") == "ProjectUnreachable",
        "the class says that its project cannot be reached",
        60,
    )
    plane.kubectl("create", "-f", "-", stdin=json.dumps(BY_HAND))
    view = ClusterView(plane)
    plane.wait_for(
        lambda: "Failed" in view.phases("noderequests"), "a request for its machine has looked for the class and fails"
    )
    plane.kubectl("delete", "noderequest", "by-hand", "--timeout=30s")


def _ready_of_class(plane: ControlPlane) -> dict[str, str]:
    node_class = plane.api.get("hetznernodeclasses", "default") or {}
    conditions = {each["type"]: each for each in node_class.get("status", {}).get("conditions", ())}
    return conditions.get("Ready", {})


def _there_and_back(plane: ControlPlane, view: ClusterView) -> None:
    """A pod gets a machine of the type that is not sold out, its record goes; without pods the machine goes."""
    plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod("first", "1500m")))
    plane.wait_for(lambda: view.running() == 1, "the pod runs")
    (node,) = view.nodes().values()
    assert node["metadata"]["labels"]["growth.dev/server-type"] == "cx32"
    name = node["metadata"]["name"]
    plane.wait_for(lambda: name not in _names(view, "noderequests"), "the record of the machine is gone")
    plane.kubectl("delete", "pod", "first", "-n", "default", "--grace-period=0", "--force")
    plane.wait_for(lambda: not view.nodes() and not view.servers(), "the machine is gone")
    # That a server does not exist is believed some seconds after it was asked for, a minute of the product.
    plane.wait_for(lambda: not view.items("noderemovalrequests"), "all removals have ended", 90)


def _drained_by_hand(plane: ControlPlane, view: ClusterView) -> None:
    """A pod of a controller is evicted, one without is deleted when the pool's hardGrace is over."""
    for body in (deployment("web", 1, "100m", "64Mi"), single_pod("bare", "500m")):
        plane.kubectl("create", "-f", "-", stdin=json.dumps(body))
        plane.wait_for(lambda: view.running() == len(view.pods()) == len(view.nodes()), "the pod runs")
        (name,) = view.nodes()
        plane.kubectl("create", "-f", "-", stdin=json.dumps(removal(view.nodes()[name])))
        plane.wait_for(
            lambda name=name: name not in {*view.nodes(), *view.servers()}, "its machine is drained and goes"
        )
        plane.kubectl("delete", "deployments", "--all", "-n", "default", "--wait=true")
        plane.wait_for(lambda: not view.pods() and not view.nodes(), "the machine of its successor goes too")
    plane.wait_for(lambda: not view.items("noderemovalrequests"), "all removals have ended", 90)


def _cancelled_by_hand(plane: ControlPlane, view: ClusterView) -> None:
    """A request that a person deletes before its machine has come takes its server along."""
    _boot_within(plane, "1h")
    plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod("second", "1500m")))
    plane.wait_for(lambda: bool(view.servers()), "a server boots")
    (server,) = view.servers()
    plane.kubectl("delete", "pod", "second", "-n", "default", "--grace-period=0", "--force")
    plane.kubectl("delete", "noderequest", server, "--timeout=30s")
    plane.wait_for(lambda: not view.servers(), "its server is gone")
    _boot_within(plane, "1s")


def _boot_within(plane: ControlPlane, time: str) -> None:
    change = [{"op": "replace", "path": "/spec/serverTypes/1/locations/0/bootTime", "value": time}]
    plane.kubectl("patch", "kwoknodeclasses", "default", "--type=json", "-p", json.dumps(change))


def _names(view: ClusterView, kind: str) -> list[str]:
    return [item["metadata"]["name"] for item in view.items(kind)]


def test_taking_the_definitions_away_ends_all_objects_and_leaves_every_machine(
    control_plane: ControlPlane, tmp_path: Path
):
    plane = control_plane
    with (
        installed(plane),
        scene(
            plane,
            tmp_path,
            cluster="away",
            separate=False,
            kubeconfig=account_kubeconfig(plane, tmp_path),
            quick=True,
        ) as growth,
    ):
        before = len(calls(plane))
        view = ClusterView(plane)
        growth.start()
        plane.wait_for(lambda: view.phases("noderequests") == ["Ready"], "the pool's minimum is Ready")
        machines = set(view.nodes())
        try:
            plane.kubectl("delete", "-k", str(ROOT / "deploy" / "crds"), "--timeout=50s")
            # Other tests on this control plane have definitions of their own.
            assert ".growth.dev" not in plane.kubectl("get", "crds", "-o", "name")
            assert set(view.nodes()) == view.servers() == machines
            assert len(machines) == 1
            assert refused(calls(plane)[before:]) == []
        finally:
            plane.apply_definitions()


def test_the_worker_is_a_pod_that_the_restricted_standard_lets_in(control_plane: ControlPlane):
    plane = control_plane
    with installed(plane) as objects:
        template = one(objects, "Deployment")["spec"]["template"]
        metadata = {"name": "growth", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}
        good = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        bad = deepcopy(good)
        del bad["spec"]["securityContext"]["seccompProfile"]

        def is_refused() -> bool:
            try:
                plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(bad))
            except AssertionError as error:
                return 'violates PodSecurity "restricted' in str(error)
            return False

        # Admission learns of the namespace's label a moment after it is set.
        plane.wait_for(is_refused, "the standard is enforced", 10)
        plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(good))
