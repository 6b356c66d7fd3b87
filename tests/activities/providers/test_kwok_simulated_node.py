"""Which Nodes are KWOK's: those of public reports and of other tools that play or copy Nodes, each as it is there."""

import pytest

from activities.providers.kinds import provider_kinds
from activities.providers.kwok.simulated_node import is_simulated
from api.v1alpha1.kwok_node_class import KwokNodeClass

FAKE = {"kwok.x-k8s.io/node": "fake"}


def node(provider_id=None, kubelet=None, **metadata):
    info = None if kubelet is None else {"kubeletVersion": kubelet, "machineID": "", "bootID": ""}
    return {
        "metadata": {"name": "n", **metadata},
        "spec": {} if provider_id is None else {"providerID": provider_id},
        "status": {} if info is None else {"nodeInfo": info},
    }


SIMULATED = {
    "Growth's own": node("kwok://prod/default-a1", "kwok-v0.8.0", annotations=FAKE),
    "Growth's own that KWOK shall not play": node("kwok://prod/default-a1"),
    # Source: kubernetes/autoscaler pull 5820: a copy of a kind worker, with its kubelet, and no slashes in the id.
    "Cluster Autoscaler's": node("kwok:ng-2-62588", "v1.26.3", annotations=FAKE),
    # Source: kubernetes-sigs/karpenter, kwok/cloudprovider.
    "Karpenter's": node("kwok://boring-hopper-12", "fake", annotations=FAKE),
    # Source: aws/karpenter-provider-aws pull 8104, kwok/ec2.
    "Karpenter's for AWS": node("kwok-aws:///us-west-2a/i-0123"),
    # Source: kubernetes-sigs/kwok issue 274, and KWOK's docs, "Manage Nodes and Pods".
    "of KWOK's docs": node(None, "fake", annotations=FAKE),
    "of kwokctl scale": node(None, "kwok-v0.6.0", annotations=FAKE, labels={"kwok.x-k8s.io/kwokctl-scale": "node"}),
    # --manage-all-nodes, --manage-nodes-with-label-selector: without the annotation; the stage fills in the version.
    "chosen by a label": node(None, "kwok-v0.8.0", labels={"type": "kwok"}),
    "copied from a machine without an id": node(None, "v1.33.1", annotations=FAKE),
    "without any kubelet yet": node(None, ""),
    "without a status": node(),
    "with an empty id": node("", "fake"),
}
REAL = {
    "Hetzner": node("hcloud://42", "v1.33.1"),
    "AWS, without a status yet": node("aws:///eu-central-1a/i-0123"),
    "a copy of a cloud's Node, annotated": node("aws:///eu-central-1a/i-0123", "v1.33.1", annotations=FAKE),
    "kind": node("kind://docker/kind/kind-control-plane", "v1.33.1"),
    "k3d and k3s": node("k3s://k3d-dev-server-0", "v1.33.1+k3s1"),
    "Talos": node("talos://metal/10.0.0.1", "v1.33.1"),
    "RKE2": node("rke2://node-1", "v1.33.1+rke2r1"),
    "a Hetzner root server": node("hrobot://42", "v1.33.1"),
    "EKS hybrid": node("eks-hybrid:///eu-central-1/prod/mi-0123", "v1.33.1-eks-1"),
    "a hollow node of kubemark": node("kubemark://hollow-1", "v1.33.1"),
    # Source: kubernetes/autoscaler issue 6546, kubermatic/machine-controller issue 564: no cloud controller, no id.
    "bare metal": node(None, "v1.33.1"),
    "minikube, Docker Desktop": node(None, "v1.33.1"),
    "k0s": node(None, "v1.33.1+k0s"),
    "a virtual kubelet": node(None, "v1.15.2-vk-azure-aci-v1.4.0"),
    "registered a moment ago, NotReady": node(None, "v1.33.1", creationTimestamp="2026-11-01T12:00:00Z"),
    "being deleted": node("hcloud://42", "v1.33.1", deletionTimestamp="2026-11-01T12:00:00Z"),
    "annotated, but not for KWOK": node(None, "v1.33.1", annotations={"kwok.x-k8s.io/node": "real"}),
    "an id that only begins alike": node("kwokker://a", "kwok-v0.8.0"),
    "an id without a scheme": node("i-0123", "kwok-v0.8.0", annotations=FAKE),
    "a kubelet whose version only begins alike": node(None, "kwokker"),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_a_node_that_runs_nothing(name):
    assert is_simulated(SIMULATED[name])


@pytest.mark.parametrize("name", REAL)
def test_a_node_that_runs_pods(name):
    assert not is_simulated(REAL[name])


def test_fields_that_are_null_are_absent_ones():
    empty = {"metadata": {"name": "n", "annotations": None}, "spec": None, "status": {"nodeInfo": None}}
    assert is_simulated(empty)
    assert not is_simulated(empty | {"status": {"nodeInfo": {"kubeletVersion": "v1.33.1"}}})


def test_only_kwok_is_registered_as_simulated():
    simulated = [kind for kind in provider_kinds() if kind.is_simulated is not None]
    assert [kind.model for kind in simulated] == [KwokNodeClass]
    assert simulated[0].is_simulated is is_simulated
