"""The stage of the demo in which pods are moved: with each seed's load there is something to save."""

import asyncio
import re
from collections import Counter

import pytest

from simulator.simulation import simulate
from worker.demo.consolidation import savings_of
from worker.demo.scene import STUBBORN_ARCHITECTURE, after_peak, architectures, first_choice, objects, prices, workloads
from worker.demo.tables import cost
from worker.demo.watch import own_pods, running


def counted(pods):
    return Counter(pod["metadata"]["labels"]["app"] for pod in pods)


def test_in_the_evening_the_batch_is_done_and_a_third_of_what_serves_people_is_left():
    assert after_peak(workloads(1)) == {"web": 4, "api": 3, "db": 4, "batch": 0, "cache": 2, "ci-arm": 4}


@pytest.mark.parametrize(
    "seed", [*range(1, 4), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(4, 21))]
)
def test_with_the_load_of_a_seed_a_machine_goes_and_enough_are_left_for_the_other_stages(seed):
    load = workloads(seed)
    sold_out = asyncio.run(first_choice(objects(), load))
    left = after_peak(load)

    async def story(sim):
        for workload in load:
            sim.world.workloads.add(workload)
        sim.world.wake()
        count = sum(workload.replicas for workload in load)
        peak = await sim.until(lambda v: len(running(v)) == count, "all pods running", within=60)
        for name, replicas in left.items():
            sim.world.workloads.scale(name, replicas)
        sim.world.wake()
        savings = {}

        def is_gone(view):
            savings.update(savings_of(view))
            return any(name not in view.servers for name in savings)

        end = await sim.until(is_gone, "a machine that goes for what it saves", within=40)
        assert all(re.match(r"Saves \d+\.\d\d EUR a month: this machine goes", why) for why in savings.values())
        assert cost(end, prices()) < cost(peak, prices())
        assert dict(counted(own_pods(end))) == {name: number for name, number in left.items() if number}
        kinds = [architectures()[server.server_type] for server in end.servers.values()]
        assert STUBBORN_ARCHITECTURE in kinds
        assert len(kinds) - kinds.count(STUBBORN_ARCHITECTURE) >= 3

    simulate(seed, story, objects=objects(sold_out))
