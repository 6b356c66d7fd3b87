"""Writes to pods are refused for a while, as by a webhook that does not answer: no machine more is bought for them."""

import pytest

from simulator.campaign.mutations.lifecycles import LIFECYCLE_MUTATIONS
from simulator.campaign.mutations.planting import planted
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import NeverSeen, simulate

REFUSED_SECONDS = 25.0
PODS = 6
SMALL = machine("small", cpu=2, memory=4, price="0.010", boot_time="3s")
TIMES = {"scaleDown": {"idleAfter": "30s", "softGrace": "10s"}}
OBJECTS = (node_class([SMALL]), node_pool("default", [{"name": "small"}], limits={"max": 40}, **TIMES))
SEATS = next(
    mutation for mutation in LIFECYCLE_MUTATIONS if mutation.name == "reservations and machines in flight are ignored"
)


def bought(begins_when):
    """Return the names of the servers that one pod each has cost, with refused writes from some moment on."""
    names = set()

    async def story(sim):
        sim.world.workloads.add(Workload("web", PODS, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(begins_when, "the moment", within=60)
        sim.world.refuse_pod_writes(REFUSED_SECONDS)
        await sim.until(lambda v: names.update(v.servers) or not v.pending(), "all pods run", within=200)
        await sim.until(lambda v: names.update(v.servers) or sim.seconds() > 200, "the end", within=220)

    simulate(22, story, objects=OBJECTS, most_servers=40)
    return names


@pytest.mark.parametrize(
    "begins_when",
    [
        lambda view: bool(view.requests),
        lambda view: len(view.servers) == PODS,
        lambda view: len(view.nodes) == PODS,
    ],
    ids=["asked for", "booting", "joined"],
)
def test_no_machine_more_is_bought(begins_when):
    assert len(bought(begins_when)) == PODS


def test_a_planted_fault_would_be_seen():
    with planted(SEATS):
        try:
            names = bought(lambda view: len(view.servers) == PODS)
        except (NeverSeen, ExceptionGroup):
            return
        assert len(names) > PODS
