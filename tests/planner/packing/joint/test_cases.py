"""Rounds in which constraints between pods made a plan dear: what is right is worked out beside each."""

from collections import Counter
from decimal import Decimal

import pytest

from planner.model.plan import Plan
from planner.packing.fallback.pack import pack
from planner.packing.optimiser.solve import solve
from planner.packing.problem import Packer
from planner.plan import plan
from tests.builders import pod, server_type
from tests.planner import scenes
from tests.planner.outcome import together
from tests.planner.packing.domains.rows import at, by_zone, scene, several, spread
from tests.planner.scenes import Scene
from tests.planner.wishes import HOST, ZONE

PACKERS = pytest.mark.parametrize("packer", [pack, solve])
EACH = Decimal("0.0066")
"""A cx22 per hour: four pods of half a core fill it."""


def planned(given: Scene, packer: Packer) -> Plan:
    made = plan(given.snapshot(), packer)
    assert made.unplaced == ()
    return made


@PACKERS
def test_even_zones_and_hosts_need_no_more_machines_than_capacity_does(packer):
    # A machine of 4 cores holds ten pods; 200 pods of each zone fill twenty of them, which stay even as they fill.
    both = [spread(ZONE, 1), spread(HOST, 2)]
    made = planned(scene(*several(600, "400m", topologySpreadConstraints=both), types=("cx32",)), packer)
    assert by_zone(made) == {"fsn1": 200, "hel1": 200, "nbg1": 200}
    assert together(made) == [10] * 60


@PACKERS
def test_eight_pods_that_are_even_over_hosts_fill_two_machines(packer):
    # Bound in turn: 1 and 1, 2 and 2, …: the skew is never more than 1.
    made = planned(scene(*several(8, topologySpreadConstraints=[spread(HOST)]), types=("cx22",)), packer)
    assert together(made) == [4, 4]
    assert made.cost_per_hour == 2 * EACH


@PACKERS
def test_a_third_machine_gets_as_many_as_two_full_ones_have(packer):
    # The new one has the fewest until it has four, too: each pod that comes makes the skew smaller.
    given = scene(*several(4, topologySpreadConstraints=[spread(HOST)]), types=("cx22",))
    for name in ("n1", "n2"):
        given.nodes.append(at(name, "fsn1", pool=None))
        given.pods += [pod(f"{name}-{k}", "500m", "256Mi", node=name, labels={"app": "web"}) for k in range(4)]
    made = planned(given, packer)
    assert together(made) == [4]
    assert made.cost_per_hour == EACH


@PACKERS
def test_three_crossing_constraints_leave_nobody_out(packer):
    # Nine types, of each rack and generation one. Skew 2 over types: two of each at most while any has none, so that
    # 18 pods need all nine; six of them are of each rack and of each generation.
    kinds = [
        server_type(f"r{rack}g{gen}", locations=("fsn1", "hel1", "nbg1"), pricePerHour=f"0.0{20 + rack + gen}")
        | {"capacity": {"cpu": "4", "memory": "8Gi"}, "labels": {"rack": f"r{rack}", "gen": f"g{gen}"}}
        for rack in range(3)
        for gen in range(3)
    ]
    crossing = [spread("rack"), spread("gen"), spread("node.kubernetes.io/instance-type", 2)]
    waiting = several(18, "300m", topologySpreadConstraints=crossing)
    made = planned(scenes.scene(*waiting, types=[kind["name"] for kind in kinds], kinds=kinds), packer)
    pods_by_type = Counter({bought.server_type: len(bought.seats) for bought in made.requests})
    assert set(pods_by_type) == {kind["name"] for kind in kinds}
    assert max(pods_by_type.values()) - min(pods_by_type.values()) <= 2
    for place in (0, 2):
        assert Counter(name[place : place + 2] for name in pods_by_type.elements()) == {
            name[place : place + 2]: 6 for name in pods_by_type
        }
    assert made.cost_per_hour == Decimal("0.198")
