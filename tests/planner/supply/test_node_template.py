"""In what a Node differs from its plan; the planner, the order at the provider and this look use one source."""

from dataclasses import replace
from decimal import Decimal

import pytest

from api.model import read
from api.v1alpha1.node_pool import NodePool
from planner.objects.kinds import Node, Taint
from planner.objects.offering import Offering
from planner.objects.predicates import NEW_HOST
from planner.supply.machine_kind import shape
from planner.supply.node_template import deviations, labels_to_set, node_labels, own_labels, pool_taints
from tests.api.objects import pool

POOL = read(
    NodePool,
    pool(
        template={"labels": {"team": "shop"}, "taints": [{"key": "dedicated", "value": "shop", "effect": "NoExecute"}]}
    ),
)
OFFERING = Offering(
    "cax11",
    "fsn1",
    Decimal("0.01"),
    "EUR",
    {"cpu": 2000, "memory": 4 << 30, "pods": 110},
    {"topology.kubernetes.io/zone": "fsn1"},
)
PLANNED = Node(
    "default-a",
    "u",
    OFFERING.allocatable,
    labels=node_labels(POOL, OFFERING, "default-a"),
    taints=(Taint("dedicated", "shop", "NoExecute"),),
)


def relabelled(**changes):
    return replace(PLANNED, labels={**PLANNED.labels, **{f"topology.kubernetes.io/{k}": v for k, v in changes.items()}})


def test_a_node_as_planned_differs_in_nothing():
    assert deviations(PLANNED, POOL, OFFERING).all == ()


def test_the_plan_has_the_labels_and_taints_that_the_look_expects():
    looks = shape(POOL, OFFERING, (), "default-a")
    assert looks.labels == PLANNED.labels
    assert looks.taints == pool_taints(POOL) == PLANNED.taints
    assert looks.labels == {
        "team": "shop",
        "topology.kubernetes.io/zone": "fsn1",
        "growth.dev/pool": "default",
        "growth.dev/server-type": "cax11",
        "kubernetes.io/hostname": "default-a",
        "growth.dev/request": "default-a",
        "growth.dev/request-uid": NEW_HOST,
        "failure-domain.beta.kubernetes.io/zone": "fsn1",
    }


def test_the_label_of_a_request_that_exists_has_its_uid():
    looks = shape(POOL, OFFERING, (), "default-a", "uid-1")
    assert (looks.labels["growth.dev/request"], looks.labels["growth.dev/request-uid"]) == ("default-a", "uid-1")


OWN = own_labels("default", "cax11", "default-a", "uid-1")


def test_a_node_that_joins_gets_what_was_planned_and_keeps_what_it_tells_of_its_machine():
    told = {"topology.kubernetes.io/zone": "fsn1-dc14", "kubernetes.io/arch": "arm64", "team": "toys"}
    assert labels_to_set(POOL, OFFERING, OWN, told) == {
        **OWN,
        "team": "shop",
        "beta.kubernetes.io/arch": "arm64",
        "failure-domain.beta.kubernetes.io/zone": "fsn1-dc14",
    }


def test_what_a_node_is_given_makes_it_the_one_that_was_planned():
    joined = {"kubernetes.io/hostname": "default-a", "kubernetes.io/os": "linux"}
    planned = node_labels(POOL, OFFERING, "default-a", "uid-1")
    given = {**joined, **labels_to_set(POOL, OFFERING, OWN, joined)}
    assert given == planned | {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}
    assert labels_to_set(POOL, OFFERING, OWN, given).keys() <= {*OWN, "team"}


def test_a_node_whose_pool_and_class_are_gone_is_marked_as_its_requests():
    assert labels_to_set(None, None, OWN, {"kubernetes.io/os": "linux"}) == {**OWN, "beta.kubernetes.io/os": "linux"}


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (relabelled(zone="fsn1-dc14"), "label topology.kubernetes.io/zone is fsn1-dc14, planned fsn1"),
        (relabelled(zone=""), "label topology.kubernetes.io/zone is empty, planned fsn1"),
        (
            replace(PLANNED, labels={k: v for k, v in PLANNED.labels.items() if k != "team"}),
            "label team is missing, planned shop",
        ),
        (
            replace(PLANNED, allocatable={**OFFERING.allocatable, "memory": 37 * (1 << 30) // 10}),
            "memory 3.7Gi usable, planned 4Gi",
        ),
        (
            replace(PLANNED, allocatable={**OFFERING.allocatable, "memory": (4 << 30) - 1}),
            "memory 4294967295 usable, planned 4294967296",
        ),
        (replace(PLANNED, allocatable={**OFFERING.allocatable, "cpu": 1930}), "cpu 1930m usable, planned 2"),
        (replace(PLANNED, allocatable={"cpu": 2000, "memory": 4 << 30}), "pods 0 usable, planned 110"),
        (replace(PLANNED, taints=()), "taint dedicated=shop:NoExecute is missing"),
        (
            replace(PLANNED, taints=(*PLANNED.taints, Taint("gpu", "", "NoSchedule"))),
            "taint gpu:NoSchedule was not planned",
        ),
    ],
)
def test_a_difference_is_told_with_both_values(node, told):
    assert deviations(node, POOL, OFFERING).all == (told,)


@pytest.mark.parametrize(
    "node",
    [
        replace(PLANNED, allocatable={name: amount + 1 for name, amount in OFFERING.allocatable.items()}),
        relabelled(rack="7"),
        replace(PLANNED, taints=(*PLANNED.taints, Taint("slow", "", "PreferNoSchedule"))),
        replace(PLANNED, taints=(*PLANNED.taints, Taint("growth.dev/reserved", "default-a", "NoSchedule"))),
        replace(PLANNED, taints=(*PLANNED.taints, Taint("node.kubernetes.io/not-ready", "", "NoExecute"))),
    ],
    ids=["more room", "another label", "a preference", "our reservation", "its own state"],
)
def test_what_keeps_no_planned_pod_out_is_no_difference(node):
    assert deviations(node, POOL, OFFERING).all == ()


def test_lack_of_room_is_told_first_and_labels_last():
    bare = Node("default-a", "u", {}, taints=())
    found = deviations(bare, POOL, OFFERING).all
    assert [part.split()[0] for part in found] == ["cpu", "memory", "pods", "taint", *["label"] * 5]
