"""A Temporal server with its file, which a test stops, starts again and wipes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from tests.worker.conftest import answers, free_port
from worker import parent_death as child
from worker.temporal.embedded import program

STARTS_WITHIN: Final = 30.0
NO_SETTINGS: Final[Mapping[str, str]] = {}


class TemporalServer:
    """A server on a port that stays the same.

    Args:
        folder: where its file is.
        settings: dynamic configuration.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] = NO_SETTINGS) -> None:
        self._file = folder / "temporal.db"
        self._settings = settings
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"127.0.0.1:{self._port}"

    async def start(self, namespace: str | None = None) -> None:
        """Start it on its file, and wait until it answers; `namespace` is made if it does not exist."""
        options = ["--headless", "--log-level", "never", "--db-filename", str(self._file), "--port", str(self._port)]
        options += ["--namespace", namespace] if namespace else []
        for key, value in self._settings.items():
            options += ["--dynamic-config-value", f"{key}={value}"]
        self._process = self._launched(options)
        deadline = time.monotonic() + STARTS_WITHIN
        while not (answers(self._port) and await self._serves()):
            assert self._process.poll() is None, "the Temporal server ended"
            assert time.monotonic() < deadline, "the Temporal server does not answer"
            await asyncio.sleep(0.1)

    def _launched(self, options: Sequence[str]) -> subprocess.Popen[bytes]:
        launcher = [sys.executable, "-IS", str(Path(child.__file__)), str(os.getpid())]
        command = [*launcher, program(), "server", "start-dev", *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def _serves(self) -> bool:
        try:
            client = await Client.connect(self.address, namespace="default")
            await client.count_workflows("ExecutionStatus = 'Running'")
        except (RuntimeError, RPCError):
            return False
        return True

    def kill(self) -> None:
        """Kill it; its file stays."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def wipe(self) -> None:
        """Delete its file."""
        for path in self._file.parent.glob(f"{self._file.name}*"):
            path.unlink()
