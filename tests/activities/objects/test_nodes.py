"""Taints and labels of Nodes: whose they are, and that nobody else's are lost."""

from datetime import UTC, datetime

import pytest

from activities.objects.nodes import (
    UNREGISTERED,
    change_node,
    has_taint,
    is_of,
    lift_taint,
    reserved,
    scale_down,
    see_node,
)
from activities.ports.cluster import NODES
from activities.ports.errors import Conflict, NotFound
from planner.lifecycle.json_predicates import is_ready
from planner.lifecycle.seen import NodeSeen
from simulator.apiserver.cluster import MemoryCluster

OTHER = {"key": "other.example/taint", "value": "x", "effect": "NoSchedule"}


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: datetime(2026, 11, 1, tzinfo=UTC))


def body(*taints, provider_id=None, **metadata):
    spec = {**({"taints": list(taints)} if taints else {}), **({"providerID": provider_id} if provider_id else {})}
    return {"metadata": {"name": "a", **metadata}, "spec": spec}


async def add(cluster, *taints, **fields):
    return await cluster.create(NODES, body(*taints, **fields))


async def test_taints_and_labels_are_set_in_one_write(cluster):
    node = await add(cluster, OTHER, labels={"x": "1"})
    changed = await change_node(cluster, node, taints=[OTHER, reserved("r")], labels={"growth.dev/pool": "p", "x": "1"})
    assert changed["spec"]["taints"] == [OTHER, {"key": "growth.dev/reserved", "value": "r", "effect": "NoSchedule"}]
    assert changed["metadata"]["labels"] == {"growth.dev/pool": "p", "x": "1"}
    assert int(changed["metadata"]["resourceVersion"]) == int(node["metadata"]["resourceVersion"]) + 1


async def test_a_node_without_labels_and_taints_gets_them(cluster):
    changed = await change_node(cluster, await add(cluster), taints=[scale_down(7)], labels={"a/b": "c"})
    assert changed["spec"]["taints"] == [{"key": "growth.dev/scale-down", "value": "7", "effect": "NoSchedule"}]
    assert changed["metadata"]["labels"] == {"a/b": "c"}


async def test_annotations_are_set_besides_the_others(cluster):
    node = await add(cluster, annotations={"x": "1"})
    changed = await change_node(cluster, node, annotations={"growth.dev/do-not-remove": "yes"})
    assert changed["metadata"]["annotations"] == {"x": "1", "growth.dev/do-not-remove": "yes"}
    assert changed["spec"] == node["spec"]


async def test_what_is_there_already_is_not_written(cluster):
    node = await add(cluster, OTHER, labels={"x": "1"})
    assert await change_node(cluster, node, taints=[OTHER], labels={"x": "1"}) == node
    assert await change_node(cluster, node) == node


async def test_a_node_that_changed_is_a_conflict_and_stays(cluster):
    node = await add(cluster)
    await change_node(cluster, node, labels={"x": "1"})
    with pytest.raises(Conflict):
        await change_node(cluster, node, taints=[OTHER])
    assert "taints" not in (await cluster.get(NODES, "a"))["spec"]


async def test_a_node_that_is_gone_is_not_found(cluster):
    node = await add(cluster)
    await cluster.delete(NODES, "a")
    with pytest.raises(NotFound):
        await change_node(cluster, node, taints=[OTHER])


async def test_lifting_takes_only_the_taint_that_is_meant(cluster):
    node = await add(cluster, reserved("mine"), OTHER, reserved("other"))
    lifted = await lift_taint(cluster, node, "growth.dev/reserved", "mine")
    assert lifted["spec"]["taints"] == [OTHER, reserved("other")]
    lifted = await lift_taint(cluster, lifted, "growth.dev/reserved")
    assert lifted["spec"]["taints"] == [OTHER]
    lifted = await lift_taint(cluster, lifted, OTHER["key"])
    assert "taints" not in lifted["spec"]
    assert await lift_taint(cluster, lifted, OTHER["key"]) == lifted


def test_a_taint_is_found_by_key_and_value():
    node = body(reserved("r"))
    assert has_taint(node, "growth.dev/reserved")
    assert has_taint(node, "growth.dev/reserved", "r")
    assert not has_taint(node, "growth.dev/reserved", "s")
    assert not has_taint(body(), "growth.dev/reserved")


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "DiskPressure", "status": "True"}], False),
        ([], False),
        (None, False),
    ],
)
def test_ready_is_what_the_condition_says(conditions, ready):
    assert is_ready({**body(), "status": {"conditions": conditions}}) is ready


@pytest.mark.parametrize(("value", "keep"), [("yes", True), ("false", True), ("", False)])
def test_any_value_of_the_annotation_keeps_a_node(value, keep):
    seen = see_node(body(scale_down(7), annotations={"growth.dev/do-not-remove": value}), "a")
    assert seen == NodeSeen(name="a", ready=False, scale_down=True, keep=keep)


@pytest.mark.parametrize(
    ("labelled", "uid", "named", "provider_id", "is_found"),
    [
        ("u", "u", "kwok://c/a", "kwok://c/a", True),
        ("u", "v", None, None, False),
        ("u", None, None, None, True),
        (None, "v", None, None, True),
        (None, None, "kwok://c/a", "kwok://c/b", False),
        (None, None, None, "kwok://c/b", True),
        (None, None, "kwok://c/a", None, True),
    ],
)
async def test_a_node_of_another_machine_is_told_by_its_marks(cluster, labelled, uid, named, provider_id, is_found):  # noqa: PLR0917
    node = await add(cluster, provider_id=named, labels={"growth.dev/request-uid": labelled} if labelled else {})
    assert is_of(node, request_uid=uid, provider_id=provider_id) is is_found


def test_no_taint_of_ours_can_end_a_pod():
    """By docs/decisions/0007: taint eviction may see a pod before it sees that its Node has lost a NoExecute taint."""
    taints = [UNREGISTERED, reserved("default-a1"), scale_down(1)]
    assert {taint["effect"] for taint in taints} == {"NoSchedule"}


def test_a_node_is_ready_by_its_condition_whatever_it_still_lacks():
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    seen = see_node({**body(), "status": ready}, "a", "x is not there yet, planned 1")
    assert (seen.ready, seen.missing) == (True, "x is not there yet, planned 1")
