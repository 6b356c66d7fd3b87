"""Rounds go on while pods are still on their way: what they decide together breaks no rule once all have arrived."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from tests.builders import before, node_removal_request
from tests.planner.consolidation.brute_force import SmallPod, SmallType, SmallWorld
from tests.planner.consolidation.quiet_scenes import planned
from tests.planner.consolidation.test_brute_force import PRICES, SIZES, ZONES, scene_of, wrongs

ROUNDS = 4
DRAINING = {"phase": "Draining", "drainStartedAt": before(seconds=40)}
PORT = 8080


def world(seed):
    """Return 20 machines of one type with a few pods each; nothing can be bought, so that all moves are onto room."""
    draw = random.Random(seed)
    types = tuple(SmallType("cx32", zone, SIZES["cx32"], Decimal(PRICES["cx32"])) for zone in ZONES)
    machines = {f"m{i:02}": draw.choice(types) for i in range(20)}
    pods = []
    for name, kind in machines.items():
        for app in draw.sample(["", "", "a", "b", "c"], draw.randint(1, 3)):
            zone = kind.zone if draw.random() < 0.2 else ""
            pods.append(SmallPod(f"p{len(pods)}", draw.choice([100, 300, 700]), name, zone, app))
    return SmallWorld(types, machines, tuple(pods), 20, Decimal("0.00001"))


def with_ports(given):
    """Let pods of app c want a port of their machine instead of keeping apart."""
    for raw in given.pods:
        if raw["metadata"]["labels"].get("app") == "c":
            raw["spec"].pop("affinity")
            raw["spec"]["containers"][0]["ports"] = [{"hostPort": PORT}]
    return given


@pytest.mark.parametrize("seed", range(5))
def test_what_rounds_decide_together_breaks_no_rule(seed):
    small = world(seed)
    given, removals, rounds = with_ports(scene_of(small)), [], 0
    for _ in range(ROUNDS):
        made = planned(given)
        assert made.requests == ()
        rounds += bool(made.removals)
        removals += made.removals
        given.removals += [
            node_removal_request(
                each.node,
                "cx32",
                spec={"moves": [{"pod": move.pod, "node": move.node, "owner": "web"} for move in each.moves]},
                **DRAINING,
            )
            for each in made.removals
        ]
    assert rounds > 1
    assert len({each.node for each in removals}) == len(removals)
    assert not list(wrongs(small, replace(made, removals=tuple(removals))))
