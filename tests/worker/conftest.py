import asyncio
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from tests.worker.running_solver import ROOT
from tests.worker.solver_targets import FOLDER
from worker import parent_death as child
from worker.temporal.embedded import program
from worker.temporal.namespace import ensure_search_attributes

_numbers = itertools.count(1)
STARTS = 3


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def temporal_at(port: int, binary: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A Temporal server in memory that dies with the run, however the run dies."""
    arguments = [
        binary or program(),
        "server",
        "start-dev",
        "--headless",
        "--log-level",
        "never",
        "--namespace",
        "growth",
    ]
    # A workflow is marked after its first failed task instead of the fifth, which takes a minute.
    arguments += ["--dynamic-config-value", "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=1"]
    with subprocess.Popen(
        [sys.executable, "-IS", str(Path(child.__file__)), str(os.getpid()), *arguments, "--port", str(port)],
        stdout=subprocess.DEVNULL,
    ) as server:
        try:
            yield server
        finally:
            server.send_signal(signal.SIGKILL)


def freeze(pid: int) -> None:
    """Stop a child process until it gets SIGCONT; when this returns, none of its threads runs any more."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)


async def serves(address: str) -> bool:
    """Whether the server answers as one that is wholly up: an open port alone is less."""
    try:
        client = await Client.connect(address, namespace="growth")
        await client.count_workflows("ExecutionStatus = 'Running'")
    except (RuntimeError, RPCError):
        return False
    return True


@pytest.fixture(scope="session")
def dev_server():
    """Address of a Temporal server in memory, shared by the tests of a run."""
    for _ in range(STARTS):
        port = free_port()
        with temporal_at(port) as server:
            deadline = time.monotonic() + 30
            # A server that ends lost its port to another program between the choice and the use.
            while server.poll() is None and time.monotonic() < deadline:
                if asyncio.run(serves(f"127.0.0.1:{port}")) and server.poll() is None:
                    yield f"127.0.0.1:{port}"
                    return
                time.sleep(0.1)
    pytest.fail("no Temporal server could be started")


@pytest.fixture
async def client(dev_server):
    """A client of the shared server, its search attributes registered."""
    client = await Client.connect(dev_server, namespace="growth", data_converter=pydantic_data_converter)
    await ensure_search_attributes(client)
    return client


@pytest.fixture
def cluster_name():
    """A name that no other test of the run uses: the server is shared."""
    return f"c{next(_numbers)}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the solvers of `solver_targets` leave notes; their processes find the tests."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path
