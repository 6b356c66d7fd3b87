"""The four cases of the seed, required affinity, and several pools that take the same pods."""

import pytest

from api.v1alpha1.node_pool import NodePool
from planner.parsing.objects import parse_pod
from planner.supply.pod_group import choose_pools
from tests.builders import node_pool, pod
from tests.planner.wishes import needs

KEY = "growth.dev/pool"


def choice(spec: dict, *pools: dict):
    return choose_pools(parse_pod(pod("a", **spec)), [NodePool.model_validate(p) for p in pools])


def one_of(operator: str, *values: str) -> dict:
    return {"affinity": needs([{"key": KEY, "operator": operator} | ({"values": list(values)} if values else {})])}


DEFAULT, GPU, BATCH = node_pool(), node_pool("gpu"), node_pool("batch", matchUnselectedPods=True)
RESERVED_DEFAULT = node_pool(matchUnselectedPods=False)


@pytest.mark.parametrize(
    ("spec", "pools", "chosen"),
    [
        ({"nodeSelector": {KEY: "gpu"}}, (DEFAULT, GPU), ("gpu",)),  # case 1
        ({}, (DEFAULT, GPU), ("default",)),  # case 2
        ({}, (RESERVED_DEFAULT, BATCH), ("batch",)),
        (one_of("In", "gpu"), (DEFAULT, GPU), ("gpu",)),
        (one_of("In", "gpu", "default"), (DEFAULT, GPU), ("default", "gpu")),
        (one_of("In", "gpu", "gone"), (DEFAULT, GPU), ("gpu",)),
        (one_of("Exists"), (DEFAULT, GPU), ("default", "gpu")),
        (one_of("NotIn", "batch"), (DEFAULT, BATCH), ("default",)),
        ({}, (DEFAULT, BATCH), ("batch", "default")),  # docs/design.md#demand: all pools that take unselected pods
        ({"nodeSelector": {"disk": "ssd"}}, (DEFAULT, GPU), ("default",)),
    ],
)
def test_chosen(spec: dict, pools: tuple[dict, ...], chosen: tuple[str, ...]):
    assert choice(spec, *pools).pools == chosen


@pytest.mark.parametrize(
    ("spec", "pools", "code", "words"),
    [
        ({}, (GPU,), "NoPool", "selects no pool"),  # case 3
        ({}, (), "NoPool", "selects no pool"),
        (
            {"nodeSelector": {KEY: "gone"}},
            (DEFAULT,),
            "PoolNotFound",
            "pool gone does not exist: there are default",
        ),  # 4
        (one_of("In", "x", "y"), (), "PoolNotFound", "pool x or y does not exist: there is no pool"),
        (one_of("NotIn", "default"), (DEFAULT, GPU), "NoPool", "selects no pool"),
    ],
)
def test_not_chosen(spec: dict, pools: tuple[dict, ...], code: str, words: str):
    obstacle = choice(spec, *pools).obstacle
    assert obstacle is not None
    assert obstacle.code == code
    assert words in obstacle.message


def test_a_term_that_leaves_the_pool_open_leaves_it_open():
    terms = needs([{"key": KEY, "operator": "In", "values": ["gpu"]}], [{"key": "disk", "operator": "Exists"}])
    assert choice({"affinity": terms}, DEFAULT, GPU).pools == ("default",)
