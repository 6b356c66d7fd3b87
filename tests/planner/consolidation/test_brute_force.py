"""In small worlds no set of machines saves more than the one that goes, and each step is what it says."""

import random
from decimal import Decimal

import pytest

from api.keys import LABEL_HOSTNAME, LABEL_ZONE
from planner.plan import Plan
from tests.builders import kwok_node_class, node, node_pool, server_type
from tests.planner.consolidation.brute_force import SmallPod, SmallType, SmallWorld, best
from tests.planner.consolidation.quiet_scenes import CONSOLIDATES, planned, pod, quiet
from tests.planner.scenes import scene

SIZES = {"cx22": 2000, "cx32": 4000, "cx42": 8000}
PRICES = {"cx22": "0.0066", "cx32": "0.0106", "cx42": "0.0170"}
ZONES = ("fsn1", "nbg1")
CASES = 300


def world(seed):
    draw = random.Random(seed)
    types = tuple(
        SmallType(name, zone, SIZES[name], Decimal(PRICES[name]))
        for name in draw.sample(sorted(SIZES), draw.randint(1, 3))
        for zone in ZONES[: draw.randint(1, 2)]
    )
    machines = {
        f"m{i}": SmallType(name := draw.choice(sorted(SIZES)), draw.choice(ZONES), SIZES[name], Decimal(PRICES[name]))
        for i in range(draw.randint(1, 5))
    }
    free = {name: kind.cpu for name, kind in machines.items()}
    pods = []
    for k in range(draw.randint(1, 8)):
        cpu, home = draw.choice([100, 300, 500, 900, 1100, 1700, 1900]), draw.choice(sorted(machines))
        app = draw.choice(["", "", "a", "b"])
        shared = {other.app for other in pods if other.node == home}
        if cpu > free[home] or (app and app in shared):
            continue
        free[home] -= cpu
        zone = machines[home].zone if draw.random() < 0.3 else ""
        pods.append(SmallPod(f"p{k}", cpu, home, zone, app))
    most = len(machines) + draw.choice([0, 1, 2, 10])
    return SmallWorld(types, machines, tuple(pods), most, Decimal(draw.choice(["0", "0.0001", "0.001"])))


def scene_of(small):
    offered = {}
    for kind in small.types:
        offered.setdefault(kind.name, []).append(kind.zone)
    kinds = [server_type(name, locations=zones) for name, zones in offered.items()]
    nodes = [
        node(
            name,
            kind.name,
            labels={LABEL_ZONE: kind.zone, "topology.kubernetes.io/region": kind.zone},
            annotations={"growth.dev/price-per-hour": str(kind.price), "growth.dev/currency": "EUR"},
        )
        for name, kind in small.machines.items()
    ]
    pods = [
        pod(
            each.name,
            cpu=f"{each.cpu}m",
            memory=None,
            node=each.node,
            labels={"app": each.app} if each.app else {},
            **({"nodeSelector": {LABEL_ZONE: each.zone}} if each.zone else {}),
            **({"affinity": apart(each.app)} if each.app else {}),
        )
        for each in small.pods
    ]
    settings = {"minSavingPercent": 0, "movePrice": f"{small.move_price:f}"}
    scale_down = CONSOLIDATES | {"consolidate": settings}
    pool = node_pool(types=list(offered), limits={"max": small.most}, scaleDown=scale_down)
    return quiet(scene(*nodes, kwok_node_class(*kinds), pool, pods=pods))


def apart(app):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": LABEL_HOSTNAME}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def wrongs(small, made: Plan):
    """Yield what is wrong with the steps: pods without a place, rules that are broken, a saving that is none."""
    going = {removal.node for removal in made.removals}
    homes = {each.name: each.node for each in small.pods}
    machines = {name: (kind.zone, kind.cpu) for name, kind in small.machines.items() if name not in going}
    for removal in made.removals:
        for move in removal.moves:
            homes[move.pod.removeprefix("default/")] = move.node
    for request in made.requests:
        kind = next(k for k in small.types if (k.name, k.zone) == (request.server_type, request.location))
        machines[f"new-{request.ordinal}"] = kind.zone, kind.cpu
        homes |= {seat.name: f"new-{request.ordinal}" for seat in request.seats}
    if len(small.machines) + len(made.requests) > small.most:
        yield "the max is exceeded"
    for name, (zone, cpu) in machines.items():
        here = [each for each in small.pods if homes[each.name] == name]
        if sum(each.cpu for each in here) > cpu:
            yield f"{name} is overfilled"
        if any(each.zone not in {"", zone} for each in here):
            yield f"a pod is in another zone than it wants on {name}"
        apps = [each.app for each in here if each.app]
        if len(apps) != len(set(apps)):
            yield f"pods that keep apart share {name}"
    yield from (f"{name} has no place" for name, home in homes.items() if home not in machines)
    gone = sum((small.machines[name].price for name in going), Decimal(0))
    bought = sum((request.price_per_hour for request in made.requests), Decimal(0))
    steps = {(removal.why, removal.replacement, removal.saving_per_hour) for removal in made.removals}
    if len(steps) == 1 and gone - bought != made.removals[0].saving_per_hour:
        yield f"{made.removals[0].saving_per_hour} is said to be saved, and {gone - bought} is"
    if going and gone <= bought:
        yield "nothing is saved"


def net(small, made):
    going = {removal.node for removal in made.removals}
    gone = sum((small.machines[name].price for name in going), Decimal(0))
    bought = sum((request.price_per_hour for request in made.requests), Decimal(0))
    return gone - bought - small.move_price * sum(each.node in going for each in small.pods)


@pytest.mark.parametrize("part", range(10))
def test_no_set_saves_more(part):
    short, possible, acting = [], Decimal(0), 0
    for seed in range(part * CASES // 10, (part + 1) * CASES // 10):
        small = world(seed)
        made = planned(scene_of(small))
        assert not list(wrongs(small, made)), seed
        most, ours = best(small), net(small, made)
        assert ours <= most, seed
        possible += most
        acting += bool(made.removals)
        if ours < most:
            short.append((seed, most, ours))
    assert acting > 5
    assert sum((most - ours for _, most, ours in short), Decimal(0)) <= possible / 100, short
