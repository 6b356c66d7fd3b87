"""Answers as no documented API gives them, and secrets in any of them: nothing is misread, nothing is given away."""

import json
import logging
from datetime import UTC, datetime

import pytest
import requests
from pydantic import SecretStr
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from activities.ports.errors import (
    AuthenticationFailed,
    InsufficientCapacity,
    InvalidConfiguration,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    UnknownOutcome,
)
from activities.ports.ports import in_place
from activities.providers.hetzner.api.answer import ApiResponse, understood
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import ServerCreation
from activities.providers.hetzner.api.redaction import redacted, text_secret, token_secret
from activities.providers.hetzner.api.refusals import THE_LOCATION

TOKEN = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
HALF = TOKEN[:32]
USER_DATA = "#cloud-config\nwrite_files:\n- content: K10d1fe3f94f8a1b2c3d4e5f::server:0a1b2c3d4e5f6a7b\n"
JOIN_TOKEN = "K10d1fe3f94f8a1b2c3d4e5f::server:0a1b2c3d4e5f6a7b"
CREATION = ServerCreation("a-1", "cx23", "fsn1", 9, {"a": "b"}, USER_DATA, ssh_keys=(3,), firewalls=(4,))
SERVER = {
    "id": 42,
    "name": "a-1",
    "status": "running",
    "created": "2026-11-01T10:00:00+00:00",
    "server_type": {"name": "cx23"},
    "location": {"name": "fsn1"},
}
ACTION = {"id": 1, "command": "create_server", "status": "running", "progress": 0, "error": None}


class Scripted(BaseAdapter):
    """A transport that gives one answer after the other, the last one for ever: status, body, headers; or an error."""

    def __init__(self, *answers) -> None:
        super().__init__()
        self._answers = list(answers)
        self.requests: list[requests.PreparedRequest] = []
        self.timeouts: list[object] = []

    def send(self, request, *_settings, timeout=None, **_options):
        self.requests.append(request)
        self.timeouts.append(timeout)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body, *headers = answer
        response = requests.Response()
        response.status_code, response.reason, response.request = status, "Some Reason", request
        response.url = request.url
        response.headers = CaseInsensitiveDict(headers[0] if headers else {})
        response._content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return response

    def close(self) -> None:
        pass


def client_of(transport: Scripted, budget: CallBudget | None = None) -> HetznerClient:
    return HetznerClient(
        SecretStr(TOKEN),
        endpoint="https://api.example/v1/",
        budget=budget or CallBudget(),
        compute=in_place,
        transport=transport,
        timeout_seconds=7.0,
    )


def refusal(code: str, message: str, details=None, status: int = 422):
    return status, {"error": {"code": code, "message": message, "details": details}}


async def test_a_creation_is_asked_for_in_the_words_of_the_api():
    transport = Scripted((201, {"server": SERVER, "action": ACTION, "next_actions": [], "root_password": "secret"}))
    created = await client_of(transport).create_server(CREATION)
    (request,) = transport.requests
    assert (request.method, request.url) == ("POST", "https://api.example/v1/servers")
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert json.loads(request.body) == {
        "name": "a-1",
        "server_type": "cx23",
        "location": "fsn1",
        "image": 9,
        "labels": {"a": "b"},
        "user_data": USER_DATA,
        "ssh_keys": [3],
        "networks": [],
        "firewalls": [{"firewall": 4}],
        "public_net": {"enable_ipv4": True, "enable_ipv6": True},
        "start_after_create": True,
    }
    assert created.server.created_at == datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert "secret" not in repr(created)


async def test_each_call_has_a_time_out():
    transport = Scripted((200, {"servers": [], "action": ACTION, "pricing": {"currency": "EUR"}}))
    client = client_of(transport)
    await client.servers("a=b")
    await client.prices()
    await client.check_writable()
    await client.delete_server(1)
    await client.set_labels(1, {})
    assert transport.timeouts == [7.0] * 5


@pytest.mark.parametrize(
    "body",
    [
        b"<html>welcome</html>",
        b"",
        [],
        None,
        {"server": SERVER},
        {"server": {**SERVER, "created": "yesterday"}, "action": ACTION},
        {"server": SERVER | {"location": None}, "action": ACTION},
        {"server": SERVER, "action": None},
    ],
)
async def test_a_creation_whose_answer_cannot_be_read_has_an_unknown_outcome(body):
    transport = Scripted((201, body))
    with pytest.raises(UnknownOutcome, match=r"create server a-1 \(cx23 in fsn1\): "):
        await client_of(transport).create_server(CREATION)
    assert len(transport.requests) == 1


@pytest.mark.parametrize(
    "body", [b"<html></html>", [], {}, {"servers": None}, {"servers": [SERVER, {"id": 43}]}, {"servers": [None]}]
)
async def test_a_list_that_cannot_be_read_as_a_whole_is_no_shorter_list(body):
    with pytest.raises(UnknownOutcome, match="list servers: "):
        await client_of(Scripted((200, body))).servers("a=b")


