"""The worker and the simulator's driver send the same messages to the same receivers for the same changes."""

import asyncio

from activities.kube.cache import Cache
from activities.ports.cluster import NODE_REQUESTS
from planner.lifecycle.kinds import REMOVAL
from planner.lifecycle.wakes import Nudge, Pace
from planner.model.round import planner_workflow_id
from simulator.apiserver.cluster import MemoryCluster
from simulator.clock import START
from simulator.driver.driver import Driver
from simulator.world import World
from tests.planner.lifecycle.watched import COURSE, ORPHAN, event
from worker.runtime.watches import Bursts, Watches

CLUSTER = "simulated"
Sent = list[tuple[str, str, Pace]]


class Worker(Watches):
    """Keeps its messages instead of sending them in bursts."""

    def __init__(self, kinds) -> None:
        super().__init__(None, CLUSTER, kinds)
        self.sent: Sent = []
        self._bursts = {pace: Kept(self.sent, pace) for pace in Pace}


class Kept(Bursts):
    def __init__(self, sent: Sent, pace: Pace) -> None:
        super().__init__(None)
        self._sent, self._pace = sent, pace

    def add(self, receiver, reason):
        self._sent.append((receiver, reason, self._pace))


class Simulated(Driver):
    """Keeps its messages instead of delivering them."""

    def __init__(self, ports) -> None:
        super().__init__(ports, Cache(ports.cluster, ()), run="1", tell=lambda _who, _what: None)
        self.sent: Sent = []

    def _deliver(self, message):
        if isinstance(message, Nudge):
            self.sent.append((planner_workflow_id(CLUSTER), message.reason, message.pace))
            return
        kind = "node-removal" if message.subject.kind == REMOVAL.name else "node-request"
        to = f"{kind}:{CLUSTER}:{message.subject.name}:{message.subject.uid}"
        self.sent.append((to, message.reason, Pace.QUICK))


def both() -> tuple[Worker, Simulated]:
    world = World(now=lambda: START, seed=1)
    cluster = MemoryCluster(lambda: START)
    ports = world.ports(cluster, Cache(cluster, ()))
    return Worker(ports.providers), Simulated(ports)


async def test_of_each_change_both_send_the_same():
    worker, simulated = both()
    for resource, before, after in COURSE:
        for one in (worker, simulated):
            one.sent.clear()
            (one.note if isinstance(one, Worker) else one._note)(resource, event(before, after), before)
        assert simulated.sent == worker.sent, (resource.kind, before, after)
    await worker.close()


async def test_the_course_has_messages_of_every_kind():
    worker, _ = both()
    for resource, before, after in COURSE:
        worker.note(resource, event(before, after), before)
    receivers = {to.split(":")[0] for to, _, _ in worker.sent}
    assert receivers == {"planner", "node-request", "node-removal"}
    assert {pace for _, _, pace in worker.sent} == set(Pace)
    assert len({reason for _, reason, _ in worker.sent}) >= 10
    await worker.close()


async def test_both_ask_for_a_workflow_for_an_object_that_stays_without_one(monkeypatch):
    for module in ("worker.runtime.watches", "simulator.driver.driver"):
        monkeypatch.setattr(f"{module}.ORPHAN_SECONDS", 0)
    worker, simulated = both()
    worker.note(NODE_REQUESTS, event(None, ORPHAN), None)
    simulated._note(NODE_REQUESTS, event(None, ORPHAN), None)
    assert worker.sent == simulated.sent == []
    await asyncio.sleep(0.01)
    assert worker.sent == simulated.sent == [("planner:simulated", "m-1 has no workflow", Pace.QUICK)]
