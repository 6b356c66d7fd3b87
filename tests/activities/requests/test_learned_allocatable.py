"""What Nodes turn out to have for pods is learned, so that a type is not bought twice for a pod that does not fit."""

from dataclasses import replace

import pytest

from activities.kube.json_patch import set_field
from activities.objects.node_classes import class_status
from activities.ports.cluster import NODES, PODS
from activities.ports.errors import Conflict, Rejected, Unreachable
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.round.observe import Observer
from planner.model.plan import PlannerMemory
from planner.plan import plan
from planner.supply.observed.learned import amounts
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, REGISTERED, RESERVED, START, UNREGISTERED, Cloud, Life
from tests.tables import rows

ADVERTISED, REAL = "4096Mi", "3814Mi"
"""Memory of a cpx22, as its price list and as its Node says. Source: karpenter-provider-hetzner, issue 68."""
IMAGE = "114690387"


class LearningCloud(Cloud):
    """Its offerings have what was learned, as Hetzner's have."""

    def offerings(self, node_class):
        known = {(e.server_type, e.image): amounts(e.allocatable) for e in class_status(node_class, START).learned}
        return tuple(
            replace(o, allocatable={**o.allocatable, **known.get((o.server_type, self.boot_image), {})})
            for o in super().offerings(node_class)
        )


async def made(image=IMAGE):
    """A class whose machines advertise more memory than they have."""
    life = Life()
    life.cloud = LearningCloud(life.now)
    life.cloud.boot_image = image
    life.ports = replace(life.ports, providers={"KwokNodeClass": life.cloud})
    life.restart()
    await life.install()
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/spec/serverTypes/0/capacity/memory", ADVERTISED)
    return life


async def joined(*, ready=True, image=IMAGE, **status):
    """A request whose Node has less memory than its type advertises."""
    life = await made(image)
    await life.add_request(REGISTERED | {"plannedImage": image} | status, seats=[await life.add_pod(memory="3900Mi")])
    life.add_server()
    await join(life, RESERVED, ready=ready)
    await life.do("tolerate_pods")
    life.cluster.writes.clear()
    return life


async def join(life, *taints, ready=False):
    await life.add_node(*taints, ready=ready)
    change = set_field(await life.node(), ("metadata", "labels", "kubernetes.io/os"), "linux")
    await MemoryCluster.patch(life.cluster, NODES, NAME, change)
    await has_memory(life, REAL)


async def has_memory(life, memory):
    change = set_field(await life.node(), ("status", "allocatable", "memory"), memory)
    await MemoryCluster.patch(life.cluster, NODES, NAME, change, subresource="status")


async def learned(life):
    node_class = await life.find(KWOK_NODE_CLASSES, "default")
    return {(e["serverType"], e["image"]): e["allocatable"] for e in node_class.get("status", {}).get("learned", [])}