@pytest.mark.parametrize("kind", ["server_types", "images", "networks", "firewalls", "ssh_keys", "locations"])
async def test_a_catalogue_that_cannot_be_read_has_an_unknown_outcome(kind):
    client = client_of(Scripted((200, {kind: [{"id": 1}]})))
    with pytest.raises(UnknownOutcome, match="Hetzner's answer cannot be read: KeyError"):
        await (client.images(architecture="amd64") if kind == "images" else getattr(client, kind)())


async def test_prices_or_an_image_that_cannot_be_read_have_an_unknown_outcome():
    client = client_of(Scripted((200, {"pricing": {}, "image": {}})))
    with pytest.raises(UnknownOutcome, match="read prices: "):
        await client.prices()
    with pytest.raises(UnknownOutcome, match="get image 7: "):
        await client.image(7)


@pytest.mark.parametrize("body", [{"error": "no"}, {"error": {"message": "no"}}, {"error": None}, ["no"], b"no", b""])
async def test_an_error_that_cannot_be_read_has_an_unknown_outcome(body):
    with pytest.raises(UnknownOutcome):
        await client_of(Scripted((403, body))).create_server(CREATION)


async def test_a_page_that_names_itself_as_the_next_one_is_not_read_for_ever():
    body = {"servers": [SERVER], "meta": {"pagination": {"page": 1, "next_page": 1}}}
    transport = Scripted((200, body))
    assert len(await client_of(transport).servers("a=b")) == 1
    assert len(transport.requests) == 1


async def test_a_server_of_another_name_is_not_the_one_that_was_asked_for():
    client = client_of(Scripted((200, {"servers": [SERVER | {"id": 43, "name": "a-11"}, SERVER]})))
    server = await client.server("a-1")
    assert server is not None
    assert server.id == 42
    assert await client.server("a") is None


async def test_pages_are_asked_for_by_their_number_and_as_large_as_they_come():
    pages = [{"servers": [SERVER], "meta": {"pagination": {"next_page": following}}} for following in (2, 3, None)]
    transport = Scripted(*((200, page) for page in pages))
    assert len(await client_of(transport).servers("a=b")) == 3
    assert [request.url for request in transport.requests] == [
        f"https://api.example/v1/servers?label_selector=a%3Db&page={page}&per_page=50" for page in (1, 2, 3)
    ]


async def test_no_address_names_more_than_25_actions():
    transport = Scripted((200, {"actions": []}))
    await client_of(transport).actions(range(60))
    assert [request.url.count("&id=") + request.url.count("?id=") for request in transport.requests] == [25, 25, 10]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 5.0),
        ({"RateLimit-Limit": "3600"}, 5.0),
        ({"ratelimit-limit": "7200"}, 2.5),
        ({"RateLimit-Limit": "36"}, 60.0),
        ({"RateLimit-Limit": "0"}, 5.0),
        ({"RateLimit-Limit": "many", "RateLimit-Remaining": "-1"}, 5.0),
    ],
)
async def test_after_one_call_too_many_it_is_waited_until_a_few_are_there_again(headers, seconds):
    class Noted(CallBudget):
        paused = 0.0

        def pause(self, seconds: float) -> None:
            self.paused = seconds

    budget = Noted()
    transport = Scripted((*refusal("rate_limit_exceeded", "too many", status=429), headers))
    with pytest.raises(RateLimited) as refused:
        await client_of(transport, budget).servers("a=b")
    assert (refused.value.retry_after_seconds, budget.paused) == (seconds, seconds)
    assert budget._tokens == 0


def everything_told(error: BaseException, caplog) -> str:
    """Return all that could be printed of an error, and what was logged."""
    printed, link = "", error
    while link is not None:
        printed += f"{link!r} {link} {link.args!r} {vars(link)!r}\n"
        link = link.__cause__ or link.__context__
    return printed + caplog.text


def gives_away(printed: str, secret: str, run: int = 8) -> bool:
    return any(secret[start : start + run] in printed for start in range(len(secret) - run + 1))


@pytest.mark.parametrize(
    "answer",
    [
        refusal("rate_limit_exceeded", f"limit of 3600 requests per hour reached for token {HALF}", status=429),
        refusal("unauthorized", f"no such token: {TOKEN}", status=401),
        refusal("a_new_code", f"...{TOKEN[20:40]}..."),
        refusal("invalid_input", "invalid", {"fields": [{"name": TOKEN, "messages": [HALF]}]}),
        refusal("resource_limit_exceeded", "limit", {"limits": [{"name": HALF}]}, status=403),
        refusal(HALF, "the code is a secret"),
        (500, TOKEN.encode()),
        (201, {"server": SERVER | {"created": TOKEN}, "action": ACTION}),
        requests.ConnectionError(f"cannot send Bearer {TOKEN}"),
        requests.exceptions.InvalidHeader(f"Invalid header value: Bearer {TOKEN}"),
        requests.ReadTimeout(TOKEN),
    ],
)
async def test_no_part_of_the_token_is_told(answer, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ProviderError) as failed:
        await client_of(Scripted(answer)).create_server(CREATION)
    printed = everything_told(failed.value, caplog)
    assert "create server a-1" in printed
    assert not gives_away(printed, TOKEN)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


