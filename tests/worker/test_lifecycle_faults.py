"""Commands about lifecycles while something else fails: each is one line that says what to do, within seconds."""

import asyncio
import signal
import time
from datetime import timedelta

import pytest

from activities.ports.errors import Unreachable
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import RemovalTimings, RequestTimings
from planner.lifecycle.step import DecisionKind
from tests.worker.conftest import free_port, freeze, serves, temporal_at
from tests.workflows.scripts import NAME, booting, leaving, stubborn
from tests.workflows.world import QUEUE, running
from worker.commands.lifecycles import group, removals, requests
from worker.commands.lifecycles import running as under_way
from worker.commands.lifecycles import send_decision as asking
from worker.commands.lifecycles.group import list_lifecycles
from worker.commands.lifecycles.running import UnderWay
from worker.errors import CommandError

SUBJECT = ObjectId(name=NAME, uid="u-9")
COOLS_OFF = RemovalTimings(soft_grace=timedelta(minutes=10))
PARKS = RemovalTimings(soft_grace=timedelta(), max_attempts=1, retry=timedelta(seconds=1))


@pytest.fixture(autouse=True)
def _settings(monkeypatch, dev_server):
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", dev_server)
    monkeypatch.setenv("GROWTH_CLUSTER", QUEUE.removeprefix("growth-"))


async def going(client):
    """Start a removal and return its handle once the list shows it."""
    handle = await client.start_workflow(
        "NodeRemoval", SUBJECT, id=REMOVAL.workflow_id("test", SUBJECT), task_queue=QUEUE
    )
    await listed(client, handle.id)
    return handle


async def listed(client, workflow_id: str) -> None:
    async with asyncio.timeout(20):
        while not (await client.count_workflows(f"WorkflowId = '{workflow_id}' AND ExecutionStatus = 'Running'")).count:
            await asyncio.sleep(0.05)


async def outcomes(*asked) -> list[str]:
    """Return what persons who ask at once are told, refusals included."""
    told = await asyncio.gather(*asked, return_exceptions=True)
    assert all(one is None or isinstance(one, CommandError) for one in told), told
    return [str(one) for one in told if one is not None]


async def test_two_persons_who_cancel_at_once_are_both_told_that_the_machine_stays(client, capsys):
    script = leaving()
    script.see(timings=COOLS_OFF)
    async with running(client, script.activities()):
        handle = await going(client)
        refused = await outcomes(*(removals.decide(DecisionKind.CANCEL, NAME) for _ in range(2)))
        await handle.result()
    told = [*capsys.readouterr().out.splitlines(), *refused]
    assert set(told) <= {f"{NAME}: cancelled; the machine stays", f"Refused: {NAME}: the removal has ended"}
    assert f"{NAME}: cancelled; the machine stays" in told
    assert script.deeds.count("cancel_removal") == 1


@pytest.mark.parametrize("verb", ["skip", "abandon"])
async def test_two_persons_who_decide_at_once_decide_once(client, capsys, verb):
    script = stubborn()
    script.see(timings=PARKS, node=None)
    async with running(client, script.activities()):
        handle = await going(client)
        async with asyncio.timeout(20):
            while script.seen.status.phase != "CouldNotRemove":
                await asyncio.sleep(0.05)
        refused = await outcomes(*(removals.decide(DecisionKind(verb), NAME) for _ in range(2)))
        await handle.result()
    assert capsys.readouterr().out.count(f"{NAME}: ") + len(refused) == 2
    assert len(refused) <= 1
    assert all("has ended" in line or "was ended" in line or "no NodeRemoval" in line for line in refused)
    assert script.deeds.count(f"{verb}_server") == 1


async def test_a_workflow_that_is_ended_before_it_is_asked(client, monkeypatch):
    script = leaving()
    script.see(timings=COOLS_OFF)
    async with running(client, script.activities()):
        handle = await going(client)
        real = removals.limit_of

        async def end_first(there):
            await handle.terminate()
            return await real(there)

        monkeypatch.setattr(removals, "limit_of", end_first)
        with pytest.raises(CommandError) as refused:
            await removals.decide(DecisionKind.CANCEL, NAME)
    assert str(refused.value) == (
        f"{NAME}: the removal has ended meanwhile, or its workflow has; "
        "`growth removals replay` starts again what was not done"
    )


