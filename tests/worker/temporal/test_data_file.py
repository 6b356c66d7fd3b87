"""The embedded server's file: broken in any way it is set aside, and nobody else may read it."""

import asyncio
import shutil
import sqlite3
import stat
from contextlib import closing

import pytest
from structlog.testing import capture_logs

from tests.worker.temporal.test_embedded import client_of, start_one, status_of
from worker.temporal import data_file
from worker.temporal.embedded import embedded_temporal


async def used(folder):
    """A folder with the file of a server that has begun a workflow."""
    async with embedded_temporal(folder, namespace="growth", with_ui=False) as server:
        await start_one(await client_of(server.address))
    database = folder / "temporal.db"
    with closing(sqlite3.connect(database)) as connection:
        # All of it in the one file, which tests copy.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return database


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file that nothing is wrong with."""
    return asyncio.run(used(tmp_path_factory.mktemp("whole")))


def overwritten(database):
    database.write_text("not a database, but long enough to be read as one" * 50)


def cut(database):
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size // 2)


def zeroed(database):
    with database.open("r+b") as file:
        file.seek(8 * 4096)
        file.write(bytes(200 * 4096))


def half_made(database):
    """As by a server that was killed while it made its tables."""
    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE schema_version (version_partition INT)")


DAMAGES = [overwritten, cut, zeroed, half_made]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_a_broken_file_is_set_aside_and_the_server_begins_anew(whole, tmp_path, damage):
    database = tmp_path / "temporal.db"
    shutil.copy(whole, database)
    damage(database)
    with capture_logs() as lines:
        async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
            await start_one(await client_of(server.address))
    (told,) = [line for line in lines if line["log_level"] == "error"]
    assert told["event"].startswith("the data file of the embedded Temporal server is broken: a new one is begun")
    assert told["broken_file"] == str(tmp_path / "temporal.db.broken")
    assert (tmp_path / "temporal.db.broken").stat().st_size > 0


async def test_a_whole_file_is_gone_on_with(whole, tmp_path):
    shutil.copy(whole, tmp_path / "temporal.db")
    with capture_logs() as lines:
        async with embedded_temporal(tmp_path, namespace="growth", with_ui=False) as server:
            assert await status_of(await client_of(server.address)) == "RUNNING"
    assert [line for line in lines if line["log_level"] == "error"] == []
    assert not (tmp_path / "temporal.db.broken").exists()


def test_of_broken_files_the_last_is_kept(tmp_path):
    database = tmp_path / "temporal.db"
    for text in ("first", "second"):
        database.write_text(text * 500)
        assert data_file.prepare(database) == tmp_path / "temporal.db.broken"
    assert [path.name for path in tmp_path.iterdir()] == ["temporal.db.broken"]
    assert (tmp_path / "temporal.db.broken").read_text() == "second" * 500


def test_one_that_cannot_be_checked_in_time_is_taken_for_whole(whole, tmp_path, monkeypatch):
    database = tmp_path / "temporal.db"
    shutil.copy(whole, database)
    zeroed(database)
    monkeypatch.setattr(data_file, "CHECKED_WITHIN", -1.0)
    monkeypatch.setattr(data_file, "_INSTRUCTIONS", 1)
    assert data_file.prepare(database) is None


async def test_nobody_else_may_read_it(tmp_path):
    folder = tmp_path / "data"
    await used(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    open_files = [path.name for path in folder.glob("temporal.db*") if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_files == []


async def test_a_folder_of_an_earlier_version_is_closed_and_one_with_other_files_stays_as_it_is(whole, tmp_path):
    earlier, shared = tmp_path / "earlier", tmp_path / "shared"
    for folder in (earlier, shared):
        folder.mkdir(mode=0o755)
        (folder / "worker.lock").touch()
        shutil.copy(whole, folder / "temporal.db")
        (folder / "temporal.db").chmod(0o644)
    (shared / "notes.txt").touch()
    modes = []
    for folder in (earlier, shared):
        async with embedded_temporal(folder, namespace="growth", with_ui=False):
            pass
        modes.append([stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "temporal.db")])
    assert modes == [[0o700, 0o600], [0o755, 0o600]]
