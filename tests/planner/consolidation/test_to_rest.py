"""Round after round: each step saves what it says, all rules hold, and it comes to rest where nothing is worth it."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from planner.packing.optimiser.solve import solve
from tests.planner.consolidation.brute_force import SmallPod, SmallType, SmallWorld
from tests.planner.consolidation.quiet_scenes import planned
from tests.planner.consolidation.test_brute_force import PRICES, SIZES, ZONES, scene_of, wrongs

ROUNDS = 60


def world(seed):
    """Return 6 to 14 machines with up to 40 pods, of which some keep apart and some are tied to a zone."""
    draw = random.Random(seed)
    types = tuple(SmallType(n, zone, SIZES[n], Decimal(PRICES[n])) for n in sorted(SIZES) for zone in ZONES)
    machines = {f"m{i:02}": draw.choice(types) for i in range(draw.randint(6, 14))}
    free = {name: kind.cpu for name, kind in machines.items()}
    pods = []
    for k in range(draw.randint(10, 40)):
        cpu, home = draw.choice([100, 250, 500, 900, 1500]), draw.choice(sorted(machines))
        app = draw.choice(["", "", "", "a", "b"])
        if cpu > free[home] or (app and any(p.app == app and p.node == home for p in pods)):
            continue
        free[home] -= cpu
        pods.append(SmallPod(f"p{k}", cpu, home, machines[home].zone if draw.random() < 0.2 else "", app))
    return SmallWorld(types, machines, tuple(pods), 30, Decimal("0.0001"))


def after(small, made, count):
    """Return the world once the steps of a plan are done; what is empty has gone."""
    going = {removal.node for removal in made.removals}
    homes = {pod.name: pod.node for pod in small.pods}
    machines = {name: kind for name, kind in small.machines.items() if name not in going}
    for removal in made.removals:
        homes |= {move.pod.removeprefix("default/"): move.node for move in removal.moves}
    for request in made.requests:
        name = f"n{count}-{request.ordinal}"
        machines[name] = next(k for k in small.types if (k.name, k.zone) == (request.server_type, request.location))
        homes |= {seat.name: name for seat in request.seats}
    used = set(homes.values())
    return replace(
        small,
        machines={name: kind for name, kind in machines.items() if name in used},
        pods=tuple(replace(pod, node=homes[pod.name]) for pod in small.pods),
    )


def price(small):
    return sum((small.machines[name].price for name in {pod.node for pod in small.pods}), Decimal(0))


@pytest.mark.parametrize("seed", range(12))
def test_it_comes_to_rest_and_each_step_saves(seed):
    small = world(seed)
    small = replace(small, machines={n: k for n, k in small.machines.items() if any(p.node == n for p in small.pods)})
    packer = {"packer": solve} if seed % 4 == 0 else {}
    seen = []
    for count in range(ROUNDS):
        made = planned(scene_of(small), **packer)
        assert not list(wrongs(small, made))
        if not made.removals:
            break
        seen.append(price(small))
        small = after(small, made, count)
        assert price(small) < seen[-1]
        # The state after the step asks for nothing, so no round undoes it.
        others = scene_of(small)
        others.pools[0]["spec"]["scaleDown"].pop("consolidate")
        assert planned(others).requests == ()
    assert len(seen) < ROUNDS
    # At rest, and the next round is, too.
    assert planned(scene_of(small), **packer).removals == ()
