"""Situations about resources: pods of every shape, and nodes where they fit to the last bit or miss it by one."""

from random import Random

from tests.e2e.situations import Json, Situation, container

MI = 1 << 20
RUNTIME_CLASS = "situations-overhead"

# Name, spec, and what it takes by hand: cpu in millicores, memory in bytes, other resources.
SHAPES: tuple[tuple[str, Json, int, int, dict[str, int]], ...] = (
    ("plain", {"containers": [container(cpu="500m", memory="256Mi")]}, 500, 256 * MI, {}),
    ("nothing requested", {"containers": [container()]}, 0, 0, {}),
    (
        "two containers",
        {"containers": [container("a", cpu="300m", memory="100Mi"), container("b", cpu="0.25", memory="28Mi")]},
        550,
        128 * MI,
        {},
    ),
    (
        "limits only",
        {"containers": [{**container(), "resources": {"limits": {"cpu": "400m", "memory": "64Mi"}}}]},
        400,
        64 * MI,
        {},
    ),
    (
        "a hungry init container",
        {
            "initContainers": [container("i", cpu="900m", memory="64Mi")],
            "containers": [container(cpu="200m", memory="128Mi")],
        },
        900,
        128 * MI,
        {},
    ),
    (
        "init containers one after the other",
        {
            "initContainers": [container("i", cpu="300m"), container("j", cpu="700m", memory="8Mi")],
            "containers": [container("a", cpu="200m", memory="1Mi"), container("b", cpu="200m", memory="1Mi")],
        },
        700,
        8 * MI,
        {},
    ),
    (
        "a sidecar",
        {
            "initContainers": [container("s", always=True, cpu="200m", memory="32Mi")],
            "containers": [container(cpu="300m", memory="32Mi")],
        },
        500,
        64 * MI,
        {},
    ),
    (
        "an init container beside a sidecar",
        {
            "initContainers": [
                container("s", always=True, cpu="200m", memory="32Mi"),
                container("i", cpu="600m", memory="1Mi"),
            ],
            "containers": [container(cpu="300m", memory="32Mi")],
        },
        800,
        64 * MI,
        {},
    ),
    (
        "a sidecar after an init container",
        {
            "initContainers": [
                container("i", cpu="600m", memory="1Mi"),
                container("s", always=True, cpu="200m", memory="32Mi"),
            ],
            "containers": [container(cpu="300m", memory="32Mi")],
        },
        600,
        64 * MI,
        {},
    ),
    (
        "sidecars around an init container",
        {
            "initContainers": [
                container("s", always=True, cpu="100m", memory="1Mi"),
                container("i", cpu="600m", memory="1Mi"),
                container("t", always=True, cpu="300m", memory="1Mi"),
            ],
            "containers": [container(cpu="200m", memory="1Mi")],
        },
        700,
        3 * MI,
        {},
    ),
    (
        "overhead",
        {"runtimeClassName": RUNTIME_CLASS, "containers": [container(cpu="300m", memory="8Mi")]},
        550,
        128 * MI,
        {},
    ),
    (
        "overhead over a hungry init container",
        {
            "runtimeClassName": RUNTIME_CLASS,
            "initContainers": [container("i", cpu="700m", memory="1Mi")],
            "containers": [container(cpu="300m", memory="8Mi")],
        },
        950,
        128 * MI,
        {},
    ),
    (
        "resources of the whole pod",
        {
            "resources": {"requests": {"cpu": "1", "memory": "512Mi"}},
            "containers": [container(cpu="100m", memory="1Mi")],
        },
        1000,
        512 * MI,
        {},
    ),
    (
        "memory of the whole pod, cpu of its containers",
        {
            "resources": {"requests": {"memory": "512Mi"}},
            "containers": [container("a", cpu="150m", memory="1Mi"), container("b", cpu="150m")],
        },
        300,
        512 * MI,
        {},
    ),
    (
        "resources of the whole pod, init container and overhead",
        {
            "runtimeClassName": RUNTIME_CLASS,
            "resources": {"requests": {"cpu": "800m", "memory": "100Mi"}},
            "initContainers": [container("i", cpu="700m", memory="1Mi")],
            "containers": [container(cpu="300m", memory="8Mi")],
        },
        1050,
        220 * MI,
        {},
    ),
    (
        "limits of the whole pod only",
        {"resources": {"limits": {"cpu": "600m", "memory": "90Mi"}}, "containers": [container()]},
        600,
        90 * MI,
        {},
    ),
    (
        "local disk",
        {"containers": [container(cpu="10m", memory="1Mi", disk="3Gi")]},
        10,
        MI,
        {"disk": 3 << 30},
    ),
    (
        "devices",
        {"containers": [container(cpu="10m", memory="1Mi", gpu="2")]},
        10,
        MI,
        {"gpu": 2},
    ),
    (
        "more devices at the start",
        {
            "initContainers": [container("i", gpu="3")],
            "containers": [container("a", cpu="10m", memory="1Mi", gpu="1"), container("b", gpu="1")],
        },
        10,
        MI,
        {"gpu": 3},
    ),
    (
        "huge pages",
        {"containers": [container(cpu="10m", memory="1Mi", huge_pages="64Mi")]},
        10,
        MI,
        {"huge_pages": 64 * MI},
    ),
    ("decimal suffixes", {"containers": [container(cpu="1.5", memory="1e8")]}, 1500, 10**8, {}),
    ("thousands", {"containers": [container(cpu="0.1", memory="128M")]}, 100, 128_000_000, {}),
)


