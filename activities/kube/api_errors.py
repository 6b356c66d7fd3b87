"""The project's error for each answer of an API server, and for a connection that fails: the one place that maps them.

Source: Kubernetes docs, "API concepts" and the `Status` object; measured on kube-apiserver 1.36.
"""

import json
import os
import re
import socket
from collections.abc import Mapping
from typing import Any, Final

import aiohttp

from activities.ports.errors import (
    AlreadyExists,
    BudgetExhausted,
    Conflict,
    Expired,
    Forbidden,
    GrowthError,
    NotFound,
    Rejected,
    Unreachable,
)

_RIGHTS: Final = "grant it (RBAC); deploy/kustomize/base has the roles that Growth needs"
_CREDENTIALS: Final = "there were no credentials, or none that the API server knows: look at the user in the kubeconfig"
_ANONYMOUS: Final = "system:anonymous"
"""The API server's name for whoever shows no credentials. Source: Kubernetes docs, "Authenticating"."""
_LACKING: Final = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<plural>[^"]*)" in API group "(?P<group>[^"]*)"'
)
_BUDGET_CAUSE: Final = "DisruptionBudget"
"""Tells an eviction that a budget refuses from a server that is too busy: both are a 429."""
_TOO_LARGE_CAUSE: Final = "ResourceVersionTooLarge"
"""Of a 504: the API server has no such version yet, or lost it in a restore, and then it never comes.
Source: apimachinery, `CauseTypeResourceVersionTooLarge`."""
_SEVERAL_BUDGETS: Final = "more than one PodDisruptionBudget"
_STRICT: Final = "strict decoding error: "
"""Before the field that the API server does not know; what stands before it may be the whole object."""


def error_of(status: int, text: str, headers: Mapping[str, str], *, call: str) -> GrowthError:
    """Return the error of an answer outside 2xx.

    Args:
        status: HTTP status code.
        text: body; a `Status` object as JSON, or plain text from a proxy or for an unknown resource.
        headers: of the answer.
        call: the call, for the message: verb, resource and name.
    """
    body = _status_object(text)
    message = f"{call}: {body.get('message') or f'HTTP {status} {text.strip()[:200]}'}"
    match status:
        case 404:
            return NotFound(message)
        case 409 if body.get("reason") == "AlreadyExists":
            return AlreadyExists(message)
        case 409:
            return Conflict(message)
        case 410:
            return Expired(message)
        case 504 if _TOO_LARGE_CAUSE in _causes(body):
            return Expired(message)
        case 401:
            return Rejected(
                f"{call}: the API server does not accept these credentials, they are unknown or expired: "
                "renew the token or the client certificate"
            )
        case 403:
            return _forbidden(message)
        case 400 | 422 if _STRICT in message:
            return Rejected(
                f"{call}: {message.partition(_STRICT)[2]}: are Growth's definitions of an older version? "
                "`growth crds | kubectl apply --server-side -f -` brings them up to date"
            )
        case 429 | 500 if (budget := _budget_of(body)) is not None:
            return BudgetExhausted(f"{call}: {budget}")
        case _ if status in {408, 429} or status >= 500:  # noqa: PLR2004 - HTTP status codes
            return Unreachable(message, _retry_after_seconds(body, headers))
        case _:
            return Rejected(message)


def _forbidden(message: str) -> Rejected:
    """Return the error of a 403: a right is missing, or the object itself is not allowed."""
    lacking = _LACKING.search(message)
    if lacking is None:
        return Rejected(message)
    user, verb, plural, group = lacking.group("user", "verb", "plural", "group")
    return Forbidden(
        message,
        user=user,
        verb=verb,
        resource=f"{plural}.{group}" if group else plural,
        advice=_CREDENTIALS if user == _ANONYMOUS else _RIGHTS,
    )


def is_failed_patch(text: str) -> bool:
    """Return whether the body of a 422 says that a JSON patch could not be applied to the object as it is.

    The API server answers 422 both to that and to an invalid result, and words a `test` that failed like
    a path that is missing; only an invalid result names its causes.
    """
    return not (_status_object(text).get("details") or {}).get("causes")


def _budget_of(body: Mapping[str, Any]) -> str | None:
    """Return the API server's message about the budget that refuses an eviction, None if none does.

    A pod in several budgets is an error for the API server, answered by a 500.
    """
    for cause in (body.get("details") or {}).get("causes") or ():
        if cause.get("reason") == _BUDGET_CAUSE:
            return str(cause.get("message") or body.get("message"))
    message = str(body.get("message") or "")
    return message if _SEVERAL_BUDGETS in message else None


def _causes(body: Mapping[str, Any]) -> set[str]:
    return {str(cause.get("reason")) for cause in (body.get("details") or {}).get("causes") or ()}


def _status_object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _retry_after_seconds(body: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    seconds = (body.get("details") or {}).get("retryAfterSeconds") or headers.get("Retry-After")
    try:
        return float(seconds) if seconds else None
    except ValueError:
        # The header may also hold a date; the caller's own back-off is good enough then.
        return None


def unreachable(failure: Exception, *, call: str, server: str) -> Unreachable:
    """Return the error that a failed connection or a time-out is.

    Args:
        failure: as the HTTP client raised it.
        call: the call, for the message: verb, resource and name.
        server: address of the API server.
    """
    return Unreachable(f"{call}: {_sentence(failure, server)}")


def _sentence(failure: Exception, server: str) -> str:
    match failure:
        case TimeoutError():
            return f"{server} did not answer in time"
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(failure.certificate_error, "verify_message", "") or failure.certificate_error
            return f"the certificate of {server} is not trusted ({reason}): look at the certificate-authority"
        case aiohttp.ClientConnectorSSLError():
            return f"{server} does not speak TLS as expected ({failure.os_error.strerror or failure})"
        case aiohttp.ClientConnectorDNSError():
            return f"{server} cannot be reached: no address is known for that host"
        case aiohttp.ClientConnectorError():
            return f"{server} cannot be reached: {_reason(failure.os_error)}"
        case _:
            return f"{server} ended the connection: {failure or type(failure).__name__}"


def _reason(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno).lower()
