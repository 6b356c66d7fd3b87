"""Why a machine is of its type: worked out by hand from the prices and sizes of `scenes.KINDS`.

cx22: 2 vCPU, 4 GiB, 0.0066; cx32: 4, 8, 0.0106; cx42: 8, 16, 0.0170; cax11 (arm64): 2, 4, 0.0050; 110 pods each.
"""

from decimal import Decimal

import pytest

from planner.model.plan import Because
from planner.plan import plan
from tests.builders import after, before, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.scenes import Scene, scene
from tests.planner.wishes import needs, spread

ALL = ("cx22", "cx32", "cx42")


def bought(*pods, types=ALL, kinds=None, pools=(), unavailable=None, **parts):
    """Return the machines that are bought."""
    listed = [server_type(k) if isinstance(k, str) else k for k in kinds or ("cx22", "cx32", "cx42", "cax11")]
    given = Scene(classes=[kwok_node_class(*listed, unavailable=unavailable)], pods=list(pods), **parts)
    given.pools = [node_pool(types=types), *pools]
    return plan(given.snapshot()).requests


def told(one):
    """Return what is said of a machine beyond how full it is."""
    return one.why.partition("; ")[2]


def test_shares_the_binding_resource_and_the_runner_up():
    (one,) = bought(pod("a", "3", "2Gi"), pod("b", "1", "2Gi"))
    assert one.server_type == "cx32"
    assert one.because.shares == {"cpu": 1.0, "memory": 0.5, "pods": 2 / 110}
    assert list(one.because.shares) == ["cpu", "memory", "pods"]
    assert one.because.binding == "cpu"
    other = one.because.runner_up
    assert (other.server_type, other.location, other.pool) == ("cx42", "fsn1", "default")
    assert other.price_per_hour == Decimal("0.0170")
    assert other.obstacle is None
    assert one.because.cheaper is None
    assert one.why == "For 2 pods of pool default: cpu 100 %, memory 50 %; next: cx42 for 0.017"


@pytest.mark.parametrize(
    ("cpu", "memory", "binding", "words"),
    [
        ("1", "3Gi", "memory", "cpu 50 %, memory 75 %"),
        # Both are full: the first in the order of resources is named.
        ("2", "4Gi", "cpu", "cpu 100 %, memory 100 %"),
        # Rounded down: 100 % is said only where nothing is left.
        ("1999m", "1Gi", "cpu", "cpu 99 %, memory 25 %"),
        # 0.29 times 100 is a little less than 29 in binary.
        ("580m", "1Gi", "cpu", "cpu 29 %, memory 25 %"),
    ],
)
def test_the_resource_that_is_used_most_binds(cpu, memory, binding, words):
    (one,) = bought(pod("a", cpu, memory))
    assert (one.server_type, one.because.binding) == ("cx22", binding)
    assert one.why.startswith(f"For 1 pod of pool default: {words}; ")


def test_a_resource_beyond_cpu_and_memory_is_named_where_it_binds():
    gpu = server_type("gpu", capacity={"cpu": "8", "memory": "16Gi", "example.com/gpu": "2"})
    (one,) = bought(pod("a", "1", "1Gi", requests={"example.com/gpu": "2"}), types=("gpu",), kinds=[gpu])
    assert one.because.binding == "example.com/gpu"
    assert one.why == (
        "For 1 pod of pool default: cpu 12 %, memory 6 %, example.com/gpu 100 %; "
        "nothing else that can be bought holds it"
    )


def test_what_daemon_sets_take_is_nobody_s_share():
    agent = {
        "metadata": {"name": "agent", "namespace": "kube-system", "uid": "u"},
        "spec": {"template": pod("agent", "1", "1Gi")},
    }
    (one,) = bought(pod("a", "1", "1Gi"), daemon_sets=[agent])
    assert one.because.shares["cpu"] == 1.0
    assert one.because.shares["memory"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("cheap", "unavailable", "words"),
    [
        (server_type("cx22", sold_out=True), [], "is sold out, says the provider"),
        (
            server_type("cx22"),
            [
                {
                    "serverType": "cx22",
                    "location": "fsn1",
                    "until": after(minutes=30),
                    "lastFailureAt": before(minutes=1),
                    "failures": 1,
                }
            ],
            "had no capacity and is left out until 2026-03-01T12:30:00Z",
        ),
    ],
)
def test_what_is_sold_out_and_would_be_cheaper_is_told_first(cheap, unavailable, words):
    (one,) = bought(pod("a", "1", "1Gi"), kinds=[cheap, "cx32", "cx42"], unavailable=unavailable)
    assert one.server_type == "cx32"
    cheaper = one.because.cheaper
    assert (cheaper.server_type, cheaper.price_per_hour) == ("cx22", Decimal("0.0066"))
    assert cheaper.obstacle.code == "OfferingUnavailable"
    assert told(one) == f"cx22 in fsn1 would be 0.004 cheaper, but {words}; next: cx42 for 0.017"


