"""Ordinary small rounds, drawn from a number: a few pods of charts as they are written, a few types, a few nodes."""

import random
from typing import Final

from tests.builders import Json, before, daemon_set, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.packing.joint.wanted import asked_of_others
from tests.planner.scenes import Scene, seat
from tests.planner.wishes import ZONE

ZONES: Final = ("a", "b", "c")
TYPES: Final = (("small", 2, 4, 100), ("medium", 4, 8, 190), ("large", 8, 16, 400), ("wide", 4, 16, 260))
"""Name, cores, GiB, price in ten-thousandths per hour."""
APPS: Final = ("web", "db", "queue")
RACKS: Final = (None, "r0", "r1")
TAINT: Final = {"key": "team", "value": "blue", "effect": "NoSchedule"}
TOLERATION: Final = {"key": "team", "operator": "Exists"}
MOST_PODS: Final = 6
CPU: Final = ("250m", "400m", "600m", "900m", "1300m", "1900m")
SUMS: Final = {
    "cpu": (2, "4", 6, "10", 16),
    "memory": ("4Gi", "8Gi", "14Gi", "20Gi"),
    "pricePerHour": ("0.012", "0.025", "0.035", "0.05"),
}
"""Limits of pools in cores, memory and money."""
MEMORY: Final = ("256Mi", "600Mi", "1200Mi", "2500Mi")


def ordinary(seed: int) -> Scene:
    """Return the round of this number: at most 6 waiting pods, 4 server types, 3 zones and 3 nodes."""
    draw = random.Random(seed)
    zones = ZONES[: draw.choice((1, 2, 3, 3, 3))]
    with_racks = draw.random() < 0.15
    scene = Scene()
    _add_supply(draw, scene, zones, with_racks=with_racks)
    wanted = _workloads(draw, with_racks=with_racks, with_taint=any(_taints(p) for p in scene.pools))
    for k in range(draw.choice((0, 0, 1, 2, 3))):
        _add_node(draw, scene, k, zones, wanted, with_racks=with_racks)
    if draw.random() < 0.3:
        port = {"ports": [{"containerPort": 9100, "hostPort": 9100}]} if draw.random() < 0.2 else {}
        agent = daemon_set("agent", draw.choice(("100m", "300m")), "128Mi")
        agent["spec"]["template"]["spec"]["containers"][0] |= port
        scene.daemon_sets.append(agent)
    for pods in wanted:
        scene.pods += pods
    if draw.random() < 0.15:
        _add_request(draw, scene, wanted)
    _limit_sums(random.Random(f"sums of {seed}"), scene)
    return scene


def _limit_sums(draw: random.Random, scene: Scene) -> None:
    """Let some pools come to no more than so much in cores, memory or money; one with a minimum has room for it."""
    for pool in scene.pools:
        spec = pool["spec"]
        has_minimum = "min" in spec["limits"] or any("min" in each for each in spec["serverTypes"])
        if draw.random() < 0.3 and not has_minimum:
            for name in draw.sample(sorted(SUMS), draw.choice((1, 1, 2))):
                spec["limits"][name] = draw.choice(SUMS[name])


def _taints(pool: Json) -> list[Json]:
    return pool["spec"].get("template", {}).get("taints", [])


