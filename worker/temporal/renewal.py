"""Certificates that are renewed while the worker runs, as cert-manager does: a new client uses them.

A client keeps those that it began with, and its next connection would be refused once they have expired.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

import structlog
from temporalio.client import Client

from worker.errors import CommandError
from worker.log_once import LogOnce
from worker.settings import Settings
from worker.temporal.trouble import TemporalUnreachable

log = structlog.stdlib.get_logger(__name__)

PERIOD: Final = timedelta(seconds=30)
"""Kubernetes writes a changed Secret into pods within a minute; certificates are renewed days before their end."""


class Renewal:
    """Waits for changed files.

    Args:
        settings: they name the files.
        connect: returns a client that has read them.
    """

    def __init__(self, settings: Settings, connect: Callable[[], Awaitable[Client]]) -> None:
        named = (settings.temporal_tls_ca, settings.temporal_tls_cert, settings.temporal_tls_key)
        self._files = [path for path in named if path is not None]
        self._connect = connect
        self._used = self._seen()
        self._warnings = LogOnce(log)

    async def __call__(self) -> Client:
        """Return a client with the files as they are, once they have changed; without files it never returns.

        One that they make no connection with, as while only one of two is written, is tried again.
        """
        while True:
            await asyncio.sleep(PERIOD.total_seconds())
            seen = await asyncio.to_thread(self._seen)
            if seen == self._used:
                continue
            try:
                client = await self._connect()
            except (TemporalUnreachable, CommandError) as error:
                self._warnings.warn(f"the renewed certificates for Temporal cannot be used yet: {error}")
                continue
            self._used = seen
            log.info("uses the renewed certificates for Temporal")
            return client

    def _seen(self) -> list[str]:
        return [_digest(path) for path in self._files]


def _digest(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
