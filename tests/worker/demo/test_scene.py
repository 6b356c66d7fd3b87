"""The demo's story needs its scene: what each seed's load must be like for every stage to be seen."""

import pytest

from activities.ports.errors import InsufficientCapacity
from activities.ports.provider import ServerOrder
from planner.plan import plan
from simulator.world import World
from worker.demo.scene import (
    RETURNING,
    RETURNING_PODS,
    STUBBORN_ARCHITECTURE,
    SoldOut,
    architectures,
    first_choice,
    objects,
    prices,
    snapshot_of,
    without,
    workloads,
)
from worker.ports import utc_now
from worker.solver.in_process import packer


def test_equal_seeds_give_equal_loads_and_others_do_not():
    assert workloads(3) == workloads(3)
    assert workloads(3) != workloads(4)


@pytest.mark.parametrize(
    "seed",
    [*range(1, 6), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(6, 21))],
)
async def test_the_story_can_be_told_with_the_load_of_a_seed(seed):
    load = workloads(seed)
    sold_out = await first_choice(objects(), load)
    first = plan(await snapshot_of(objects(), load), packer())
    assert sold_out in {SoldOut(one.server_type, one.location) for one in first.requests}
    second = plan(await snapshot_of(without(sold_out), load), packer())
    bought = [(one.server_type, one.location) for one in second.requests]
    assert (sold_out.server_type, sold_out.location) not in bought
    assert second.unplaced == ()
    assert sum(len(one.seats) for one in second.requests) == sum(workload.replicas for workload in load)
    kinds = [architectures()[server_type] for server_type, _ in bought]
    assert STUBBORN_ARCHITECTURE in kinds
    # One that the pods take back, one that the person keeps, and at least one that goes.
    assert len(kinds) - kinds.count(STUBBORN_ARCHITECTURE) >= 3
    assert next(one.replicas for one in load if one.name == RETURNING) > RETURNING_PODS


async def test_what_is_sold_out_is_offered_and_refused():
    sold_out = SoldOut("cx43", "nbg1")
    world = World(now=utc_now, seed=1)
    await world.apply(*objects(sold_out))
    [node_class] = [one for one in objects(sold_out) if one["kind"] == "KwokNodeClass"]
    offered = {(one.server_type, one.location): one.available for one in world.provider.offerings(node_class)}
    assert offered["cx43", "nbg1"]
    order = ServerOrder("m", "cx43", "nbg1", {}, {}, [])
    with pytest.raises(InsufficientCapacity, match=r"cx43 in nbg1: sold out$"):
        await world.provider.create(node_class, order)
    [known] = [one for one in without(sold_out) if one["kind"] == "KwokNodeClass"]
    known_offers = {(one.server_type, one.location): one.available for one in world.provider.offerings(known)}
    assert not known_offers["cx43", "nbg1"]
    assert sum(known_offers.values()) == len(known_offers) - 1 == 2 * len(prices()) - 1
