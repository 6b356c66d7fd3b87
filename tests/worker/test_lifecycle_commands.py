import asyncio
from datetime import timedelta

import pytest

from planner.lifecycle.seen import RemovalTimings, RequestTimings
from planner.round import ObjectId, removal_workflow_id, request_workflow_id
from tests.workflows.scripts import NAME, booting, leaving, stubborn
from tests.workflows.world import QUEUE, running
from worker import lifecycle_commands as commands
from worker.command_error import CommandError
from worker.settings import load

SUBJECT = ObjectId(name=NAME, uid="u-1")


@pytest.fixture(autouse=True)
def _settings(monkeypatch, dev_server):
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", dev_server)
    monkeypatch.setenv("GROWTH_CLUSTER", QUEUE.removeprefix("growth-"))


async def listed(capsys, command, what: str) -> str:
    """Return the line of a list that tells `what`; the list lags behind."""
    async with asyncio.timeout(20):
        while True:
            await command()
            for line in capsys.readouterr().out.splitlines():
                if what in line:
                    return line
            await asyncio.sleep(0.1)


async def test_a_removal_is_listed_and_cancelled_and_then_it_is_too_late(client, capsys):
    script = leaving()
    script.see(timings=RemovalTimings(soft_grace=timedelta(minutes=10)))
    async with running(client, script.activities()):
        handle = await client.start_workflow(
            "NodeRemoval", SUBJECT, id=removal_workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        line = await listed(capsys, commands.list_removals, "CoolOff")
        assert line.split()[:4] == [NAME, "default", "Pending", "CoolOff"]
        with pytest.raises(CommandError, match=f"{NAME}: cannot retry: the removal is not parked"):
            await commands.retry_removal(NAME)
        await commands.cancel_removal(NAME, reason="needed")
        assert capsys.readouterr().out == f"{NAME}: cancel: needed\n"
        await handle.result()
    assert script.seen.status.cancel.reason == "needed"


@pytest.mark.parametrize("verb", ["skip", "abandon"])
async def test_a_parked_removal_is_decided(client, capsys, verb):
    script = stubborn()
    script.see(timings=RemovalTimings(soft_grace=timedelta(), max_attempts=1, retry=timedelta(seconds=1)), node=None)
    async with running(client, script.activities()):
        handle = await client.start_workflow(
            "NodeRemoval", SUBJECT, id=removal_workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        await listed(capsys, commands.list_removals, "CouldNotRemove")
        await getattr(commands, f"{verb}_removal")(NAME)
        assert capsys.readouterr().out.startswith(f"{NAME}: {verb}: ")
        await handle.result()
    assert script.deeds[-1] == f"{verb}_server"


async def test_a_request_is_listed_and_cancelled(client, capsys):
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(minutes=10)))
    async with running(client, script.activities()):
        handle = await client.start_workflow(
            "NodeRequest", SUBJECT, id=request_workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        line = await listed(capsys, commands.list_requests, "ServerBoot")
        assert line.split()[:4] == [NAME, "default", "Provisioning", "ServerBoot"]
        await commands.cancel_request(NAME)
        await handle.result()
    assert script.deeds == ["create_server", "give_up", "hand_over"]


async def test_a_name_that_is_not_under_way_is_told():
    with pytest.raises(CommandError, match="m-9: no NodeRemoval of that name is under way in cluster test"):
        await commands.cancel_removal("m-9")
    with pytest.raises(CommandError, match="m-9: no NodeRequest of that name is under way"):
        await commands.cancel_request("m-9")


async def test_no_embedded_server_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("GROWTH_EMBEDDED_TEMPORAL", "true")
    monkeypatch.setenv("GROWTH_DATA_DIR", str(tmp_path))
    with pytest.raises(CommandError, match=f"no embedded Temporal server runs on {tmp_path}"):
        await commands.list_removals()


@pytest.mark.parametrize(
    ("variables", "record", "address"),
    [
        ({"GROWTH_TEMPORAL_ADDRESS": "temporal.example:7233"}, True, "temporal.example:7233"),
        ({}, True, "127.0.0.1:4711"),
        ({}, False, "localhost:7233"),
    ],
    ids=["as set", "embedded server of the data folder", "neither"],
)
def test_commands_find_temporal(tmp_path, monkeypatch, variables, record, address):
    monkeypatch.delenv("GROWTH_TEMPORAL_ADDRESS")
    monkeypatch.setenv("GROWTH_DATA_DIR", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if record:
        (tmp_path / "temporal.json").write_text('{"pid": 1, "port": 4711}')
    assert commands._address(load()) == address
