"""Machines that are replaced, in virtual time: bought first, then emptied; and what a kill at any write leaves."""

import pytest

from activities.ports.cluster import DISRUPTION_BUDGETS
from planner.lifecycle.step import Decision
from simulator.driver.connection import Health
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate
from tests.simulator.replaced_machines import (
    WITHIN,
    at_rest,
    begin,
    is_clean,
    machines,
    objects,
    purchases,
    sleep,
    writes,
)


def test_two_machines_go_once_one_that_replaces_them_is_ready():
    async def story(sim):
        sources = await machines(sim, 2)
        replacing, judge, _ = begin(sim, sources)
        await sim.until(lambda v: len(v.taints("growth.dev/scale-down")) == 2, "both closed", within=15)
        view = await sim.look()
        assert set(view.placement().values()) == set(sources)
        end = await sim.until(at_rest(sources), "one machine", within=WITHIN)
        assert (len(end.servers), len(end.pods), judge.early, replacing.begun) == (1, 2, [], 1)
        assert is_clean(end)
        assert len(judge.seen) == 2

    sim = simulate(1, story, objects=objects())
    assert len(purchases(sim)) == 3


@pytest.mark.parametrize("write", writes(45))
def test_a_worker_that_dies_at_any_write_buys_nothing_twice(write):
    """Its rounds decide anew; what is left of the one before is taken back, or goes on."""

    async def story(sim):
        sources = await machines(sim, 2)
        before = len(purchases(sim))
        _, judge, worker = begin(sim, sources, Health(dies_after=write))
        await worker.has_died.wait()
        await sim.crash(worker)
        sim.start()
        end = await sim.until(at_rest(sources), "one machine", within=2 * WITHIN)
        assert (len(end.servers), len(end.pods), judge.early) == (1, 2, [])
        assert is_clean(end)
        assert len(purchases(sim)) - before == 1

    simulate(100 + write, story, objects=objects())


