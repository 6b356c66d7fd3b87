"""CapacityBuffers in a plan: in whichever pool fits and costs least, kept, given to real pods first, and told of.

Source: CapacityBuffer of SIG Autoscaling; docs/pools.md#capacity-buffers.
"""

from dataclasses import replace

import pytest

from planner.objects.capacity_buffer import CapacityBuffer
from planner.objects.kinds import Pod, Requirement, Toleration
from tests.builders import before, kwok_node_class, node, node_pool, node_removal_request, pod, server_type
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene

IDLE = {"growth.dev/idle-since": before(minutes=11)}
GIB = 2**30
WEB = Pod("", "", "", {"cpu": 1000, "memory": GIB, "pods": 1}, is_unschedulable=True)


def buffer(count=1, name="web", **changes):
    return CapacityBuffer("shop", name, f"uid-{name}", count, replace(WEB, **changes))


def short(made):
    return {name: reason.code for name, reason in made.short_buffers.items()}


def going(made):
    return [removal.node for removal in made.removals]


def test_it_is_bought_at_the_least_price_and_says_for_which_buffer():
    made = planned(scene(buffers=[buffer(4)]))
    assert (types(made), short(made), made.buffers) == (["cx32"], {}, (buffer(4),))
    (request,) = made.requests
    assert (request.seats, request.headroom) == ((), 4)
    assert request.why.startswith("For headroom of 4 pods (CapacityBuffer shop/web) of pool default: cpu 100 %")


def test_free_room_is_enough_and_a_pod_that_comes_has_it_bought_again():
    given = scene(node("a", "cx32"), pods=[pod("x", cpu="2", node="a")], buffers=[buffer(2)])
    assert planned(given).requests == ()
    given.pods.append(pod("y", node="a"))
    assert types(planned(given)) == ["cx22"]


def test_an_empty_machine_stays_for_it_by_name():
    made = planned(scene(node("a", annotations=IDLE), headroom=[], buffers=[buffer()]))
    assert (going(made), dict(made.held)) == ([], {"a": "CapacityBuffer shop/web needs its room"})
    both = scene(
        node("a", annotations=IDLE),
        headroom=[{"requests": {"cpu": "1", "memory": "1Gi"}, "count": 1}],
        buffers=[buffer()],
    )
    assert dict(planned(both).held) == {"a": "the headroom of pool default and CapacityBuffer shop/web need its room"}


def test_of_empty_machines_the_dearer_one_goes():
    machines = [node("a", "cx42", annotations=IDLE), node("b", "cx22", annotations=IDLE)]
    assert going(planned(scene(*machines, buffers=[buffer(2)]))) == ["a"]


def test_a_machine_that_goes_comes_back_for_it():
    leaving = node_removal_request("a", taintedAt=before(seconds=20), scaleDownAt=before(seconds=-40))
    tainted = node("a", taints=[{"key": "growth.dev/scale-down", "effect": "NoSchedule"}])
    made = planned(scene(tainted, leaving, buffers=[buffer(2)]))
    assert [(each.removal, each.why) for each in made.removal_cancels] == [
        ("a", "CapacityBuffer shop/web needs its room")
    ]


def pools(**of_gpu):
    gpu = {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "labels": {"disk": "fast"}}
    return [
        node_pool("default", types=["cx32"], limits={"max": 1}),
        node_pool("gpu", types=["cx22"], limits={"max": 9}, template=gpu, **of_gpu),
    ]


@pytest.mark.parametrize(
    ("changes", "bought"),
    [
        ({}, ["default"]),
        ({"node_selector": (Requirement("growth.dev/pool", "In", ("gpu",)),)}, []),
        (
            {
                "node_selector": (Requirement("growth.dev/pool", "In", ("gpu",)),),
                "tolerations": (Toleration("gpu", "Exists"),),
            },
            ["gpu"],
        ),
        (
            {
                "node_affinity": ((Requirement("disk", "In", ("fast",)), Requirement("growth.dev/pool", "Exists")),),
                "tolerations": (Toleration(operator="Exists"),),
            },
            ["gpu"],
        ),
    ],
)
def test_its_template_says_which_machines(changes, bought):
    made = planned(scene(pools=pools(), buffers=[buffer(**changes)]))
    assert [request.pool for request in made.requests] == bought
    assert short(made) == ({} if bought else {"shop/web": "NoCompatibleOffering"})


def test_the_cheapest_of_the_pools_that_it_may_use():
    made = planned(
        scene(pools=pools(matchUnselectedPods=True), buffers=[buffer(tolerations=(Toleration("gpu", "Exists"),))])
    )
    assert [(request.pool, request.server_type) for request in made.requests] == [("gpu", "cx22")]


def test_what_has_no_room_is_told_of_the_buffer_and_stops_nothing_else():
    large = buffer(3, "large", requests={"cpu": 64000, "pods": 1})
    lost = buffer(1, "lost", node_selector=(Requirement("growth.dev/pool", "In", ("gone",)),))
    bad = CapacityBuffer("shop", "bad", "uid-bad", code="TemplateNotFound", message="PodTemplate x does not exist")
    made = planned(scene(pods=[pod("x")], buffers=[large, lost, bad, buffer(0, "none"), buffer()]))
    assert (codes(made), types(made), short(made)) == (
        {},
        ["cx22"],
        {"shop/large": "TooLarge", "shop/lost": "PoolNotFound"},
    )
    assert made.short_buffers["shop/large"].message.startswith("3 of 3 pods of cpu 64 have no room: no machine of pool")
    assert not [each for pool in made.pools for each in pool.status.conditions if each.type == "HeadroomShort"]


def test_pods_come_first_where_a_limit_binds():
    given = scene(types=["cx22"], limits={"max": 1}, pods=[pod("x", cpu="1500m")], buffers=[buffer()])
    made = planned(given)
    assert [[seat.name for seat in request.seats] for request in made.requests] == [["x"]]
    assert short(made) == {"shop/web": "LimitReached"}


def test_a_pool_without_room_for_a_waiting_pod_gives_its_machine_up_and_another_one_serves_the_buffer():
    first, second = (
        node_pool("default", limits={"max": 1}),
        node_pool("other", limits={"max": 1}, matchUnselectedPods=True),
    )
    made = planned(
        scene(
            node("a", annotations=IDLE),
            pools=[first, second],
            pods=[pod("big", cpu="3", nodeSelector={"growth.dev/pool": "default"})],
            buffers=[buffer()],
        )
    )
    assert (going(made), [request.pool for request in made.requests], short(made)) == (["a"], ["other"], {})


def test_many_pods_of_it_cost_one_decision():
    made = planned(
        scene(limits={"max": 1000}, buffers=[buffer(1000, f"b{n}", requests={"cpu": 100, "pods": 1}) for n in range(4)])
    )
    assert sum(request.headroom for request in made.requests) == 4000
    assert short(made) == {}


def test_no_pod_of_it_is_ever_named():
    made = planned(scene(node("a", "cx32"), buffers=[buffer(8)]))
    assert (made.placed, made.unplaced, made.events, dict(made.reservations)) == ((), (), (), {})


def test_a_class_that_has_nothing_to_sell_is_told():
    sold_out = kwok_node_class(server_type("cx22", sold_out=True))
    made = planned(scene(sold_out, types=["cx22"], buffers=[buffer()]))
    assert short(made) == {"shop/web": "OfferingUnavailable"}
