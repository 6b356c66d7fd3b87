"""A create call that was certainly refused is tried a few times, and then something else is bought.

Source: docs/design.md#unmet.
"""

import pytest

from activities.ports.errors import CreateRefused, InsufficientCapacity, InvalidConfiguration, UnknownOutcome
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.model import read
from api.v1alpha1.node_request import NodeRequestStatus
from planner.lifecycle.step import Act
from tests.activities.lives import NAME

CREATE = Act(effect="create_server", reason="CreateServer")


async def status_of(life):
    return (await life.find(KWOK_NODE_CLASSES, "default")).get("status", {})


async def refused(life, error, *, raises=True):
    life.cloud.fail["create"] = error
    if not raises:
        return await life.do("create_server", CREATE)
    with pytest.raises(type(error)):
        await life.do("create_server", CREATE)
    return await life.look_request()


async def test_after_a_few_tries_the_offering_is_left_out(life):
    await life.add_request()
    for number in (1, 2):
        seen = await refused(life, CreateRefused("odd_error"))
        assert (seen.status.phase, seen.status.attempts, seen.status.refusals) == ("Pending", number, number)
    seen = await refused(life, CreateRefused("odd_error"), raises=False)
    assert (seen.status.phase, seen.status.reason, seen.status.message) == ("Unmet", "CreateRefused", "odd_error")
    assert [entry["serverType"] for entry in (await status_of(life))["unavailable"]] == ["cx32"]


async def test_one_that_is_worth_more_tries_gets_them(life):
    await life.add_request({"phase": "Pending", "attempts": 4, "refusals": 4})
    assert (await refused(life, CreateRefused("busy", tries=6))).status.phase == "Pending"
    assert (await refused(life, CreateRefused("busy", tries=6), raises=False)).status.phase == "Unmet"


@pytest.mark.parametrize("last", [InsufficientCapacity("sold out"), CreateRefused("odd_error", tries=1)])
async def test_refusals_alone_prove_that_there_is_no_server(life, last):
    await life.add_request()
    await refused(life, CreateRefused("odd_error"))
    assert (await refused(life, last, raises=False)).status.phase == "Unmet"


async def test_after_an_unknown_outcome_a_refusal_proves_nothing(life):
    await life.add_request()
    await refused(life, UnknownOutcome("time-out"))
    await refused(life, CreateRefused("odd_error"))
    seen = await refused(life, InsufficientCapacity("sold out"), raises=False)
    assert (seen.status.phase, seen.status.reason) == ("Deprovisioning", "CapacityAfterUnknown")


async def test_once_it_is_accepted_it_goes_on(life):
    await life.add_request()
    await refused(life, CreateRefused("odd_error"))
    life.cloud.fail.clear()
    assert (await life.do("create_server", CREATE)).status.phase == "Provisioning"
    assert list(life.cloud.servers) == [NAME]


async def test_a_type_that_is_refused_as_invalid_leaves_the_others(life):
    await life.add_request()
    seen = await refused(life, InvalidConfiguration("no", may_be_of_type=True), raises=False)
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "InvalidConfiguration")
    (part,) = (await status_of(life))["partialPauses"]
    assert (part["serverTypes"], part["isOfAccount"], part["until"]) == (["cx32"], False, "2026-11-01T13:00:00Z")


async def test_what_a_second_type_is_refused_for_is_not_about_types(life):
    times = {"lastFailureAt": "2026-11-01T11:59:00Z", "until": "2026-11-01T12:59:00Z"}
    other = {"limit": "a type as invalid", "serverTypes": ["cx42"], "message": "no", "failures": 1}
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {"partialPauses": [other | times]})
    await life.add_request()
    assert (await refused(life, InvalidConfiguration("no", may_be_of_type=True), raises=False)).status.phase == "Failed"


async def test_what_cannot_be_about_the_type_fails_at_once(life):
    await life.add_request()
    assert (await refused(life, InvalidConfiguration("no"), raises=False)).status.phase == "Failed"
    assert "partialPauses" not in await status_of(life)


def test_a_status_without_the_field_has_no_refusals():
    assert read(NodeRequestStatus, {"attempts": 3}).refusals == 0
