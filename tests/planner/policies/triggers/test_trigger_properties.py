"""Random rounds: what no trigger ever does, and that pools without their fields are as they were."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from api.keys import ANNOTATION_TEMPLATE_HASH
from planner.plan import plan
from planner.policies.emptiness import Emptiness
from planner.policies.repair import DeadNodes
from planner.policies.unneeded_requests import UnneededRequests
from tests.builders import before, kwok_node_class, node, node_pool, node_removal_request, pod
from tests.planner.scenes import Scene
from tests.planner.strategies import SUMS, scenes
from tests.searching import searching

BEFORE = (DeadNodes(), Emptiness(), UnneededRequests())
REASONS = {"Rotation", "Drift", "Repair", "OverMax"}
DEADLOCK = {"type": "KernelDeadlock", "status": "True", "lastTransitionTime": before(hours=1)}
HASHES = (None, "v1:0123456789abcdef", "v2:0123456789abcdef", "yes")


@st.composite
def fleets(draw: st.DrawFn) -> Scene:
    """Draw two pools with machines on which there is room, and pods most of which may move."""
    nodes, pods = [], []
    for number in range(draw(st.integers(2, 8))):
        name, kind = f"n{number}", draw(st.sampled_from(["cx22", "cx32", "cx42"]))
        nodes.append(
            node(
                name,
                kind,
                pool=draw(st.sampled_from(["default", "default", "other"])),
                ready=draw(st.integers(0, 9)) > 0,
            )
        )
        for each in range(draw(st.integers(0, 3))):
            pinned = {"nodeSelector": {"kubernetes.io/hostname": name}} if draw(st.integers(0, 9)) == 0 else {}
            cpu = draw(st.sampled_from(["200m", "500m", "600m"]))
            pods.append(pod(f"p{number}-{each}", cpu, "256Mi", node=name, owner=f"rs-{each}", **pinned))
    removals = [node_removal_request("n0", spec={"reason": "Rotation"})] if draw(st.integers(0, 3)) == 0 else []
    pods += [pod(f"waits-{number}") for number in range(draw(st.integers(0, 2)))]
    pools = [node_pool(name, limits={"max": 20, "min": draw(st.integers(0, 3))}) for name in ("default", "other")]
    return Scene(pods=pods, nodes=nodes, pools=pools, classes=[kwok_node_class()], removals=removals)


@st.composite
def worn(draw: st.DrawFn) -> Scene:
    """Draw a scene in which machines are old, have drifted, fail or are too many, in pools of any mode."""
    scene = draw(st.one_of(fleets(), fleets(), scenes()))
    for pool in scene.pools:
        scale_down = pool["spec"].setdefault("scaleDown", {})
        scale_down["mode"] = draw(st.sampled_from(["drain", "drain", "empty", "none"]))
        if draw(st.booleans()):
            pool["spec"]["rotation"] = {"maxNodeAge": "24h"}
        if draw(st.booleans()):
            scale_down["repair"] = {"conditions": [{"type": "KernelDeadlock", "status": "True", "after": "10m"}]}
        if draw(st.integers(0, 4)) == 0:
            pool["spec"]["limits"] = {"max": draw(st.integers(1, 4))}
            for each in pool["spec"]["serverTypes"]:
                each.pop("min", None)
    for each in scene.nodes:
        each["metadata"]["creationTimestamp"] = before(hours=draw(st.sampled_from([1, 23, 25, 900])))
        if draw(st.integers(0, 3)) == 0:
            each["status"]["conditions"].append(DEADLOCK)
        written = draw(st.sampled_from(HASHES))
        if written is not None:
            each["metadata"].setdefault("annotations", {})[ANNOTATION_TEMPLATE_HASH] = written
    return scene


@searching(150)
@given(worn())
def test_what_no_trigger_does(scene: Scene):
    snapshot = scene.snapshot()
    made = plan(snapshot)
    nodes = {node.name: node for node in snapshot.nodes}
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    under_removal = {removal.spec.server_name for removal in snapshot.removals}
    residents = {pod.node_name for pod in snapshot.pods if not (pod.is_of_node or pod.is_finished)}
    begun = [removal for removal in made.removals if removal.reason in REASONS]
    assert len({removal.node for removal in made.removals}) == len(made.removals)
    ordinals = {request.ordinal for request in made.requests}
    assert len(ordinals) == len(made.requests)
    going = {removal.node for removal in made.removals}
    for removal in begun:
        node = nodes[removal.node]
        assert removal.node not in under_removal
        assert node.labels.get("growth.dev/request") == node.name
        assert pools[removal.pool].spec.scale_down.mode != "none"
        assert removal.node not in residents or pools[removal.pool].spec.scale_down.mode == "drain"
        assert set(removal.replacement) <= ordinals
        assert all(move.node in nodes and move.node not in going for move in removal.moves)
    # Each pod that moves has one place.
    moved = [move.pod for removal in begun for move in removal.moves]
    seated = [f"{seat.namespace}/{seat.name}" for request in made.requests for seat in request.seats]
    assert len(set(moved) | set(seated)) == len(moved) + len(seated)
    for removal in begun:
        on_it = {
            p.key
            for p in snapshot.pods
            if p.node_name == removal.node and not p.is_finished and not p.is_terminating and not p.is_of_node
        }
        assert on_it <= set(moved) | set(seated)
    assert all(nodes[name].labels.get("growth.dev/request") == name for name in made.template_hashes)


@searching(100)
@given(scenes(), st.randoms(use_true_random=False))
def test_pools_without_the_fields_are_as_they_were(scene: Scene, chance: random.Random):
    for pool in scene.pools:
        pool["spec"].setdefault("scaleDown", {})["mode"] = chance.choice(["drain", "empty", "none"])
        # More than there ever are: a max that was lowered is no field of before.
        pool["spec"]["limits"] = {k: v for k, v in pool["spec"]["limits"].items() if k not in SUMS} | {"max": 90}
        for each in pool["spec"]["serverTypes"]:
            each.pop("max", None)
    snapshot = scene.snapshot()
    now, was = plan(snapshot), plan(snapshot, policies=BEFORE, triggers=())
    assert replace(now, template_hashes={}) == was


@searching(60)
@given(worn())
def test_a_plan_does_not_depend_on_the_order_of_nodes(scene: Scene):
    turned = replace(scene, nodes=scene.nodes[::-1])
    one, other = plan(scene.snapshot()), plan(turned.snapshot())
    assert [(r.node, r.reason) for r in one.removals] == [(r.node, r.reason) for r in other.removals]
