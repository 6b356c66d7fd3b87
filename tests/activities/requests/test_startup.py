"""A Node that starts slowly: what it lacks keeps its pods' seats, and the scheduler's first try begins their time.

Source: issue 16, B4: five pods whose Node took 150 s were bought for 15 times.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_POOLS, NODES, PODS
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.request import next_step
from planner.lifecycle.step import Wait
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, RESERVED, START, Life
from tests.activities.requests.test_node import READY, REGISTERED
from tests.tables import rows

CILIUM = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
CLOUD = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
LATE = REGISTERED | {"joinDeadline": START}
GPU = {"plannedAllocatable": {"cpu": "2", "nvidia.com/gpu": "1"}}


@pytest.fixture
async def life():
    made = Life()
    await made.install()
    return made


async def add(life, status=None, *taints, allocatable=None, pods=1):
    await life.add_machine(REGISTERED | (status or {}), RESERVED, *taints, pods=pods, ready=True)
    if allocatable is not None:
        await give(life, allocatable)
    await life.do("tolerate_pods")


async def give(life, allocatable):
    node = await life.node()
    change = set_field(node, ("status", "allocatable"), allocatable)
    await MemoryCluster.patch(life.cluster, NODES, NAME, change, subresource="status")


async def written(life, resource, name, namespace, *entries):
    """Note who wrote which fields of an object when, as the API server does."""
    item = await life.find(resource, name, namespace)
    change = set_field(item, ("metadata", "managedFields"), list(entries))
    await MemoryCluster.patch(life.cluster, resource, name, change, namespace=namespace)


def entry(time, subresource=None, **fields):
    beside = {} if subresource is None else {"subresource": subresource}
    return {
        "manager": "any",
        "operation": "Update",
        "time": f"2026-11-01T12:00:{time:02}Z",
        **beside,
        "fieldsV1": fields,
    }


TAINTS = {"f:spec": {"f:taints": {}}}


@rows(
    ("status", "taints", "allocatable", "missing"),
    {
        "nothing": ({}, (), None, ""),
        "the network agent": (
            {},
            (CILIUM,),
            None,
            "start-up taint node.cilium.io/agent-not-ready=true:NoExecute is on it",
        ),
        "the cloud controller": (
            {},
            (CLOUD,),
            None,
            "start-up taint node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule is on it",
        ),
        "a device": (GPU, (), {"cpu": "2"}, "nvidia.com/gpu is not there yet, planned 1"),
        "a device of which there is none yet": (
            GPU,
            (),
            {"cpu": "2", "nvidia.com/gpu": "0"},
            "nvidia.com/gpu is not there yet, planned 1",
        ),
        "no device, which is there": (GPU, (), {"cpu": "2", "nvidia.com/gpu": "1"}, ""),
        "nothing that can be read": (GPU, (), {"cpu": "two"}, ""),
        "nothing by an earlier version": ({}, (), {"cpu": "2"}, ""),
        "several": (
            GPU,
            (CLOUD, {"key": "a.example.com/agent-not-ready", "effect": "NoSchedule"}),
            {},
            (
                "start-up taint node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule is on it; "
                "start-up taint a.example.com/agent-not-ready:NoSchedule is on it; "
                "nvidia.com/gpu is not there yet, planned 1"
            ),
        ),
    },
)
async def test_a_node_lacks(life, status, taints, allocatable, missing):
    await add(life, status, *taints, allocatable=allocatable)
    seen = await life.look_request()
    assert seen.node.missing == missing
    assert isinstance(next_step(seen, START), Wait) == bool(missing)


async def test_what_the_pool_gives_or_declares_is_known(life):
    own = {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoSchedule"}
    warm = {"key": "warm", "value": "no", "effect": "NoSchedule"}
    pool = await life.find(NODE_POOLS, "default")
    declared = [{"key": "warm", "value": "no"}, {"key": "own", "effect": "NoExecute"}]
    change = [
        *set_field(pool, ("spec", "template"), {**pool["spec"].get("template", {}), "taints": [own]}),
        *set_field(pool, ("spec", "scaleUp"), {**pool["spec"].get("scaleUp", {}), "startupTaints": declared}),
    ]
    await MemoryCluster.patch(life.cluster, NODE_POOLS, "default", change)
    await add(life, {}, own, warm, {**warm, "value": "yes"}, {"key": "own", "effect": "NoSchedule"})
    assert (await life.look_request()).node.missing == "start-up taint warm=no:NoSchedule is on it"


async def test_a_node_that_never_starts_is_opened_once_and_speaks_against_its_offering(life):
    await add(life, LATE, CILIUM)
    seen = await life.do("release_node")
    assert (seen.status.phase, seen.status.reason) == ("Provisioning", "StartupTimeout")
    assert await life.taints() == [CILIUM]
    assert ("NodeRequest", "StartupTimeout") in await life.event_reasons()
    node_class = await life.find(KWOK_NODE_CLASSES, "default")
    assert [miss["serverType"] for miss in node_class["status"]["unavailable"]] == ["cx32"]
    life.pass_time(1)
    seen = await life.do("mark_ready")
    assert (seen.status.phase, seen.status.expires_at) == ("Ready", START + timedelta(seconds=601))
    assert node_class["status"] == (await life.find(KWOK_NODE_CLASSES, "default"))["status"], "it is no success"


async def test_a_node_without_planned_pods_that_never_starts_speaks_against_nothing(life):
    await life.add_machine(LATE, CILIUM, ready=True)
    seen = await life.do("release_node")
    assert seen.status.reason == "StartupTimeout"
    assert "unavailable" not in (await life.find(KWOK_NODE_CLASSES, "default")).get("status", {})


async def test_the_seats_last_until_the_end_of_the_join_time(life):
    await add(life, {}, CILIUM)
    life.pass_time(599)
    seen = await life.look_request()
    step = next_step(seen, START + timedelta(seconds=599))
    assert isinstance(step, Wait)
    assert "node.cilium.io/agent-not-ready" in step.message


@rows(
    ("of_node", "of_pod", "tried"),
    {
        "nothing is noted": ((), (), None),
        "nothing of the Node": ((), (entry(9, "status"),), None),
        "nothing of the pod": ((entry(5, **TAINTS),), (), None),
        "before": ((entry(5, **TAINTS),), (entry(4, "status"),), False),
        "in the same second": ((entry(5, **TAINTS),), (entry(5, "status"),), True),
        "after": ((entry(5, **TAINTS),), (entry(4, "status"), entry(8, "status")), True),
        "the pod was written otherwise": ((entry(5, **TAINTS),), (entry(4, "status"), entry(9)), False),
        "the pod was never written": ((entry(5, **TAINTS),), (entry(9),), False),
        "the Node was written otherwise": (
            (entry(5, **TAINTS), entry(9), entry(9, "status")),
            (entry(6, "status"),),
            True,
        ),
    },
)
async def test_the_scheduler_has_tried(life, of_node, of_pod, tried):
    await life.add_machine(READY, RESERVED, pods=1, ready=True)
    await life.do("tolerate_pods")
    await written(life, NODES, NAME, None, *of_node)
    await written(life, PODS, "web-1", "shop", *of_pod)
    assert (await life.look_request()).tried is tried


async def test_a_planned_pod_that_is_bound_was_tried(life):
    await life.add_machine(READY, RESERVED, pods=2, ready=True)
    await life.do("tolerate_pods")
    await written(life, NODES, NAME, None, entry(5, **TAINTS))
    await written(life, PODS, "web-1", "shop", entry(4, "status"))
    await written(life, PODS, "web-2", "shop", entry(4, "status"))
    assert (await life.look_request()).tried is False
    life.cluster.bind("shop", "web-1", NAME)
    assert (await life.look_request()).tried


async def test_the_time_of_the_reservation_begins_with_the_first_try(life):
    await life.add_machine(READY, RESERVED, pods=1, ready=True)
    await life.do("tolerate_pods")
    await written(life, NODES, NAME, None, entry(5, **TAINTS))
    await written(life, PODS, "web-1", "shop", entry(4, "status"))
    life.pass_time(75)
    assert (await life.do("tell_delay")).status.reason == "Late"
    assert isinstance(next_step(await life.look_request(), START + timedelta(seconds=75)), Wait)
    await written(life, PODS, "web-1", "shop", entry(59, "status"))
    seen = await life.do("mark_tried")
    assert seen.status.tried_at == START + timedelta(seconds=75)
    assert seen.status.release_by == START + timedelta(seconds=135)
    life.pass_time(60)
    seen = await life.do("release_node")
    assert seen.status.reason == "ReleaseTimeout"


async def test_a_deadline_that_nobody_could_see_come_is_judged_later(life):
    """The deadline itself stays as it is: who was there all the time judges by it."""
    await life.add_machine({**LATE, "joinDeadline": START - timedelta(seconds=9)}, RESERVED, pods=1)
    await life.do("tolerate_pods")
    life.ports = replace(life.ports, watched_for=lambda: timedelta(seconds=50))
    life.restart()
    told = (await life.do("tell_delay")).status
    assert "still awaited until 2026-11-01 12:01:10 UTC, as Growth or the API server was away" in told.message
    step = next_step(await life.look_request(), START)
    assert isinstance(step, Wait)
    assert step.until == START + timedelta(seconds=70)
    assert (await life.request())["status"]["joinDeadline"] == "2026-11-01T11:59:51Z"
    life.ports = replace(life.ports, watched_for=lambda: timedelta(seconds=120))
    life.restart()
    assert (await life.do("give_up")).status.reason == "JoinTimeout"
