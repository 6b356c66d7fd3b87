"""Random scenes: small, but with everything in them that a round must cope with."""

from typing import Any

from hypothesis import strategies as st

from tests.builders import (
    KINDS,
    Json,
    after,
    before,
    csi_node,
    daemon_set,
    kwok_node_class,
    node,
    node_pool,
    node_removal_request,
    node_request,
    pod,
    server_type,
)
from tests.planner.neighbours import add_ports, add_volumes, storage_for, tie_to_driver, wishes
from tests.planner.scenes import Scene, seat
from tests.planner.wishes import apart, needs

CPU = ("50m", "250m", "500m", "0.9", "1", "1500m", "2", "3", "7", "12")
MEMORY = ("64Mi", "256Mi", "1Gi", "1500M", "3Gi", "6Gi", "20Gi")
APPS = ("web", "db", "queue")
SUMS = {"cpu": (2, "6", 12, "20"), "memory": ("4Gi", "12Gi", "24Gi"), "pricePerHour": ("0.005", "0.02", "0.04")}
"""Limits of pools in cores, memory and money: none to eight machines."""
TAINT = {"key": "team", "value": "blue", "effect": "NoSchedule"}
EXPRESSIONS = (
    [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}],
    [{"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["arm64"]}],
    [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["nbg1", "hel1"]}],
    [{"key": "disk", "operator": "Exists"}],
    [{"key": "generation", "operator": "Gt", "values": ["3"]}],
    [{"key": "growth.dev/pool", "operator": "NotIn", "values": ["batch"]}],
    [{"key": "growth.dev/pool", "operator": "In", "values": ["batch", "default"]}],
)


