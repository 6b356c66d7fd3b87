"""Pairs of rounds, drawn from a number: one has all that the other has, and a type, pool, zone or free room more."""

import random
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.catalogue import ZONES
from benchmarks.generator import Recipe, draw
from benchmarks.instance import Instance
from benchmarks.objects import pods_of, server_types_of
from tests.builders import kwok_node_class, node, node_pool
from tests.planner.packing.joint.ordinary import ordinary
from tests.planner.packing.monotony.cuts import CUTS, possible
from tests.planner.reading import is_demand
from tests.planner.scenes import Scene

MOST_SMALL: Final = 30
SMALL_NODE: Final = {"cpu": "3725m", "memory": "6900Mi", "ephemeral-storage": "60Gi"}


@dataclass(frozen=True)
class Pair:
    """Two rounds."""

    seed: int
    more: str
    """What the second one has beside all that the first one has."""
    kind: str
    less: Scene
    full: Scene

    def __str__(self) -> str:
        pods = sum(map(is_demand, self.full.pods))
        return f"seed {self.seed}, {pods} pods, {self.kind} {self.more} more"


def small(seed: int) -> Pair | None:
    """Return a pair of rounds of up to 30 pods; None where nothing can be cut."""
    chance = random.Random(seed)
    return _cut(seed, chance, _grown(ordinary(seed), chance.choice((1, 1, 2, 3, 5))))


def large(seed: int) -> Pair | None:
    """Return a pair of rounds of 40 to 1,000 pods in three zones."""
    chance = random.Random(seed)
    pods = chance.choice((40, 60, 100, 100, 200, 300, 1000))
    recipe = Recipe(pods=pods, shapes=chance.choice((10, 20, 40)), seed=seed, mix=True, zonal=True)
    instance = draw(recipe)
    kind = chance.choice(("type", "type", "pool", "zone", "room"))
    if kind == "zone":
        # Who asks for a zone, or for all of them, has another problem without it.
        free = [replace(shape, zone="", is_spread=False) for shape in instance.shapes]
        instance = replace(instance, shapes=tuple(free))
    scene = _scene(instance, chance, with_nodes=kind == "room" or chance.random() < 0.3)
    return _cut(seed, chance, scene, kind)


def _cut(seed: int, chance: random.Random, scene: Scene, kind: str = "") -> Pair | None:
    cuts = possible(scene)
    if not cuts or (kind and kind not in cuts):
        return None
    kind = kind or chance.choice(sorted(cuts))
    more = chance.choice(sorted(cuts[kind]))
    return Pair(seed, more, kind, CUTS[kind](scene, more), scene)


def _grown(scene: Scene, times: int) -> Scene:
    """Return the scene with so many times the waiting pods of each Deployment."""
    grown = deepcopy(scene)
    seated = {s["uid"] for r in scene.requests for s in r["spec"]["reservedFor"]}
    for each in scene.pods:
        if is_demand(each) and each["metadata"]["uid"] not in seated:
            for k in range(1, times):
                more = deepcopy(each)
                name = f"{each['metadata']['name']}-{k}"
                more["metadata"] |= {"name": name, "uid": f"uid-{name}"}
                grown.pods.append(more)
    return grown


def _scene(instance: Instance, chance: random.Random, *, with_nodes: bool) -> Scene:
    names = list(dict.fromkeys(machine.name for machine in instance.machines))
    cut = chance.randint(5, len(names) - 5)
    chance.shuffle(names)
    pools = [
        node_pool(name, [{"name": each} for each in sorted(own)], limits={"max": 1000}, matchUnselectedPods=True)
        for name, own in (("default", names[:cut]), ("extra", names[cut:]))
    ]
    nodes = [
        node(f"n{k}", pool=None, labels={"topology.kubernetes.io/zone": ZONES[k % 3]}, allocatable=SMALL_NODE)
        for k in range(3 * with_nodes)
    ]
    pods = [
        dict(each) | {"metadata": each["metadata"] | {"uid": f"uid-{each['metadata']['name']}"}}
        for each in pods_of(instance)
    ]
    return Scene(pods=pods, nodes=nodes, pools=pools, classes=[kwok_node_class(*server_types_of(instance))])
