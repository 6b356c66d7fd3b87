"""Pods that belong to their node without a DaemonSet, and what their annotations say.

Source: Longhorn, instance-manager pods; issue longhorn/longhorn#2203; Cluster Autoscaler, FAQ.
"""

import pytest

from planner.objects.eviction import is_per_node, misread, wish

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
OURS = "growth.dev/safe-to-evict"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def made(*, owner=("InstanceManager", "x"), node="m-1", labels=None, said="true", controller=True, **spec):
    """Metadata and spec of a pod like Longhorn's instance-manager."""
    metadata = {"labels": labels or {}, "annotations": {} if said is None else {SAFE: said}}
    if owner is not None:
        kind, name = owner
        metadata["ownerReferences"] = [{"kind": kind, "name": name, "uid": "u", "controller": controller}]
    return metadata, ({"nodeName": node} if node else {}) | spec


def affinity(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


HOST = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["m-1"]}]}
FIELD = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m-1"]}]}
TWO = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["m-1", "m-2"]}]}
ZONE = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}
LABELLED = {"longhorn.io/node": "m-1"}


@pytest.mark.parametrize(
    "pod",
    [
        made(labels=LABELLED),
        made(nodeSelector={"kubernetes.io/hostname": "m-1"}),
        made(affinity=affinity(FIELD)),
        made(affinity=affinity(HOST, FIELD)),
        made(owner=("Agent", "m-1")),
        made(owner=("Agent", "agent-m-1")),
        made(owner=("Agent", "m-1-agent")),
        made(labels=LABELLED, said=" True "),
    ],
)
def test_belongs_to_its_node(pod):
    assert is_per_node(*pod)


@pytest.mark.parametrize(
    "pod",
    [
        made(),
        made(labels=LABELLED, said=None),
        made(labels=LABELLED, said="false"),
        made(labels=LABELLED, said="maybe"),
        made(labels=LABELLED, owner=None),
        made(labels=LABELLED, controller=False),
        made(labels=LABELLED, node=""),
        made(labels=LABELLED, node="m-2"),
        made(affinity=affinity(TWO)),
        made(affinity=affinity(HOST, ZONE)),
        made(affinity=affinity()),
        made(owner=("Agent", "form-1")),
        *(made(labels=LABELLED, owner=(kind, "m-1")) for kind in ("ReplicaSet", "StatefulSet", "Job", "GameServer")),
    ],
)
def test_is_somebodys_work(pod):
    assert not is_per_node(*pod)


@pytest.mark.parametrize(
    "pod",
    [
        ({"annotations": None, "labels": None, "ownerReferences": None}, {"nodeName": "m-1"}),
        ({"annotations": {SAFE: ["true"]}, "labels": [], "ownerReferences": {}}, {"nodeName": "m-1", "affinity": []}),
    ],
)
def test_a_broken_pod_is_somebodys_work(pod):
    assert not is_per_node(*pod)


@pytest.mark.parametrize(
    ("annotations", "said", "told"),
    [
        ({}, None, ""),
        ({SAFE: "true"}, (SAFE, True), ""),
        ({SAFE: "TRUE"}, (SAFE, True), ""),
        ({SAFE: "false"}, (SAFE, False), ""),
        ({SAFE: "on-completion"}, (SAFE, False), ""),
        ({OURS: "false", SAFE: "true"}, (OURS, False), ""),
        ({SAFE: ""}, None, ""),
        ({SAFE: "yes"}, None, f"{SAFE}=yes has no effect: say true, false, on-completion"),
        ({OURS: "no\nway", SAFE: "true"}, (SAFE, True), f"{OURS}=no way has no effect: say true, false, on-completion"),
    ],
)
def test_words(annotations, said, told):
    assert (wish(annotations), misread(annotations)) == (said, told)
