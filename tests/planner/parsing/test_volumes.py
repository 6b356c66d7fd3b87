"""Claims, volumes, classes and CSINodes, with the defaults of the API and the drivers of plugins in the tree."""

from typing import Any

import pytest

from planner.objects.kinds import Requirement
from planner.objects.predicates import NEVER
from planner.objects.storage import Claim, StorageClass, Volume, VolumeNeed
from planner.parsing.objects import (
    UnreadableObject,
    parse_claim,
    parse_csi_node,
    parse_namespace,
    parse_storage_class,
    parse_volume,
)
from tests.builders import DRIVER, claim, csi_node, differing, storage_class, volume
from tests.planner.wishes import ZONE

GIB = 2**30


def test_a_claim_that_waits():
    raw = differing(claim("data"), {"spec": {"selector": {"matchLabels": {"disk": "ssd"}}, "volumeMode": "Block"}})
    assert parse_claim(raw) == Claim(
        namespace="default",
        name="data",
        uid="uid-claim-data",
        need=VolumeNeed("waits", 10 * GIB, frozenset({"ReadWriteOnce"}), "Block"),
        selector=(Requirement("disk", "In", ("ssd",)),),
    )


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({}, "is_bound", False),
        ({"spec": {"volumeName": "v"}}, "is_bound", False),
        (
            {"spec": {"volumeName": "v"}, "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": ""}}},
            "is_bound",
            True,
        ),
        ({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": ""}}}, "is_bound", False),
        ({"status": {"phase": "Lost"}}, "is_lost", True),
        ({"metadata": {"deletionTimestamp": "2026-03-01T11:00:00Z"}}, "is_terminating", True),
        (
            {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}},
            "selected_node",
            "n1",
        ),
    ],
)
def test_states_of_a_claim(change: dict[str, Any], field: str, value: object):
    assert getattr(parse_claim(differing(claim("data"), change)), field) == value


def test_the_old_annotation_of_the_class_comes_first():
    old = {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}}
    assert parse_claim(differing(claim("data"), old)).need.storage_class == "old"
    assert parse_volume(differing(volume("v"), old)).offer.storage_class == "old"


def test_a_volume():
    raw = differing(volume("v", zone="a", labels={"x": "y"}), {"spec": {"volumeAttributesClassName": "gold"}})
    raw["spec"]["claimRef"] = {"namespace": "shop", "name": "data", "uid": "u"}
    assert parse_volume(raw) == Volume(
        name="v",
        offer=VolumeNeed("waits", 10 * GIB, frozenset({"ReadWriteOnce"}), "Filesystem", "gold"),
        labels={"x": "y"},
        node_affinity=((Requirement(ZONE, "In", ("a",)),),),
        located=((Requirement(ZONE, "In", ("a",)),),),
        claim="shop/data",
        claim_uid="u",
        phase="Bound",
        is_retained=True,
        driver=DRIVER,
        handle="handle-v",
    )


@pytest.mark.parametrize(("phase", "is_available"), [("Available", True), (None, True), ("Pending", False)])
def test_a_volume_from_a_file_is_available(phase: str | None, *, is_available: bool):
    assert parse_volume(differing(volume("v"), {"status": {"phase": phase}})).is_available == is_available


