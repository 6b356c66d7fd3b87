import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.seen import RemovalTimings, RequestTimings
from planner.lifecycle.step import DecisionKind
from tests.workflows.scripts import NAME, booting, leaving, stubborn
from tests.workflows.world import QUEUE, running
from worker.commands.lifecycles import removals, requests
from worker.commands.lifecycles import send_decision as asking
from worker.commands.lifecycles.group import list_lifecycles
from worker.errors import CommandError

SUBJECT = ObjectId(name=NAME, uid="u-1")


@pytest.fixture(autouse=True)
def _settings(monkeypatch, dev_server):
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", dev_server)
    monkeypatch.setenv("GROWTH_CLUSTER", QUEUE.removeprefix("growth-"))


async def listed(capsys, command, what: str) -> str:
    """Return the line of a list that tells `what`; the list lags behind."""
    async with asyncio.timeout(20):
        while True:
            # While the list shows nothing of the cluster, its planner is asked for, which these tests have not.
            with suppress(CommandError):
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
            "NodeRemoval", SUBJECT, id=REMOVAL.workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        line = await listed(capsys, lambda: list_lifecycles(REMOVAL), "CoolOff")
        assert line.split()[:4] == [NAME, "default", "Pending", "CoolOff"]
        with pytest.raises(CommandError, match=f"{NAME}: cannot retry: the removal is not parked"):
            await removals.decide(DecisionKind.RETRY, NAME)
        await removals.decide(DecisionKind.CANCEL, NAME, reason="needed")
        assert capsys.readouterr().out == f"{NAME}: cancelled; the machine stays\n"
        await handle.result()
    assert script.seen.status.cancel.reason == "needed"


@pytest.mark.parametrize(("verb", "done"), [("skip", "skipped"), ("abandon", "abandoned")])
async def test_a_parked_removal_is_decided(client, capsys, verb, done):
    script = stubborn()
    script.see(timings=RemovalTimings(soft_grace=timedelta(), max_attempts=1, retry=timedelta(seconds=1)), node=None)
    async with running(client, script.activities()):
        handle = await client.start_workflow(
            "NodeRemoval", SUBJECT, id=REMOVAL.workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        await listed(capsys, lambda: list_lifecycles(REMOVAL), "CouldNotRemove")
        await removals.decide(DecisionKind(verb), NAME)
        assert capsys.readouterr().out.startswith(f"{NAME}: {done}; ")
        await handle.result()
    assert script.deeds[-1] == f"{verb}_server"


async def test_a_request_is_listed_and_cancelled(client, capsys):
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(minutes=10)))
    async with running(client, script.activities()):
        handle = await client.start_workflow(
            "NodeRequest", SUBJECT, id=REQUEST.workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        line = await listed(capsys, lambda: list_lifecycles(REQUEST), "ServerBoot")
        assert line.split()[:4] == [NAME, "default", "Provisioning", "ServerBoot"]
        await requests.cancel(NAME)
        await handle.result()
    assert script.deeds == ["create_server", "give_up", "hand_over"]


async def test_a_name_that_is_not_under_way_is_told(client, capsys):
    script = booting()
    async with running(client, script.activities()):
        handle = await client.start_workflow(
            "NodeRequest", SUBJECT, id=REQUEST.workflow_id("test", SUBJECT), task_queue=QUEUE
        )
        await listed(capsys, lambda: list_lifecycles(REQUEST), NAME)
        with pytest.raises(CommandError) as refused:
            await requests.cancel(f"{NAME}x")
        assert str(refused.value) == (
            f"{NAME}x: no NodeRequest of that name is under way in cluster test: did you mean {NAME}?"
        )
        with pytest.raises(CommandError, match="m-9: no NodeRequest of that name is under way in cluster test; `list`"):
            await requests.cancel("m-9")
        await requests.cancel(NAME)
        await handle.result()


async def test_a_wish_that_nobody_hears_is_told_in_time(client, capsys, monkeypatch):
    monkeypatch.setattr(asking, "ANSWERED_BY_NOBODY", timedelta(seconds=1))
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setenv("GROWTH_CLUSTER", "deserted")
    handle = await client.start_workflow(
        "NodeRemoval", SUBJECT, id=REMOVAL.workflow_id("deserted", SUBJECT), task_queue="growth-deserted"
    )
    try:
        await listed(capsys, lambda: list_lifecycles(REMOVAL), NAME)
        with pytest.raises(CommandError, match=rf"{NAME}: no worker of cluster deserted has answered within 1 s: is "):
            await removals.decide(DecisionKind.CANCEL, NAME)
        assert capsys.readouterr().err == "growth: waiting for the worker of cluster deserted\n"
    finally:
        await handle.terminate()


def test_whoever_has_no_name_is_known_by_number(monkeypatch):
    def nameless():
        raise KeyError("getpwuid(): uid not found: 65532")

    monkeypatch.setattr(asking.getpass, "getuser", nameless)
    monkeypatch.setattr(asking.os, "getuid", lambda: 65532)
    assert asking.person() == "uid 65532"
