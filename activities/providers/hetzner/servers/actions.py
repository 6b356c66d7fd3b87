"""Open actions of servers: all asked about in one call, and only while some are open.

A create call may answer that all is well and fail later, by its action. Source: Hetzner Cloud API, "Actions".
"""

from collections.abc import Callable, Sequence
from typing import Final

from activities.ports.errors import GrowthError, UnknownOutcome
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.error_table import of_action
from activities.providers.hetzner.api.facts import ActionFacts

POLL_SECONDS: Final = 4.0
"""Between two polls: a boot takes half a minute."""
_MOST_OPEN: Final = 2_000
"""Beyond it, the oldest are forgotten: what becomes of their servers, lists tell."""
_MOST_PROBLEMS: Final = 1_000
_LONGEST_SECONDS: Final = 2 * 3600.0
"""An action that runs for so long is not waited for."""


class OpenActions:
    """The actions of one project that this worker has begun.

    Args:
        client: of the project.
        elapsed: seconds since some moment.
    """

    def __init__(self, client: HetznerClient, elapsed: Callable[[], float]) -> None:
        self._client = client
        self._elapsed = elapsed
        self._open: dict[int, tuple[int, float]] = {}
        """Server and beginning, by action."""
        self._problems: dict[int, GrowthError] = {}
        """By server: why it will not become useful."""
        self._unread: dict[int, GrowthError] = {}
        """Those that `take_failures` has not returned yet."""
        self._unclear: set[int] = set()
        """Servers of which the end of an action is not known: lists tell what became of them."""
        self._polled_at = float("-inf")

    @property
    def busy(self) -> frozenset[int]:
        """The servers of which an action runs."""
        return frozenset(server for server, _ in self._open.values())

    @property
    def is_any_open(self) -> bool:
        """Whether something is waited for."""
        return bool(self._open)

    def add(self, server: int, actions: Sequence[ActionFacts]) -> None:
        """Wait for these actions of a server."""
        for action in actions:
            self._take(server, action, self._elapsed())
        while len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]

    async def poll(self) -> frozenset[int]:
        """Ask about all open actions, not more often than `POLL_SECONDS`, and return the servers that were waited for.

        Those are the ones of which all actions have succeeded since the last call.

        Raises:
            ProviderError: the API does not answer.
        """
        now = self._elapsed()
        if not self._open or now - self._polled_at < POLL_SECONDS:
            return frozenset()
        self._polled_at = now
        open_now = dict(self._open)
        answered = {action.id: action for action in await self._client.actions(list(open_now))}
        for number, (server, began) in open_now.items():
            action = answered.get(number)
            self._open.pop(number, None)
            if action is not None and now - began < _LONGEST_SECONDS:
                self._take(server, action, began)
            else:
                self._unclear.add(server)
        done = {server for server, _ in open_now.values()} - self.busy
        succeeded = frozenset(one for one in done if one not in self._unclear and not self.problem(one))
        self._unclear -= done
        return succeeded

    def problem(self, server: int) -> str:
        """Return why the server will not become useful, as far as that is known; empty if nothing failed."""
        failure = self._problems.get(server)
        return "" if failure is None else str(failure)

    def failure(self, server: int) -> GrowthError | None:
        """Return why the server will not become useful, as a refused call would say it."""
        return self._problems.get(server)

    def take_failures(self) -> dict[int, GrowthError]:
        """Return the failed actions since the last call, by server."""
        failures, self._unread = self._unread, {}
        return failures

    def fail(self, server: int, why: GrowthError) -> None:
        """Note that the server will not become useful, and why."""
        self._problems[server] = why
        while len(self._problems) > _MOST_PROBLEMS:
            del self._problems[next(iter(self._problems))]

    def forget(self, server: int) -> None:
        """Forget the actions and problems of a server that is deleted."""
        self._problems.pop(server, None)
        self._unread.pop(server, None)
        self._unclear.discard(server)
        self._open = {number: kept for number, kept in self._open.items() if kept[0] != server}

    def _take(self, server: int, action: ActionFacts, began: float) -> None:
        if action.status == "running":
            self._open[action.id] = (server, began)
        elif action.status == "error":
            call = f"{action.command} of server {server}"
            error = of_action(action.error_code, action.error_message, call=call)
            known = self._problems.get(server)
            # What follows an action that failed is cancelled, and says less.
            if known is None or isinstance(known, UnknownOutcome):
                self.fail(server, error)
                self._unread[server] = error