@pytest.mark.parametrize(
    ("affinity", "terms"),
    [
        ({}, ()),
        ({"required": {"nodeSelectorTerms": []}}, ((NEVER,),)),
        ({"required": {"nodeSelectorTerms": [{}]}}, ((NEVER,),)),
        # The scheduler looks at labels only, so that a term of nothing but fields is met by every node.
        (
            {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                    ]
                }
            },
            ((),),
        ),
    ],
)
def test_node_affinity_of_a_volume(affinity: dict[str, Any], terms: tuple):
    raw = volume("v")
    raw["spec"]["nodeAffinity"] = affinity
    assert parse_volume(raw).node_affinity == terms


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "ebs.csi.aws.com", "vol-1"),
        ({"azureDisk": {"diskName": "d", "diskURI": "/disks/d"}}, "disk.csi.azure.com", "/disks/d"),
        ({"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org", "c"),
        ({"gcePersistentDisk": {"pdName": "p"}}, "pd.csi.storage.gke.io", "p"),
        ({"portworxVolume": {"volumeID": "x"}}, "pxd.portworx.com", "x"),
        ({"nfs": {"server": "s", "path": "/"}}, "", ""),
        ({"local": {"path": "/mnt"}}, "", ""),
    ],
)
def test_volumes_of_plugins_in_the_tree_count_for_their_csi_driver(source: dict[str, Any], driver: str, handle: str):
    raw = volume("v")
    del raw["spec"]["csi"]
    made = parse_volume(differing(raw, {"spec": source}))
    assert (made.driver, made.handle) == (driver, handle)


@pytest.mark.parametrize(
    ("provisioner", "driver"),
    [
        (DRIVER, DRIVER),
        ("kubernetes.io/no-provisioner", ""),
        ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
        ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
        ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ],
)
def test_who_makes_the_volumes_of_a_class(provisioner: str, driver: str):
    assert parse_storage_class(storage_class(provisioner=provisioner)) == StorageClass("waits", driver, waits=True)


def test_a_class_binds_at_once_unless_it_says_otherwise():
    raw = storage_class()
    del raw["volumeBindingMode"]
    assert not parse_storage_class(raw).waits


def test_allowed_topologies():
    raw = storage_class("waits", "a", "b")
    raw["allowedTopologies"].append({})
    assert parse_storage_class(raw).allowed_topologies == ((Requirement(ZONE, "In", ("a", "b")),), (NEVER,))


def test_limits_of_a_csi_node():
    assert parse_csi_node(csi_node("n", 16)).limits == {DRIVER: 16}
    assert parse_csi_node(differing(csi_node("n", 16), {"spec": {"drivers": [{"name": DRIVER}]}})).limits == {}


def test_topology_keys_of_a_csi_node_are_those_of_all_its_drivers():
    both = csi_node("n", 16, keys=("a.example/zone", "a.example/type"))
    both["spec"]["drivers"].append({"name": "b", "nodeID": "n", "topologyKeys": ["b.example/zone"]})
    both["spec"]["drivers"].append({"name": "c", "nodeID": "n", "topologyKeys": None})
    assert parse_csi_node(both).topology_keys == {"a.example/zone", "a.example/type", "b.example/zone"}


def test_a_namespace_always_has_the_label_of_its_name():
    assert parse_namespace({"metadata": {"name": "shop", "labels": {"a": "b"}}}) == (
        "shop",
        {"a": "b", "kubernetes.io/metadata.name": "shop"},
    )


@pytest.mark.parametrize(
    ("parse", "raw", "message"),
    [
        (
            parse_claim,
            differing(claim("data"), {"spec": {"resources": {"requests": {"storage": "big"}}}}),
            "PersistentVolumeClaim default/data: spec.resources.requests.storage: 'big' is not a quantity",
        ),
        (
            parse_volume,
            differing(volume("v"), {"spec": {"accessModes": "ReadWriteOnce"}}),
            "PersistentVolume v: spec.accessModes: 'ReadWriteOnce' is not a list",
        ),
        (
            parse_storage_class,
            differing(storage_class(), {"allowedTopologies": [{"matchLabelExpressions": [{"values": ["a"]}]}]}),
            "StorageClass waits: allowedTopologies[0].matchLabelExpressions[0].key: a name is needed",
        ),
        (
            parse_csi_node,
            differing(csi_node("n", 1), {"spec": {"drivers": [{"name": "d", "allocatable": {"count": "1"}}]}}),
            "CSINode n: spec.drivers[0].allocatable.count: '1' is not a whole number",
        ),
    ],
)
def test_what_cannot_be_read_is_named(parse: Any, raw: dict[str, Any], message: str):
    with pytest.raises(UnreadableObject) as raised:
        parse(raw)
    assert str(raised.value).startswith(message)
