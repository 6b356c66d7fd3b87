"""What peers choose by priority, each case reduced to a few pods: the same machines are bought here."""

from pathlib import Path

import pytest
import yaml

from planner.packing.fallback.pack import pack
from planner.plan import plan
from tests.builders import Json, after, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.scenes import Scene

EXAMPLES = Path(__file__).parents[4] / "deploy" / "examples" / "pools"
SMALL = server_type("small", locations=["a"]) | {"capacity": {"cpu": "2", "memory": "8Gi"}, "pricePerHour": "0.0100"}
LARGE = server_type("large", locations=["a"]) | {"capacity": {"cpu": "8", "memory": "32Gi"}, "pricePerHour": "0.0900"}


def pods(number: int, cpu: str = "1500m") -> list[Json]:
    return [pod(f"p-{k}", cpu, "1Gi") for k in range(number)]


def pool(name: str, *types: Json, most: int = 20, **spec: object) -> Json:
    return node_pool(name, list(types), limits={"max": most}, matchUnselectedPods=True, **spec)


def bought(
    *pools: Json, waiting: list[Json], nodes: tuple[Json, ...] = (), requests: tuple[Json, ...] = ()
) -> list[str]:
    scene = Scene()
    scene.classes.append(kwok_node_class(SMALL, LARGE))
    scene.pools += pools
    scene.pods += waiting
    scene.nodes += nodes
    scene.requests += requests
    made = plan(scene.snapshot(), pack)
    return sorted(f"{r.pool}/{r.server_type}: {len(r.seats)}" for r in made.requests)


# Source: Karpenter docs, "NodePools", spec.weight and spec.limits.


def test_the_pool_of_the_higher_weight_is_used_whatever_it_costs():
    heavy, light = pool("heavy", {"name": "large"}, priority=50), pool("light", {"name": "small"}, priority=10)
    assert bought(heavy, light, waiting=pods(1)) == ["heavy/large: 1"]


def test_a_pool_at_its_limit_leaves_the_rest_to_the_next_one():
    heavy, light = pool("heavy", {"name": "large"}, most=1, priority=50), pool("light", {"name": "small"}, priority=10)
    assert bought(heavy, light, waiting=pods(7)) == ["heavy/large: 5", "light/small: 1", "light/small: 1"]


def test_a_pool_whose_machines_are_too_small_is_skipped():
    heavy, light = pool("heavy", {"name": "small"}, priority=50), pool("light", {"name": "large"}, priority=10)
    assert bought(heavy, light, waiting=pods(1, "4")) == ["light/large: 1"]


def test_a_pool_that_the_pod_may_not_use_is_skipped():
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    heavy = pool("heavy", {"name": "small"}, priority=50, template={"taints": [taint]})
    assert bought(heavy, pool("light", {"name": "large"}), waiting=pods(1)) == ["light/large: 1"]


def test_within_one_weight_the_price_decides():
    one, other = pool("one", {"name": "large"}, priority=50), pool("other", {"name": "small"}, priority=50)
    assert bought(one, other, waiting=pods(1)) == ["other/small: 1"]


def test_a_node_that_is_there_comes_before_any_weight():
    there = node("n", allocatable={"cpu": "2", "memory": "4Gi"})
    assert bought(pool("heavy", {"name": "large"}, priority=50), waiting=pods(1), nodes=(there,)) == []


# Source: Cluster Autoscaler, expander/priority/readme.md.


@pytest.mark.parametrize(("most", "expected"), [(20, ["default/large: 3"]), (1, ["default/large: 3"])])
def test_the_expander_takes_the_group_of_the_highest_priority(most, expected):
    types = {"pattern": "lar*", "priority": 50, "max": most}, {"pattern": "*", "priority": 10}
    assert bought(pool("default", *types, scaleUp={"choose": "priority"}), waiting=pods(3)) == expected


def test_the_expander_takes_the_next_group_where_the_first_has_reached_its_maximum():
    types = {"pattern": "sma*", "priority": 50, "max": 1}, {"pattern": "*", "priority": 10}
    expected = ["default/large: 1", "default/small: 1"]
    assert bought(pool("default", *types, scaleUp={"choose": "priority"}), waiting=pods(2)) == expected


def test_a_type_that_is_sold_out_leaves_its_pods_to_the_next_one():
    # Source: kubernetes/autoscaler#4142 and #4731: a group that fails is tried again and again.
    types = {"name": "large", "priority": 50}, {"name": "small"}
    missed = node_request(
        "m", "large", location="a", phase="Unmet", reason="NoCapacity", expiresAt=after(seconds=60), pool="default"
    )
    given = pool("default", *types, scaleUp={"choose": "priority"})
    assert bought(given, waiting=pods(1)) == ["default/large: 1"]
    assert bought(given, waiting=pods(1), requests=(missed,)) == ["default/small: 1"]


# Source: VPSie's autoscaler: the preferred instance type where it is valid, else the cheapest that fits.


@pytest.mark.parametrize(("cpu", "expected"), [("1", "default/small: 1"), ("4", "default/large: 1")])
def test_the_preferred_type_is_bought_where_it_fits(cpu, expected):
    types = {"name": "large"}, {"name": "small", "priority": 1}
    assert bought(pool("default", *types, scaleUp={"choose": "priority"}), waiting=pods(1, cpu)) == [expected]


def test_types_with_priorities_go_by_price_in_a_pool_that_does_not_choose_by_them():
    types = {"name": "large", "priority": 50}, {"name": "small"}
    assert bought(pool("default", *types), waiting=pods(1)) == ["default/small: 1"]


def example(name: str) -> list[tuple[str, str, int]]:
    scene = Scene()
    for item in yaml.safe_load_all((EXAMPLES / name).read_text()):
        of_kind = {"NodePool": scene.pools, "KwokNodeClass": scene.classes}.get(item["kind"])
        if of_kind is not None:
            of_kind.append(item)
    number = (EXAMPLES / name).read_text().count("kind: Pod\n")
    scene.pods += pods(number)
    return sorted((r.pool, r.server_type, len(r.seats)) for r in plan(scene.snapshot(), pack).requests)


def test_converted_objects_plan_as_the_peers_would_choose():
    # Karpenter: two machines until the limit of the heavier pool, then the cheapest of the lighter one.
    karpenter = [("committed", "m-xlarge", 2), ("committed", "m-xlarge", 2), ("fallback", "c-large", 1)]
    assert example("karpenter-weights.yaml") == karpenter
    # The expander: spot first, though it is dearer here, and general once spot has reached its maximum.
    assert example("priority-expander.yaml") == [("default", "general-2", 1), ("default", "spot-2", 1)]
