"""A server that is not there in time: what its provider says of it decides whether it gets more time."""

import pytest

from planner.lifecycle.request import next_step
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Wait
from tests.planner.lifecycle.test_request import NOW, ago, ahead, check_step, pending, provisioning, released

ROWS = {
    "record is old enough, one of two create calls may be under way": (
        released({"expires_at": NOW, "attempts": 2, "create_attempt_at": ago(59)}),
        Wait,
        "Record",
        ahead(1),
    ),
    "record is old enough, the last of two create calls is a minute ago": (
        released({"expires_at": NOW, "attempts": 2, "create_attempt_at": ago(60)}),
        "finish_request",
        "Expired",
        None,
    ),
    "record is old enough, its one create call was answered": (
        released({"expires_at": NOW, "attempts": 1, "create_attempt_at": ago(59)}),
        "finish_request",
        "Expired",
        None,
    ),
    # Its time is 3 min, so the deadline and the last one are 6 min apart.
    "late, the provider works on it": (
        provisioning({"provisioning_deadline": NOW}, server_progresses=True),
        Wait,
        "ServerBoot",
        ahead(360),
    ),
    "late, the provider works on it until the last moment": (
        provisioning({"provisioning_deadline": ago(359)}, server_progresses=True),
        Wait,
        "ServerBoot",
        ahead(1),
    ),
    "late for three times its time": (
        provisioning({"provisioning_deadline": ago(360)}, server_progresses=True),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
    "late, the provider works on it no more": (
        provisioning({"provisioning_deadline": ago(30)}),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
    "late, and not created but deleted": (
        provisioning({"provisioning_deadline": NOW}, server=ServerSeen.DELETING, server_progresses=True),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
    "late, provider silent": (
        provisioning({"provisioning_deadline": ago(59)}, server=ServerSeen.UNKNOWN),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
    "late, kept at an earlier look, provider silent": (
        provisioning({"provisioning_deadline": ago(60)}, server=ServerSeen.UNKNOWN),
        Wait,
        "ServerBoot",
        ahead(300),
    ),
    "late for three times its time, provider silent": (
        provisioning({"provisioning_deadline": ago(360)}, server=ServerSeen.UNKNOWN),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
    "late, the provider works on it, no deadline known": (
        provisioning({"provisioning_deadline": None}, server_progresses=True),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
}


@pytest.mark.parametrize(("given", "step", "reason", "until"), ROWS.values(), ids=ROWS)
def test_next_step(given, step, reason, until):
    check_step(next_step(given, NOW), step, reason, until)


def test_a_broken_server_is_given_up_with_what_its_provider_says():
    step = next_step(provisioning(server=ServerSeen.BROKEN, server_problem="error during placement"), NOW)
    assert step.message == "The provider says that the server will not run: error during placement"
    step = next_step(provisioning(server=ServerSeen.BROKEN), NOW)
    assert step.message == "The provider says that the server will not run"


def test_a_late_server_says_that_its_provider_still_works_on_it():
    late = next_step(provisioning({"provisioning_deadline": NOW}, server_progresses=True), NOW)
    in_time = next_step(provisioning(server_progresses=True), NOW)
    assert "its provider still works on it" in late.message
    assert late.message.endswith("still works on it. At the deadline the server is removed")
    assert in_time.message == (
        "The server boots. After the deadline: The server is late, but its provider still works on it"
    )


@pytest.mark.parametrize(
    "given",
    [
        provisioning(server=ServerSeen.BROKEN, server_problem="x" * 1024),
        pending(buying_paused_until=ahead(60), pause_message="x" * 1024),
    ],
    ids=["problem", "pause"],
)
def test_the_longest_words_of_a_provider_are_cut(given):
    step = next_step(given, NOW)
    assert len(step.message) == 1024
    assert step.message.endswith("xxx...")
