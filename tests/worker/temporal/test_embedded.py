import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import pytest_asyncio
from structlog.testing import capture_logs
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from tests.worker.conftest import answers, free_port
from worker.settings import load
from worker.temporal import embedded
from worker.temporal.client import connect
from worker.temporal.embedded import EmbeddedError, EmbeddedTemporal, _command_line, embedded_address, embedded_temporal
from worker.temporal.namespace import RETENTION, ensure_namespace, ensure_search_attributes


async def client_of(address: str) -> Client:
    return await connect(load(temporal_namespace="growth"), address)


async def start_one(client: Client) -> None:
    """Start a workflow that waits for a worker."""
    await client.start_workflow("Waiting", id="waiting", task_queue="nobody")


async def status_of(client: Client) -> str:
    status = (await client.get_workflow_handle("waiting").describe()).status
    assert status is not None
    return status.name


async def test_workflows_outlive_the_server_on_its_file_and_its_ports_stay(tmp_path):
    async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
        first = server.address
        await start_one(await client_of(first))
        assert embedded_address(tmp_path) == first
    assert not answers(int(first.rpartition(":")[2]))
    with pytest.raises(EmbeddedError, match="no embedded Temporal server runs"):
        embedded_address(tmp_path)
    async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
        assert server.address == first
        assert await status_of(await client_of(server.address)) == "RUNNING"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory):
    """A running server with its UI, and its folder."""
    folder = tmp_path_factory.mktemp("data")
    async with embedded_temporal(folder, namespace="growth") as server:
        yield server, folder


@pytest.mark.asyncio(loop_scope="module")
async def test_it_is_ready_for_workflows_and_keeps_them_a_week(server: tuple[EmbeddedTemporal, Path]):
    client = await client_of(server[0].address)
    assert await ensure_search_attributes(client) is False
    assert await ensure_namespace(client, keep_retention=True) is False
    found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="growth"))
    assert found.config.workflow_execution_retention_ttl.ToTimedelta() == RETENTION


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.asyncio(loop_scope="module")
async def test_it_listens_on_loopback_only_and_tells_its_ui(server: tuple[EmbeddedTemporal, Path]):
    running, _ = server
    assert running.ui is not None
    ports = {int(running.address.rpartition(":")[2]), int(running.ui.rpartition(":")[2])}
    async with asyncio.timeout(20):
        # The UI comes a little after the server.
        while not all(answers(port) for port in ports):
            await asyncio.sleep(0.05)
    listening = sockets_of(running.process.pid)
    # 0100007F is 127.0.0.1 as /proc writes it.
    assert {address for port in ports for address in listening[port]} == {"0100007F"}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_second_worker_on_the_folder_is_refused(server: tuple[EmbeddedTemporal, Path], monkeypatch):
    monkeypatch.setattr("worker.temporal.embedded.LOCK_WITHIN", 0.1)
    with pytest.raises(EmbeddedError, match=rf"is used by another worker \(pid {os.getpid()}\)"):
        async with embedded_temporal(server[1], namespace="growth", with_ui=False):
            pass


@pytest.mark.asyncio(loop_scope="module")
async def test_a_taken_port_is_named(server: tuple[EmbeddedTemporal, Path], tmp_path):
    port = int(server[0].address.rpartition(":")[2])
    for name, given in (("PORT", {"port": port}), ("UI_PORT", {"ui_port": port})):
        with pytest.raises(
            EmbeddedError, match=f"port {port} is taken: set GROWTH_EMBEDDED_{name} to another, or to 0"
        ):
            async with embedded_temporal(tmp_path, namespace="growth", **given):
                pass


async def test_it_is_started_again_when_another_program_took_a_port_first(tmp_path, monkeypatch):
    """As between the choice of a free one and its use."""
    real = embedded._choose
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        taken = iter([other.getsockname()[1]])
        monkeypatch.setattr(embedded, "_choose", lambda *given: next(taken, None) or real(*given))
        with capture_logs() as lines:
            async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
                assert server.address != f"127.0.0.1:{other.getsockname()[1]}"
                assert answers(int(server.address.rpartition(":")[2]))
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == [
        "a port of the embedded Temporal server was taken as it began: it is started again"
    ]


