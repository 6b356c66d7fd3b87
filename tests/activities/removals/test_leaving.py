"""A machine leaves whole: its Node is taken off load balancers, and volumes detach before its server goes."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODES, PERSISTENT_VOLUMES, PODS, VOLUME_ATTACHMENTS
from activities.ports.errors import Forbidden, NotFound, Rejected
from planner.lifecycle.seen import VolumesSeen
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, SCALE_DOWN, START, at_each_write
from tests.activities.removals.drains import draining, go_on

LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
LEAVING = {"phase": "Deprovisioning", "reason": "Empty", "detachUntil": START + timedelta(minutes=5)}
LEAVE = Act(effect="leave_balancers", reason="LeavesLoadBalancers")
OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}


async def attach(life, volume, *, node=NAME, claim=None):
    """An attachment of the volume, and the volume with its claim."""
    spec = {"attacher": "csi.example", "nodeName": node, "source": {"persistentVolumeName": volume}}
    await life.cluster.create(VOLUME_ATTACHMENTS, {"metadata": {"name": f"csi-{volume}-{node}"}, "spec": spec})
    if claim is not None:
        body = {"metadata": {"name": volume}, "spec": {"claimRef": {"namespace": "shop", "name": claim}}}
        await life.cluster.create(PERSISTENT_VOLUMES, body)


async def labels(life):
    return (await life.node())["metadata"].get("labels") or {}


@pytest.fixture
async def leaving(life):
    await life.add_leaving(LEAVING, SCALE_DOWN)
    return life


async def test_load_balancers_are_told_before_the_server_goes(leaving):
    seen = await leaving.do("leave_balancers")
    assert (await labels(leaving))[LABEL] == "growth"
    assert seen.status.excluded_at == START
    assert ("Node", "LeavesLoadBalancers") in await leaving.event_reasons()
    leaving.pass_time(9)
    assert (await leaving.removal_step()).reason == "LoadBalancersLetGo"
    leaving.pass_time(1)
    await leaving.do("delete_server")
    assert leaving.cloud.servers == {}


@at_each_write(2)
async def test_killed_at_any_write_the_node_is_labelled(leaving, write, when):
    await leaving.die_during("leave_balancers", LEAVE, when, write)
    await leaving.do("leave_balancers", LEAVE)
    assert (await labels(leaving))[LABEL] == "growth"


async def test_a_label_that_is_refused_stops_nothing(leaving):
    leaving.cluster.refuse_writes(Rejected("nodes are sealed"), "patch", NODES)
    with pytest.raises(Rejected):
        await leaving.do("leave_balancers")
    leaving.pass_time(60)
    await leaving.do("delete_server")
    assert leaving.cloud.servers == {}


async def test_a_label_of_others_stays_theirs(life):
    await life.add_leaving(OVER | {"cancel": {"at": "2026-11-01T12:00:00Z", "by": "Ada"}}, SCALE_DOWN)
    await life.cluster.put(NODES, NAME, "/metadata/labels", {LABEL: "true"} | life.own_labels())
    await life.do("untaint_node")
    assert (await labels(life))[LABEL] == "true"


async def test_a_cancel_takes_the_label_off(life):
    await life.add_leaving(OVER | {"phase": "Draining", "drainStartedAt": START, "excludedAt": START}, SCALE_DOWN)
    await life.cluster.put(NODES, NAME, "/metadata/labels", {LABEL: "growth"} | life.own_labels())
    await life.do("cancel_removal", Act(effect="cancel_removal", reason="Cancelled", by="Ada"))
    await life.do("untaint_node")
    assert LABEL not in await labels(life)
    assert await life.taints() == []
    assert (await life.removal_step()).effect == "finish_removal"


@pytest.mark.parametrize("immediate", [False, True])
async def test_the_point_of_no_return_says_until_when_volumes_are_awaited(life, immediate):
    await life.add_leaving(OVER, SCALE_DOWN, immediate=immediate)
    seen = await life.do("commit_removal")
    assert seen.status.detach_until == START + timedelta(minutes=5)


async def test_the_server_stays_until_its_volumes_are_detached(leaving):
    await attach(leaving, "pv-1")
    await attach(leaving, "pv-1", node="default-b2")
    await leaving.do("leave_balancers")
    seen = await leaving.do("tell_volumes")
    assert seen.volumes == VolumesSeen(count=1, names=("pv-1",), is_told=True)
    status = (await leaving.removal())["status"]
    assert (status["reason"], status["message"]) == (
        "VolumesDetach",
        "Waits for 1 volumes to detach until 2026-11-01 12:05:00 UTC: pv-1",
    )
    leaving.pass_time(60)
    assert (await leaving.removal_step()).reason == "VolumesDetach"
    await MemoryCluster.delete(leaving.cluster, VOLUME_ATTACHMENTS, f"csi-pv-1-{NAME}")
    leaving.pass_time(5)
    await leaving.do("delete_server")
    assert leaving.cloud.servers == {}


async def test_a_volume_that_never_detaches_keeps_no_server_for_ever(leaving):
    await attach(leaving, "pv-1")
    await leaving.do("leave_balancers")
    leaving.pass_time(299)
    assert (await leaving.removal_step()).effect == "tell_volumes"
    leaving.pass_time(1)
    await leaving.do("delete_server")
    assert leaving.cloud.servers == {}


async def test_volumes_of_pods_that_stay_on_the_node_are_not_awaited(leaving):
    """Source: Karpenter, controllers/node/termination, filterVolumeAttachments."""
    await attach(leaving, "pv-logs", claim="logs")
    await attach(leaving, "pv-scratch", claim="agent-1-scratch")
    await attach(leaving, "pv-data", claim="data")
    volumes = [
        {"name": "logs", "persistentVolumeClaim": {"claimName": "logs"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
    await leaving.run_pod("agent-1", owner="agent", volumes=volumes)
    await leaving.run_pod(
        "done-1", owner="job", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    )
    await leaving.set_pod_status({"phase": "Succeeded"}, "done-1")
    assert (await leaving.look_removal()).volumes == VolumesSeen(count=1, names=("pv-data",))


@pytest.mark.parametrize(
    "error",
    [
        NotFound("volumeattachments: the server could not find the requested resource"),
        Forbidden(
            "volumeattachments is forbidden",
            user="growth",
            verb="list",
            resource="volumeattachments.storage.k8s.io",
            advice="apply deploy/kustomize/base",
        ),
    ],
    ids=lambda error: error.reason,
)
async def test_what_nobody_can_see_is_told_and_stops_nothing(leaving, error, monkeypatch):
    listed = leaving.cluster.list

    async def refuse(resource, **selectors):
        if resource == VOLUME_ATTACHMENTS:
            raise error
        return await listed(resource, **selectors)

    monkeypatch.setattr(leaving.cluster, "list", refuse)
    await leaving.do("leave_balancers")
    await leaving.look_removal()
    told = [event for event in await leaving.events() if event["reason"] == "VolumesNotSeen"]
    assert [event["note"] for event in told] == [
        f"The server goes without a look at the volumes attached to it: {error}"
    ]
    leaving.pass_time(10)
    await leaving.do("delete_server")
    assert leaving.cloud.servers == {}


@pytest.mark.parametrize("reason", ["Consolidation", "Rotation", "Requested"])
async def test_the_volume_of_a_stateful_pod_is_off_before_its_server_goes(reason):
    """kubernetes-sigs/aws-ebs-csi-driver issues 1107, 1955; kubernetes-sigs/vsphere-csi-driver issue 359.

    Its next pod of the same name waits on another Node for the very volume, and its claim is the same.
    """
    life = await draining(reason=reason)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]
    await life.run_pod("db-0", owner="db", labels={"app": "db"}, volumes=volumes)
    await life.cluster.put(PODS, "db-0", "/metadata/ownerReferences/0/kind", "StatefulSet")
    await attach(life, "pv-1", claim="data-db-0")
    assert (await go_on(life))[-1] == "commit_removal"
    await life.add_pod("db-0", owner="db", volumes=volumes)
    life.cluster.bind("shop", "db-0", "default-b2")
    life.pass_time(10)
    await life.do("tell_volumes")
    assert (await life.removal_step()).reason == "VolumesDetach"
    await MemoryCluster.delete(life.cluster, VOLUME_ATTACHMENTS, f"csi-pv-1-{NAME}")
    life.pass_time(5)
    await life.do("delete_server")
    assert life.cloud.servers == {}
