"""Which classes fit onto a place; the whole judgement is compared with the scheduler's rules in tests/planner/judge."""

from dataclasses import replace
from random import Random

import pytest

from api.keys import LABEL_HOSTNAME
from planner.objects.kinds import HostPort, Pod, Requirement, Taint, Toleration
from planner.objects.predicates import suits
from planner.packing.place_fit import PlaceFit
from planner.supply.machines import Machine
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup


def pod(cpu=1, **changes):
    return Pod("u", "default", "p", {"cpu": cpu, "pods": 1}, **changes)


def place(free, labels=(), taints=(), **changes):
    return Place(Machine(name="node-1"), Rank.NODE, dict(labels), tuple(taints), free, (), **changes)


ROOM = {"cpu": 2, "pods": 10}


@pytest.mark.parametrize(
    ("classes", "at", "held"),
    [
        ([pod(1), pod(2), pod(3)], place(ROOM), [0, 1]),
        ([pod(3), pod(2), pod(1)], place(ROOM), [1, 2]),
        ([pod(1)], place({"cpu": 2}), []),
        ([Pod("u", "default", "p", {"pods": 1})], place({"cpu": -1, "pods": 1}), [0]),
        ([pod(node_selector=(Requirement("a", "In", ("b",)),)), pod()], place(ROOM), [1]),
        ([pod(node_selector=(Requirement("a", "In", ("b",)),))], place(ROOM, {"a": "b"}), [0]),
        ([pod(volume_terms=(((Requirement("zone", "In", ("x",)),),),))], place(ROOM, {"zone": "y"}), []),
        ([pod(), pod(tolerations=(Toleration("t", "Exists"),))], place(ROOM, taints=[Taint("t")]), [1]),
        ([pod()], place(ROOM, only_pool="other"), []),
    ],
)
def test_labels_taints_volumes_amounts_and_pools_decide(classes, at, held):
    assert PlaceFit([PodGroup("", (one,), ("default",)) for one in classes]).held(at, ()) == held


def test_places_that_look_alike_are_judged_by_what_each_has_left():
    fit = PlaceFit(
        [
            PodGroup("", (pod(2),), ("default",)),
            PodGroup("", (pod(1, node_selector=(Requirement(LABEL_HOSTNAME, "In", ("b",)),)),)),
        ]
    )
    assert fit.held(place({"cpu": 2, "pods": 1}, {LABEL_HOSTNAME: "a"}), ()) == [0]
    assert fit.held(place({"cpu": 1, "pods": 1}, {LABEL_HOSTNAME: "a"}), ()) == []
    assert fit.held(place({"cpu": 2, "pods": 1}, {LABEL_HOSTNAME: "b"}), ()) == [0, 1]


def test_a_port_that_is_taken_there_keeps_the_class_off():
    port = HostPort(80)
    fit = PlaceFit([PodGroup("", (pod(host_ports=(port,)),), ("default",))])
    assert fit.held(place(ROOM), ()) == [0]
    assert fit.held(replace(place(ROOM), pods=(pod(host_ports=(port,)),)), ()) == []


def test_many_classes_at_once_are_judged_as_one_by_one():
    random = Random(7)
    zones = [(), (Requirement("zone", "In", ("a",)),), (Requirement("zone", "NotIn", ("a",)),)]
    # More than two of the steps in which the sets of classes are kept.
    examples = [
        Pod(
            "u",
            "default",
            f"p-{i}",
            {
                "pods": 1,
                **({"cpu": random.randrange(6)} if random.random() < 0.9 else {}),
                **({"gpu": 1} if random.random() < 0.1 else {}),
            },
            node_selector=random.choice(zones),
            tolerations=random.choice([(), (Toleration("t", "Exists"),)]),
        )
        for i in range(150)
    ]
    groups = [PodGroup("", (one,), random.choice([("default",), ("other", "default"), ()])) for one in examples]
    fit = PlaceFit(groups)
    sizes: set[int] = set()
    for _ in range(60):
        free = {"cpu": random.randrange(-2, 7), "pods": random.randrange(3), "gpu": random.choice([-1, 0, 1])}
        at = place(
            {name: amount for name, amount in free.items() if random.random() < 0.9},
            random.choice([{}, {"zone": "a"}, {"zone": "b"}]),
            random.choice([(), (Taint("t"),)]),
            only_pool=random.choice([None, "default", "other"]),
        )
        wanted = [
            i
            for i, group in enumerate(groups)
            if all(at.free.get(name, 0) >= amount for name, amount in group.example.requests.items())
            and suits(group.example, at.labels, at.taints)
            and (at.only_pool is None or at.only_pool in group.pools)
        ]
        assert list(fit.held(at, ())) == wanted
        sizes.add(len(wanted))
    assert 0 in sizes
    assert max(sizes) > 64
