"""Calls to Hetzner's API: within the budget, a few at a time, page by page, and without a secret in any message."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from activities.ports.errors import RateLimited
from activities.ports.ports import Compute
from activities.providers.hetzner.api.answer import ApiResponse, page_of, understood
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.error_table import Verb
from activities.providers.hetzner.api.redaction import Secret, text_secret

_AT_ONCE: Final = 5
"""Calls that are under way at a time: a hurried caller once had its account locked. Source: hetzner-k3s#39."""
_LONGEST_TURN_SECONDS: Final = 15.0
"""Longest wait for one of them. Together with the wait for the budget and for the answer, a call is over before absence
is believed: 60 s after a creation began."""
_PAGE: Final = 50
"""Entries of a page, the most that Hetzner gives."""

_T = TypeVar("_T")


class Request(Protocol):
    """Makes one request and blocks until its answer is there; raises nothing."""

    def __call__(self, method: str, path: str, *, params: Mapping[str, Any] | None, json: Any) -> ApiResponse:
        """Return the answer.

        Args:
            method: such as GET.
            path: below the endpoint, such as /servers.
            params: of the query; a list stands for the parameter given several times.
            json: the body; None is none.
        """
        ...


def _nothing() -> None:
    """Do nothing before a request."""


class Connection:
    """Calls with one token.

    Args:
        request: makes a request.
        token: which is never told.
        budget: of the project; each request spends one token of it.
        compute: runs a blocking request.
    """

    def __init__(self, request: Request, *, token: Secret, budget: CallBudget, compute: Compute) -> None:
        self._request = request
        self._token = token
        self._budget = budget
        self._compute = compute
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        before: Callable[[], None] = _nothing,
    ) -> ApiResponse:
        """Make one request, and tell the budget what its answer says of the calls that are left.

        Args:
            method: such as GET.
            path: below the endpoint, such as /servers.
            params: of the query.
            json: the body.
            before: called when all waits are over. What it raises is raised, and nothing is sent.

        Raises:
            RateLimited: the budget is used up, or all calls are slow; nothing was sent.
        """
        await self._budget.spend(first=method == "DELETE")
        try:
            async with asyncio.timeout(_LONGEST_TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            # Sent much later than its caller believes, a creation could take effect when its absence is taken for sure.
            raise RateLimited(f"{_AT_ONCE} calls to Hetzner are under way and slow", _LONGEST_TURN_SECONDS) from None
        try:
            try:
                before()
            except BaseException:
                self._budget.give_back()
                raise
            answer = await self._compute(partial(self._request, method, path, params=params, json=json))
        finally:
            self._turns.release()
        if answer.remaining is not None:
            self._budget.observe(answer.remaining, answer.limit)
        if answer.is_one_too_many:
            # For the whole project: whoever calls next would only be refused as well.
            self._budget.observe(0, answer.limit)
            self._budget.pause(answer.pause_seconds)
        return answer

    async def list(self, kind: str, read: Callable[[Any], _T], call: str, wanted: Mapping[str, Any]) -> list[_T]:
        """Return the entries of all pages of a list.

        Args:
            kind: of the entries, such as servers: the path, and the field of the body.
            read: makes facts of an entry.
            call: the call in words, for the message.
            wanted: parameters of the query.

        Raises:
            GrowthError: a page failed, or an entry cannot be read: a list is whole, or it is an error.
        """
        listed: list[_T] = []
        page: int | None = 1
        while page is not None:
            answer = await self.send("GET", f"/{kind}", params={**wanted, "page": page, "per_page": _PAGE})
            entries, page = self.understood(answer, partial(page_of, kind, page, read), "read", call)
            listed += entries
        return listed

    def understood(
        self, answer: ApiResponse, read: Callable[[Any], _T], verb: Verb, call: str, *, user_data: str = ""
    ) -> _T:
        """Return the facts that `read` makes of an answer.

        Args:
            answer: as it came.
            read: makes facts of the body.
            verb: what was being done.
            call: the call in words, for the message.
            user_data: what was sent, which is never told.

        Raises:
            GrowthError: as the error table has it.
        """
        return understood(answer, read, verb, call, (self._token, text_secret(user_data)))
