"""Limits in cores, memory and money: what counts, at which price, and what is said when there is no room."""

from dataclasses import replace

import pytest

from planner.plan import plan
from tests.builders import kwok_node_class, node, node_pool, node_removal_request, node_request, pod, server_type
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene
from tests.tables import rows

BOUGHT = {"growth.dev/price-per-hour": "0.0066", "growth.dev/currency": "EUR"}
COMING = {"phase": "Provisioning", "createAttemptAt": "2026-03-01T11:59:00Z"}
FULL_OF_MONEY = (
    "pool default is at its limit of 0.01 EUR per hour: its machines cost 0.0066, and no allowed machine costs"
)


def messages(made):
    """Return the sentences of the reasons of all pods without a place, each once."""
    return list(dict.fromkeys(reason.message for each in made.unplaced for reason in each.reasons))


def limited(*objects, types=("cx22", "cx32", "cx42"), **limits):
    return scene(*objects, types=types, limits=limits)


def cordoned(name, server_type="cx22", **more):
    return node(name, server_type, spec={"unschedulable": True}, **more)


@rows(
    ("limits", "bought"),
    {
        "cores for one large": ({"cpu": 8}, ["cx42"]),
        "cores for a small one only": ({"cpu": "3"}, ["cx22"]),
        "of cores a machine has all, not what pods can have": ({"cpu": "7900m"}, ["cx22", "cx32"]),
        "memory": ({"memory": "8Gi"}, ["cx32"]),
        "money, to the last billionth": ({"pricePerHour": "0.0106"}, ["cx32"]),
        "money, a billionth less": ({"pricePerHour": "0.010599999"}, ["cx22"]),
        "the tightest counts": ({"cpu": 8, "pricePerHour": "0.007"}, ["cx22"]),
        "max as well": ({"cpu": 64, "max": 1}, ["cx42"]),
    },
)
def test_what_would_go_beyond_a_limit_is_not_bought(limits, bought):
    # Eight pods of a core: the dearer machines hold more of them, so that as many as can be are placed.
    pods = [pod(f"p-{k}", "900m", "64Mi", owner="rs") for k in range(8)]
    kinds = [server_type(each, overhead={"cpu": "100m"}) for each in ("cx22", "cx32", "cx42")]
    given = scene(*pods, kinds=kinds, limits=limits)
    assert types(planned(given)) == bought


@pytest.mark.parametrize(("cpu", "bought"), [("1500m", 1), ("1499m", 0), (3, 2), ("4499m", 2)])
def test_half_a_core_counts_as_half(cpu, bought):
    kinds = [server_type("cx22", capacity={"cpu": "1500m", "memory": "4Gi"}, overhead={"cpu": "200m"})]
    pods = [pod(f"p-{k}", "1200m", "64Mi", owner="rs") for k in range(4)]
    assert len(planned(scene(*pods, kinds=kinds, types=("cx22",), limits={"cpu": cpu})).requests) == bought


@rows(
    "others",
    {
        "a Node": [cordoned("there", "cx32")],
        "a machine in flight": [node_request("there", "cx32", **COMING)],
        "a request without a server yet": [node_request("there", "cx32")],
        "a machine that goes": [
            cordoned("there", "cx32"),
            node_removal_request("there", "cx32", phase="Deprovisioning"),
        ],
        "a server without a Node that goes": [node_removal_request("there", "cx32", phase="Deprovisioning")],
    },
)
@pytest.mark.parametrize("limits", [{"cpu": 5}, {"memory": "11Gi"}, {"pricePerHour": "0.0171"}], ids=str)
def test_each_machine_counts_until_its_server_is_gone(others, limits):
    made = planned(limited(*others, pod("p", "4500m", "64Mi"), pod("q", "1", "64Mi"), **limits))
    assert types(made) == []
    assert planned(limited(pod("q", "1", "64Mi"), **limits)).requests


def test_requests_that_failed_do_not_count():
    failed = node_request("failed", "cx32", phase="Unmet", expiresAt="2026-03-01T11:59:00Z")
    assert types(planned(limited(failed, pod("p", "1"), cpu=2))) == ["cx22"]


def dearer(name="cx22", price="1"):
    return kwok_node_class(server_type(name) | {"pricePerHour": price}, server_type("cx32"))


def test_the_price_that_was_paid_counts_and_no_later_rise():
    there = cordoned("there", annotations=BOUGHT)
    given = limited(there, pod("p", "1"), dearer(), types=("cx22", "cx32"), pricePerHour="0.02")
    assert types(planned(given)) == ["cx32"]
    report = plan(given.snapshot()).pools[0].status
    assert not [each for each in report.conditions if each.type == "OverMax"]
    unrecorded = limited(cordoned("there"), pod("p", "1"), dearer(), types=("cx22", "cx32"), pricePerHour="0.02")
    assert types(planned(unrecorded)) == []


def test_the_price_of_a_request_counts_before_its_node_is_there():
    coming = node_request("there", **COMING, pricePerHour="0.0066", currency="EUR", seats=())
    given = limited(coming, pod("p", "3"), dearer(), types=("cx22", "cx32"), pricePerHour="0.02")
    assert types(planned(given)) == ["cx32"]


def test_a_price_in_another_currency_can_not_be_added_up():
    there = cordoned("there", annotations=BOUGHT | {"growth.dev/currency": "USD"})
    made = plan(limited(there, pod("p", "1"), pricePerHour="1").snapshot())
    assert made.requests == ()
    assert messages(made) == [
        "pool default is at its limit of 1 EUR per hour: what machine there costs in EUR is not known"
    ]


def gone_type(*objects, **limits):
    return scene(*objects, kinds=[server_type("cx22")], types=("cx22", "cax11"), limits=limits)