@st.composite
def pod_specs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a pod asks for beyond cpu and memory: mostly nothing."""
    spec: dict[str, Any] = {}
    app = draw(st.sampled_from(APPS))
    spec["labels"] = {"app": app}
    wish = draw(st.integers(0, 19))
    if wish == 0:
        spec["nodeSelector"] = {"growth.dev/pool": draw(st.sampled_from(["default", "batch", "missing"]))}
    elif wish == 1:
        spec["nodeSelector"] = {"kubernetes.io/arch": draw(st.sampled_from(["amd64", "arm64"]))}
    elif wish in (2, 3):
        spec["affinity"] = needs(*draw(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=2)))
    elif wish in (4, 5, 6):
        spec["affinity"] = apart(app=draw(st.sampled_from(APPS)))
    elif wish == 7:
        spec["overhead"] = {"cpu": "250m", "memory": "64Mi"}
    elif wish in (8, 9):
        init = {"name": "init", "resources": {"requests": {"cpu": "1800m"}}}
        spec["initContainers"] = [init | ({"restartPolicy": "Always"} if wish == 9 else {})]
    elif wish == 10:
        spec["resources"] = {"requests": {"cpu": "1200m"}}
    if draw(st.integers(0, 4)) == 0:
        spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
    if draw(st.integers(0, 9)) == 0:
        spec["priority"] = draw(st.sampled_from([-5, 100, 1000]))
    return spec


@st.composite
def workloads(draw: st.DrawFn, name: str, largest: int = 6) -> list[Json]:
    """Draw equal pods of one owner."""
    number = draw(st.integers(1, largest))
    cpu, memory, spec = draw(st.sampled_from(CPU)), draw(st.sampled_from(MEMORY)), draw(pod_specs())
    return [pod(f"{name}-{k}", cpu, memory, owner=f"rs-{name}", **spec) for k in range(number)]


@st.composite
def sociable(draw: st.DrawFn, name: str, largest: int = 6) -> list[Json]:
    """Draw equal pods that may ask something of other pods, of ports or of volumes."""
    pods = draw(workloads(name, largest))
    wish = draw(st.integers(0, 7))
    if wish < 4:
        asked = draw(wishes(pods[0]["metadata"]["labels"]["app"]))
        for p in pods:
            p["spec"] |= asked
    elif wish == 4:
        add_ports(draw, pods)
    elif wish == 5:
        add_volumes(draw, pods)
    if draw(st.integers(0, 9)) == 0:
        for p in pods:
            p["metadata"]["namespace"] = "other"
    if draw(st.integers(0, 15)) == 0:
        for p in pods:
            p["spec"]["schedulingGates"] = [{"name": "later"}]
    if draw(st.integers(0, 15)) == 0:
        for p in pods:
            p["spec"]["resourceClaims"] = [{"name": "card", "resourceClaimName": "card"}]
    return pods


@st.composite
def pools(draw: st.DrawFn, name: str) -> Json:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4, unique=True))
    types: list[Json] = []
    for kind in kinds:
        entry: Json = {"name": kind.upper() if draw(st.booleans()) else kind}
        if draw(st.integers(0, 2)) == 0:
            entry["max"] = draw(st.integers(1, 3))
        if draw(st.integers(0, 5)) == 0:
            entry["min"] = 1
        types.append(entry)
    spec: dict[str, Any] = {"limits": {"max": draw(st.integers(4, 9))}}
    if draw(st.integers(0, 5)) == 0 and sum(t.get("max", 2) for t in types) > 1:
        spec["limits"]["min"] = 2
    for field, values in SUMS.items():
        if draw(st.integers(0, 5)) == 0:
            spec["limits"][field] = draw(st.sampled_from(values))
    if draw(st.integers(0, 3)) == 0:
        spec["template"] = {"taints": [TAINT], "labels": {"disk": "ssd", "generation": "4"}}
    if draw(st.integers(0, 3)) == 0:
        spec["scaleUp"] = {"reserve": False}
    if draw(st.integers(0, 3)) == 0:
        spec["matchUnselectedPods"] = draw(st.booleans())
    if draw(st.booleans()):
        spec["scaleDown"] = {"idleAfter": "0s"}
    if draw(st.integers(0, 3)) == 0:
        spec["scaleUp"] = spec.get("scaleUp", {}) | {"expendablePriority": draw(st.sampled_from([-10, 1]))}
    if draw(st.integers(0, 3)) == 0:
        spec["headroom"] = draw(st.lists(_headroom(), min_size=1, max_size=2))
    return node_pool(name, types, **spec)


@st.composite
def _headroom(draw: st.DrawFn) -> Json:
    size = {
        "cpu": draw(st.sampled_from(["500m", "1", "3"])),
        "memory": draw(st.sampled_from(["256Mi", "2Gi", "100Gi"])),
    }
    return {"requests": size, "count": draw(st.integers(1, 6))}


@st.composite
def classes(draw: st.DrawFn) -> Json:
    types = [
        server_type(
            kind,
            locations=draw(st.sampled_from([("fsn1",), ("fsn1", "nbg1")])),
            sold_out=draw(st.integers(0, 9)) == 0,
            overhead={"cpu": "100m", "memory": "200Mi"} if draw(st.booleans()) else {},
        )
        for kind in KINDS
    ]
    unavailable = []
    if draw(st.integers(0, 3)) == 0:
        until = draw(st.sampled_from([before(seconds=5), after(seconds=60)]))
        unavailable.append(
            {
                "serverType": draw(st.sampled_from(sorted(KINDS))),
                "location": "fsn1",
                "failures": 1,
                "lastFailureAt": before(minutes=3),
                "until": until,
            }
        )
    return kwok_node_class(*types, unavailable=unavailable)


@st.composite
def node_and_friends(draw: st.DrawFn, name: str, *, are_sociable: bool = True) -> tuple[Json, list[Json], list[Json]]:
    """Draw a node, the pods on it and perhaps its removal."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    notes = {}
    if draw(st.booleans()):
        notes["growth.dev/idle-since"] = before(minutes=draw(st.sampled_from([1, 30])))
    if draw(st.integers(0, 7)) == 0:
        notes["growth.dev/do-not-remove"] = "yes"
    taints = draw(st.sampled_from([[], [], [TAINT]]))
    where = draw(st.sampled_from(["fsn1", "fsn1", "nbg1"]))
    made = node(
        name,
        kind,
        labels={"topology.kubernetes.io/zone": where, "topology.kubernetes.io/region": where},
        pool=draw(st.sampled_from(["default", "default", "batch", None])),
        ready=draw(st.integers(0, 7)) > 0,
        annotations=notes,
        taints=taints,
        deleting=draw(st.integers(0, 15)) == 0,
        spec={"unschedulable": True} if draw(st.integers(0, 9)) == 0 else {},
    )
    pods = [
        pod(
            f"on-{name}-{k}",
            draw(st.sampled_from(["100m", "500m"])),
            "256Mi",
            node=name,
            labels={"app": draw(st.sampled_from(APPS))},
            phase=draw(st.sampled_from(["Running", "Running", "Succeeded"])),
            **draw(st.sampled_from([{}, {"affinity": apart(app=app)}, draw(wishes(app)) if are_sociable else {}])),
        )
        for k in range(draw(st.integers(0, 3)))
        for app in [draw(st.sampled_from(APPS))]
    ]
    if draw(st.integers(0, 4)) == 0:
        awaited = pod(
            f"for-{name}", draw(st.sampled_from(["500m", "1500m"])), labels={"app": draw(st.sampled_from(APPS))}
        )
        awaited["status"]["nominatedNodeName"] = draw(st.sampled_from([name, name, "gone"]))
        pods.append(awaited)
    if are_sociable and pods and draw(st.integers(0, 5)) == 0:
        add_ports(draw, pods[:1])
    if are_sociable and pods and draw(st.integers(0, 5)) == 0:
        add_volumes(draw, pods[:1])
    removals = []
    owner_pool = made["metadata"]["labels"].get("growth.dev/pool")
    if owner_pool is not None and draw(st.integers(0, 3)) == 0:
        status = draw(
            st.sampled_from(
                [
                    {"phase": "Pending"},
                    {"phase": "Pending", "cancel": {"at": before(seconds=3), "by": "Planner"}},
                    {"phase": "Deprovisioning"},
                    {"phase": "CouldNotRemove"},
                ]
            )
        )
        made["spec"]["taints"].append({"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"})
        removals.append(node_removal_request(name, kind, pool=owner_pool, **status))
    return made, pods, removals


