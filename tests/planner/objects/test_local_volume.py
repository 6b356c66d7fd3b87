"""Which volumes have their data on one machine alone.

Source: manifests of rancher/local-path-provisioner, topolvm/topolvm, openebs/lvm-localpv, hetznercloud/csi-driver, and
Kubernetes docs, "Volumes: local".
"""

import pytest

from planner.objects import local_volume as module
from planner.objects.local_volume import VolumeHost, local_volumes, named
from planner.objects.predicates import selects
from tests.builders import claim, node, volume
from tests.planner.scenes import scene

HOSTNAME = "kubernetes.io/hostname"
REF = {"namespace": "default", "name": "data"}


def on_node(name="n", *, key=HOSTNAME, **more):
    """A volume of the claim that names the host by this label."""
    return volume("pv", zone=name, key=key, claimRef=REF, **more)


def terms(*terms, phase="Bound", **more):
    affinity = {"required": {"nodeSelectorTerms": list(terms)}}
    return volume("pv", claimRef=REF, nodeAffinity=affinity, **more) | {"status": {"phase": phase}}


def asks(key, *values, operator="In"):
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def found(*objects, shared=(), name="n"):
    snapshot = scene(*objects).snapshot()
    host = next(each for each in snapshot.nodes if each.name == name)
    return [str(v) for v in local_volumes(snapshot.volumes, snapshot.nodes).on(VolumeHost(name, host.labels, shared))]


def with_phase(item, phase):
    return item | {"status": {"phase": phase} if phase else {}}


DATA = ["volume pv of claim default/data"]
N, M = node("n"), node("m")
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
HERE = {
    "local-path": (N, M, on_node()),
    "local-path on the only machine": (N, on_node()),
    "a host name that is not the Node's": (
        node("n", labels={HOSTNAME: "n.internal"}),
        M,
        on_node("n.internal"),
    ),
    "the name as a field": (N, M, terms(NAMED)),
    "name and zone": (N, M, terms(asks("topology.kubernetes.io/zone", "fsn1") | NAMED)),
    "TopoLVM": (node("n", labels={"topology.topolvm.io/node": "n"}), M, on_node(key="topology.topolvm.io/node")),
    "OpenEBS": (node("n", labels={"openebs.io/nodename": "n"}), M, on_node(key="openebs.io/nodename")),
    "an id that the driver gave": (
        node("n", labels={"example.com/node-id": "7f3a"}),
        node("m", labels={"example.com/node-id": "81c0"}),
        on_node("7f3a", key="example.com/node-id"),
    ),
    "a label that a person gave": (node("n", labels={"disk": "big"}), M, on_node("big", key="disk")),
    "a label without a value": (node("n", labels={"disk": ""}), M, terms(asks("disk", operator="Exists"))),
    "two replicas": (N, M, terms(asks(HOSTNAME, "n"), asks(HOSTNAME, "m"))),
    "two hosts in one term": (N, M, terms(asks(HOSTNAME, "m", "n"))),
    "this host or another": (N, M, terms(asks(HOSTNAME, "gone"), asks(HOSTNAME, "n"))),
    "being deleted": (N, M, on_node() | {"metadata": {"name": "pv", "deletionTimestamp": "2026-11-01T12:00:00Z"}}),
    "no phase yet, its claim is there": (N, M, with_phase(on_node(), ""), claim("data", "pv")),
    "a phase of a later version, its claim is there": (N, M, with_phase(on_node(), "Moving"), claim("data", "pv")),
    "kept for a claim that is there": (N, M, with_phase(on_node(), "Available"), claim("data")),
}
ELSEWHERE = {
    "another host": (N, M, on_node("m")),
    "a host that is gone": (N, M, on_node("gone")),
    "a zone of two machines": (N, M, volume("pv", zone="fsn1", claimRef=REF)),
    "a zone of one machine": (N, volume("pv", zone="fsn1", claimRef=REF)),
    "a driver's own label for that zone": (
        node("n", labels={"csi.hetzner.cloud/location": "fsn1"}),
        on_node("fsn1", key="csi.hetzner.cloud/location"),
    ),
    "a driver's own name of the zone": (
        node("n", labels={"topology.csi.example/k8s-zone": "east"}),
        on_node("east", key="topology.csi.example/k8s-zone"),
    ),
    "this host or the zone": (N, M, terms(asks(HOSTNAME, "n"), asks("topology.kubernetes.io/zone", "fsn1"))),
    "a type of machine": (N, on_node("cx22", key="node.kubernetes.io/instance-type")),
    "the pool": (N, on_node("default", key="growth.dev/pool")),
    "all but another": (N, M, terms(asks(HOSTNAME, "m", operator="NotIn"))),
    "a label of two": (
        node("n", labels={"disk": "big"}),
        node("m", labels={"disk": "big"}),
        on_node("big", key="disk"),
    ),
    "no affinity": (N, volume("pv", claimRef=REF)),
    "an affinity without terms": (N, terms()),
    "never claimed": (N, M, volume("pv", zone="n", key=HOSTNAME)),
    "free": (N, M, with_phase(on_node(), "Available")),
    "kept for another claim of that name": (
        N,
        M,
        with_phase(on_node() | {"spec": on_node()["spec"] | {"claimRef": REF | {"uid": "old"}}}, "Available"),
        claim("data"),
    ),
    "given back": (N, M, with_phase(on_node(persistentVolumeReclaimPolicy="Delete"), "Released")),
    "could not be deleted": (N, M, with_phase(on_node(), "Failed")),
}


