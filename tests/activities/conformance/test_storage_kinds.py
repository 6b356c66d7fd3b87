"""Claims, volumes, storage classes and CSINodes: which of them the API server gives a status or counts changes of."""

import pytest

from activities.ports.cluster import CSI_NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from benchmarks.dump import Size, objects

pytestmark = pytest.mark.asyncio(loop_scope="module")

KINDS = (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, CSI_NODES)


async def test_what_the_server_adds_to_objects_of_storage(world):
    drawn = {item["kind"]: item for item in objects(Size(1, 300), 3)}
    made = {}
    try:
        for resource in KINDS:
            item = drawn[resource.kind]
            # Of this test alone, and for nobody: no controller shall bind or make anything.
            item["metadata"] = {"name": world.name("a"), "labels": {"test": world.namespace}}
            item.get("spec", {}).pop("claimRef", None)
            if "storageClassName" in item.get("spec", {}):
                item["spec"]["storageClassName"] = world.name("nobody")
            item.get("spec", {}).pop("volumeName", None)
            namespace = world.namespace if resource.namespaced else None
            made[resource] = await world.cluster.create(resource, item, namespace=namespace)
        assert {made[r]["kind"]: made[r].get("status", {}).get("phase") for r in KINDS} == {
            "PersistentVolumeClaim": "Pending",
            "PersistentVolume": "Pending",
            "StorageClass": None,
            "CSINode": None,
        }
        assert all("generation" not in item["metadata"] for item in made.values())
        for resource, item in made.items():
            listed = (await world.cluster.list(resource, labels=world.selector)).items
            assert [one["metadata"]["uid"] for one in listed] == [item["metadata"]["uid"]]
            assert (listed[0]["apiVersion"], listed[0]["kind"]) == (resource.api_version, resource.kind)
    finally:
        for resource in made:
            namespace = world.namespace if resource.namespaced else None
            free = [{"op": "add", "path": "/metadata/finalizers", "value": []}]
            await world.cluster.patch(resource, world.name("a"), free, namespace=namespace)
            await world.cluster.delete(resource, world.name("a"), namespace=namespace)
