"""`growth removals replay` on a worker with a Temporal server, and a provider that deletes nothing until it may."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest
from temporalio.service import RPCError

from activities.ports.cluster import CONFIG_MAPS, NODE_REMOVAL_REQUESTS
from activities.ports.errors import Unreachable
from simulator.world import NAMESPACE
from tests.worker.conftest import free_port
from tests.worker.replayed import Leaving, Lent
from worker.commands.lifecycles import removals, replay_command
from worker.commands.shared import live_cluster
from worker.errors import CommandError
from workflows.messages import REASON


@pytest.fixture
async def leaving(client, cluster_name, dev_server, monkeypatch):
    """Machines that shall go, for commands that a person gives."""
    cluster = Lent()

    async def lend(*_given, **_options):
        return cluster

    monkeypatch.setattr(live_cluster, "kube_cluster", lend)
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", dev_server)
    monkeypatch.setenv("GROWTH_CLUSTER", cluster_name)
    made = Leaving(client, cluster, cluster_name)
    await made.fill()
    return made


async def until(holds) -> None:
    async with asyncio.timeout(20):
        while not await holds():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def parked(leaving: Leaving, *names: str):
    """Lend the removals of these names, parked and driven by a worker."""
    subjects = [await leaving.leave(name, leaving.parked()) for name in names]
    async with leaving.worked_on():
        for subject in subjects:
            await until(lambda subject=subject: is_parked(leaving, subject))
        yield subjects


async def is_parked(leaving: Leaving, subject) -> bool:
    with suppress(RPCError):
        found = await leaving.handle(subject).describe()
        return found.typed_search_attributes.get(REASON) == "Parked"
    return False


async def gone(leaving: Leaving, name: str) -> bool:
    return await leaving.removal(name) is None


def rows(out: str) -> list[list[str]]:
    """Return the cells of a printed table, but for its head; the worker's log stands before it."""
    lines = out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("name  "))
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[head + 1 :]]


async def test_a_dry_run_tells_what_would_be_done_and_does_nothing(leaving, capsys):
    async with parked(leaving, "m-1", "m-2"):
        provider = leaving.ports.providers["KwokNodeClass"]
        await leaving.obey()
        await provider.delete("m-2")
        before = await leaving.cluster.list(NODE_REMOVAL_REQUESTS)
        await removals.replay(all_parked=True, dry_run=True)
        told = rows(capsys.readouterr().out)
        assert [row[:-1] for row in told] == [
            ["m-1", "default", "CouldNotRemove", "running", "exists"],
            ["m-2", "default", "CouldNotRemove", "running", "gone"],
        ]
        assert [row[-1] for row in told] == [
            "is tried again: its server is deleted, with all delete calls anew",
            "is tried again: its server is gone, so its Node is deleted and it ends",
        ]
        assert (await leaving.cluster.list(NODE_REMOVAL_REQUESTS)).items == before.items


async def test_one_that_several_selectors_mean_is_replayed_once(leaving, capsys):
    async with parked(leaving, "m-1"):
        await leaving.obey()
        await removals.replay("m-1", "m-1", node=("m-1",), pool=("default",), all_parked=True, output="json")
        out = capsys.readouterr().out
        told = json.loads(out[out.index("{\n") :])
        assert told == {
            "dryRun": False,
            "removals": [
                {
                    "name": "m-1",
                    "pool": "default",
                    "phase": "CouldNotRemove",
                    "workflow": "running",
                    "server": "exists",
                    "answer": "",
                    "deed": "Retry",
                    "message": "tried again; its delete calls begin anew",
                    "failed": False,
                }
            ],
        }
        await until(lambda: gone(leaving, "m-1"))
    assert await leaving.servers() == set()


async def test_two_persons_at_once_mean_one_replay(leaving, capsys):
    async with parked(leaving, "m-1"):
        await asyncio.gather(*(removals.replay(all_parked=True) for _ in range(3)))
        out = capsys.readouterr().out
        assert out.count("tried again; its delete calls begin anew") == 3
        await until(lambda: is_parked_again(leaving))
        assert await leaving.retries("m-1") == 1


async def is_parked_again(leaving: Leaving) -> bool:
    found = await leaving.removal("m-1")
    return found is not None and found["status"]["phase"] == "CouldNotRemove"


@pytest.mark.parametrize("phase", ["CouldNotRemove", "Deprovisioning"])
async def test_one_whose_workflow_a_person_ended_starts_again_from_its_object(leaving, capsys, phase):
    async with parked(leaving, "m-1") as (subject,):
        await leaving.handle(subject).terminate("by a person")
        if phase == "Deprovisioning":
            change = [{"op": "replace", "path": "/status/phase", "value": phase}]
            await leaving.cluster.patch(NODE_REMOVAL_REQUESTS, "m-1", change, subresource="status")
        await leaving.obey()
        await removals.replay("m-1")
        (row,) = rows(capsys.readouterr().out)
        retried = "; tried again; its delete calls begin anew" if phase == "CouldNotRemove" else ""
        assert row[2:] == [phase, "terminated", "exists", f"started again from its object{retried}"]
        await until(lambda: gone(leaving, "m-1"))
        assert (await leaving.handle(subject).result()).startswith("Removed: ")
    assert await leaving.servers() == set()


async def test_one_that_is_under_way_is_left_alone_and_told_so(leaving, capsys):
    await leaving.leave("m-1")
    async with leaving.worked_on():
        await until(lambda: is_called(leaving))
        await removals.replay(pool=("default",))
        (row,) = rows(capsys.readouterr().out)
        assert row[3:] == ["running", "exists", "left alone: it is under way in phase Deprovisioning"]
    assert await leaving.retries("m-1") == 0


