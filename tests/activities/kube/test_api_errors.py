"""Bodies are those that kube-apiserver 1.36 was seen to send, shortened."""

import json

import pytest

from activities.kube.api_errors import error_of, is_failed_patch
from activities.ports.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    GrowthError,
    NotFound,
    Rejected,
    Unreachable,
)

FAILED_PATCH = {
    "reason": "Invalid",
    "message": "the server rejected our request due to an error in our request",
    "details": {},
    "code": 422,
}
INVALID = {
    "reason": "Invalid",
    "message": 'Pod "p" is invalid: spec.tolerations: Forbidden',
    "details": {"name": "p", "kind": "Pod", "causes": [{"reason": "FieldValueForbidden", "field": "spec.tolerations"}]},
    "code": 422,
}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"reason": "BadRequest"}, Rejected),
        (401, {"reason": "Unauthorized"}, Rejected),
        (403, {"reason": "Forbidden"}, Rejected),
        (404, {"reason": "NotFound"}, NotFound),
        (405, {"reason": "MethodNotAllowed"}, Rejected),
        (408, {}, Unreachable),
        (409, {"reason": "AlreadyExists"}, AlreadyExists),
        (409, {"reason": "Conflict"}, Conflict),
        (410, {"reason": "Expired"}, Expired),
        # As apiserver's storage.NewTooLargeResourceVersionError words it.
        (504, {"reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}, Expired),
        (413, {"reason": "RequestEntityTooLarge"}, Rejected),
        (422, INVALID, Rejected),
        (429, {"reason": "TooManyRequests"}, Unreachable),
        (500, {}, Unreachable),
        (503, {"reason": "ServiceUnavailable"}, Unreachable),
        (504, {"reason": "Timeout"}, Unreachable),
    ],
)
def test_which_error_an_answer_is(status, body, expected):
    assert type(error_of(status, json.dumps(body), {}, call="get pods p")) is expected


def test_the_message_names_the_call_and_what_the_server_says():
    error = error_of(404, json.dumps({"message": 'pods "p" not found'}), {}, call="get pods p")
    assert str(error) == 'get pods p: pods "p" not found'


@pytest.mark.parametrize("text", ["404 page not found\n", "", "[]", "<html>"])
def test_an_answer_that_is_no_status_object_is_understood_by_its_code(text):
    error = error_of(404, text, {}, call="list nodepools")
    assert type(error) is NotFound
    assert str(error).startswith(f"list nodepools: HTTP 404 {text.strip()}"[:30])


FORBIDDEN = (
    'nodepools.growth.dev is forbidden: User "{}" cannot list resource "nodepools" in API group "growth.dev" '
    "at the cluster scope"
)


def forbidden(message: str) -> GrowthError:
    return error_of(403, json.dumps({"message": message}), {}, call="list nodepools")


def test_a_missing_right_says_whose_and_which_and_where_it_is_granted():
    error = forbidden(FORBIDDEN.format("jane"))
    assert isinstance(error, Forbidden)
    assert (error.user, error.verb, error.resource) == ("jane", "list", "nodepools.growth.dev")
    assert str(error) == (
        f"list nodepools: {FORBIDDEN.format('jane')}: "
        "grant it (RBAC); deploy/kustomize/base has the roles that Growth needs"
    )


def test_a_right_in_a_namespace_on_a_built_in_resource_is_read_too():
    error = forbidden('pods "p" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"')
    assert isinstance(error, Forbidden)
    assert error.resource == "pods"


def test_whoever_has_no_credentials_is_told_so():
    assert "look at the user in the kubeconfig" in str(forbidden(FORBIDDEN.format("system:anonymous")))


def test_what_is_forbidden_for_another_reason_than_rights_is_the_servers_words_alone():
    message = 'pods "p" is forbidden: unable to create new content in namespace n because it is being terminated'
    error = forbidden(message)
    assert type(error) is Rejected
    assert str(error) == f"list nodepools: {message}"


def test_unknown_credentials_say_what_to_do():
    assert "renew the token or the client certificate" in str(error_of(401, "", {}, call="list pods"))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, 'NodePool in version "v1alpha1" cannot be handled: strict decoding error: unknown field "status.x"'),
        (
            422,
            ' "" is invalid: patch: Invalid value: "{...}": strict decoding error: unknown field "status.x"',
        ),
    ],
)
def test_a_field_that_older_definitions_do_not_have_says_what_to_do(status, message):
    error = error_of(status, json.dumps({"message": message}), {}, call="patch nodepools p")
    assert type(error) is Rejected
    assert str(error) == (
        'patch nodepools p: unknown field "status.x": are Growth\'s definitions of an older version? '
        "`growth crds | kubectl apply --server-side -f -` brings them up to date"
    )


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        ({}, {"Retry-After": "3"}, 3.0),
        ({"details": {"retryAfterSeconds": 2}}, {}, 2.0),
        ({"details": {"retryAfterSeconds": 2}}, {"Retry-After": "3"}, 2.0),
        ({}, {}, None),
        ({}, {"Retry-After": "Sat, 28 Nov 2026 04:49:25 GMT"}, None),
    ],
)
def test_the_pause_that_a_busy_server_wishes_for(body, headers, expected):
    error = error_of(429, json.dumps(body), headers, call="list pods")
    assert isinstance(error, Unreachable)
    assert error.retry_after_seconds == expected


def test_a_failed_patch_is_told_from_an_invalid_result():
    assert is_failed_patch(json.dumps(FAILED_PATCH))
    assert not is_failed_patch(json.dumps(INVALID))
