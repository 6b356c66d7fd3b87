"""What the demo's load asks for, worked out from the objects alone before the show, as `growth plan` would."""

from activities.ports.cluster import DAEMON_SETS, NODE_POOLS, PODS, Object
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model.plan import NodeClass, Snapshot
from planner.parsing.objects import parse_objects
from planner.plan import plan
from simulator.scheduling.workloads import Workload
from simulator.world import World
from worker.demo.scene import SoldOut
from worker.ports import utc_now
from worker.solver.in_process import packer


async def snapshot_of(objects: list[Object], workloads: list[Workload]) -> Snapshot:
    """Return what a round sees when all pods of `workloads` wait and there is no machine.

    A world of its own is filled and left; nothing of it is seen by the show.
    """
    now = utc_now()
    world = World(now=lambda: now, seed=0)
    await world.apply(*objects)
    for workload in workloads:
        world.workloads.add(workload)
    await world.settle()
    cluster = world.cluster
    parsed = parse_objects(pods=(await cluster.list(PODS)).items, daemon_sets=(await cluster.list(DAEMON_SETS)).items)
    classes = (await cluster.list(world.node_classes)).items
    return Snapshot(
        now=now,
        pods=parsed.pods,
        daemon_sets=parsed.daemon_sets,
        pools=tuple(NodePool.model_validate(pool) for pool in (await cluster.list(NODE_POOLS)).items),
        classes=tuple(
            NodeClass(ClassRef(name=one["metadata"]["name"]), world.provider.offerings(one)) for one in classes
        ),
    )


async def first_choice(objects: list[Object], workloads: list[Workload]) -> SoldOut:
    """Return the offering that the first plan for these pods would miss most: the dearest that it buys."""
    planned = plan(await snapshot_of(objects, workloads), packer())
    dearest = max(planned.requests, key=lambda request: (request.price_per_hour, request.server_type))
    return SoldOut(dearest.server_type, dearest.location)
