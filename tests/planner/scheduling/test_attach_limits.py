"""What a machine to come can attach, from Nodes of its type, its class, and Nodes of other types.

Source: kubernetes-sigs/karpenter issue 1857; kubernetes/autoscaler issue 4517; CSINode, `allocatable.count`.
"""

import pytest

from planner.plan import plan
from planner.scheduling.attachments import AttachLimits
from tests.builders import (
    DRIVER,
    claim,
    csi_node,
    differing,
    kwok_node_class,
    node,
    node_request,
    pod,
    server_type,
    storage_class,
)
from tests.planner import scenes
from tests.planner.scenes import Scene
from tests.planner.wishes import using

SLOTS = f"attachable volumes of {DRIVER}"


def database(number: int, name: str = "db", **spec):
    return using(pod(name, "100m", "64Mi", **spec), *(f"{name}-{k}" for k in range(number)))


def scene(*pods, number: int = 3, declared: dict[str, int] | None = None, **parts) -> Scene:
    """Return pods with so many claims each that wait for their volumes, in a cluster that may buy two types."""
    kinds = [server_type("cx22"), server_type("cx32")]
    given = scenes.scene(*pods, types=("cx22", "cx32"), **parts)
    given.classes = [kwok_node_class(*kinds, **({} if declared is None else {"attachLimits": declared}))]
    given.claims = [claim(f"{p['metadata']['name']}-{k}") for p in pods for k in range(number)]
    given.storage_classes = [storage_class()]
    return given


def seen(server: str, count: int | None) -> dict:
    """Return a Node that takes no pod, and what its drivers say: a count, or that there is no limit."""
    name = f"seen-{server}-{count}"
    stated = csi_node(name, count or 0)
    if count is None:
        stated = differing(stated, {"spec": {"drivers": [{"name": DRIVER, "nodeID": name}]}})
    return {"nodes": [node(name, server, ready=False)], "csi_nodes": [stated]}


def bought(given: Scene) -> list[str]:
    return [r.server_type for r in plan(given.snapshot()).requests]


def test_a_limit_known_from_any_node_holds_for_a_type_of_which_none_is_known():
    assert bought(scene(database(3), **seen("cx22", 2))) == []
    made = plan(scene(database(3), **seen("cx42", 2)).snapshot())
    (unplaced,) = made.unplaced
    (reason,) = unplaced.reasons
    assert (made.requests, reason.code) == ((), "TooLarge")
    assert reason.message.startswith(f"no machine of pool default is large enough for {SLOTS} 3; ")
    assert f"cx22: {SLOTS} short by 1 (2 fit on a machine, as on Nodes of other types)" in reason.message


def test_a_pod_within_the_limit_is_bought_for():
    assert bought(scene(database(3), **seen("cx22", 3))) == ["cx22"]


def test_of_several_nodes_the_least_limit_is_believed():
    given = scene(database(3))
    given.nodes = [*seen("cx42", 8)["nodes"], *seen("cax11", 2)["nodes"]]
    given.csi_nodes = [*seen("cx42", 8)["csi_nodes"], *seen("cax11", 2)["csi_nodes"]]
    assert bought(given) == []


def test_what_nodes_of_its_own_type_say_goes_before_those_of_others():
    given = scene(database(3))
    given.nodes = [*seen("cx22", 2)["nodes"], *seen("cx32", 3)["nodes"]]
    given.csi_nodes = [*seen("cx22", 2)["csi_nodes"], *seen("cx32", 3)["csi_nodes"]]
    assert bought(given) == ["cx32"]


def test_a_type_whose_driver_states_no_limit_has_none():
    given = scene(database(3))
    given.nodes = [*seen("cx22", 2)["nodes"], *seen("cx32", None)["nodes"]]
    given.csi_nodes = [*seen("cx22", 2)["csi_nodes"], *seen("cx32", None)["csi_nodes"]]
    assert bought(given) == ["cx32"]


def test_a_node_that_takes_no_volume_at_all_is_no_example_for_others():
    assert bought(scene(database(3), **seen("cx42", 0))) == ["cx22"]


def test_a_foreign_node_teaches_too():
    given = scene(database(3), **seen("cx42", 2))
    given.nodes = [node("seen-cx42-2", "cx42", pool=None)]
    given.nodes[0]["spec"]["unschedulable"] = True
    assert bought(given) == []


@pytest.mark.parametrize(("declared", "types"), [(2, []), (3, ["cx22"])])
def test_a_class_declares_a_limit_also_where_there_is_no_node(declared, types):
    assert bought(scene(database(3), declared={DRIVER: declared})) == types


def test_what_a_class_declares_goes_before_nodes_of_other_types_and_after_those_of_its_own():
    assert bought(scene(database(3), declared={DRIVER: 3}, **seen("cx42", 2))) == ["cx22"]
    assert bought(scene(database(3), declared={DRIVER: 3}, **seen("cx22", 2))) == ["cx32"]
    assert bought(scene(database(3), declared={DRIVER: 2}, **seen("cx32", 3))) == ["cx32"]


def test_a_class_that_declares_nothing_limits_nothing():
    assert bought(scene(database(40), number=40)) == ["cx22"]


@pytest.mark.parametrize("joined", [False, True])
def test_a_machine_on_its_way_takes_no_more_than_its_class_declares(joined):
    """Its driver registers some time after its Node has joined."""
    given = scene(database(2, "a"), database(2, "b"), number=2, declared={DRIVER: 3})
    given.requests = [node_request("m", "cx22", phase="Provisioning")]
    given.nodes = [node("m", "cx22", ready=False)] if joined else []
    made = plan(given.snapshot())
    assert ([p.request for p in made.placed], len(made.requests)) == (["m"], 1)


def test_without_any_node_no_limit_is_known():
    assert AttachLimits(()).of("cx22", {}) == {}