def resources(s: Situation, rng: Random, i: int) -> None:
    """A node where the pod fits to the last bit beside another pod, and nodes where one thing is short by one."""
    _, spec, cpu, memory, others = SHAPES[i % len(SHAPES)]
    _, there, there_cpu, there_memory, there_others = SHAPES[rng.randrange(len(SHAPES))]
    total = {name: others.get(name, 0) + there_others.get(name, 0) for name in others | there_others}
    exact = {"cpu": f"{cpu + there_cpu}m", "memory": str(memory + there_memory), "pods": "2"}
    exact |= {name: str(amount) for name, amount in total.items()}
    short: list[tuple[str, dict[str, str | None]]] = [("pods", {"pods": "1"})]
    if cpu:
        short.append(("cpu", {"cpu": f"{cpu + there_cpu - 1}m"}))
    if memory:
        short.append(("memory", {"memory": str(memory + there_memory - 1)}))
    for name in others:
        short.append(("device", {name: str(total[name] - 1)}))
        if name not in there_others:
            short.append(("without", {name: None}))
    # Every shape once with a node that fits, and once without.
    for suffix, less in [*([("exact", {})] if i < len(SHAPES) else []), *rng.sample(short, min(2, len(short)))]:
        s.resident(s.node(suffix, **(exact | less)), **there)
    s.place(**spec)


def parts_of_a_byte(s: Situation, rng: Random, i: int) -> None:
    """Two containers that request a byte and a half each, and a node that has three."""
    s.node("exact", memory="3")
    s.place(containers=[container("a", memory="1500m"), container("b", memory="1500m")])


# What a container asks for, has, and was allotted, and why its resize waits; then what it counts for in millicores.
RESIZES: tuple[tuple[int, int, int, str, int], ...] = (
    (500, 900, 500, "", 900),
    (500, 500, 800, "", 800),
    (900, 500, 500, "", 900),
    (900, 500, 500, "Deferred", 900),
    (900, 500, 500, "Infeasible", 500),
)


def resized(s: Situation, rng: Random, i: int) -> None:
    """A node where the pod fits beside one that is being resized, and one where it misses by a millicore."""
    asked, has, allotted, waits, counts = RESIZES[i % len(RESIZES)]
    status: Json = {
        "containerStatuses": [
            {
                "name": "main",
                "image": "example.com/image",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "resources": {"requests": {"cpu": f"{has}m"}},
                "allocatedResources": {"cpu": f"{allotted}m"},
            }
        ]
    }
    if waits:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": waits}]
    for suffix, less in (("exact", 0), ("short", 1)):
        s.resident(s.node(suffix, cpu=f"{counts + 100 - less}m"), status=status, cpu=f"{asked}m")
    s.place(cpu="100m")
