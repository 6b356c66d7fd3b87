"""Servers that were created and never became machines: what they say of the next purchases.

Source: docs/design.md#unmet.
"""

from datetime import timedelta

import pytest

from activities.ports.errors import (
    Extent,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    UnknownOutcome,
)
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.model import read
from api.v1alpha1.node_class_status import NodeClassStatus
from planner.supply.unavailable import LONGEST, REMEMBERED_FOR, with_failed_purchase
from tests.activities.lives import NAME, START

PROVISIONING = {
    "phase": "Provisioning",
    "attempts": 1,
    "createAttemptAt": START - timedelta(seconds=20),
    "provisioningDeadline": START + timedelta(minutes=5),
    "providerID": f"kwok://test/{NAME}",
}
DEDICATED = Extent("dedicated cores", ("cx32",))


async def status_of(life):
    return (await life.find(KWOK_NODE_CLASSES, "default")).get("status", {})


async def remember(life, **status):
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", status)


async def fails(life, failure=None, status=PROVISIONING):
    """Let a purchase fail after its server was created."""
    await life.add_machine(status, server=ServerState.BROKEN, node=False)
    life.cloud.fail_server(failure)
    await life.do("give_up")


async def test_a_full_network_pauses_the_class_at_the_first_server(life):
    await fails(life, QuotaExceeded("no free address"))
    status = await status_of(life)
    assert status["pause"]["message"] == "no free address"
    assert "unavailable" not in status, "nothing is wrong with the offering"


async def test_a_limit_of_some_types_pauses_these(life):
    await fails(life, QuotaExceeded("dedicated core limit exceeded", extent=DEDICATED))
    status = await status_of(life)
    assert [part["limit"] for part in status["partialPauses"]] == ["dedicated cores"]
    assert "pause" not in status
    assert "failedPurchases" not in status, "it pauses what it stops by itself"


@pytest.mark.parametrize("failure", [None, UnknownOutcome("?"), NotFound("?"), InsufficientCapacity("sold out")])
async def test_any_other_failure_leaves_the_offering_out_and_counts(life, failure):
    await fails(life, failure)
    status = await status_of(life)
    assert [entry["serverType"] for entry in status["unavailable"]] == ["cx32"]
    assert status["failedPurchases"]["inARow"] == 1
    assert "pause" not in status


async def test_what_a_person_must_mend_pauses_the_class(life):
    await fails(life, InvalidConfiguration("image is gone"))
    pause = (await status_of(life))["pause"]
    assert (pause["message"], pause["isOfAccount"]) == ("image is gone", False)


def row(number, types=("cx42",), at="2026-11-01T11:59:00Z"):
    return {"inARow": number, "serverTypes": list(types), "lastFailureAt": at}


async def test_the_third_failure_in_a_row_pauses_the_class(life):
    await remember(life, failedPurchases=row(2))
    await fails(life)
    status = await status_of(life)
    assert status["failedPurchases"] == row(3, ("cx42", "cx32"), "2026-11-01T12:00:00Z")
    assert status["pause"]["until"] == "2026-11-01T12:05:00Z"
    assert status["pause"]["isOfAccount"] is False, "the servers that failed go, and free nothing"
    assert status["pause"]["message"].startswith("3 servers in a row were created and failed, the last one so: ")
    assert "partialPauses" not in status


async def test_a_type_that_alone_fails_pauses_for_longer_so_that_others_are_tried_first(life):
    await remember(life, failedPurchases=row(2, ("cx32",)))
    await fails(life)
    status = await status_of(life)
    assert status["pause"]["until"] == "2026-11-01T12:05:00Z"
    (part,) = status["partialPauses"]
    assert (part["serverTypes"], part["until"]) == (["cx32"], "2026-11-01T12:10:00Z")


async def test_a_failure_after_the_pause_doubles_it_and_one_within_it_does_not_count(life):
    pause = {"message": "failed", "failures": 1, "lastFailureAt": "2026-11-01T11:50:00Z", "isOfAccount": False}
    await remember(life, failedPurchases=row(3), pause=pause | {"until": "2026-11-01T11:55:00Z"})
    await fails(life)
    assert (await status_of(life))["pause"]["until"] == "2026-11-01T12:10:00Z"
    before = await status_of(life)
    await remember(life, **before)
    assert (await status_of(life))["pause"]["failures"] == 2


async def test_a_machine_that_comes_ends_the_row(life):
    await remember(life, failedPurchases=row(2))
    await life.add_request()
    await life.do("create_server")
    await life.add_node(ready=True)
    await life.do("register_node")
    await life.do("mark_ready")
    assert "failedPurchases" not in await status_of(life)


async def test_a_request_of_which_no_server_is_known_does_not_count(life):
    status = {key: value for key, value in PROVISIONING.items() if key != "providerID"} | {"phase": "Pending"}
    await life.add_request(status | {"provisioningDeadline": START})
    await life.do("give_up")
    assert "failedPurchases" not in await status_of(life)


def test_a_row_is_forgotten_after_a_long_time():
    first = with_failed_purchase(None, "cx32", now=START)
    second = with_failed_purchase(first, "cx42", now=START + LONGEST)
    assert (second.in_a_row, second.server_types) == (2, ("cx32", "cx42"))
    assert with_failed_purchase(second, "cx32", now=START + 2 * LONGEST + REMEMBERED_FOR).in_a_row == 1


def test_a_status_without_the_field_has_no_failures_and_a_later_one_is_read():
    assert read(NodeClassStatus, {}).failed_purchases is None
    stored = {"failedPurchases": row(2) | {"tomorrow": 1}}
    failed = read(NodeClassStatus, stored).failed_purchases
    assert failed is not None
    assert failed.in_a_row == 2
