"""Hetzner's servers under k3s, Talos and others, which give Nodes provider ids of their own, through whole lives."""

import asyncio
from functools import partial

import pytest

from activities.ports.cluster import NODE_REQUESTS, NODES
from api.v1alpha1.node_pool import ClassRef
from simulator.campaign.hetzner.setup import TYPES, class_objects, world_of
from simulator.catalogue import node_pool
from simulator.hetzner.project.state import Durations
from simulator.hetzner.world import Terms
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

HOURS = 4
QUICK = Durations(create_seconds=3.0, start_seconds=1.0, delete_seconds=1.0)


def pool():
    ref = ClassRef(kind="HetznerNodeClass").to_json()
    return node_pool(
        "default",
        [{"name": each} for each in TYPES],
        template={"classRef": ref},
        limits={"max": 20},
        scaleDown={"idleAfter": "1m", "softGrace": "5s"},
    )


@pytest.mark.parametrize("scheme", ["k3s", "talos", "kwok"])
@pytest.mark.parametrize("labels_are_lost", [False, True])
def test_one_pod_has_one_server_for_hours_which_goes_with_its_node(scheme, labels_are_lost):
    made = []

    async def story(sim):
        sim.world.cloud.told.append(lambda before, now: made.append(now.name) if before is None else None)
        sim.world.workloads.add(Workload("web", 1, {"cpu": "900m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda view: view.pods and not view.pending(), "the pod has a node", within=300)
        (node,) = sim.world.cluster.peek(NODES)
        assert node["spec"]["providerID"].startswith(f"{scheme}://")
        (request,) = sim.world.cluster.peek(NODE_REQUESTS)
        told = {one["type"]: one for one in request["status"]["conditions"]}["NodeNamesServer"]
        assert (told["status"], told["reason"]) == ("False", "OtherScheme")
        await asyncio.sleep(HOURS * 3600)
        assert len(made) == 1, "without the Node, a server would be bought after each time-out"
        sim.scale("web", 0)
        await sim.until(lambda view: not view.servers, "the server is gone", within=900)
        await asyncio.sleep(60)
        assert sim.world.cluster.peek(NODES) == []

    terms = Terms(QUICK, other_scheme=scheme, labels_are_lost=labels_are_lost)
    make_world = partial(world_of, terms=terms, has_network=False)
    simulate(1, story, objects=[*class_objects({}), pool()], make_world=make_world)
