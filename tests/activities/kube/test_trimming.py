"""What a cache keeps: enough for the planner to read the same from it, and no more."""

import pytest

from activities.kube.cache import trimmed
from activities.ports.cluster import (
    CSI_NODES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
)
from benchmarks.dump import Size, objects
from planner.parsing.objects import parse_claim, parse_csi_node, parse_namespace, parse_storage_class, parse_volume

PARSE = {
    NAMESPACES: parse_namespace,
    PERSISTENT_VOLUME_CLAIMS: parse_claim,
    PERSISTENT_VOLUMES: parse_volume,
    STORAGE_CLASSES: parse_storage_class,
    CSI_NODES: parse_csi_node,
}


@pytest.mark.parametrize("resource", PARSE, ids=lambda resource: resource.kind)
def test_the_planner_reads_the_same_from_what_is_kept(resource):
    drawn = [item for item in objects(Size(3, 200), 1, managed_fields=True) if item["kind"] == resource.kind]
    assert drawn
    for item in drawn:
        item["metadata"].setdefault("annotations", {})["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
        whole = PARSE[resource](item)
        left = trimmed(resource, item)
        assert PARSE[resource](left) == whole
        assert "managedFields" not in left["metadata"]
        assert "kubectl.kubernetes.io/last-applied-configuration" not in left["metadata"]["annotations"]


def test_of_a_namespace_only_its_metadata_is_kept():
    item = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}, "spec": {}, "status": {}}
    assert trimmed(NAMESPACES, item) == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}


def test_of_a_pod_everything_but_who_wrote_it():
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    item = {"metadata": {"managedFields": [{}], "annotations": annotations}, "spec": {}, "status": {}, "other": 1}
    assert trimmed(PODS, item) == {"metadata": {"annotations": annotations}, "spec": {}, "status": {}, "other": 1}


def test_of_a_node_everything_but_its_images():
    item = {"metadata": {"name": "a"}, "spec": {}, "status": {"images": [{"names": ["b"]}], "capacity": {"cpu": "2"}}}
    assert trimmed(NODES, item) == {"metadata": {"name": "a"}, "spec": {}, "status": {"capacity": {"cpu": "2"}}}
    assert trimmed(NODES, {"metadata": {"name": "a"}}) == {"metadata": {"name": "a"}}