async def is_called(leaving: Leaving) -> bool:
    found = await leaving.removal("m-1")
    return found is not None and found.get("status", {}).get("removalAttempts") == 1


async def test_a_provider_that_does_not_answer_is_told_and_the_replay_tried(leaving, capsys):
    async with parked(leaving, "m-1"):
        leaving.cluster.fail = {CONFIG_MAPS.plural: Unreachable("get configmaps m-1: refused")}
        await removals.replay(node=("m-1",), dry_run=True)
        (row,) = rows(capsys.readouterr().out)
        assert row[4:] == [
            "error: UnknownOutcome: look at server m-1: get configmaps m-1: refused",
            "is tried again: its provider answers with an error, so it may park again",
        ]


async def test_one_that_has_ended_is_told_of_and_its_server_if_it_is_left(leaving, capsys):
    async with parked(leaving, "m-1", "m-2") as subjects:
        for subject in subjects:
            await leaving.handle(subject).terminate("by a person")
            take_off = [{"op": "remove", "path": "/metadata/finalizers"}]
            await leaving.cluster.patch(NODE_REMOVAL_REQUESTS, subject.name, take_off)
            await leaving.cluster.delete(NODE_REMOVAL_REQUESTS, subject.name)
        await leaving.cluster.delete(CONFIG_MAPS, "m-2", namespace=NAMESPACE)
        await until(lambda: is_listed_as_ended(leaving, subjects))
        await removals.replay("m-2")
        assert rows(capsys.readouterr().out) == [
            ["m-2", "-", "-", "terminated", "gone", "left alone: it has ended, and no server of its own is left"]
        ]
        with pytest.raises(CommandError, match=r"^1 removal of 2 not replayed: m-1$"):
            await removals.replay("m-1", "m-2")
        assert "a NodeRemovalRequest of that name deletes it" in capsys.readouterr().out


async def is_listed_as_ended(leaving: Leaving, subjects) -> bool:
    query = f"TaskQueue = 'growth-{leaving.name}' AND ExecutionStatus = 'Terminated'"
    return (await leaving.client.count_workflows(query)).count == len(subjects)


async def test_an_object_that_goes_between_the_look_and_the_deed_has_ended(leaving, capsys, monkeypatch):
    async with parked(leaving, "m-1") as (subject,):
        await leaving.handle(subject).terminate("by a person")
        looks = replay_command.look

        async def look_and_lose(*given):
            found = await looks(*given)
            take_off = [{"op": "remove", "path": "/metadata/finalizers"}]
            await leaving.cluster.patch(NODE_REMOVAL_REQUESTS, "m-1", take_off)
            await leaving.cluster.delete(NODE_REMOVAL_REQUESTS, "m-1")
            return found

        monkeypatch.setattr(replay_command, "look", look_and_lose)
        await removals.replay("m-1")
        assert rows(capsys.readouterr().out)[0][-1] == "has ended meanwhile"


async def test_names_that_nothing_is_known_of_are_told_before_anything_is_done(leaving, capsys):
    async with parked(leaving, "m-12"):
        with pytest.raises(CommandError) as refused:
            await removals.replay("m-12", "m-1", "Z' OR 'a", node=("elsewhere",))
        unknown = f"cluster {leaving.name} has no NodeRemovalRequest of that name"
        lists = "`kubectl get noderemovalrequests` lists them"
        assert str(refused.value).splitlines() == [
            f"Z' OR 'a: {unknown}; {lists}",
            f"elsewhere: {unknown}; {lists}",
            f"m-1: {unknown}: did you mean m-12?",
        ]
        assert "m-12  " not in capsys.readouterr().out
        assert await leaving.retries("m-12") == 0


async def test_an_object_of_another_cluster_is_not_started_here(leaving, capsys):
    async with parked(leaving, "m-1"):
        await leaving.leave("m-2", leaving.parked("other"))
        with pytest.raises(CommandError, match=r"^1 removal of 1 not replayed: m-2$"):
            await removals.replay("m-2")
        assert rows(capsys.readouterr().out)[0][-1] == (
            "left alone: it is of cluster other: name that with --cluster (GROWTH_CLUSTER)"
        )


async def test_without_a_worker_it_is_started_and_waits_for_one(leaving, capsys, monkeypatch):
    async with parked(leaving, "m-1") as (subject,):
        await leaving.handle(subject).terminate("by a person")
        change = [{"op": "replace", "path": "/status/phase", "value": "Deprovisioning"}]
        await leaving.cluster.patch(NODE_REMOVAL_REQUESTS, "m-1", change, subresource="status")
    monkeypatch.setattr("worker.commands.lifecycles.running.POLLED_WITHIN", timedelta())
    await removals.replay("m-1")
    assert rows(capsys.readouterr().out)[0][-1] == (
        f"started again from its object, and goes on when a worker of {leaving.name} is up"
    )
    await leaving.handle(subject).terminate()


async def test_what_cannot_be_read_is_one_line(leaving, monkeypatch):
    async with parked(leaving, "m-1"):
        leaving.cluster.fail = {NODE_REMOVAL_REQUESTS.plural: Unreachable("list noderemovalrequests: refused")}
        with pytest.raises(CommandError, match=r"^refused \(context here; --context chooses another\)$"):
            await removals.replay("m-1")
        leaving.cluster.fail = {}
        monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", f"127.0.0.1:{free_port()}")
        with pytest.raises(CommandError, match=r"^Temporal at 127.0.0.1:[0-9]+ cannot be used: connection refused"):
            await removals.replay("m-1")
    with pytest.raises(CommandError, match="name removals, or say --node, --pool or --all-parked") as refused:
        await removals.replay()
    assert refused.value.code == 2