async def as_planned(life):
    conditions = (await life.request())["status"]["conditions"]
    return next((c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == "NodeAsPlanned")


async def round_of(life):
    return plan((await Observer(life.ports).observe(PlannerMemory(), {})).snapshot)


def class_writes(life):
    return [write for write in life.cluster.writes if write.startswith("patch kwoknodeclasses/")]


async def test_after_the_first_miss_a_type_is_never_bought_for_the_pod_again():
    """Source: karpenter-provider-hetzner, issue 68; kubernetes/autoscaler, issue 5756."""
    life = await made()
    seat = await life.add_pod(memory="3900Mi")
    waiting = bodies.unschedulable()[0]["value"]
    await life.set_pod_status(waiting)
    assert [r.server_type for r in (await round_of(life)).requests] == ["cx32"]

    await life.add_request(seats=[seat])
    await life.do("create_server")
    life.cloud.set_state(ServerState.RUNNING)
    await life.do("mark_running")
    await join(life, UNREGISTERED)
    await life.do("register_node")
    await life.set_ready()
    await life.do("mark_ready")
    assert (await learned(life))["cx32", IMAGE] == {"cpu": "4000m", "memory": str(3814 * 2**20), "pods": "110"}
    missed = ("False", "LessRoom", "memory 3.7Gi usable, planned 4Gi")
    assert await as_planned(life) == missed

    life.pass_time(3600)
    await life.do("mark_tried")
    life.pass_time(3600)
    await life.do("release_node")
    assert await as_planned(life) == missed, "what was learned since is not what was planned"
    decided = await round_of(life)
    assert decided.requests == ()
    [unplaced] = decided.unplaced
    assert (unplaced.pod, unplaced.reasons[0].code) == ("shop/web-1", "TooLarge")
    assert "cx32: memory short by" in unplaced.reasons[0].message

    await life.cluster.delete(PODS, "web-1", namespace="shop")
    await life.cluster.delete(NODES, NAME)
    await life.add_pod("small-1", memory="3800Mi")
    await life.set_pod_status(waiting, "small-1")
    assert [r.server_type for r in (await round_of(life)).requests] == ["cx32"], "one that fits is still bought for"


@rows("later", {"more than planned": (4090, 0), "less at the end of the reservation": (3700, 3600)})
async def test_what_the_node_has_is_learned(later):
    memory, seconds = later
    life = await joined()
    if seconds:
        await life.do("mark_ready")
    await has_memory(life, f"{memory}Mi")
    life.pass_time(seconds)
    await life.do("release_node" if seconds else "mark_ready")
    assert (await learned(life))["cx32", IMAGE]["memory"] == str(memory * 2**20)


async def test_what_is_known_already_is_not_written_again():
    life = await joined()
    await life.do("mark_ready")
    writes = class_writes(life)
    life.pass_time(3600)
    await life.do("release_node")
    assert len(writes) == 1
    assert class_writes(life) == writes


@rows(
    "machine",
    {
        "a class that states exactly what machines have": {"image": None},
        "a node that is not Ready": {"ready": False, "joinDeadline": START},
        "a node of the class as it was": {"classGeneration": 77},
        "a node whose image was not kept": {"plannedImage": None},
    },
)
async def test_nothing_is_learned_from(machine):
    life = await joined(**machine)
    if not machine.get("ready", True):
        await life.add_pod("web-9", bound=True)
    await life.do("mark_ready")
    assert (await learned(life), class_writes(life)) == ({}, [])


async def test_a_node_of_an_older_image_teaches_nothing_about_the_newer_one():
    """A newer snapshot changes nothing of the class's spec, so its generation stays."""
    life = await joined()
    life.cloud.boot_image = "114690388"
    await life.do("mark_ready")
    assert {image for _, image in await learned(life)} == {IMAGE}


async def test_a_class_that_is_gone_stops_nothing():
    life = await joined()
    await life.cluster.delete(KWOK_NODE_CLASSES, "default")
    assert (await life.do("mark_ready")).status.phase == "Ready"


@pytest.mark.parametrize("error", [Unreachable("no answer"), Rejected("too long")])
async def test_a_note_that_cannot_be_written_stops_nothing(error, caplog):
    life = await joined()
    life.cluster.refuse_writes(error, resource=KWOK_NODE_CLASSES)
    assert (await life.do("mark_ready")).status.phase == "Ready"
    assert await learned(life) == {}
    assert f"what Node {NAME} has for pods was not noted: {error}" in caplog.text


async def test_an_amount_that_cannot_be_read_stops_nothing(caplog):
    life = await joined()
    await has_memory(life, "much")
    assert (await life.do("mark_ready")).status.phase == "Ready"
    assert await learned(life) == {}
    assert "status.allocatable.memory" in caplog.text


@pytest.mark.parametrize(("conflicts", "is_learned"), [(1, True), (9, True), (10, False)])
async def test_another_write_to_the_class_is_met_by_reading_it_again(conflicts, is_learned):
    life = await joined()
    life.cluster.refuse_writes(Conflict("changed"), resource=KWOK_NODE_CLASSES, times=conflicts)
    await life.do("mark_ready")
    assert bool(await learned(life)) is is_learned
