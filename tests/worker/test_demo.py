import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from simulator.world import World
from worker import demo_play
from worker.demo_play import Play, StageFailed
from worker.demo_scene import objects, prices
from worker.demo_screen import Screen
from worker.wiring import utc_now

COMMAND = [sys.executable, "-c", "from worker.cli import main; main()", "demo"]


def environment(folder):
    # The demo's temporary folder is made in here, so what it leaves can be told from others'.
    return os.environ | {"TMPDIR": str(folder), "PYTHONPATH": ".", "COLUMNS": "80"}


def left_over(folder):
    """Return files in the folder, and command lines of processes that name it."""
    found = [str(path) for path in folder.iterdir()]
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command_line.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in text:
            found.append(text)
    return found


def test_the_demo_shows_machines_come_and_go_and_leaves_nothing(tmp_path):
    began = time.monotonic()
    done = subprocess.run(COMMAND, env=environment(tmp_path), capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 60
    told = done.stdout
    for line in (
        "Temporal UI while it runs: http://127.0.0.1:",
        "1. 28 pods arrive, and there is no machine",
        "2. Growth plans all of them at once and buys",
        "3. Machines boot and join, each kept for the pods it was bought for",
        "4. Every pod runs where it was planned",
        "28 of 28 pods run",
        "5. The load leaves; empty machines take no new pods and cool off",
        "6. Machines that stayed empty are deleted",
        "0 of 0 pods run · 0 machines · €0/h",
        "28 pods placed, each on the machine planned for it; ",
        "4 machines bought, 4 removed, none left at the provider.",
        "Cost at the peak €0.0",
    ):
        assert line in told, told
    assert told.count("  + default-") >= 3
    assert "\x1b" not in told
    assert done.stderr == ""
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing(tmp_path, number):
    with subprocess.Popen(
        COMMAND, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("2. "):
                break
        process.send_signal(number)
        told, complaints = process.communicate(timeout=60)
        assert process.returncode == 130, told + complaints
    assert "Interrupted: everything is stopped and removed." in told
    assert complaints == ""
    assert left_over(tmp_path) == []


async def test_a_stage_that_never_ends_is_named_with_what_was_seen(monkeypatch):
    # A world without a worker: pods wait, and nobody buys.
    monkeypatch.setattr(demo_play, "STAGE_SECONDS", 1.0)
    output = io.StringIO()
    world = World(now=utc_now, seed=1)
    await world.apply(*objects())
    moving = asyncio.create_task(world.run())
    screen = Screen(prices(), Console(file=output))
    with pytest.raises(StageFailed, match=r"a machine planned for each of 28 pods\. Seen: 28 pods, 28 waiting"):
        await Play(world, screen).perform(began=0)
    moving.cancel()
    assert "1. 28 pods arrive" in output.getvalue()
