"""A day of a small churn, and a week of load that stays as it is: what must hold at each moment, whoever acts."""

from dataclasses import replace

import pytest

from benchmarks.churn.contestants import CONTESTANTS, EMPTY_ONLY
from benchmarks.churn.growth import GrowthSide
from benchmarks.churn.loop import Autoscaler, run
from benchmarks.churn.oracle import ChurnOracle
from benchmarks.churn.stream import Stream, draw
from benchmarks.churn.world import ChurnWorld

DAY = draw(3, days=1, deployments=12, jobs=3)
SMALL_DAY = draw(3, days=1, deployments=5, jobs=1)
PEERS = [name for name in CONTESTANTS if "rule" in name and "purchases" not in name]
OTHERS = [name for name in CONTESTANTS if name not in PEERS and name != EMPTY_ONLY]


class Seen:
    """A side, and its world at the end of a stream that an oracle looked at."""

    def __init__(self, stream: Stream, name: str) -> None:
        self.sides: list[Autoscaler] = []
        self.world = run(stream, lambda world: self._side(world, name), ChurnOracle)

    def _side(self, world: ChurnWorld, name: str) -> Autoscaler:
        self.sides.append(CONTESTANTS[name](world))
        return self.sides[0]


@pytest.fixture(
    scope="module", params=[SMALL_DAY, pytest.param(DAY, marks=pytest.mark.nightly)], ids=["small", "whole"]
)
def growth(request: pytest.FixtureRequest) -> Seen:
    return Seen(request.param, EMPTY_ONLY)


def test_growth_tells_of_each_pod_that_waits_where_it_goes_or_why_not(growth: Seen):
    [side] = growth.sides
    assert isinstance(side, GrowthSide)
    assert side.rounds > 100
    assert side.unexplained == set()


def test_with_empty_machines_alone_no_pod_is_moved_and_machines_go(growth: Seen):
    tally = growth.world.tally
    assert tally.moved == 0
    assert tally.removals > 0
    # Machines boot for 90 s at most, so nothing waits longer than that for one and a few seconds of a round.
    assert tally.wait_p95 <= 120


def test_begun_hours_cost_more_than_seconds(growth: Seen):
    tally = growth.world.tally
    assert tally.cost < tally.cost_by_hours < 2 * tally.cost


@pytest.mark.parametrize("name", PEERS)
def test_what_must_hold_holds_for_peers(name: str):
    tally = Seen(DAY, name).world.tally
    assert tally.moved > 0
    assert tally.removals > 0


def test_the_same_stream_ends_the_same():
    short = replace(DAY, seconds=2 * 3600)
    tallies = [Seen(short, EMPTY_ONLY).world.tally for _ in range(2)]
    assert tallies[0].cost == tallies[1].cost
    assert tallies[0].waits == tallies[1].waits


@pytest.mark.nightly
def test_a_day_of_consolidation_costs_less_than_the_rule_of_a_peer_moves_fewer_pods_and_lets_them_wait_less():
    names = EMPTY_ONLY, "Growth, consolidating after 1 m, movePrice 90 %", "Karpenter's rule, 0 s"
    waiting, growth, peer = (Seen(SMALL_DAY, name).world.tally for name in names)
    assert growth.cost < peer.cost < waiting.cost
    assert 0 < growth.moved <= peer.moved / 2
    assert growth.waiting_seconds < peer.waiting_seconds


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in CONTESTANTS if "consolidating" in name])
def test_consolidation_costs_less_than_waiting_for_machines_to_become_empty(name: str):
    waiting, tally = (Seen(DAY, side).world.tally for side in (EMPTY_ONLY, name))
    assert tally.moved > 0
    assert tally.cost <= waiting.cost


@pytest.mark.nightly
@pytest.mark.parametrize("name", OTHERS)
def test_what_must_hold_holds_for_those_that_take_longer(name: str):
    assert Seen(DAY, name).world.tally.removals > 0


@pytest.mark.parametrize("name", [name for name in CONTESTANTS if "rule" not in name and "5 m" not in name])
def test_a_week_of_steady_load_ends_in_no_action(name: str):
    stream = draw(3, days=7, deployments=16, jobs=0, is_steady=True)
    first_hours = Seen(replace(stream, seconds=6 * 3600), name).world.tally
    week = Seen(stream, name)
    tally = week.world.tally
    assert (tally.purchases, tally.removals, tally.moved) == (
        first_hours.purchases,
        first_hours.removals,
        first_hours.moved,
    )
    assert week.world.waiting == {}