async def test_one_that_ends_at_once_leaves_no_address(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "program", lambda: "/bin/false")
    with pytest.raises(EmbeddedError, match="the Temporal server ended at once: exit code 1"):
        async with embedded_temporal(tmp_path, namespace="growth", with_ui=False):
            pass
    with pytest.raises(EmbeddedError, match="no embedded Temporal server runs"):
        embedded_address(tmp_path)


async def test_two_settings_of_one_port_are_told(tmp_path):
    port = free_port()
    with pytest.raises(EmbeddedError, match=f"GROWTH_EMBEDDED_PORT and GROWTH_EMBEDDED_UI_PORT are both {port}"):
        async with embedded_temporal(tmp_path, namespace="growth", port=port, ui_port=port):
            pass


async def test_a_folder_that_cannot_be_made_is_told_of(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(
            EmbeddedError, match=rf"the data folder {folder} cannot be used \(it is no folder\): let this"
        ):
            async with embedded_temporal(folder, namespace="growth"):
                pass


async def test_a_folder_that_cannot_be_written_in_is_told_of(tmp_path, monkeypatch):
    def read_only(*_given):
        raise PermissionError(errno.EACCES, "Permission denied")

    # A superuser, as in some build machines, may write everywhere.
    monkeypatch.setattr(Path, "open", read_only)
    with pytest.raises(EmbeddedError, match=r"cannot be used \(Permission denied\): .* --data-dir \(GROWTH_DATA_DIR\)"):
        async with embedded_temporal(tmp_path, namespace="growth"):
            pass


WORKER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from worker.temporal.embedded import embedded_temporal

    async def main():
        async with embedded_temporal(Path(sys.argv[1]), namespace="growth", with_ui=False) as server:
            print(server.process.pid, server.address, flush=True)
            await asyncio.sleep(100)

    asyncio.run(main())
""")


def worker_on(folder: Path) -> tuple[subprocess.Popen[str], int, str]:
    """Start a worker of its own process; return it, its server's pid and address."""
    process = subprocess.Popen([sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid, address = process.stdout.readline().split()
    return process, int(pid), address


def sleeper(*arguments: str) -> subprocess.Popen[bytes]:
    """Start a process that does nothing, with these arguments on its command line."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", *arguments])


async def gone(pid: int) -> bool:
    for _ in range(100):
        if not _command_line(pid):
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
async def test_the_server_dies_with_a_killed_worker_and_the_next_goes_on_from_the_file(tmp_path):
    process, pid, address = worker_on(tmp_path)
    await start_one(await client_of(address))
    process.kill()
    process.wait()
    assert await gone(pid)
    async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
        assert await status_of(await client_of(server.address)) == "RUNNING"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_server_left_over_from_a_killed_worker_is_replaced(tmp_path):
    port = free_port()
    database = (tmp_path / "temporal.db").resolve()
    # Stands for a server that was not killed with its worker: a process with the file on its command line.
    leftover = sleeper(str(database))
    (tmp_path / "temporal.json").write_text(json.dumps({"pid": leftover.pid, "port": port, "uiPort": 0}))
    ended = asyncio.create_task(asyncio.to_thread(leftover.wait))
    async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
        assert await ended == -signal.SIGKILL
        assert server.address == f"127.0.0.1:{port}"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_process_that_only_has_the_number_of_the_old_server_is_left_alone(tmp_path):
    other = sleeper()
    try:
        (tmp_path / "temporal.json").write_text(json.dumps({"pid": other.pid, "port": 0, "uiPort": 0}))
        async with embedded_temporal(tmp_path, namespace="growth", with_ui=False):
            assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def sockets_of(pid: int) -> dict[int, set[str]]:
    """Return the listening TCP ports of a process and the addresses they are bound to, as /proc writes them."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            # Closed since the folder was read.
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found: dict[int, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address, port = fields[1].split(":")
                found.setdefault(int(port, 16), set()).add(address)
    return found
