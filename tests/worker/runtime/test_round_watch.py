"""Rounds that fail one after the other are told, however they end: a round cut by its time writes nothing itself."""

from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs
from temporalio.service import RPCError, RPCStatusCode

from activities.ports.cluster import NODE_POOLS
from api.model import read
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Snapshot
from planner.plan import plan
from simulator.apiserver.cluster import MemoryCluster
from tests.builders import node_pool
from tests.worker.runtime.test_keeper import ports_of
from worker.runtime.round_watch import RoundWatch
from workflows.messages import PlannerReport

CUT = "Round failed: activity StartToClose timeout"


class Planner:
    """Stands for client and handle: says how its rounds ended."""

    def __init__(self) -> None:
        self.failures = 0
        self.is_away = False
        self.round = 9

    def get_workflow_handle(self, _id: str) -> "Planner":
        return self

    async def query(self, _name: str, **_how: object) -> PlannerReport:
        if self.is_away:
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        return PlannerReport(round=self.round, result="", summary=CUT, failures=self.failures, next_at=None, nudges=())


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: datetime.now(UTC))


async def conditions(cluster: MemoryCluster) -> dict[str, str]:
    (pool,) = (await cluster.list(NODE_POOLS)).items
    return {each["type"]: each["message"] for each in pool.get("status", {}).get("conditions", ())}


async def test_failing_rounds_are_told_until_one_succeeds(cluster):
    await cluster.create(NODE_POOLS, node_pool())
    lines: list[str] = []
    planner = Planner()
    watch = RoundWatch(planner, ports_of(cluster, "c"), lines.append)
    planner.failures = 2
    await watch.look()
    assert (lines[-1], await conditions(cluster)) == ("", {})
    planner.failures = 3
    await watch.look()
    assert lines[-1] == f"nothing is bought or removed: the last 3 rounds failed: {CUT}"
    assert await conditions(cluster) == {"RoundsFailing": lines[-1]}
    # Without an answer, it is not known to be over.
    planner.is_away, before = True, len(lines)
    await watch.look()
    assert len(lines) == before
    planner.is_away, planner.failures = False, 0
    await watch.look()
    assert lines[-1] == ""
    # The round that succeeds takes it off, with its own report of the pool.
    (pool,) = (await cluster.list(NODE_POOLS)).items
    (report,) = plan(Snapshot(now=datetime.now(UTC), pools=(read(NodePool, pool),))).pools
    assert {each.type for each in report.status.conditions} == {"Ready", "AtMax", "Blocked"}


@pytest.mark.parametrize("is_away", [False, True], ids=["no new round", "no answer"])
async def test_a_late_planner_is_one_warning_until_it_has_a_round(cluster, is_away):
    """Source: issue 17, section 4."""
    seconds = 0.0
    planner = Planner()
    watch = RoundWatch(planner, ports_of(cluster, "c"), lambda _: None, clock=lambda: seconds)

    async def lines_after(passed: float) -> int:
        nonlocal seconds
        seconds += passed
        with capture_logs() as logs:
            await watch.look()
        return sum("the planner is late" in line["event"] for line in logs)

    assert await lines_after(0) == 0
    planner.is_away = is_away
    # A round takes up to a minute, and the next begins a minute later.
    assert await lines_after(239) == 0
    assert await lines_after(2) == 1
    assert await lines_after(15) == 0
    planner.is_away, planner.round = False, 10
    assert await lines_after(15) == 0
    assert await lines_after(239) == 0
