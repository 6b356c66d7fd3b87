import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from worker import child
from worker.embedded import program
from worker.temporal import ensure_search_attributes

_numbers = itertools.count(1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.fixture(scope="session")
def dev_server():
    """Address of a Temporal server in memory, shared by the tests of a run; it dies with the run."""
    port = free_port()
    arguments = [program(), "server", "start-dev", "--headless", "--log-level", "never", "--namespace", "growth"]
    # A workflow is marked after its first failed task instead of the fifth, which takes a minute.
    arguments += ["--dynamic-config-value", "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=1"]
    with subprocess.Popen(
        [sys.executable, "-IS", str(Path(child.__file__)), str(os.getpid()), *arguments, "--port", str(port)],
        stdout=subprocess.DEVNULL,
    ) as server:
        deadline = time.monotonic() + 20
        while not answers(port):
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
        server.send_signal(signal.SIGKILL)


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
