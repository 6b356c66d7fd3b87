"""Data that is on a machine alone keeps it, however its removal began, until a person lets the data go."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from activities.ports.errors import Unreachable
from planner.lifecycle.step import Act, Wait
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, SCALE_DOWN, START

OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
COOLING = OVER | {"scaleDownAt": START + timedelta(seconds=30)}
DRAINING = OVER | {"phase": "Draining", "drainStartedAt": START}
ALLOWED = "growth.dev/delete-local-data"


async def bind(life, name="pv-1", *, host=NAME, phase="Bound", **spec):
    """A volume that names the host, and the claim that it is bound to."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    body = {
        "metadata": {"name": name},
        "spec": {
            "claimRef": {"namespace": "shop", "name": f"data-{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
        | spec,
    }
    await MemoryCluster.create(life.cluster, PERSISTENT_VOLUMES, body)
    await life.cluster.put(PERSISTENT_VOLUMES, name, "/status", {"phase": phase})


async def claim(life, name="data-pv-1"):
    body = {"metadata": {"name": name, "namespace": "shop"}, "spec": {}}
    await MemoryCluster.create(life.cluster, PERSISTENT_VOLUME_CLAIMS, body, namespace="shop")


class Stale:
    """A cache that knows of no volume."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.asked = []

    async def list(self, resource):
        self.asked.append(resource)
        listed = await self._cluster.list(resource)
        return listed if resource != PERSISTENT_VOLUMES else type(listed)([], listed.resource_version)


async def ends_with(life):
    """The step of the removal, by its kind or effect and its reason."""
    step = await life.removal_step()
    return (step.effect if isinstance(step, Act) else type(step), step.reason)


TELL = ("tell_blockers", "HasLocalData")


@pytest.mark.parametrize("reason", ["Empty", "RemoveNow", "Consolidation", "Rotation", "Drift", "Repair", "OverMax"])
async def test_data_ends_a_removal_that_a_round_ordered(life, reason):
    await life.add_leaving(DRAINING if reason not in ("Empty", "RemoveNow") else COOLING, SCALE_DOWN, reason=reason)
    taints = [SCALE_DOWN, {"key": "growth.dev/remove-now", "effect": "NoSchedule"}]
    await life.cluster.put(NODES, NAME, "/spec/taints", taints)
    await bind(life)
    assert await ends_with(life) == ("cancel_removal", "HasLocalData")


@pytest.mark.parametrize("status", [None, COOLING, OVER, DRAINING], ids=["new", "cools off", "over", "drains"])
@pytest.mark.parametrize(
    "spec",
    [{}, {"reason": "Requested"}, {"reason": "PoolDeleted"}, {"reason": "ByHand", "immediate": True}],
    ids=["by default", "requested", "pool deleted", "immediate"],
)
async def test_data_keeps_the_machine_whoever_removes_it(life, status, spec):
    await life.add_leaving(status, *([SCALE_DOWN] if status else []), **spec)
    await bind(life)
    assert await ends_with(life) == TELL
    await life.do("tell_blockers")
    assert await ends_with(life) == (Wait, "HasLocalData")
    removal = await life.removal()
    assert "volume pv-1 of claim shop/data-pv-1" in removal["status"]["message"]
    assert f"{ALLOWED}=true" in removal["status"]["message"]
    assert {("NodeRemovalRequest", "HasLocalData"), ("Node", "HasLocalData")} <= await life.event_reasons()
    assert set(life.cloud.servers) == {NAME}


async def test_a_person_hears_of_the_data_before_anything_is_done(life):
    await life.add_leaving(None, reason="Requested")
    await bind(life)
    await life.do("tell_blockers")
    assert await life.taints() == []


async def test_a_word_of_a_person_lets_the_data_go(life):
    await life.add_leaving(None, reason="Requested")
    await bind(life)
    await life.do("tell_blockers")
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/annotations", {ALLOWED: "true"})
    assert await ends_with(life) == ("taint_node", "CoolOff")


@pytest.mark.parametrize("value", ["", "false", "yes please", "True"])
async def test_no_other_word_does(life, value):
    await life.add_leaving(OVER, SCALE_DOWN)
    await bind(life)
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/annotations", {ALLOWED: value})
    assert await ends_with(life) == TELL


async def test_without_its_claim_the_volume_keeps_nothing(life):
    await life.add_leaving(OVER, SCALE_DOWN)
    await bind(life, phase="Released", persistentVolumeReclaimPolicy="Delete")
    assert await ends_with(life) == ("commit_removal", "Empty")


async def test_a_rounds_removal_ends_when_data_has_come(life):
    await life.add_leaving(OVER, SCALE_DOWN, reason="Empty")
    await bind(life)
    await life.do("cancel_removal")
    cancel = (await life.removal())["status"]["cancel"]
    assert cancel["by"] == "HasLocalData"
    assert cancel["reason"].endswith("volume pv-1 of claim shop/data-pv-1")
    await life.do("untaint_node")
    assert await life.taints() == []
    assert "growth.dev/idle-since" in (await life.node())["metadata"]["annotations"]


@pytest.mark.parametrize("status", [OVER, DRAINING], ids=["before the drain", "before the point of no return"])
async def test_what_the_cache_does_not_know_yet_is_seen_at_the_last_look(life, status):
    life.ports = replaced(life, Stale(life.cluster))
    life.restart()
    await life.add_leaving(status, SCALE_DOWN)
    await bind(life)
    assert await ends_with(life) == TELL


async def test_while_a_cool_off_goes_on_the_cache_is_enough(life):
    life.ports = replaced(life, Stale(life.cluster))
    life.restart()
    await life.add_leaving(COOLING, SCALE_DOWN)
    await bind(life)
    assert await ends_with(life) == (Wait, "CoolOff")


async def test_volumes_that_cannot_be_listed_let_nothing_go(life):
    await life.add_leaving(OVER, SCALE_DOWN)

    class Away:
        async def list(self, resource):
            raise Unreachable("away")

    life.ports = replaced(life, Away())
    life.restart()
    await bind(life)
    assert await ends_with(life) == TELL


async def test_the_name_tells_of_data_when_the_node_is_gone(life):
    await life.add_leaving(OVER, node=False)
    await bind(life)
    assert await ends_with(life) == TELL


async def test_where_the_server_is_gone_nothing_can_be_kept(life):
    await life.add_leaving(None, reason="ServerGone", immediate=True)
    await bind(life)
    assert await ends_with(life) == ("commit_removal", "HandOver")


async def test_a_phase_that_tells_nothing_is_judged_by_the_claim(life):
    await life.add_leaving(OVER, SCALE_DOWN)
    await bind(life, phase="Pending")
    assert await ends_with(life) == ("commit_removal", "Empty")
    await claim(life)
    assert await ends_with(life) == TELL


async def test_volumes_of_other_machines_keep_nothing(life):
    await life.add_leaving(OVER, SCALE_DOWN)
    await bind(life, host="another")
    assert await ends_with(life) == ("commit_removal", "Empty")


async def test_the_nodes_own_labels_tell_of_it(life):
    await life.add_leaving(OVER, SCALE_DOWN)
    await life.cluster.put(NODES, NAME, "/metadata/labels", {"kubernetes.io/hostname": "h-1"} | life.own_labels())
    await bind(life, host="h-1")
    assert await ends_with(life) == TELL


def replaced(life, reader):
    return replace(life.ports, reader=reader)
