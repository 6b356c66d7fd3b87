"""Rounds that go wrong: refused and unknown writes, time that runs out, overlapping rounds, a defect in the planner."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import EVENTS, LEASES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Rejected, Unreachable
from planner.model.plan import PlannerMemory, PodBackoffState
from tests.activities.bodies import request
from tests.activities.rounds import begun, buying, nothing


async def test_one_refused_write_stops_no_other(world):
    world.cluster.refuse_writes(Rejected("a webhook says no"), "create", NODE_REQUESTS, times=1)
    result = await world.carry_out(replace(buying(3), removals=(begun("default-a"),)))
    assert len(await world.names(NODE_REQUESTS)) == 2
    assert await world.names(NODE_REMOVAL_REQUESTS) == ["default-a"]
    assert result.summary.endswith("1 writes refused")
    assert (result.is_open, result.is_partial) == (True, False)


async def test_after_an_unknown_outcome_nothing_more_is_written_and_nobody_else_may(world):
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    world.cluster.refuse_writes(Unreachable("no answer"), "delete", NODE_REQUESTS)
    result = await world.carry_out(replace(buying(20), cancelled=("default-b",), removals=(begun("default-a"),)))
    assert await world.names(NODE_REQUESTS) == ["default-b"]
    assert await world.names(NODE_REMOVAL_REQUESTS) == []
    assert result.is_partial
    assert (await world.lease())["spec"]["holderIdentity"] == "run-1/1"
    # What was begun may still happen; the next round waits until it cannot.
    world.cluster.refuse = None
    before = world.now()
    await world.carry_out(buying(1))
    assert world.now() - before >= timedelta(seconds=15)


async def test_when_the_time_for_writes_is_over_the_rest_waits_for_the_next_round(world):
    def slow(verb, resource, _name):
        if (verb, resource) == ("create", NODE_REQUESTS):
            world.pass_time(timedelta(seconds=1))

    world.cluster.refuse = slow
    result = await world.carry_out(replace(buying(30), removals=(begun("default-a"),)))
    written = len(await world.names(NODE_REQUESTS))
    assert written == 10
    assert await world.names(NODE_REMOVAL_REQUESTS) == []
    assert result.is_partial
    assert len(result.requests) == written
    assert "21 writes left to the next round" in result.summary


async def test_a_planner_that_takes_long_renews_the_fence_before_it_writes(world):
    def slow(_snapshot):
        world.pass_time(timedelta(seconds=12))
        return buying(2)

    result = await world.run(activities=world.activities(planner=slow))
    assert len(await world.names(NODE_REQUESTS)) == 2
    assert not result.is_partial


async def test_a_round_that_was_overtaken_while_it_planned_writes_nothing(world):
    async def overtaken(work):
        plan = work()
        world.pass_time(timedelta(seconds=12))
        free = [{"op": "remove", "path": "/spec/holderIdentity"}]
        await world.cluster.patch(LEASES, "growth-round", free, namespace="growth-system")
        await world.fence()._try("faster")
        return plan

    activities = world.activities(planner=lambda _: buying(2))
    activities._ports = replace(world.ports, compute=overtaken)
    result = await world.run(activities=activities)
    assert await world.names(NODE_REQUESTS) == []
    assert "was taken by another round" in result.summary
    assert (await world.lease())["spec"]["holderIdentity"] == "faster"


async def test_a_planner_that_fails_writes_nothing_tells_the_pools_and_still_starts_workflows(world, caplog):
    await world.carry_out(nothing())
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    memory = PlannerMemory(backoff={"k": PodBackoffState(misses=2)})

    def broken(_snapshot):
        raise KeyError("cx99")

    world.cluster.writes.clear()
    result = await world.run(activities=world.activities(planner=broken), memory=memory)
    assert [w for w in world.cluster.writes if "leases" not in w and "events" not in w] == []
    [event] = await world.items(EVENTS)
    assert (event["reason"], event["type"], event["regarding"]["kind"]) == ("PlannerFailed", "Warning", "NodePool")
    assert "KeyError: 'cx99'" in event["note"]
    assert [request.name for request in result.requests] == ["default-b"]
    assert result.memory == memory
    assert result.is_open
    assert result.failure.startswith("Nothing was decided: the planner failed: KeyError")
    assert "the planner failed" in caplog.text
    assert (await world.lease())["spec"].get("holderIdentity") is None


async def test_two_rounds_at_once_write_one_after_the_other(world):
    inside = []

    def planner(snapshot):
        inside.append([r.metadata.name for r in snapshot.requests])
        return buying(1) if not snapshot.requests else nothing()

    await asyncio.gather(
        world.run(activities=world.activities(planner=planner)), world.run(activities=world.activities(planner=planner))
    )
    assert sorted(map(len, inside)) == [0, 1]
    assert len(await world.names(NODE_REQUESTS)) == 1


async def test_a_round_that_finds_the_fence_held_all_the_time_decides_nothing(world):
    async with world.fence().held("other") as other:
        activities = world.activities(planner=lambda _: buying(1))

        async def sleep(seconds):
            await world.sleep(seconds)
            await other.renew()

        activities._fence._sleep = sleep
        memory = PlannerMemory(supply="s")
        result = await world.run(activities=activities, memory=memory, versions={"pods": "3"})
    assert await world.names(NODE_REQUESTS) == []
    assert (result.is_partial, result.is_open, result.requests) == (True, True, ())
    assert (result.memory, result.versions) == (memory, {"pods": "3"})
    assert "another round holds the fence" in result.summary


async def test_without_an_answer_the_round_fails_and_lets_the_next_go_on_at_once(world):
    async def no_answer(*_args, **_kwargs):
        raise Unreachable("no answer")

    world.cluster.list = no_answer
    with pytest.raises(Unreachable):
        await world.carry_out(nothing())
    assert "holderIdentity" not in (await world.lease())["spec"]
