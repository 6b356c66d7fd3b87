"""Calls to the fake API and its answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked for."""

    method: str
    path: str
    """Without /v1, such as /servers/7."""
    query: Sequence[tuple[str, str]]
    body: Any
    """JSON; None when there is none."""

    def all(self, key: str) -> list[str]:
        """Return every value of a query parameter, which may be given several times."""
        return [value for name, value in self.query if name == key]

    def last(self, key: str) -> str | None:
        """Return the last value of a query parameter, or None."""
        return next(reversed(self.all(key)), None)

    def field(self, key: str) -> Any:
        """Return a field of the body, or None."""
        return self.body.get(key) if isinstance(self.body, dict) else None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the API answers."""

    status: int
    body: Any = None
    """JSON; None is an empty body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_lost: bool = False
    """The caller gets no answer."""
    is_hanging: bool = False
    """Of a lost one: the connection stays open until the caller gives up."""


class ApiRefusal(Exception):
    """The API answers with an error."""

    def __init__(self, status: HTTPStatus, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details

    def reply(self) -> Reply:
        """Return it as an answer."""
        return Reply(self.status, error_body(self.code, self.message, self.details))


def error_body(code: str, message: str, details: Any = None) -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"code": code, "message": message, "details": details}}


def invalid(name: str, message: str) -> ApiRefusal:
    """Return the refusal of a field of the request.

    Source: Hetzner Cloud API, "Errors", invalid_input with details.fields.
    """
    details = {"fields": [{"name": name, "messages": [message]}]}
    return ApiRefusal(
        HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", f"invalid input in field '{name}': {message}", details
    )


def not_found(resource: str) -> ApiRefusal:
    """Return the refusal of something that does not exist."""
    return ApiRefusal(HTTPStatus.NOT_FOUND, "not_found", f"{resource} not found")


def over_limit(message: str, limit: str) -> ApiRefusal:
    """Return the refusal of more than the project may have.

    Args:
        message: such as "server limit exceeded".
        limit: name of the limit, such as server_limit.
    """
    return ApiRefusal(HTTPStatus.FORBIDDEN, "resource_limit_exceeded", message, {"limits": [{"name": limit}]})