def test_a_type_that_the_class_has_no_more_counts_by_its_node():
    there = cordoned("there", "cax11", annotations=BOUGHT)
    given = gone_type(there, pod("p", "1"), cpu=4, memory="8Gi", pricePerHour="0.0132")
    assert types(plan(given.snapshot())) == ["cx22"]
    assert plan(gone_type(there, pod("p", "1"), cpu=3).snapshot()).requests == ()


def test_what_nobody_knows_of_a_machine_lets_nothing_be_bought():
    coming = node_request("there", "cax11", **COMING)
    made = plan(gone_type(coming, pod("p", "1"), cpu=64).snapshot())
    assert made.requests == ()
    assert messages(made) == ["pool default is at its limit of 64 cpu: the cpu of there is not known"]


@rows(
    ("limits", "message"),
    {
        "cores": (
            {"cpu": 3},
            "pool default is at its limit of 3 cpu: its machines have 2, and no allowed machine has 1 or fewer",
        ),
        "memory": (
            {"memory": "6Gi"},
            "pool default is at its limit of 6Gi memory: its machines have 4Gi, and no allowed machine has 2Gi or less",
        ),
        "money": (
            {"pricePerHour": "0.01"},
            f"{FULL_OF_MONEY} 0.0034 or less",
        ),
        "nothing left": ({"cpu": 2}, "pool default is at its limit of 2 cpu: its machines have 2"),
        "more than allowed": ({"cpu": 1}, "pool default is at its limit of 1 cpu: its machines have 2"),
    },
)
def test_the_sentence_names_the_limit_and_what_is_used(limits, message):
    given = limited(cordoned("there"), pod("p", "1"), types=("cx22", "cx32"), **limits)
    made = planned(given)
    assert codes(made) == {"p": "LimitReached"}
    assert message in messages(made)[0]
    condition = next(each for each in made.pools[0].status.conditions if each.type == "AtMax")
    assert condition.status == "True"
    assert condition.message.startswith(f"No further machine is allowed: {message}")


def test_where_a_smaller_machine_would_be_allowed_the_sentence_says_which_one_is_not():
    made = planned(limited(cordoned("there"), pod("p", "3"), types=("cx22", "cx32"), cpu=5))
    assert messages(made)[0].startswith(
        "pool default is at its limit of 5 cpu: its machines have 2, and cx32 has 4; raising it by 1 cpu places 1 pod"
    )
    condition = next(each for each in made.pools[0].status.conditions if each.type == "AtMax")
    assert condition.status == "False"


@rows(
    ("limits", "bought"),
    {
        "of a type": ({"max": 9, "cpu": 5}, 2),
        "of the pool": ({"max": 9, "min": 3, "cpu": 5}, 2),
        "in money": ({"max": 9, "min": 3, "pricePerHour": "0.0197"}, 2),
        "with room": ({"max": 9, "min": 3, "cpu": 6}, 3),
    },
)
def test_minimums_have_the_same_limits(limits, bought):
    kinds = ({"name": "cx22", "min": 0 if "min" in limits else 3},)
    assert len(plan(scene(types=kinds, limits=limits).snapshot()).requests) == bought


def test_pods_on_a_minimum_in_another_location_take_no_more_than_the_limit():
    kinds = [server_type("cx22", locations=("fsn1", "nbg1"))]
    pods = [pod(f"p-{k}", "1500m", owner="rs", nodeSelector={"topology.kubernetes.io/zone": "nbg1"}) for k in range(3)]
    given = scene(*pods, kinds=kinds, types=({"name": "cx22", "min": 2},), limits={"max": 9, "cpu": 4})
    assert len(planned(given).requests) == 2


def test_pools_have_limits_of_their_own():
    pools = [node_pool("default", limits={"max": 9, "cpu": 2}), node_pool("other", limits={"max": 9})]
    pods = [
        pod(f"p-{k}", "1500m", nodeSelector={"growth.dev/pool": name}) for k, name in enumerate(["default", "other"])
    ]
    more = pod("more", "1500m", nodeSelector={"growth.dev/pool": "default"})
    made = planned(scene(*pods, more, pools=pools))
    assert sorted(request.pool for request in made.requests) == ["default", "other"]
    assert len(made.unplaced) == 1


def test_the_same_plan_without_the_fields():
    # Limits that nothing reaches change nothing either.
    pods = [pod(f"p-{k}", f"{300 + 170 * k}m", f"{200 + 90 * k}Mi", owner="rs") for k in range(9)]
    without, far = planned(scene(*pods)), planned(limited(*pods, cpu=9999, memory="9000Gi", pricePerHour="999"))
    assert [replace(each, why="") for each in without.requests] == [replace(each, why="") for each in far.requests]
    assert (without.cost_per_hour, without.lower_bound_per_hour) == (far.cost_per_hour, far.lower_bound_per_hour)


@rows(
    ("limits", "sentence"),
    {
        "cores": ({"cpu": 1}, "limits.cpu: 1 is below the smallest machine, cx22 with 2, so nothing can be bought"),
        "memory": (
            {"memory": "2Gi"},
            "limits.memory: 2Gi is below the smallest machine, cx22 with 4Gi, so nothing can be bought",
        ),
        "money": (
            {"pricePerHour": "0.005"},
            "limits.pricePerHour: 0.005 is below the cheapest machine, cx22 at 0.0066, so nothing can be bought",
        ),
    },
)
def test_a_limit_below_the_smallest_machine_is_said_on_the_pool(limits, sentence):
    made = plan(limited(pod("p", "1"), **limits).snapshot())
    ready = next(each for each in made.pools[0].status.conditions if each.type == "Ready")
    assert (ready.status, ready.reason, ready.message) == ("True", "LimitTooLow", sentence)
