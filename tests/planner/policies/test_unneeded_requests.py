"""Requests that nobody needs any more are taken back while no server was asked for.

Source: docs/design.md#unneeded-requests.
"""

import pytest

from planner.plan import plan
from tests.builders import before, node, node_pool, node_request, pod
from tests.planner.scenes import scene, seat


def cancelled(*requests, pods=(), nodes=(), **limits):
    made = node_pool(limits={"max": 9} | limits)
    given = scene(*pods, pools=[made], nodes=list(nodes))
    given.requests = list(requests)
    return plan(given.snapshot()).cancelled


def test_a_request_whose_pods_are_gone_is_cancelled():
    gone = seat(pod("gone"))
    assert cancelled(node_request("m", seats=[gone]), node_request("n")) == ("m", "n")


@pytest.mark.parametrize(
    "changes",
    [
        {"createAttemptAt": before(seconds=1)},
        {"phase": "Provisioning"},
        {"phase": "Unmet", "expiresAt": before(seconds=1)},
        {"deleting": True},
        {"by_hand": True},
        {"pool": "unknown"},
    ],
)
def test_one_with_a_server_or_of_a_person_is_not(changes):
    assert cancelled(node_request("m", **changes)) == ()


def test_what_is_cancelled_is_not_written_as_well():
    given = scene(node_request("m", seats=[seat(pod("gone"))]))
    made = plan(given.snapshot())
    assert (made.cancelled, made.reservations) == (("m",), {})


def test_one_that_other_pods_can_use_is_not():
    assert cancelled(node_request("m", seats=[seat(pod("gone"))]), pods=[pod("other")]) == ()


def test_a_minimum_keeps_its_requests_the_cheapest_ones():
    assert cancelled(node_request("m", "cx42"), node_request("n", "cx22"), min=1) == ("m",)


def test_a_terminating_node_keeps_no_minimum():
    assert cancelled(node_request("m"), nodes=[node("n")], min=1) == ("m",)
    assert cancelled(node_request("m"), nodes=[node("n", deleting=True)], min=1) == ()


def test_a_node_that_is_not_ready_counts_as_it_does_when_a_minimum_is_bought():
    assert cancelled(node_request("m"), nodes=[node("n", ready=False)], min=1) == ("m",)


def test_a_mode_without_removals_takes_requests_back():
    given = scene(node_request("m"), scaleDown={"mode": "none"})
    assert plan(given.snapshot()).cancelled == ("m",)
