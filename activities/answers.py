"""What an API server's answer means, in the project's errors: the one place that maps them.

Source: Kubernetes docs, "API concepts" and the `Status` object; measured on kube-apiserver 1.36.
"""

import json
from collections.abc import Mapping
from typing import Any

from activities.errors import AlreadyExists, Conflict, Expired, GrowthError, NotFound, Rejected, Unreachable


def error_of(status: int, text: str, headers: Mapping[str, str], *, what: str) -> GrowthError:
    """Return the error that an answer outside 2xx tells of.

    Args:
        status: HTTP status code.
        text: body; a `Status` object as JSON, or plain text from a proxy or for an unknown resource.
        headers: of the answer.
        what: the call, for the message: verb, resource and name.
    """
    body = _status_object(text)
    message = f"{what}: {body.get('message') or f'HTTP {status} {text.strip()[:200]}'}"
    match status:
        case 404:
            return NotFound(message)
        case 409 if body.get("reason") == "AlreadyExists":
            return AlreadyExists(message)
        case 409:
            return Conflict(message)
        case 410:
            return Expired(message)
        case 401:
            return Rejected(f"{what}: the API server does not know these credentials: renew the token or kubeconfig")
        case 403:
            return Rejected(f"{message}: grant it to this user or service account (RBAC)")
        case _ if status in {408, 429} or status >= 500:  # noqa: PLR2004 - HTTP status codes
            return Unreachable(message, _retry_after_seconds(body, headers))
        case _:
            return Rejected(message)


def is_failed_patch(text: str) -> bool:
    """Return whether the body of a 422 says that a JSON patch could not be applied to the object as it is.

    The API server answers 422 both to that and to an invalid result, and words a `test` that failed like
    a path that is missing; only an invalid result names its causes.
    """
    return not (_status_object(text).get("details") or {}).get("causes")


def _status_object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _retry_after_seconds(body: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    told = (body.get("details") or {}).get("retryAfterSeconds") or headers.get("Retry-After")
    try:
        return float(told) if told else None
    except ValueError:
        # The header may also hold a date; the caller's own back-off is good enough then.
        return None