def _add_supply(draw: random.Random, scene: Scene, zones: tuple[str, ...], *, with_racks: bool) -> None:
    """Add a class of up to four types and the pools that may buy them."""
    kinds: list[Json] = []
    for name, cpu, memory, price in draw.sample(TYPES, draw.choice((1, 2, 3, 4, 4))):
        places = zones if draw.random() < 0.8 else draw.sample(zones, draw.randint(1, len(zones)))
        made = server_type(name, locations=places) | {
            "capacity": {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"},
            "overhead": {"cpu": "100m", "memory": "500Mi"},
            "pricePerHour": f"{(price + draw.randint(-20, 20)) / 10_000:.4f}",
        }
        rack = draw.choice(RACKS) if with_racks else None
        kinds.append(made | ({"labels": {"rack": rack}} if rack else {}))
    scene.classes.append(kwok_node_class(*kinds))
    names = [kind["name"] for kind in kinds]
    cut = draw.randint(1, len(names) - 1) if len(names) > 1 and draw.random() < 0.15 else len(names)
    for name, own in (("default", names[:cut]), ("extra", names[cut:])):
        if own:
            scene.pools.append(_pool(draw, name, own))


def _pool(draw: random.Random, name: str, own: list[str]) -> Json:
    limits: Json = {"max": draw.choice((2, 3, 4)) if draw.random() < 0.2 else 20}
    types: list[Json] = [{"name": each} for each in own]
    for each in types:
        if draw.random() < 0.12:
            each["max"] = draw.choice((1, 2))
    # A minimum has room: what a round does that cannot keep it is no question of cost.
    free = [each for each in types if "max" not in each and limits["max"] > 3]
    if free and draw.random() < 0.1:
        draw.choice(free)["min"] = 1
    elif free and draw.random() < 0.05:
        limits["min"] = draw.choice((1, 2))
    spec: Json = {"limits": limits, "matchUnselectedPods": True}
    if name == "extra" and draw.random() < 0.6:
        spec["template"] = {"taints": [dict(TAINT)]}
    return node_pool(name, types, **spec)


def _workloads(draw: random.Random, *, with_racks: bool, with_taint: bool) -> list[list[Json]]:
    """Draw one to three Deployments or StatefulSets with at most six pods in all."""
    number = draw.choice((1, 1, 2, 2, 3))
    left = MOST_PODS
    found: list[list[Json]] = []
    for k, app in enumerate(draw.sample(APPS, number)):
        replicas = draw.randint(1, min(left - (number - k - 1), 6 if number == 1 else 4))
        left -= replicas
        spec: Json = asked_of_others(draw, app, [each for each in APPS if each != app], with_racks=with_racks)
        if draw.random() < 0.12:
            spec["priority"] = draw.choice((10, 100))
        if draw.random() < (0.6 if with_taint else 0.05):
            spec["tolerations"] = [dict(TOLERATION)]
        if draw.random() < 0.06:
            spec["nodeSelector"] = {ZONE: draw.choice(ZONES[:2])}
        cpu, memory = draw.choice(CPU), draw.choice(MEMORY)
        owner = (draw.choice(("ReplicaSet", "StatefulSet")), f"rs-{app}")
        ports = spec.pop("ports", None)
        pods = [pod(f"{app}-{j}", cpu, memory, labels={"app": app}, owner=owner, **spec) for j in range(replicas)]
        for each in pods if ports else ():
            each["spec"]["containers"][0]["ports"] = ports
        found.append(pods)
    return found


def _add_node(
    draw: random.Random, scene: Scene, k: int, zones: tuple[str, ...], wanted: list[list[Json]], *, with_racks: bool
) -> None:
    """Add a node with up to four pods, some of them of the Deployments that wait."""
    name, where = f"n{k}", draw.choice(zones)
    _, cpu, memory, _ = draw.choice(TYPES)
    labels = {ZONE: where, "topology.kubernetes.io/region": where, "node.kubernetes.io/instance-type": "foreign"}
    if with_racks and draw.random() < 0.7:
        labels["rack"] = draw.choice(("r0", "r1"))
    pool = draw.choice(scene.pools) if k == 0 and draw.random() < 0.3 else None
    if pool is not None:
        kind = draw.choice(pool["spec"]["serverTypes"])["name"]
        labels |= {"growth.dev/server-type": kind, "node.kubernetes.io/instance-type": kind}
    scene.nodes.append(
        node(
            name,
            pool=pool and pool["metadata"]["name"],
            labels=labels,
            taints=[dict(TAINT)] if draw.random() < 0.1 else [],
            allocatable={"cpu": f"{cpu * 1000 - 100}m", "memory": f"{memory * 1024 - 500}Mi"},
            spec={"unschedulable": True} if draw.random() < 0.05 else {},
        )
    )
    for j in range(draw.choice((0, 1, 2, 2, 3, 4))):
        scene.pods.append(_resident(draw, f"on-{name}-{j}", name, wanted))


def _resident(draw: random.Random, name: str, where: str, wanted: list[list[Json]]) -> Json:
    is_going = draw.random() < 0.04
    if draw.random() < 0.6:
        kin = draw.choice(wanted)[0]
        made = pod(name, None, None, node=where, labels=kin["metadata"]["labels"], deleting=is_going)
        made["spec"] = {key: value for key, value in kin["spec"].items() if key != "nodeSelector"} | {"nodeName": where}
        # Two of a Deployment that shares no port are never on one node; residents need none.
        made["spec"]["containers"] = [{"name": "main", "resources": kin["spec"]["containers"][0]["resources"]}]
        made["metadata"]["ownerReferences"] = kin["metadata"]["ownerReferences"]
        return made
    cpu = draw.choice(("100m", "500m", "900m", "1500m"))
    return pod(name, cpu, "256Mi", node=where, labels={"app": draw.choice((*APPS, "other"))}, deleting=is_going)


def _add_request(draw: random.Random, scene: Scene, wanted: list[list[Json]]) -> None:
    """Add a machine that is on its way, perhaps with the seat of a pod that waits for it."""
    pool = draw.choice(scene.pools)
    kind = draw.choice(pool["spec"]["serverTypes"])["name"]
    offered = next(k for k in scene.classes[0]["spec"]["serverTypes"] if k["name"] == kind)
    place = draw.choice(offered["locations"])["name"]
    held: list[Json] = []
    if draw.random() < 0.3 and not _taints(pool):
        first = wanted[0][0]
        held = [pod("seated", "200m", "256Mi", labels=first["metadata"]["labels"], owner="rs-seated")]
        scene.pods += held
    status = {"phase": "Provisioning", "createAttemptAt": before(seconds=9)}
    name, own = pool["metadata"]["name"], [seat(each) for each in held]
    scene.requests.append(node_request("coming-0", kind, pool=name, location=place, seats=own, **status))
