"""Every code of the API, what it is taken for, and what a person reads.

Source: Hetzner Cloud API docs, "Errors", and the messages that users of other autoscalers have met.
"""

import pytest

from activities.ports.errors import (
    AuthenticationFailed,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    RateLimited,
    UnknownOutcome,
)
from activities.providers.hetzner.api.error_table import classify, of_action
from activities.providers.hetzner.api.refusals import (
    CannotSpread,
    GroupFull,
    Locked,
    NameInUse,
    NamesGone,
    ProjectLocked,
    Protected,
    SubnetFull,
)

WHAT = "create server a-1 (cx23 in fsn1)"
RIGHTS = "make a token that may read and write, and put it into the Secret that the class names in spec.tokenSecretRef"
QUOTA = "ask Hetzner for a higher limit in its console, or delete what the project does not need"
SUBNET = "its subnet has no free address: name a larger one, or another network, in the class's spec.networks"
SUPPORT = "Hetzner has locked it, and only its support can help: write to support in Hetzner's console"
SPEC = "look at what the class names in its spec"
NEWER = "is there a newer version of Growth?"

ROWS = [
    ("resource_unavailable", "error during placement", InsufficientCapacity, False, ""),
    ("resource_unavailable", "unable to provision servers for this location", InsufficientCapacity, False, ""),
    ("invalid_input", "Unsupported location for server type", InsufficientCapacity, False, ""),
    ("invalid_input", "invalid input in field 'image'", InvalidConfiguration, False, SPEC),
    ("invalid_server_type", "server type 1 is gone", InsufficientCapacity, False, "it is no longer sold"),
    ("resource_limit_exceeded", "server limit exceeded", QuotaExceeded, False, QUOTA),
    ("resource_limit_exceeded", "Primary IP limit exceeded", QuotaExceeded, False, QUOTA),
    ("placement_error", "cannot spread", CannotSpread, False, ""),
    ("placement_group_member_limit_reached", "group is full", GroupFull, False, ""),
    ("service_error", "placement_group_member_limit_reached", GroupFull, False, ""),
    ("uniqueness_error", "server name is already used", NameInUse, True, ""),
    ("locked", "server is locked", Locked, True, ""),
    ("resource_locked", "resource is locked", ProjectLocked, False, SUPPORT),
    ("conflict", "conflict", Locked, True, ""),
    ("rate_limit_exceeded", "limit of 3600 requests per hour reached", RateLimited, True, ""),
    ("server_error", "error", UnknownOutcome, True, ""),
    ("service_error", "error", UnknownOutcome, True, ""),
    ("unavailable", "try again", UnknownOutcome, True, ""),
    ("bad_gateway", "try again", UnknownOutcome, True, ""),
    ("timeout", "try again", UnknownOutcome, True, ""),
    ("maintenance", "come back later", UnknownOutcome, True, ""),
    ("forbidden", "insufficient permissions", AuthenticationFailed, False, RIGHTS),
    ("token_readonly", "the token is only allowed to read", AuthenticationFailed, False, RIGHTS),
    (
        "unauthorized",
        "unable to authenticate",
        AuthenticationFailed,
        False,
        "put a valid API token of the project into the Secret that the class names in spec.tokenSecretRef",
    ),
    (
        "protected",
        "server deletion is protected",
        Protected,
        False,
        "a person has protected it: lift the protection in Hetzner's console if it may go",
    ),
    (
        "not_found",
        "image not found",
        NamesGone,
        False,
        "something that the class names is not in the project any more",
    ),
    ("not_found", "placement_group 7 not found", GroupFull, False, "it was deleted meanwhile"),
    ("ip_not_available", "no free ip", SubnetFull, False, SUBNET),
    ("service_error", "attach server to network: no subnet or IP available", SubnetFull, False, SUBNET),
    ("no_subnet_available", "no subnet", SubnetFull, False, SUBNET),
    (
        "networks_overlap",
        "overlap",
        InvalidConfiguration,
        False,
        "name networks in the class's spec.networks that do not overlap",
    ),
    ("server_already_attached", "is attached", UnknownOutcome, True, ""),
    ("server_not_stopped", "is running", UnknownOutcome, True, ""),
    ("volume_already_attached", "is attached", InvalidConfiguration, False, SPEC),
    ("no_space_left_in_location", "no space", UnknownOutcome, True, ""),
    ("incompatible_network_type", "no", InvalidConfiguration, False, "look at the class's spec.firewalls"),
    (
        "private_net_only_server",
        "no",
        InvalidConfiguration,
        False,
        "a firewall needs a public address: look at the class's spec.firewalls",
    ),
    ("resource_in_use", "still used", UnknownOutcome, True, ""),
    ("primary_ip_assigned", "assigned", InvalidConfiguration, False, SPEC),
    ("primary_ip_datacenter_mismatch", "elsewhere", InvalidConfiguration, False, SPEC),
    ("primary_ip_version_mismatch", "other version", InvalidConfiguration, False, SPEC),
    ("unsupported_error", "not supported", InvalidConfiguration, False, SPEC),
    ("json_error", "no JSON", InvalidConfiguration, False, NEWER),
    ("deprecated_api_endpoint", "is gone", InvalidConfiguration, False, NEWER),
    ("robot_unavailable", "try again", UnknownOutcome, True, ""),
    ("unknown_error", "unknown", UnknownOutcome, True, ""),
    ("a_code_of_tomorrow", "never heard", UnknownOutcome, True, ""),
]


