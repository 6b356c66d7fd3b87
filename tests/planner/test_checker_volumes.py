"""The checker sees every way in which a volume can keep a pod off a node: each planted fault is told."""

from typing import Any

import pytest

from planner.model.plan import Placed, Plan, PlannedRequest, PlanResult
from planner.plan import plan
from tests.builders import DRIVER, Json, claim, csi_node, node, node_pool, pod, storage_class, volume
from tests.planner import scenes
from tests.planner.checker import violations
from tests.planner.scenes import Scene
from tests.planner.wishes import ZONE, own_disk, using


def told(scene: Scene, *names: str, where: str = "n", requests: tuple[PlannedRequest, ...] = ()) -> str:
    placed = tuple(Placed(f"default/{name}", node=where) for name in names)
    made = Plan(result=PlanResult.ALL_PLACED, placed=placed, requests=requests, optimal=True)
    return "\n".join(violations(scene, made))


def scene(*pods: Json, **parts: Any) -> Scene:
    """Return pods and a node in zone a; class `waits` makes volumes where the pod is."""
    usual = {"storage_classes": [storage_class()], "nodes": [node("n", "cx42", labels={ZONE: "a"})]}
    return scenes.scene(*pods, **usual | parts)


def small(name: str, **spec: Any) -> Json:
    return pod(name, "10m", "16Mi", **spec)


def test_a_claim_that_does_not_exist():
    assert "default/p on n: claim disk does not exist" in told(scene(using(small("p"), "disk")), "p")
    assert told(scene(using(small("p"), "disk"), claims=[claim("disk")]), "p") == ""


def test_the_claim_of_a_pods_own_disk():
    assert "claim p-scratch does not exist" in told(scene(own_disk(small("p"))), "p")
    assert told(scene(own_disk(small("p")), claims=[claim("p-scratch")]), "p") == ""


def test_a_claim_of_another_namespace_is_another_claim():
    assert "claim disk does not exist" in told(
        scene(using(small("p"), "disk"), claims=[claim("disk", namespace="x")]), "p"
    )


def test_a_claim_that_is_going_or_lost():
    going, lost = claim("disk", "v"), claim("disk", "v")
    going["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    lost["status"]["phase"] = "Lost"
    for faulty, why in ((going, "is being deleted"), (lost, "has lost its volume")):
        assert f"claim disk {why}" in told(
            scene(using(small("p"), "disk"), claims=[faulty], volumes=[volume("v")]), "p"
        )


@pytest.mark.parametrize(
    ("classes", "name", "why"),
    [
        ([storage_class("now", waits=False)], "now", "has no volume yet, and does not wait for a pod"),
        ([], "missing", "has neither a volume nor a class"),
        ([], None, "has neither a volume nor a class"),
        ([storage_class("by-hand", provisioner="kubernetes.io/no-provisioner")], "by-hand", "no volume here suits"),
    ],
)
def test_a_claim_that_nobody_makes_a_volume_for(classes: list[Json], name: str | None, why: str):
    given = scene(using(small("p"), "disk"), storage_classes=classes, claims=[claim("disk", storage_class=name)])
    assert why in told(given, "p")


def test_a_volume_made_by_hand_that_suits():
    made = volume("v", zone="a", storageClassName="by-hand") | {"status": {"phase": "Available"}}
    by_hand = storage_class("by-hand", provisioner="kubernetes.io/no-provisioner")
    given = scene(using(small("p"), "disk"), claims=[claim("disk", storage_class="by-hand")], volumes=[made])
    given.storage_classes = [by_hand]
    assert told(given, "p") == ""
    given.nodes[0]["metadata"]["labels"][ZONE] = "b"
    assert "no volume here suits claim disk" in told(given, "p")


def test_a_volume_of_another_zone():
    for elsewhere in (volume("v", zone="b"), volume("v", labels={ZONE: "b__c"})):
        given = scene(using(small("p"), "disk"), claims=[claim("disk", "v")], volumes=[elsewhere])
        assert "the volume of claim disk" in told(given, "p")
    for here in (volume("v", zone="a"), volume("v"), volume("v", labels={ZONE: "a__b"})):
        given = scene(using(small("p"), "disk"), claims=[claim("disk", "v")], volumes=[here])
        assert told(given, "p") == ""


def test_a_volume_that_is_gone():
    assert "the volume of claim disk does not exist" in told(
        scene(using(small("p"), "disk"), claims=[claim("disk", "v")]), "p"
    )


def test_a_volume_that_may_not_be_made_here():
    given = scene(using(small("p"), "disk"), claims=[claim("disk")], storage_classes=[storage_class("waits", "b", "c")])
    assert "no volume for claim disk may be made here" in told(given, "p")
    given.storage_classes = [storage_class("waits", "a", "b")]
    assert told(given, "p") == ""


def test_a_claim_for_one_pod_only():
    single = claim("disk", mode="ReadWriteOncePod")
    given = scene(using(small("p"), "disk"), using(small("r", node="n"), "disk"), claims=[single])
    assert "claim disk is for one pod only, not for default/p, default/r" in told(given, "p")
    given = scene(using(small("p"), "disk"), using(small("q"), "disk"), claims=[single])
    assert "claim disk is for one pod only" in told(given, "p", "q")
    given.claims = [claim("disk")]
    assert told(given, "p", "q") == ""


def test_more_volumes_than_a_node_attaches():
    pods = [using(small(f"p{k}"), f"d{k}") for k in range(3)]
    given = scene(*pods, claims=[claim(f"d{k}") for k in range(3)], csi_nodes=[csi_node("n", 2)])
    assert f"n attaches 3 volumes of {DRIVER}, at most 2 fit" in told(given, "p0", "p1", "p2")
    given.pods.pop()
    assert told(given, "p0", "p1") == ""


def test_the_same_volume_is_attached_once_and_those_of_residents_count():
    bound = [claim("d0", "v"), claim("d1", "v")]
    runs = using(small("r", node="n"), "d0")
    given = scene(runs, using(small("p"), "d1"), claims=bound, volumes=[volume("v")], csi_nodes=[csi_node("n", 1)])
    assert told(given, "p") == ""
    given.claims[1] = claim("d1", "w")
    given.volumes.append(volume("w"))
    assert "n attaches 2 volumes" in told(given, "p")


def test_a_new_machine_attaches_as_many_as_its_type_is_seen_to():
    pods = [small(f"p{k}") for k in range(2)]
    given = scene(*pods, nodes=[], pools=[node_pool(types=["cx22"])])
    made = plan(given.snapshot())
    for k, p in enumerate(pods):
        using(p, f"d{k}")
    given.claims = [claim("d0"), claim("d1")]
    assert violations(given, made) == []
    given.nodes = [node("seen", "cx22", ready=False)]
    given.csi_nodes = [csi_node("seen", 1)]
    assert "new-0 attaches 2 volumes" in "\n".join(violations(given, made))