def keep_for(draw: st.DrawFn, scene: Scene, names: list[str]) -> None:
    """Add a machine that is coming or has just come, with seats of pods that wait, run there or are gone."""
    kind, of_pool = draw(st.sampled_from(sorted(KINDS))), draw(st.sampled_from(names))
    status = draw(
        st.sampled_from(
            [
                {"phase": "Provisioning", "createAttemptAt": before(seconds=9)},
                {"phase": "Ready", "readyAt": before(seconds=3)},
                {"phase": "Ready", "readyAt": before(seconds=30)},
                {"phase": "Ready", "readyAt": before(seconds=30), "releasedAt": before(seconds=2)},
            ]
        )
    )
    template = next(p for p in scene.pools if p["metadata"]["name"] == of_pool)["spec"].get("template", {})
    held = [
        pod(
            f"seat-{k}", "50m", "64Mi", owner="rs-seat", node=where, tolerations=[{"key": "team", "operator": "Exists"}]
        )
        for k, where in enumerate(draw(st.lists(st.sampled_from([None, None, "kept"]), max_size=4)))
    ]
    if status["phase"] == "Provisioning" or draw(st.integers(0, 4)) == 0:
        held = [p for p in held if "nodeName" not in p["spec"]]
    else:
        labels = template.get("labels", {})
        scene.nodes.append(node("kept", kind, pool=of_pool, labels=labels, taints=list(template.get("taints", []))))
    gone = [pod("seat-gone", "50m", "64Mi", owner="rs-seat", tolerations=[{"key": "team", "operator": "Exists"}])]
    scene.requests.append(node_request("kept", kind, pool=of_pool, seats=[seat(p) for p in (*held, *gone)], **status))
    scene.pods += held


