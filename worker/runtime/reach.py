"""Whether Temporal and the API server answer this worker: /readyz and /healthz say so when one has not for a while."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.ports.cluster import NAMESPACES
from activities.ports.errors import GrowthError, Unreachable
from activities.ports.ports import Ports
from api.duration import format_duration
from worker.log_once import LogOnce

log = structlog.stdlib.get_logger(__name__)

PERIOD: Final = timedelta(seconds=10)
API_SERVER_EVERY: Final = timedelta(seconds=30)
"""While it answers: what else this worker asks of it tells within seconds when it does not."""
ANSWER_LIMIT: Final = timedelta(seconds=4)
GONE_AFTER: Final = timedelta(seconds=15)
"""One call that is lost is no outage: by then a second one is."""
STUCK_AFTER: Final = timedelta(minutes=10)
"""A restart mends no server, but it does mend a client that a long outage has left behind."""


@dataclass(frozen=True, slots=True)
class Outage:
    """What does not answer now."""

    sentence: str
    """A sentence without its end; empty when all answers."""
    lasts: timedelta = timedelta()

    @property
    def is_stuck(self) -> bool:
        """Whether a restart of the worker is worth a try."""
        return self.lasts >= STUCK_AFTER


NONE: Final = Outage("")
API_SERVER: Final = "the API server"


class Reachability:
    """Asks both, period after period.

    Args:
        client: of the Temporal server.
        ports: the outside world.
        elapsed: seconds since some moment, by a clock that nobody sets.
    """

    def __init__(self, client: Client, ports: Ports, elapsed: Callable[[], float] = time.monotonic) -> None:
        self.client = client
        self._ports = ports
        self._elapsed = elapsed
        self._asked = {
            f"Temporal at {client.service_client.config.target_host}": self._temporal_trouble,
            API_SERVER: self._api_server_trouble,
        }
        self._answered_at: float | None = None
        """When the API server was asked last and answered."""
        self._troubles: dict[str, tuple[float, str]] = {}
        """Since when, and why, by the name of what does not answer."""
        self._warnings = LogOnce(log)

    async def run(self) -> None:
        """Ask for ever."""
        while True:
            await self.ask()
            await asyncio.sleep(PERIOD.total_seconds())

    async def ask(self) -> None:
        """Ask each of them once, side by side; the API server less often, as long as it answers."""
        due = [name for name in self._asked if name != API_SERVER or self._is_api_server_due()]
        await asyncio.gather(*(self._ask(name, self._asked[name]) for name in due))
        gone = self._gone()
        if gone:
            self._warnings.warn(f"no answer: {', '.join(sorted(gone))}")
        elif not self._troubles:
            self._warnings.over()

    def outage(self) -> Outage:
        """Return what has not answered for long enough to say so."""
        gone = self._gone()
        lasts = [self._lasts(name) for name in gone]
        clauses = [
            f"{name} has not answered for {format_duration(self._lasts(name))}: {self._troubles[name][1]}"
            for name in gone
        ]
        return Outage("; ".join(clauses), max(lasts)) if gone else NONE

    def _is_api_server_due(self) -> bool:
        if API_SERVER in self._troubles or self._answered_at is None or self._ports.watched_for() == timedelta():
            return True
        return self._elapsed() - self._answered_at >= API_SERVER_EVERY.total_seconds()

    def _gone(self) -> list[str]:
        return [name for name in self._troubles if self._lasts(name) >= GONE_AFTER]

    def _lasts(self, name: str) -> timedelta:
        return timedelta(seconds=int(self._elapsed() - self._troubles[name][0]))

    async def _ask(self, name: str, trouble: Callable[[], Awaitable[str]]) -> None:
        asked_at = self._elapsed()
        try:
            async with asyncio.timeout(ANSWER_LIMIT.total_seconds() + 1):
                why = await trouble()
        except TimeoutError:
            why = "no answer in time"
        if not why:
            self._troubles.pop(name, None)
            if name == API_SERVER:
                self._answered_at = asked_at
            return
        since, _ = self._troubles.get(name, (asked_at, ""))
        self._troubles[name] = since, why

    async def _temporal_trouble(self) -> str:
        try:
            await self.client.workflow_service.get_system_info(GetSystemInfoRequest(), timeout=ANSWER_LIMIT)
        except RPCError as error:
            is_away = error.status in {
                RPCStatusCode.UNAVAILABLE,
                RPCStatusCode.DEADLINE_EXCEEDED,
                RPCStatusCode.CANCELLED,
                RPCStatusCode.UNAUTHENTICATED,
                RPCStatusCode.UNKNOWN,
            }
            return (error.message or error.status.name) if is_away else ""
        return ""

    async def _api_server_trouble(self) -> str:
        try:
            await self._ports.cluster.get(NAMESPACES, self._ports.namespace)
        except Unreachable as error:
            return str(error)
        except GrowthError:
            # That it is refused is an answer, too.
            return ""
        return ""
