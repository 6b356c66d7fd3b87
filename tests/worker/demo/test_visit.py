"""The demo's cluster for commands of other processes, without the demo."""

import asyncio
import io
import os
import sys
from contextlib import suppress

import pytest
from rich.console import Console

from simulator.view import look
from simulator.world import World
from tests.worker.demo.test_command import COMMAND
from worker.demo.scene import objects, prices, too_large
from worker.demo.screen import Screen
from worker.demo.visit import api, invite, kubeconfig
from worker.ports import utc_now
from worker.runtime.web import serve


@pytest.fixture
async def world():
    """The demo's cluster with a pod that no machine can take."""
    world = World(now=utc_now, seed=0)
    await world.apply(*objects())
    world.workloads.add(too_large())
    await world.settle()
    return world


@pytest.fixture
async def visited(world, tmp_path):
    """Runs a command on it, and returns exit code, output and complaints."""
    with kubeconfig(tmp_path) as (listener, file):
        task = asyncio.create_task(serve(api(world), listener))

        async def run(*arguments):
            process = await asyncio.create_subprocess_exec(
                *COMMAND[:-1],
                *arguments,
                env=os.environ | {"PYTHONPATH": ".", "KUBECONFIG": str(file)},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            printed, complained = await process.communicate()
            return process.returncode, printed.decode(), complained.decode()

        yield run
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_commands_read_it_as_any_other_cluster(world, visited):
    code, printed, complained = await visited("status")
    assert (code, complained) == (0, "")
    assert "Without a place: 1 TooLarge" in printed
    (pod,) = (await look(world)).pods.values()
    name = pod["metadata"]["name"]
    code, printed, complained = await visited("why", "pod", f"default/{name}")
    assert (code, complained) == (0, "")
    assert printed.startswith(f"Pod default/{name} asks for cpu 64")
    complaint = f"growth: no Pod is named default/none: did you mean default/{name}?\n"
    assert await visited("why", "pod", "default/none") == (1, "", complaint)
    code, printed, _ = await visited("catalogue", "-o", "json")
    assert code == 0
    assert "cx53" in printed


async def test_a_pool_can_be_paused_in_it_too(world, visited):
    assert (await visited("pause", "default"))[0] == 0
    assert "Pool default is paused" in (await visited("status"))[1]


async def test_what_is_printed_is_complete_also_for_whoever_has_a_real_cluster(world, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin of mine" / "growth"), "demo", "--keep"])
    monkeypatch.setenv("GROWTH_CONTEXT", "prod")
    output = io.StringIO()
    screen = Screen(prices(), Console(file=output))
    invite(screen, await look(world), tmp_path / "a b" / "kubeconfig", "127.0.0.1:7233", "http://127.0.0.1:8233")
    lines = [line.strip() for line in output.getvalue().splitlines()]
    assert f"$ alias growth='{tmp_path}/bin of mine/growth'" in lines
    exported = "GROWTH_CLUSTER=simulated GROWTH_TEMPORAL_ADDRESS=127.0.0.1:7233 GROWTH_CONTEXT="
    assert f"$ export GROWTH_KUBECONFIG='{tmp_path}/a b/kubeconfig' {exported}" in lines
