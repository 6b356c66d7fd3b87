"""The answer to one request to Hetzner's API, read as facts or as an error without secrets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from activities.ports.errors import UnknownOutcome
from activities.providers.hetzner.api.error_table import FEW_TOKENS_SECONDS, RATE_LIMITED, Verb, classify
from activities.providers.hetzner.api.redaction import Secret, redacted

UNREADABLE: Final = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""Exceptions of reading JSON that is not as documented."""
_FEW: Final = 5
"""Calls that a project should have again before it goes on after one too many."""
_SECONDS_PER_HOUR: Final = 3600
_LONGEST_PAUSE_SECONDS: Final = 60.0
"""After which one call is tried, whatever the limit."""
_LONGEST_TROUBLE: Final = 200
"""Characters: one line of a condition."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """An answer: a body, an error of the API, or neither, with the trouble in words."""

    body: Any = field(default=None, repr=False)
    """May hold what was sent, or the password of a new server."""
    code: str | int | None = None
    """The API's, or the HTTP status where there was no JSON."""
    status: int | None = None
    """Of HTTP, if there was an answer."""
    message: str = ""
    details: Any = None
    trouble: str = ""
    """Why there is neither a body nor an error."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By lower-case name."""

    @property
    def remaining(self) -> int | None:
        """Calls that the project has left."""
        return self._number("ratelimit-remaining")

    @property
    def limit(self) -> int | None:
        """Calls that the project has in an hour."""
        return self._number("ratelimit-limit")

    @property
    def is_one_too_many(self) -> bool:
        """Whether the project has no calls left."""
        return self.code in RATE_LIMITED

    @property
    def pause_seconds(self) -> float:
        """How long it takes until a few calls are there again."""
        if not self.limit:
            return FEW_TOKENS_SECONDS
        return min(_FEW * _SECONDS_PER_HOUR / self.limit, _LONGEST_PAUSE_SECONDS)

    def _number(self, header: str) -> int | None:
        text = self.headers.get(header, "")
        return int(text) if text.isdecimal() else None


def understood(answer: ApiResponse, read: Callable[[Any], _T], verb: Verb, call: str, secrets: Sequence[Secret]) -> _T:
    """Return the facts that `read` makes of an answer.

    Args:
        answer: as it came.
        read: makes facts of the body.
        verb: what was being done.
        call: the call in words, for the message.
        secrets: never told.

    Raises:
        GrowthError: as the error table has it.
    """
    if answer.code is not None:
        raise classify(
            answer.code,
            answer.message,
            details=answer.details,
            verb=verb,
            call=call,
            retry_after_seconds=answer.pause_seconds,
            status=answer.status,
            redact=lambda content: redacted(content, secrets),
        )
    trouble = answer.trouble
    if not trouble:
        try:
            return read(answer.body)
        except UNREADABLE as failure:
            trouble = unreadable(failure)
    # Outside of the handler: an error that is chained to this one would be printed with it, secrets and all.
    raise UnknownOutcome(f"{call}: {redacted(trouble, secrets)[:_LONGEST_TROUBLE]}")


def unreadable(failure: Exception) -> str:
    """Return the sentence for an answer that is not as documented."""
    return f"Hetzner's answer cannot be read: {type(failure).__name__}: {failure}"


def cause(failure: BaseException) -> str:
    """Return the innermost cause of a broken connection; outer exceptions hold addresses of this process's memory."""
    while (inner := failure.__cause__ or failure.__context__) is not None:
        failure = inner
    return str(getattr(failure, "strerror", None) or failure or type(failure).__name__)


def page_of(kind: str, page: int, read: Callable[[Any], _T], body: Any) -> tuple[list[_T], int | None]:
    """Return the entries of a page and the number of the next one, None after the last.

    Args:
        kind: of the entries: the field of the body.
        page: number of this one. A next one that does not follow it would be read for ever.
        read: makes facts of an entry.
        body: of the answer.
    """
    following = ((body.get("meta") or {}).get("pagination") or {}).get("next_page")
    return [read(each) for each in body[kind]], following if following is not None and following > page else None