MOMENTS = {
    "begun": lambda v: len(v.removals) == 2,
    "closed": lambda v: len(v.taints("growth.dev/scale-down")) == 2,
    "joined": lambda v: len(v.nodes) == 3,
    "drained": lambda v: any(v.removal_phase(name) == "Draining" for name in v.removals),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_person_may_cancel_until_the_last_pod_has_left(moment):
    """The machine stays, and the rest of the step that has not begun; what nobody needs goes as an empty machine."""

    async def story(sim):
        sources = await machines(sim, 2)
        replacing, judge, _ = begin(sim, sources)
        view = await sim.until(MOMENTS[moment], moment, within=60)
        replacing.sources = ("none",)
        stopped = next(name for name in sources if view.removal_phase(name) in {"", "Pending", "Draining"})
        while True:
            try:
                sim.ask(stopped, Decision(kind="cancel", by="Ada"))
                break
            except LookupError:
                await sleep(sim, 0.1)
        end = await sim.until(
            lambda v: not (v.removals or v.requests or v.pending()) and set(v.servers) == set(v.placement().values()),
            "rest",
            within=400,
        )
        assert stopped in end.servers
        assert judge.early == []
        assert is_clean(end)
        if moment != "drained":
            assert set(end.servers) == set(sources)
            assert judge.seen == []

    # A history in which the person is heard before the other machine is emptied.
    simulate(301, story, objects=objects(idleAfter="1m"))


# What replaces them does not come.


@pytest.mark.parametrize("boot", [600, 3600])
def test_when_the_machine_does_not_come_in_time_all_stay_and_it_is_not_tried_again_for_a_while(boot):
    async def story(sim):
        sources = await machines(sim, 2)
        replacing, judge, _ = begin(sim, sources)
        await sim.until(lambda v: len(v.taints("growth.dev/scale-down")) == 2, "both closed", within=90)
        end = await sim.until(lambda v: not (v.removals or v.requests), "all over", within=600)
        assert (set(end.servers), judge.seen, replacing.begun) == (set(sources), [], 1)
        assert is_clean(end)
        failed = [node for node in end.nodes.values() if "growth.dev/move-failed" in node["metadata"]["annotations"]]
        assert failed
        await sleep(sim, 600)
        assert replacing.begun == 1

    simulate(301, story, objects=objects(boot=boot, scale_up={"provisioningTimeout": "1m", "joinTimeout": "1m"}))


def test_without_capacity_all_stay():
    async def story(sim):
        sources = await machines(sim, 2)
        replacing, judge, _ = begin(sim, sources)
        end = await sim.until(lambda v: replacing.begun and not (v.removals or v.requests), "all over", within=300)
        assert (set(end.servers), judge.seen) == (set(sources), [])
        assert is_clean(end)

    simulate(302, story, objects=objects(large={"locations": [{"name": "fsn1", "available": False}]}))


def test_pods_that_were_planned_beside_a_machine_that_does_not_come_use_what_stays():
    """Reduced from kubernetes-sigs/karpenter, issue 1293: a replacement that could not be had cost a dearer machine.

    The pod is planned onto the machine to come, and has room where the others stay once they do.
    """

    async def story(sim):
        sources = await machines(sim, 2)
        before = len(purchases(sim))
        replacing, judge, _ = begin(sim, sources)
        await sim.until(lambda v: len(v.taints("growth.dev/scale-down")) == 2, "both closed", within=15)
        sim.world.workloads.add(Workload("late", 1, {"cpu": "400m", "memory": "1Gi"}))
        sim.world.wake()
        end = await sim.until(
            lambda v: len(v.pods) == 3 and not (v.removals or v.requests or v.pending()), "all over", within=600
        )
        assert (set(end.servers), judge.seen, replacing.begun) == (set(sources), [], 1)
        # The one that never joined, and nothing in its place.
        assert len(purchases(sim)) - before == 1

    simulate(309, story, objects=objects(boot=600, scale_up={"provisioningTimeout": "30s", "joinTimeout": "30s"}))


@pytest.mark.parametrize("idle_after", ["1s", "20s"])
def test_a_machine_that_is_still_empty_as_its_pods_have_not_moved_yet_does_not_go(idle_after):
    """Reduced from aws/karpenter-provider-aws, issue 4341: a new node was consolidated before its pods had started.

    For a minute a disruption budget lets the pod not go, and all that time nothing is on the new machine.
    """

    async def story(sim):
        sources = await machines(sim, 1)
        before = len(purchases(sim))
        selector = {"matchLabels": {"app": "w0"}}
        budget = {"metadata": {"name": "w0"}, "spec": {"selector": selector, "maxUnavailable": 0}}
        await sim.world.cluster.create(DISRUPTION_BUDGETS, budget, namespace="default")
        _, judge, _ = begin(sim, sources)
        (source,) = sources
        await sim.until(lambda v: v.removal_phase(source) == "Draining", "the drain", within=60)
        await sleep(sim, 60)
        view = await sim.look()
        assert set(view.placement().values()) == {source}
        assert len(view.taints("growth.dev/reserved")) == 1
        await sim.world.cluster.delete(DISRUPTION_BUDGETS, "w0", namespace="default")
        end = await sim.until(at_rest(sources), "the other machine", within=2 * WITHIN)
        assert (len(end.servers), len(end.pods), judge.early) == (1, 1, [])
        assert len(purchases(sim)) - before == 1

    simulate(310, story, objects=objects(idleAfter=idle_after))


# Load that comes meanwhile.


def test_a_pod_that_has_no_other_place_takes_its_machine_back_and_with_it_the_step():
    """Nothing more is bought: the pod runs at once, and what was bought for the step goes as an empty machine."""

    async def story(sim):
        sources = await machines(sim, 2)
        replacing, judge, _ = begin(sim, sources)
        await sim.until(lambda v: len(v.taints("growth.dev/scale-down")) == 2, "both closed", within=15)
        before = len(purchases(sim))
        replacing.sources = ("none",)
        sim.world.workloads.add(Workload("late", 1, {"cpu": "400m", "memory": "1Gi"}))
        sim.world.wake()
        view = await sim.until(lambda v: len(v.pods) == 3 and not v.pending(), "the pod", within=5)
        assert view.placement()[next(key for key in view.pods if "late" in key)] in sources
        end = await sim.until(
            lambda v: not (v.removals or v.requests) and set(v.servers) == set(sources), "rest", within=300
        )
        assert judge.seen == []
        assert is_clean(end)
        assert len(purchases(sim)) == before

    simulate(
        303, story, objects=objects(large={"capacity": {"cpu": "3", "memory": "8Gi", "pods": "110"}}, idleAfter="1m")
    )


def test_what_fits_beside_the_pods_that_move_takes_nothing_back():
    async def story(sim):
        sources = await machines(sim, 2)
        _, judge, _ = begin(sim, sources)
        await sim.until(lambda v: len(v.taints("growth.dev/scale-down")) == 2, "both closed", within=15)
        sim.world.workloads.add(Workload("late", 1, {"cpu": "700m", "memory": "1Gi"}))
        sim.world.wake()
        end = await sim.until(lambda v: at_rest(sources)(v) and len(v.pods) == 3, "one machine", within=WITHIN)
        assert (len(end.servers), judge.early) == (1, [])
        assert len(purchases(sim)) == 3

    simulate(304, story, objects=objects())


@pytest.mark.parametrize("moment", ["closed", "joined", "drained"])
def test_strangers_do_not_take_the_room_of_pods_that_move(moment):
    """The pod fits onto the new machine as long as the others have not come."""

    async def story(sim):
        sources = await machines(sim, 2)
        _, judge, _ = begin(sim, sources)
        await sim.until(MOMENTS[moment], moment, within=60)
        sim.world.workloads.add(Workload("late", 1, {"cpu": "1900m", "memory": "1Gi"}))
        sim.world.wake()
        end = await sim.until(lambda v: at_rest(sources)(v) and len(v.pods) == 3, "rest", within=WITHIN)
        assert (len(end.servers), judge.early) == (2, [])
        by_node = {}
        for key, node in end.placement().items():
            by_node.setdefault(node, set()).add(key.split("/")[1].split("-")[0])
        assert sorted(map(sorted, by_node.values())) == [["late"], ["w0", "w1"]]

    simulate(305, story, objects=objects())


def test_in_a_pool_that_keeps_no_machine_for_pods_the_same_two_go():
    async def story(sim):
        sources = await machines(sim, 2)
        _, judge, _ = begin(sim, sources)
        end = await sim.until(at_rest(sources), "one machine", within=WITHIN)
        assert (len(end.servers), len(end.pods), judge.early) == (1, 2, [])

    sim = simulate(308, story, objects=objects(scale_up={"reserve": False}))
    assert len(purchases(sim)) == 3
