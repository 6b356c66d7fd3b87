"""The world of a churn: its scheduler beside the slow one, rollouts, budgets, and planted faults that are found."""

from random import Random

import pytest

from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import ClassRef
from benchmarks.churn.binder import Binder
from benchmarks.churn.oracle import Broken, ChurnOracle
from benchmarks.churn.removing import Removing
from benchmarks.churn.stream import ChurnChange, ChurnWorkload, Stream, draw
from benchmarks.churn.view import POOL, ChurnView, moment
from benchmarks.churn.world import STARTS_WITHIN, TICK, ChurnWorld
from benchmarks.default_scheduler import score
from planner.model.plan import PlannedRemoval, PlannerMemory
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import sites_of
from simulator.peers.fleet import FleetMachine

CX22, CX32 = 0, 3
"""Offerings of the first zone."""


def stream_of(*workloads: ChurnWorkload, changes: tuple[ChurnChange, ...] = (), seconds: int = 86_400) -> Stream:
    machines = draw(0, days=1, deployments=1, jobs=0).machines
    return Stream(0, seconds, workloads, machines, changes, ())


def ready(world: ChurnWorld, offering: int) -> FleetMachine:
    """Buy a machine that is Ready at once."""
    machine = world.buy(offering)
    assert machine is not None
    machine.is_ready = True
    return machine


@pytest.mark.parametrize("seed", range(3))
def test_the_scheduler_binds_as_the_slow_one_does(seed: int):
    random = Random(seed)
    world = ChurnWorld(draw(seed, days=1, deployments=24, jobs=2))
    view = ChurnView(world, {})
    binder = Binder(world.fleet, seed)
    for _ in range(9):
        ready(world, random.randrange(len(world.stream.machines)))
    refused = bound = 0
    for _ in range(140):
        world.create(random.randrange(len(world.stream.workloads)))
        [pod] = world.waiting.values()
        snapshot = view.snapshot(annotations={}, status=NodeClassStatus(), memory=PlannerMemory())
        sites = list(sites_of(snapshot.nodes, [one for one in snapshot.pods if one.node_name]))
        judge = Judge(sites)
        asked = next(one for one in snapshot.pods if one.uid == str(pod.uid))
        scores = {
            site.name: score(asked, site, {r: sum(p.requests.get(r, 0) for p in site.pods) for r in ("cpu", "memory")})
            for site in sites
            if judge.verdict(asked, site) is None
        }
        machine = binder.machine_for(pod)
        assert (machine is None) == (not scores)
        if machine is None:
            refused += 1
            world.delete(pod)
        else:
            bound += 1
            assert scores[machine.name] == max(scores.values())
            world.bind(pod, machine)
    assert refused > 2
    assert bound > 30


def test_a_rollout_replaces_all_pods_and_never_has_too_few():
    workload = ChurnWorkload("app", 100, 64)
    changes = (ChurnChange(0, 0, 8), ChurnChange(600, 0, rollout=True))
    world = ChurnWorld(stream_of(workload, changes=changes))
    ready(world, CX32)
    oracle = ChurnOracle(world)
    world.step(0)
    before = set(world.of_workload[0])
    for now in range(TICK, 1200, TICK):
        world.step(now)
        oracle.look()
        assert 8 <= len(world.of_workload[0]) <= 10
    assert len(world.of_workload[0]) == 8
    assert before.isdisjoint(world.of_workload[0])


def test_a_budget_lets_the_next_go_when_the_successor_has_started():
    world = ChurnWorld(stream_of(ChurnWorkload("app", 100, 64, has_budget=True), changes=(ChurnChange(0, 0, 3),)))
    machine = ready(world, CX32)
    world.step(0)
    world.step(60)
    world.close(machine)
    ready(world, CX32)
    pods = list(machine.pods.values())
    assert world.evict(pods[0])
    assert not world.evict(pods[1])
    world.step(65)
    assert not world.evict(pods[1])
    world.step(65 + STARTS_WITHIN)
    assert world.evict(pods[1])
    assert world.tally.moved == 2


def removal_of(machine: FleetMachine) -> PlannedRemoval:
    return PlannedRemoval(
        node=machine.name,
        server=machine.name,
        provider_id=None,
        pool=POOL,
        server_type="cx32",
        location="fsn1",
        class_ref=ClassRef(),
        reason="Consolidation",
        why="",
        at=moment(0),
    )


def replaced(removing: type[Removing]) -> ChurnWorld:
    """Return a world in which a machine with pods has been replaced by one that boots first."""
    world = ChurnWorld(stream_of(ChurnWorkload("app", 100, 64), changes=(ChurnChange(0, 0, 3),)))
    oracle = ChurnOracle(world)
    machine = ready(world, CX32)
    world.step(0)
    removals = removing(world)
    removals.begin(removal_of(machine), [world.buy(CX22)], {})
    for now in range(TICK, 600, TICK):
        world.step(now)
        removals.go_on()
        oracle.look()
    return world


def test_pods_leave_when_the_machine_that_replaces_theirs_is_ready():
    world = replaced(Removing)
    assert [one.offering for one in world.fleet.machines.values()] == [CX22]
    assert world.tally.moved == 3
    assert not world.waiting


class Hasty(Removing):
    """A planted fault: does not wait for the machines that come."""

    def have_come(self, leaving: object) -> bool:
        del leaving
        return True


def test_who_evicts_before_the_new_machine_is_ready_is_found():
    with pytest.raises(Broken, match=r"are evicted before .* is Ready"):
        replaced(Hasty)


def test_who_evicts_against_a_budget_is_found(monkeypatch):
    monkeypatch.setattr(ChurnWorld, "may_evict", lambda *_: True)
    world = ChurnWorld(stream_of(ChurnWorkload("app", 100, 64, has_budget=True), changes=(ChurnChange(0, 0, 3),)))
    ChurnOracle(world)
    machine = ready(world, CX32)
    world.step(0)
    world.step(60)
    world.close(machine)
    pods = list(machine.pods.values())
    world.evict(pods[0])
    with pytest.raises(Broken, match="budget of app"):
        world.evict(pods[1])


def test_a_pod_that_is_lost_is_found():
    world = ChurnWorld(stream_of(ChurnWorkload("app", 100, 64), changes=(ChurnChange(0, 0, 3),)))
    oracle = ChurnOracle(world)
    world.step(0)
    oracle.look()
    world.waiting.popitem()
    with pytest.raises(Broken, match="not where it seems"):
        oracle.look()


def test_who_evicts_a_job_is_found():
    world = ChurnWorld(stream_of(ChurnWorkload("job", 100, 64, is_job=True), changes=(ChurnChange(0, 0, job=600),)))
    ChurnOracle(world)
    machine = ready(world, CX32)
    world.step(0)
    world.close(machine)
    with pytest.raises(Broken, match="a pod of job is evicted"):
        world.evict(next(iter(machine.pods.values())))