FULL = {"nodes": [node("m-1")], "pods": [pod("old", "2", "4Gi", node="m-1")]}


def beside_full(*pods, types, **more):
    return bought(*FULL["pods"], *pods, types=types, nodes=FULL["nodes"], **more)


def test_a_limit_on_a_cheaper_type_is_told():
    (one,) = beside_full(pod("a", "1", "1Gi"), types=({"name": "cx22", "max": 1}, "cx32", "cx42"))
    assert one.because.cheaper.obstacle.code == "LimitReached"
    assert told(one) == (
        "cx22 in fsn1 would be 0.004 cheaper, but pool default is at its max of 1 machines of type cx22; "
        "next: cx42 for 0.017"
    )


def test_two_obstacles_are_one_too_many():
    kinds = [server_type("cx22", sold_out=True), "cx32"]
    (one,) = beside_full(pod("a", "1", "1Gi"), types=({"name": "cx22", "max": 1}, "cx32"), kinds=kinds)
    assert (one.because.cheaper, one.because.runner_up) == (None, None)


def test_a_limit_that_the_machine_itself_takes_up_is_no_obstacle():
    # The pool may have one machine: a cx42 could be it instead of the cx32.
    given = scene(pod("a", "3", "1Gi"), limits={"max": 1})
    (one,) = plan(given.snapshot()).requests
    assert told(one) == "next: cx42 for 0.017"


def test_what_pods_cannot_run_on_is_no_alternative():
    # A cax11 would cost 0.0050, but pods that are built for amd64 say so; the cx42 is at its limit.
    (one,) = bought(
        pod("a", "1", "1Gi", nodeSelector={"kubernetes.io/arch": "amd64"}),
        types=("cx22", "cax11"),
        kinds=["cx22", server_type("cax11", sold_out=True)],
    )
    assert one.because.cheaper is None
    assert told(one) == "nothing else that can be bought holds it"


def test_another_place_comes_after_another_type():
    wide = [server_type("cx22", locations=("fsn1", "nbg1")), "cx32"]
    (one,) = bought(pod("a", "1", "1Gi"), types=("cx22", "cx32"), kinds=wide)
    assert told(one) == "next: cx32 for 0.0106"
    (one,) = bought(pod("a", "1", "1Gi"), types=("cx22",), kinds=wide)
    assert (one.location, told(one)) == ("fsn1", "next: cx22 in nbg1 for 0.0066")


def test_another_pool_is_named():
    either = needs([{"key": "growth.dev/pool", "operator": "In", "values": ["default", "batch"]}])
    (one,) = bought(pod("a", "1", "1Gi", affinity=either), types=("cx22",), pools=[node_pool("batch", ("cx32",))])
    assert one.pool == "default"
    assert told(one) == "next: cx32 of pool batch for 0.0106"


def test_a_pool_that_buys_nothing_is_told_in_few_words():
    either = needs([{"key": "growth.dev/pool", "operator": "In", "values": ["default", "batch"]}])
    failed = node_request("batch-1", "cx22", pool="batch", phase="Failed", reason="Refused", message="x" * 1000)
    (one,) = bought(
        pod("a", "1", "1Gi", affinity=either), types=("cx32",), pools=[node_pool("batch", ("cx22",))], requests=[failed]
    )
    assert one.because.cheaper.obstacle.code == "PoolBlocked"
    assert told(one).startswith("cx22 in fsn1 would be 0.004 cheaper, but pool batch buys nothing: request batch-1 ")
    assert len(one.why) < 300


def test_a_minimum_is_a_reason_of_its_own():
    filled, empty = bought(pod("a", "1", "1Gi"), types=("cx22", {"name": "cx32", "min": 2}))
    assert told(filled) == "the minimum of pool default asks for it"
    assert (filled.because.binding, filled.because.runner_up, filled.because.cheaper) == ("cpu", None, None)
    assert (empty.why, empty.because) == ("The minimum of pool default asks for it", Because())


def test_a_machine_keeps_the_zone_that_spreading_gave_it():
    kinds = [server_type("cx22", sold_out=True), server_type("cx32", locations=("fsn1", "nbg1"))]
    pods = [
        pod(f"web-{k}", "1", "1Gi", labels={"app": "web"}, topologySpreadConstraints=[spread(app="web")])
        for k in range(2)
    ]
    by_place = {one.location: one.because for one in bought(*pods, types=("cx22", "cx32"), kinds=kinds)}
    assert by_place["fsn1"].cheaper.server_type == "cx22"
    assert by_place["nbg1"].cheaper is None
    # In the other zone, the second pod would break the spread.
    assert [one.runner_up for one in by_place.values()] == [None, None]


def test_machines_with_the_same_pods_are_looked_at_once():
    one, other = bought(*(pod(f"a-{k}", "8", "1Gi", owner="rs") for k in range(2)))
    assert one.because is other.because
