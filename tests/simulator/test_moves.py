"""Machines whose pods move to room on others that are there, in virtual time: one after the other."""

import pytest

from simulator.driver.connection import Health
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate
from tests.simulator.replaced_machines import WITHIN, at_rest, begin, is_clean, machines, objects, purchases, writes


async def with_room(sim):
    """Two small machines with a pod each, and a large one with room for both pods."""
    sources = await machines(sim, 2)
    sim.start()
    sim.world.workloads.add(Workload("base", 1, {"cpu": "2500m", "memory": "1Gi"}))
    sim.world.wake()
    view = await sim.until(
        lambda v: len(v.pods) == 3 and not v.pending() and not v.requests, "the large one", within=90
    )
    (target,) = set(view.servers) - set(sources)
    await sim.crash()
    return sources, target


ROOMY = {"large": {"capacity": {"cpu": "6", "memory": "8Gi", "pods": "110"}}}


def test_machines_of_a_step_are_emptied_one_after_the_other():
    async def story(sim):
        sources, target = await with_room(sim)
        _, judge, _ = begin(sim, sources, by=None, moves=dict.fromkeys(sources, target))

        def is_over(view):
            draining = [name for name in sources if view.removal_phase(name) == "Draining"]
            assert len(draining) <= 1
            return at_rest(sources)(view)

        end = await sim.until(is_over, "one machine", within=WITHIN)
        assert (set(end.servers), len(end.pods), judge.early) == ({target}, 3, [])
        assert is_clean(end)

    sim = simulate(306, story, objects=objects(**ROOMY))
    assert len(purchases(sim)) == 3


@pytest.mark.parametrize("write", writes(30))
def test_a_worker_that_dies_at_any_write_of_a_move_moves_all_or_goes_on(write):
    async def story(sim):
        sources, target = await with_room(sim)
        before = len(purchases(sim))
        _, judge, worker = begin(sim, sources, Health(dies_after=write), by=None, moves=dict.fromkeys(sources, target))
        await worker.has_died.wait()
        await sim.crash(worker)
        sim.start()
        end = await sim.until(at_rest(sources), "one machine", within=2 * WITHIN)
        assert (set(end.servers), len(end.pods), judge.early) == ({target}, 3, [])
        assert is_clean(end)
        assert len(purchases(sim)) == before

    simulate(400 + write, story, objects=objects(**ROOMY))


def test_no_pod_is_asked_to_leave_for_room_that_others_have_taken():
    async def story(sim):
        sources, target = await with_room(sim)
        _, judge, _ = begin(sim, sources, by=None, moves=dict.fromkeys(sources, target))
        await sim.until(lambda v: len(v.removals) == 2, "begun", within=15)
        sim.world.workloads.add(Workload("late", 1, {"cpu": "2500m", "memory": "1Gi"}))
        sim.world.wake()
        end = await sim.until(
            lambda v: len(v.pods) == 4 and not (v.removals or v.requests or v.pending()), "rest", within=200
        )
        assert (set(end.servers), judge.seen) == ({*sources, target}, [])
        assert is_clean(end)

    # A history in which a round comes before the first pod is asked to leave.
    simulate(308, story, objects=objects(**ROOMY))


def test_what_finds_no_room_comes_back_and_the_rest_of_the_step_stays():
    """The scheduler knows of no room that is meant for others."""

    async def story(sim):
        sources, target = await with_room(sim)
        replacing, _, _ = begin(sim, sources, by=None, moves=dict.fromkeys(sources, target))
        await sim.until(lambda v: "Draining" in map(v.removal_phase, sources), "one is emptied", within=30)
        before = len(purchases(sim))
        sim.world.workloads.add(Workload("late", 1, {"cpu": "2500m", "memory": "1Gi"}))
        sim.world.wake()
        end = await sim.until(
            lambda v: len(v.pods) == 4 and not (v.removals or v.requests or v.pending()), "rest", within=200
        )
        assert set(end.servers) == {*sources, target}
        assert len(purchases(sim)) == before
        assert is_clean(end)
        noted = [n for n, node in end.nodes.items() if "growth.dev/move-failed" in node["metadata"]["annotations"]]
        assert len(noted) == 1
        assert replacing.begun == 1

    simulate(307, story, objects=objects(**ROOMY))
