"""What may be bought now: prices, sold-out offerings, Unmet, probes, failures. Source: docs/design.md#unmet."""

import pytest

from planner.plan import plan
from planner.supply.machine_kind import kinds_of_pools
from tests.builders import after, before, daemon_set, node_request, pod, server_type
from tests.planner.scenes import scene


def bought(given):
    return [(r.server_type, r.location) for r in plan(given.snapshot()).requests]


def code(given):
    (unplaced,) = plan(given.snapshot()).unplaced
    return [r.code for r in unplaced.reasons], unplaced.reasons[0].message


def test_an_offer_is_a_node_of_the_pool_less_its_daemon_sets():
    given = scene(kinds=[server_type("cx22", overhead={"cpu": "100m"})], daemon_sets=[daemon_set("agent")])
    given.pools[0]["spec"]["template"] = {"labels": {"disk": "ssd"}}
    (kind,) = kinds_of_pools(given.snapshot())["default"].kinds
    assert kind.usable == {"cpu": 2000 - 100 - 100, "memory": 2**32 - 2**27, "pods": 109}
    assert kind.labels["disk"] == "ssd"
    assert kind.labels["growth.dev/pool"] == "default"
    assert kind.labels["growth.dev/server-type"] == "cx22"
    assert kind.labels["node.kubernetes.io/instance-type"] == "cx22"


def test_types_are_matched_in_lower_case():
    assert bought(scene(pod("a"), types=("CX22",))) == [("cx22", "fsn1")]


def test_a_sold_out_offering_is_left_out():
    kinds = [server_type("cx22", sold_out=True), server_type("cx32")]
    assert bought(scene(pod("a"), kinds=kinds)) == [("cx32", "fsn1")]


def unavailable(until: str) -> list[dict]:
    return [
        {
            "serverType": "cx22",
            "location": "fsn1",
            "failures": 2,
            "lastFailureAt": before(minutes=3),
            "until": until,
        }
    ]


def test_an_offering_without_capacity_is_left_out_until_its_time_is_over():
    assert bought(scene(pod("a"), unavailable=unavailable(after(seconds=1)))) == [("cx32", "fsn1")]
    assert bought(scene(pod("a"), unavailable=unavailable(before(seconds=0)))) == [("cx22", "fsn1")]
    where = scene(pod("a"), types=("cx22",), unavailable=unavailable(after(seconds=1)))
    assert code(where) == (
        ["OfferingUnavailable"],
        "cx22 in fsn1 had no capacity and is left out until 2026-03-01T12:00:01Z",
    )


def test_only_the_location_without_capacity_is_left_out():
    kinds = [server_type("cx22", locations=("fsn1", "nbg1"))]
    given = scene(pod("a"), types=("cx22",), kinds=kinds, unavailable=unavailable(after(seconds=1)))
    assert bought(given) == [("cx22", "nbg1")]


def test_an_unmet_request_leaves_its_offering_out_until_it_expires():
    unmet = node_request("m", "cx22", phase="Unmet", expiresAt=after(seconds=60))
    assert bought(scene(pod("a"), requests=[unmet])) == [("cx32", "fsn1")]
    expired = node_request("m", "cx22", phase="Unmet", expiresAt=before(seconds=0))
    assert bought(scene(pod("a"), requests=[expired])) == [("cx22", "fsn1")]
    other_class = node_request("m", "cx22", phase="Unmet", expiresAt=after(seconds=60))
    other_class["spec"]["classRef"]["name"] = "other"
    assert bought(scene(pod("a"), requests=[other_class])) == [("cx22", "fsn1")]


def test_after_a_miss_one_machine_is_tried_first():
    pods = [pod(str(k), "2") for k in range(3)]
    given = scene(*pods, types=("cx22",), unavailable=unavailable(before(seconds=1)))
    assert len(bought(given)) == 1
    given.requests = [node_request("probe", "cx22", seats=[])]
    given.pods = pods[1:]
    assert [p.request for p in plan(given.snapshot()).placed] == ["probe"]
    given.requests = [node_request("probe", "cx22", phase="Provisioning", createAttemptAt=before(seconds=0))]
    assert len(bought(given)) == 1  # one pod joins the probe, for the other one a machine is bought
    given.requests[0]["status"]["createAttemptAt"] = before(minutes=9)
    assert len(bought(given)) == 1


def test_a_failed_request_blocks_its_pool_and_class_until_it_expires():
    failed = node_request(
        "m", phase="Failed", reason="AuthenticationFailed", message="bad token", expiresAt=after(minutes=5)
    )
    given = scene(pod("a"), requests=[failed])
    codes, message = code(given)
    assert codes == ["PoolBlocked"]
    assert "until 2026-03-01T12:05:00Z: request m failed with AuthenticationFailed: bad token" in message
    failed["status"]["expiresAt"] = before(seconds=0)
    assert len(bought(given)) == 1


@pytest.mark.parametrize("edited", ["pool", "class"])
def test_an_edit_of_pool_or_class_ends_the_pause_of_a_failed_request(edited):
    made_with = {"poolGeneration": 1, "classGeneration": 1}
    given = scene(pod("a"), requests=[node_request("m", phase="Failed", expiresAt=after(minutes=5), **made_with)])
    given.pools[0]["metadata"]["generation"] = given.classes[0]["metadata"]["generation"] = 1
    assert code(given)[0] == ["PoolBlocked"]
    (given.pools if edited == "pool" else given.classes)[0]["metadata"]["generation"] = 2
    assert len(bought(given)) == 1


@pytest.mark.parametrize("other", [{"pool": "batch"}, {"deleting": True}])
def test_a_failed_request_of_another_pool_or_on_its_way_out_blocks_nothing(other):
    failed = node_request("m", phase="Failed", expiresAt=after(minutes=5), **other)
    assert len(bought(scene(pod("a"), requests=[failed]))) == 1


def test_a_pool_without_its_class_buys_nothing():
    given = scene(pod("a"))
    given.classes = []
    codes, message = code(given)
    assert codes == ["ClassNotFound"]
    assert message == "pool default names KwokNodeClass/default, which does not exist"


def test_a_pool_on_its_way_out_buys_nothing():
    given = scene(pod("a"))
    given.pools[0]["metadata"]["deletionTimestamp"] = before(seconds=1)
    assert code(given)[0] == ["PoolDeleting"]


def test_equally_cheap_types_are_chosen_by_priority():
    kinds = [server_type("cx22"), server_type("cx32", pricePerHour="0.0066")]
    for preferred, other in (("cx22", "cx32"), ("cx32", "cx22")):
        given = scene(pod("a"), types=({"name": preferred, "priority": 10}, other), kinds=kinds)
        assert bought(given) == [(preferred, "fsn1")]


def test_priority_does_not_beat_a_lower_price():
    assert bought(scene(pod("a"), types=("cx22", {"name": "cx32", "priority": 10}))) == [("cx22", "fsn1")]