@pytest.mark.parametrize(("code", "message", "kind", "is_retryable", "advice"), ROWS)
def test_each_code_is_taken_for_its_kind_and_told_in_one_sentence(code, message, kind, is_retryable, advice):
    error = classify(code, message, verb="create", call=WHAT)
    assert type(error) is kind
    assert error.retryable is is_retryable
    end = f": {advice}" if advice else ""
    assert str(error) == f'{WHAT}: Hetzner says "{message}" ({code}){end}'


@pytest.mark.parametrize("status", [200, 401, 404, 408, 418, 500, 502, 503, 504])
def test_an_answer_without_json_leaves_the_outcome_unknown(status):
    error = classify(status, "Bad Gateway", verb="create", call=WHAT)
    assert type(error) is UnknownOutcome
    assert str(error) == f'{WHAT}: Hetzner says "Bad Gateway" (HTTP status {status})'


def test_a_429_without_json_is_one_call_too_many_like_one_with_json():
    for code in (429, "rate_limit_exceeded"):
        error = classify(code, "slow down", verb="read", call="list servers", retry_after_seconds=12.0)
        assert type(error) is RateLimited
        assert error.retry_after_seconds == 12.0


@pytest.mark.parametrize(
    ("code", "message", "lasts"),
    [
        ("resource_unavailable", "error during placement", False),
        ("invalid_input", "unsupported location for server type", True),
        ("invalid_server_type", "is gone", True),
    ],
)
def test_what_is_not_sold_at_all_lasts_and_what_is_sold_out_does_not(code, message, lasts):
    error = classify(code, message, verb="create", call=WHAT)
    assert isinstance(error, InsufficientCapacity)
    assert error.lasts is lasts


@pytest.mark.parametrize("verb", ["read", "write", "delete"])
def test_what_is_looked_for_and_not_there_is_not_found(verb):
    assert type(classify("not_found", "placement group 7 not found", verb=verb, call="x")) is NotFound


def test_invalid_input_names_the_fields():
    details = {"fields": [{"name": "ssh_keys", "messages": ["no"]}, {"name": "labels"}, {}, None]}
    error = classify("invalid_input", "invalid input", details=details, verb="create", call=WHAT)
    assert str(error) == f'{WHAT}: Hetzner says "invalid input" of ssh_keys, labels (invalid_input): {SPEC}'


def test_a_limit_is_named():
    details = {"limits": [{"name": "server_limit"}, {"name": "dedicated_vcpu_limit"}]}
    error = classify("resource_limit_exceeded", "limit reached", details=details, verb="create", call=WHAT)
    named = "server_limit, dedicated_vcpu_limit"
    assert str(error) == f'{WHAT}: Hetzner says "limit reached" of {named} (resource_limit_exceeded): {QUOTA}'


@pytest.mark.parametrize("details", [None, "text", [], {"fields": "text"}, {"limits": None}, {"content": b"<html>"}])
def test_details_of_another_shape_are_left_out(details):
    error = classify("server_error", "error", details=details, verb="read", call="list servers")
    assert str(error) == 'list servers: Hetzner says "error" (server_error)'


def test_hetzners_words_stay_one_line_of_bounded_length_and_may_be_missing():
    assert str(classify("locked", " a\n b. ", verb="write", call="x")) == 'x: Hetzner says "a b" (locked)'
    assert str(classify("locked", "", verb="write", call="x")) == "x: Hetzner says locked"
    assert len(str(classify("server_error", "z" * 5_000, verb="write", call="x"))) < 400


def test_an_action_fails_for_the_same_reasons_as_a_call():
    error = of_action("resource_unavailable", "error during placement", call="create_server a-1")
    assert type(error) is InsufficientCapacity
    assert str(error) == 'create_server a-1: Hetzner says "error during placement" (resource_unavailable)'
    assert type(of_action("action_failed", "failed", call="start_server a-1")) is UnknownOutcome


def test_the_reason_of_each_refusal_is_its_own_name():
    for kind in (NameInUse, GroupFull, CannotSpread, Locked, Protected):
        assert kind.reason == kind.__name__
        assert issubclass(kind, GrowthError)