@pytest.mark.parametrize(
    "answer",
    [
        refusal("invalid_input", f"user_data is no YAML: {USER_DATA}"),
        refusal("invalid_input", "invalid", {"fields": [{"name": f"user_data {JOIN_TOKEN}", "messages": [USER_DATA]}]}),
        refusal("a_new_code", f"line 3: {JOIN_TOKEN}"),
        (500, USER_DATA.encode()),
        requests.ConnectionError(USER_DATA),
    ],
)
async def test_no_line_of_the_user_data_is_told(answer, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ProviderError) as failed:
        await client_of(Scripted(answer)).create_server(CREATION)
    printed = everything_told(failed.value, caplog)
    assert "create server a-1" in printed
    assert not gives_away(printed, JOIN_TOKEN, run=16)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


async def test_words_that_stand_in_user_data_as_well_can_still_be_told():
    transport = Scripted(refusal("invalid_input", "write_files is no field", {"fields": [{"name": "write_files"}]}))
    with pytest.raises(InvalidConfiguration, match='says "write_files is no field" of write_files'):
        await client_of(transport).create_server(CREATION)


async def test_an_action_does_not_tell_the_token_either():
    failed = ACTION | {"status": "error", "error": {"code": "server_error", "message": f"token {HALF} failed"}}
    (action,) = await client_of(Scripted((200, {"actions": [failed]}))).actions([1])
    assert action.error_message == "token [redacted] failed"


async def test_what_broke_a_connection_is_told_in_a_few_words(unused_tcp_port):
    endpoint = f"http://127.0.0.1:{unused_tcp_port}/v1"
    client = HetznerClient(SecretStr(TOKEN), endpoint=endpoint, budget=CallBudget(), compute=in_place)
    with pytest.raises(UnknownOutcome) as failed:
        await client.servers("a=b")
    assert str(failed.value) == f"list servers: no answer from {endpoint}: Connection refused"
    client.close()


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (f"token {HALF}: no", "token [redacted]: no"),
        (f"{TOKEN}{TOKEN[3:20]}!", "[redacted]!"),
        ("a word and 0123 of it", "a word and 0123 of it"),
        ("", ""),
        ({"a": [f"x {HALF}", 7, None]}, {"a": ["x [redacted]", 7, None]}),
    ],
)
def test_only_the_secret_is_blotted_out(printed, expected):
    assert redacted(printed, [token_secret(TOKEN), text_secret("")]) == expected


WORDY = "readonly" + "token_readonly" + "for this location is disabled" + "resource_limit_exceeded"
"""A token that holds what Hetzner says."""


@pytest.mark.parametrize(
    ("code", "message", "kind", "words"),
    [
        ("token_readonly", "the token is readonly", AuthenticationFailed, '"the token is readonly" (token_readonly)'),
        ("resource_limit_exceeded", "server limit exceeded", QuotaExceeded, "(resource_limit_exceeded)"),
        ("forbidden", WORDY, AuthenticationFailed, '"[redacted]" (forbidden)'),
        ("resource_limit_exceeded_of_tomorrow", "no", UnknownOutcome, "([redacted]_of_tomorrow)"),
    ],
)
def test_a_token_that_holds_words_of_hetzners_does_not_hide_what_an_answer_means(code, message, kind, words):
    secrets = [token_secret(WORDY)]
    with pytest.raises(kind) as refused:
        understood(ApiResponse(code=code, message=message, status=403), str, "read", "list servers", secrets)
    assert words in str(refused.value)
    assert WORDY not in str(refused.value)


def test_what_is_said_of_a_location_is_known_whatever_the_token_is():
    message = "for this location is disabled: no server"
    with pytest.raises(InsufficientCapacity) as refused:
        understood(
            ApiResponse(code="resource_unavailable", message=message, status=412),
            str,
            "create",
            "create server",
            [token_secret(WORDY)],
        )
    assert refused.value.extent == THE_LOCATION
    assert "[redacted]" in str(refused.value)


def test_half_of_a_short_token_is_a_part_of_it():
    assert redacted("for token abcdef", [token_secret("abcdefghijkl")]) == "for token [redacted]"


@pytest.mark.parametrize(
    "holder", [CREATION, token_secret(TOKEN), text_secret(USER_DATA), ApiResponse(body={"root_password": JOIN_TOKEN})]
)
def test_what_holds_a_secret_does_not_print_it(holder):
    printed = repr(holder)
    assert printed.startswith(f"{type(holder).__name__}(")
    assert TOKEN[:8] not in printed
    assert JOIN_TOKEN[:8] not in printed