@pytest.mark.parametrize("objects", HERE.values(), ids=HERE)
def test_data_on_the_machine_alone(objects):
    assert found(*objects) == DATA


@pytest.mark.parametrize("objects", ELSEWHERE.values(), ids=ELSEWHERE)
def test_data_that_another_machine_reaches_or_that_nobody_has(objects):
    assert found(*objects) == []


@pytest.mark.parametrize("policy", ["Retain", None])
def test_what_is_retained_outlives_its_claim(policy):
    kept = on_node(**({"persistentVolumeReclaimPolicy": policy} if policy else {}))
    assert found(N, M, with_phase(kept, "Released")) == ["volume pv, retained after its claim default/data"]


def test_a_label_that_the_pool_gives_is_none_of_one_machine():
    labelled = node("n", labels={"disk": "big"})
    assert found(labelled, M, on_node("big", key="disk"), shared=("disk",)) == []


def test_volumes_of_two_hosts_are_on_each():
    objects = (N, M, terms(asks(HOSTNAME, "n"), asks(HOSTNAME, "m")))
    assert found(*objects, name="m") == DATA


def test_the_first_volumes_are_named():
    volumes = [volume(f"pv-{i}", zone="n", key=HOSTNAME, claimRef=REF | {"name": f"data-{i}"}) for i in range(5)]
    snapshot = scene(N, M, *volumes).snapshot()
    local = local_volumes(snapshot.volumes, snapshot.nodes).on(VolumeHost("n", snapshot.nodes[0].labels))
    assert named(local) == (*(f"volume pv-{i} of claim default/data-{i}" for i in range(3)), "2 more")


def test_the_volumes_of_a_zone_are_not_looked_at_for_each_of_its_machines(monkeypatch):
    looked_at = []
    monkeypatch.setattr(module, "selects", lambda term, fields: looked_at.append(term) or selects(term, fields))
    labels = {"topology.kubernetes.io/zone": "fsn1"}
    nodes = [node(f"n-{i}", labels=labels) for i in range(20)]
    of_zone = [volume(f"pv-{i}", zone="fsn1", claimRef=REF | {"name": f"data-{i}"}) for i in range(50)]
    here = volume("pv-here", zone="n-7", key=HOSTNAME, claimRef=REF | {"name": "here"})
    snapshot = scene(*nodes, *of_zone, here).snapshot()
    local = local_volumes(snapshot.volumes, snapshot.nodes)
    on = {each.name: local.on(VolumeHost(each.name, each.labels)) for each in snapshot.nodes}
    assert {name: [each.name for each in volumes] for name, volumes in on.items() if volumes} == {"n-7": ["pv-here"]}
    # 20 machines with 50 volumes each were a thousand looks.
    assert len(looked_at) == 1
