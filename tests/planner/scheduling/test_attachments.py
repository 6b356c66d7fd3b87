"""Volumes that several pods share take one slot of a node. Source: kube-scheduler's plugin NodeVolumeLimits."""

import pytest

from planner.scheduling.attachments import Slots, asked, attachable, shared_volumes
from planner.scheduling.volume_places import resolve
from tests.builders import DRIVER, claim, csi_node, node, pod, storage_class, volume
from tests.planner.packing.domains.rows import at, places, planned, scene
from tests.planner.scenes import Scene
from tests.planner.wishes import using

SLOTS = f"attachable volumes of {DRIVER}"


def sharing(limit: int, *pods, disks: tuple[str, ...] = ("shared", "own", "other"), **changes) -> Scene:
    """Return pods on bound claims, and a node with a limit of volumes."""
    given = scene(*pods, types=("cx22",), zones=("fsn1",), **changes)
    given.claims = [claim(d, f"v-{d}", mode="ReadWriteMany") for d in disks]
    given.volumes = [volume(f"v-{d}") for d in disks]
    given.storage_classes = [storage_class()]
    given.nodes = [at("n", "fsn1")]
    given.csi_nodes = [csi_node("n", limit)]
    return given


def small(name: str, *disks: str, **changes):
    return using(pod(name, "100m", "64Mi", **changes), *disks)


def test_a_full_node_takes_a_pod_whose_volume_is_attached_to_it():
    made = planned(sharing(1, small("r", "shared", node="n"), small("a", "shared"), small("b", "shared")))
    assert (places(made), made.requests) == ({"a": "n", "b": "n"}, ())


def test_a_full_node_takes_no_other_volume():
    made = planned(sharing(1, small("r", "shared", node="n"), small("a", "shared", "own"), small("b", "own")))
    assert places(made) == {}
    # A machine of its type attaches one volume as well, and `a` has two.
    assert [[s.name for s in r.seats] for r in made.requests] == [["b"]]


@pytest.mark.parametrize(("limit", "others"), [(1, 0), (2, 1), (3, 2)])
def test_beside_pods_with_volumes_of_their_own_the_shared_one_takes_no_slot(limit, others):
    given = sharing(
        limit,
        small("r", "shared", node="n"),
        *(small(f"s{k}", "shared") for k in range(3)),
        *(small(f"own{k}", f"own{k}") for k in range(4)),
        disks=("shared", *(f"own{k}" for k in range(4))),
    )
    made = planned(given)
    there = places(made)
    assert {f"s{k}" for k in range(3)} <= set(there)
    assert len(there) == 3 + others


def test_pods_that_share_a_volume_share_a_new_machine():
    given = sharing(1, *(small(f"s{k}", "shared") for k in range(5)))
    given.nodes = [node("seen", "cx22", ready=False)]
    given.csi_nodes = [csi_node("seen", 1)]
    assert [len(r.seats) for r in planned(given).requests] == [5]


def test_volumes_of_their_own_are_never_too_many_for_a_machine():
    given = sharing(2, *(small(f"p{k}", f"d{k}") for k in range(5)), disks=tuple(f"d{k}" for k in range(5)))
    given.nodes = [node("seen", "cx22", ready=False)]
    given.csi_nodes = [csi_node("seen", 2)]
    assert sorted(len(r.seats) for r in planned(given).requests) == [1, 2, 2]


def test_what_a_pod_asks_for_is_less_where_its_volumes_are():
    both = given_pods(small("a", "shared", "own"))[0]
    assert asked(both)[SLOTS] == 2
    assert asked(both, both.attachments[:1])[SLOTS] == 1
    assert SLOTS not in asked(both, both.attachments)


def test_a_volume_counts_once_among_those_of_a_node():
    pods = given_pods(small("a", "shared"), small("b", "shared", "own"))
    assert attachable({DRIVER: 4}, pods) == {SLOTS: 2}
    assert shared_volumes(pods) == {(DRIVER, "handle-v-shared")}


def test_only_so_many_machines_get_a_row_of_their_own():
    # Two volumes and one slot; one of them is attached.
    pods = given_pods(small("a", "shared"), small("b", "own"), small("c", "other"))
    slots = Slots([[p] for p in pods])
    attached = slots.attached(pods[:1])
    found = [slots.free(b, SLOTS, 1, (0, 1, 2), attached) for b in range(18)]
    assert found == [slots.no_limit] * 16 + [1, 1]
    assert [(row.bin, row.free, dict(row.asks)) for row in slots.rows][3] == (3, 1, {0: 0, 1: 1, 2: 1})


def given_pods(*raw):
    snapshot = sharing(1, *raw).snapshot()
    return resolve(snapshot.pods, snapshot.volumes)
