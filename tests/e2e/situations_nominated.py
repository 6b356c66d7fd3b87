"""Situations about nodes that the scheduler keeps for other pods, which are bound nowhere yet."""

from random import Random

from tests.e2e.situations import HOSTNAME, Json, Situation, container

PRIORITY_CLASSES = {"situations-low": -10, "situations-high": 10}
"""Pods to place have no class, and the priority 0."""
_CLASSES: tuple[Json, ...] = tuple(
    {"priorityClassName": name} if name else {} for name in ("situations-low", "", "situations-high")
)


def kept_room(s: Situation, rng: Random, i: int) -> None:
    """Pods of a lower, the same or a higher priority have the room of a node, and the pod fits beside them or not."""
    kept = s.node("kept", cpu="4")
    for _ in range(1 + i % 2):
        s.awaited(kept, cpu="1500m", **_CLASSES[i // 2 % 3])
    if rng.random() < 0.5:
        s.node("free", cpu="4")
    # Beside one of them there are 2.5 cores, beside two of them is one.
    s.place(cpu=("1", "2")[i // 6 % 2])
    s.steer(kept)


def kept_neighbours(s: Situation, rng: Random, i: int) -> None:
    """What pods of others want near, apart, evenly spread or of the node's ports, where some are bound nowhere yet."""
    rack = s.key("rack")
    nodes = [s.node(str(n), labels={rack: number}) for n, number in enumerate(("1", "1", "2"))]
    like: Json = {"labelSelector": {"matchLabels": {"app": s.value("a")}}}
    term = like | {"topologyKey": (rack, HOSTNAME)[i // 5 % 2]}
    port = [container(cpu="100m", ports=({"containerPort": 80, "hostPort": 80},))]
    even = term | {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    repels: Json = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    near: Json = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    own, others = (
        (near, {}),
        (repels, {}),
        ({}, repels),
        ({"topologySpreadConstraints": [even]}, {}),
        ({"containers": port}, {"containers": port}),
    )[i % 5]
    # What the pod wants near must not be itself, which could begin its group anywhere.
    looks = {"app": s.value("b" if own is near else "a")}
    s.awaited(nodes[0], labels={"app": s.value("a")}, **rng.choice(_CLASSES), **others)
    if others is repels:
        # kube-scheduler 1.36 looks at what a pod with a nominated node keeps away from only if a bound one does, too:
        # else InterPodAffinity is passed over for a pod without terms (PreFilter answers Skip).
        s.resident(nodes[2], labels={"app": s.value("a")}, **others)
    elif rng.random() < 0.5:
        s.resident(rng.choice(nodes), labels={"app": s.value("a")}, **others)
    s.place(labels=looks, **own)
    s.steer(nodes[rng.choice((0, 0, 1, 2))])