async def test_a_workflow_that_is_ended_before_it_answers(client):
    script = leaving()
    script.see(timings=COOLS_OFF)
    script.on(RemovalEffect.CANCEL, lambda _: (_ for _ in ()).throw(Unreachable("patch: refused")))
    async with running(client, script.activities()):
        handle = await going(client)
        asked = asyncio.create_task(removals.decide(DecisionKind.CANCEL, NAME))
        async with asyncio.timeout(20):
            while "cancel_removal" not in script.calls:
                await asyncio.sleep(0.05)
        await handle.terminate()
        with pytest.raises(CommandError) as refused:
            await asked
    assert str(refused.value) == (
        f"{NAME}: its workflow was ended before it answered to cancel; "
        "`growth removals replay` starts again what was not done"
    )


async def test_what_stands_in_the_way_of_a_worker_is_told(client, monkeypatch):
    monkeypatch.setattr(asking, "ANSWERED_WITHIN", timedelta(seconds=2))
    script = leaving()
    script.see(timings=COOLS_OFF)
    script.on(RemovalEffect.CANCEL, lambda _: (_ for _ in ()).throw(Unreachable("patch noderemovalrequests: refused")))
    async with running(client, script.activities()):
        handle = await going(client)
        with pytest.raises(CommandError) as refused:
            await removals.decide(DecisionKind.CANCEL, NAME)
        await handle.terminate()
    assert str(refused.value) == (
        f"{NAME}: not done within 2 s, and tried on: cancel_removal: patch noderemovalrequests: refused; "
        "`growth removals list` tells when"
    )


async def test_a_request_that_is_cancelled_twice_or_without_a_worker(client, capsys, monkeypatch):
    script = booting()
    script.see(timings=RequestTimings(provisioning_timeout=timedelta(minutes=10)))
    workflow_id = REQUEST.workflow_id("deaf", SUBJECT)
    monkeypatch.setenv("GROWTH_CLUSTER", "deaf")
    handle = await client.start_workflow("NodeRequest", SUBJECT, id=workflow_id, task_queue="growth-deaf")
    await listed(client, workflow_id)
    for _ in range(2):
        await requests.cancel(NAME)
        assert capsys.readouterr().out == f"{NAME}: is cancelled when a worker of cluster deaf is up\n"
    await handle.terminate()
    monkeypatch.setattr(UnderWay, "find", lambda *_: asyncio.sleep(0, handle))
    with pytest.raises(CommandError) as refused:
        await requests.cancel(NAME)
    assert str(refused.value) == (
        f"{NAME}: its workflow was ended meanwhile (terminated); the worker starts it again within a minute: ask then"
    )


async def test_a_temporal_server_that_hangs_between_two_calls(monkeypatch):
    port = free_port()
    with temporal_at(port) as server:
        monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", f"127.0.0.1:{port}")
        real = removals.under_way
        hangs_since = 0.0

        async def hanging(where):
            nonlocal hangs_since
            there = await real(where)
            freeze(server.pid)
            hangs_since = time.monotonic()
            return there

        for module in (group, requests, removals):
            monkeypatch.setattr(module, "under_way", hanging)
        monkeypatch.setattr(under_way, "CALL_LIMIT", timedelta(seconds=1))
        for ask in (
            lambda: list_lifecycles(REQUEST),
            lambda: removals.decide(DecisionKind.CANCEL, NAME),
            lambda: requests.cancel(NAME),
        ):
            async with asyncio.timeout(30):
                while not await serves(f"127.0.0.1:{port}"):
                    await asyncio.sleep(0.1)
            with pytest.raises(CommandError, match=f"^Temporal at 127.0.0.1:{port} does not answer: "):
                await ask()
            assert time.monotonic() - hangs_since < 5
            server.send_signal(signal.SIGCONT)
