import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.activities.kube.test_client import write_kubeconfig
from tests.worker.conftest import answers, free_port
from tests.worker.runtime.test_web import fetch
from tests.worker.solver.test_process import is_alive

RUN = [sys.executable, "-c", "from worker.cli import main; main()", "run", "--log-format", "console"]


@pytest.fixture
def environment(tmp_path):
    """Nothing of the user's: no settings, and a kubeconfig that leads nowhere."""
    write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(tmp_path), "PYTHONPATH": ".", "KUBECONFIG": str(tmp_path / "config")}


@pytest.fixture
def waiting(environment):
    """A worker that waits for a Temporal server that is not there."""
    temporal, http = free_port(), free_port()
    addresses = ["--temporal-address", f"127.0.0.1:{temporal}", "--http-address", f"127.0.0.1:{http}"]
    with subprocess.Popen([*RUN, *addresses], env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not answers(http):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process, http, temporal
        process.kill()


def test_a_worker_without_temporal_waits_and_says_so_and_stops_at_once(waiting):
    process, http, temporal = waiting
    assert fetch(http, "/healthz") == (200, "ok\n")
    deadline = time.monotonic() + 20
    while fetch(http, "/readyz") != (503, f"waiting for Temporal at 127.0.0.1:{temporal}: connection refused\n"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 0
    assert time.monotonic() - began < 5
    assert "stopped" in told
    assert told.count("waiting for Temporal") <= 1


def test_two_workers_say_in_each_line_and_each_sample_whose_they_are(environment, dev_server):
    for cluster in ("shop", "lab"):
        http = free_port()
        given = ["--cluster", cluster, "--http-address", f"127.0.0.1:{http}", "--log-format", "json"]
        with subprocess.Popen(
            [*RUN[:-2], *given, "--temporal-address", dev_server],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            deadline = time.monotonic() + 30
            page = ""
            while "temporal_request_total{" not in page:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
                page = fetch(http, "/metrics")[1] if answers(http) else ""
            process.send_signal(signal.SIGTERM)
            printed, told = process.communicate(timeout=20)
        assert printed == ""
        assert {json.loads(line)["cluster"] for line in told.splitlines()} == {cluster}
        samples = [line for line in page.splitlines() if line and not line.startswith("#")]
        assert [line for line in samples if f'cluster="{cluster}"' not in line] == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_solver_runs_beside_the_worker_and_ends_with_it(waiting):
    process, _, _ = waiting
    deadline = time.monotonic() + 20
    while not (solvers := solvers_of(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert not any(map(is_alive, solvers))


def solvers_of(worker: int) -> list[int]:
    """Return the solver's processes that a worker has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == worker and b"worker.solver.child" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def test_what_cannot_be_used_is_told_in_one_line_before_anything_is_waited_for(environment, tmp_path):
    # Temporal is not there either, which the worker would wait for.
    addresses = ["--temporal-address", "127.0.0.1:1", "--http-address", "127.0.0.1:0"]
    missing = environment | {"KUBECONFIG": str(tmp_path / "none")}
    done = subprocess.run([*RUN, *addresses], env=missing, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert f"the worker cannot go on: there is no kubeconfig at {tmp_path / 'none'}: name one with" in last
    assert "Traceback" not in done.stderr
    assert "stopped" not in done.stderr


def test_a_taken_port_is_told_in_one_line(environment):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [*RUN, "--http-address", address], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"cannot listen at {address}: Address already in use; set GROWTH_HTTP_ADDRESS" in done.stderr