@st.composite
def scenes(draw: st.DrawFn, *, are_sociable: bool = True) -> Scene:
    """Draw a whole scene, in which pods may ask something of other pods, of ports and of volumes, or never do."""
    scene = Scene(classes=[draw(classes())], pools=[draw(pools("default"))])
    if draw(st.booleans()):
        scene.pools.append(draw(pools("batch")))
    names = [p["metadata"]["name"] for p in scene.pools]
    for k in range(draw(st.integers(0, 4))):
        scene.pods += draw(sociable(f"app{k}") if are_sociable else workloads(f"app{k}"))
    for k in range(draw(st.integers(0, 4))):
        made, pods, removals = draw(node_and_friends(f"node-{k}", are_sociable=are_sociable))
        if made["metadata"]["labels"].get("growth.dev/pool", names[0]) in names:
            scene.nodes.append(made)
            scene.pods += pods
            scene.removals += removals
    if draw(st.booleans()):
        scene.daemon_sets.append(
            daemon_set("agent", **({"nodeSelector": {"disk": "ssd"}} if draw(st.booleans()) else {}))
        )
    if draw(st.integers(0, 2)) == 0:
        keep_for(draw, scene, names)
    for k in range(draw(st.integers(0, 3))):
        status = draw(
            st.sampled_from(
                [
                    {},
                    {"phase": "Pending", "createAttemptAt": before(seconds=2)},
                    {"phase": "Provisioning", "createAttemptAt": before(seconds=9)},
                    {"phase": "Unmet", "expiresAt": after(seconds=60)},
                    {"phase": "Unmet", "expiresAt": before(seconds=1)},
                    {"phase": "Failed", "expiresAt": before(seconds=1)},
                    {"phase": "Failed", "expiresAt": after(seconds=60)},
                ]
            )
        )
        scene.requests.append(
            node_request(
                f"coming-{k}", draw(st.sampled_from(sorted(KINDS))), pool=draw(st.sampled_from(names)), **status
            )
        )
    for kind, objects in storage_for(draw, scene.pods).items():
        setattr(scene, kind, objects)
    if draw(st.booleans()):
        scene.csi_nodes = [csi_node(n["metadata"]["name"], draw(st.integers(1, 3))) for n in scene.nodes]
    return scene


ZONED = ("fsn1", "nbg1", "hel1")


@st.composite
def crowds(draw: st.DrawFn) -> Scene:
    """Draw a scene in which only other pods, ports and volumes are in the way: three zones, enough machines."""
    kinds = [server_type(kind, locations=ZONED[: draw(st.integers(1, 3))]) for kind in ("cx22", "cx42")]
    scene = Scene(classes=[kwok_node_class(*kinds)], pools=[node_pool(types=["cx22", "cx42"], limits={"max": 40})])
    scene.namespaces = {"other": {"team": "blue"}}
    for k in range(draw(st.integers(0, 4))):
        taints, zone = draw(st.sampled_from([[], [], [TAINT]])), draw(st.sampled_from(ZONED))
        labels = {"topology.kubernetes.io/zone": zone} | draw(st.sampled_from([{}, {"disk": "ssd"}, {"disk": "hdd"}]))
        scene.nodes.append(
            node(f"node-{k}", "cx22", pool=draw(st.sampled_from([None, "default"])), labels=labels, taints=taints)
        )
        for j in range(draw(st.integers(0, 3))):
            app = draw(st.sampled_from(APPS))
            more = draw(st.sampled_from([{}, {}, draw(wishes(app))]))
            scene.pods.append(pod(f"on-{k}-{j}", "100m", "64Mi", node=f"node-{k}", labels={"app": app}, **more))
    for k in range(draw(st.integers(1, 5))):
        app = draw(st.sampled_from(APPS))
        asked = draw(st.one_of(wishes(app), wishes(app), st.just({})))
        cpu = draw(st.sampled_from(["50m", "50m", "900m"]))
        number = draw(st.integers(1, 5))
        pods = [pod(f"app{k}-{j}", cpu, "64Mi", owner=f"rs-{k}", labels={"app": app}, **asked) for j in range(number)]
        add = draw(st.integers(0, 7))
        if add == 0:
            add_ports(draw, pods)
        elif add == 1:
            add_volumes(draw, pods)
        scene.pods += pods
    for kind, objects in storage_for(draw, scene.pods).items():
        setattr(scene, kind, objects)
    scene.csi_nodes = [csi_node(n["metadata"]["name"], draw(st.integers(1, 3))) for n in scene.nodes]
    if draw(st.booleans()):
        tie_to_driver(draw, scene.nodes, scene.csi_nodes, (*scene.volumes, *scene.storage_classes))
    return scene
