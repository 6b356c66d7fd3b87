import asyncio

import pytest

from activities.ports.cluster import CONFIG_MAPS, PODS
from activities.ports.errors import AlreadyExists, NotFound, Unreachable
from simulator.apiserver.changes import follow
from simulator.apiserver.cluster import MemoryCluster
from simulator.clock import VirtualClock, run
from simulator.driver.connection import Health, WorkerConnection


def config_map(name):
    return {"metadata": {"name": name}}


async def names(cluster):
    return [item["metadata"]["name"] for item in (await cluster.list(CONFIG_MAPS)).items]


def test_calls_take_time_and_the_same_seed_takes_the_same_time():
    def seconds(seed):
        clock = VirtualClock()

        async def main():
            connection = WorkerConnection(MemoryCluster(clock.now), seed=seed)
            created = await connection.create(CONFIG_MAPS, config_map("a"), namespace="n")
            assert created == await connection.get(CONFIG_MAPS, "a", namespace="n")
            await connection.patch(CONFIG_MAPS, "a", [{"op": "add", "path": "/data", "value": {}}], namespace="n")
            assert await names(connection) == ["a"]
            await connection.delete(CONFIG_MAPS, "a", namespace="n")
            with pytest.raises(NotFound):
                await connection.get(CONFIG_MAPS, "a", namespace="n")

        run(main, clock)
        return clock.seconds()

    assert seconds("1") == seconds("1") != seconds("2")
    assert 6 * 2 * 0.0005 < seconds("1") < 6 * 2 * 0.01


def test_two_clients_race_and_every_seed_may_have_another_winner():
    def winner(seed):
        clock = VirtualClock()

        async def create(cluster, client):
            connection = WorkerConnection(cluster, seed=f"{seed}-{client}")
            try:
                await connection.create(CONFIG_MAPS, config_map("a"), namespace="n")
            except AlreadyExists:
                return None
            return client

        async def main():
            cluster = MemoryCluster(clock.now)
            return [c for c in await asyncio.gather(create(cluster, "x"), create(cluster, "y")) if c]

        return run(main, clock)

    winners = [winner(seed) for seed in range(20)]
    assert all(len(w) == 1 for w in winners)
    assert {w[0] for w in winners} == {"x", "y"}


def test_a_cut_client_dies_before_its_call_or_between_effect_and_answer():
    def outcome(cut_after):
        clock = VirtualClock()

        async def main():
            cluster = MemoryCluster(clock.now)
            connection = WorkerConnection(cluster, seed="1")
            call = asyncio.create_task(connection.create(CONFIG_MAPS, config_map("a"), namespace="n"))
            await asyncio.sleep(cut_after)
            connection.cut()
            (answer,) = await asyncio.gather(call, return_exceptions=True)
            with pytest.raises(asyncio.CancelledError):
                await connection.create(CONFIG_MAPS, config_map("b"), namespace="n")
            return await names(cluster), isinstance(answer, asyncio.CancelledError)

        return run(main, clock)

    nothing_done, done_and_unanswered, answered = ([], True), (["a"], True), (["a"], False)
    seen = [outcome(n / 2000) for n in range(50)]
    assert seen[0] == nothing_done
    assert done_and_unanswered in seen
    assert seen[-1] == answered


def test_ends_of_pods_are_told_in_the_moment_in_which_they_take_effect():
    clock = VirtualClock()
    told = []

    async def main():
        cluster = MemoryCluster(clock.now)
        for name in "ab":
            await cluster.create(PODS, {"metadata": {"name": name}, "spec": {}}, namespace="n")
        await cluster.create(CONFIG_MAPS, config_map("a"), namespace="n")

        def tell(verb, namespace, name):
            told.append((verb, namespace, name, [pod["metadata"]["name"] for pod in cluster.peek(PODS)]))

        connection = WorkerConnection(cluster, seed="1", pod_ends=tell)
        await connection.evict("a", namespace="n", uid=cluster.peek(PODS)[0]["metadata"]["uid"])
        await connection.delete(PODS, "b", namespace="n")
        await connection.delete(CONFIG_MAPS, "a", namespace="n")

    run(main, clock)
    assert told == [("evict", "n", "a", ["a", "b"]), ("delete", "n", "b", ["b"])]


def test_lost_calls_never_take_effect_or_do_or_do_later():
    def outcome(seed):
        clock = VirtualClock()

        async def main():
            cluster = MemoryCluster(clock.now)
            connection = WorkerConnection(cluster, seed=str(seed), health=Health(losses=1.0))
            with pytest.raises(Unreachable):
                await connection.create(CONFIG_MAPS, config_map("a"), namespace="n")
            at_once = await names(cluster)
            connection.cut()
            await asyncio.sleep(10)
            return bool(at_once), bool(await names(cluster)), clock.seconds() > 14

        return run(main, clock)

    never, before_the_error, after_it = (False, False, False), (True, True, False), (False, True, True)
    in_the_meantime = (True, True, True)
    assert {outcome(seed) for seed in range(40)} == {never, before_the_error, after_it, in_the_meantime}


def test_following_tells_what_is_there_and_what_changes_also_after_a_watch_expired():
    clock = VirtualClock()
    seen = []

    async def main():
        cluster = MemoryCluster(clock.now, history=2)
        await cluster.create(CONFIG_MAPS, config_map("a"), namespace="n")
        connection = WorkerConnection(cluster, seed="1")
        task = asyncio.create_task(
            follow(connection, CONFIG_MAPS, lambda e: seen.append((e.type, e.object["metadata"]["name"])))
        )
        await asyncio.sleep(1)
        await cluster.delete(CONFIG_MAPS, "a", namespace="n")
        await asyncio.sleep(1)
        assert seen == [("ADDED", "a"), ("DELETED", "a")]
        for name in "bcdef":
            await cluster.create(CONFIG_MAPS, config_map(name), namespace="n")
        await asyncio.sleep(1)
        task.cancel()

    run(main, clock)
    assert {name for _, name in seen[2:]} == set("bcdef")


def test_a_client_may_die_right_after_the_effect_of_one_of_its_writes():
    clock = VirtualClock()
    deaths = []

    async def main():
        cluster = MemoryCluster(clock.now)
        health = Health(dies_after=2)
        connection = WorkerConnection(cluster, seed="1", health=health, died=lambda: deaths.append(clock.seconds()))
        await connection.create(CONFIG_MAPS, config_map("a"), namespace="n")
        await connection.list(CONFIG_MAPS)
        with pytest.raises(asyncio.CancelledError):
            await connection.create(CONFIG_MAPS, config_map("b"), namespace="n")
        with pytest.raises(asyncio.CancelledError):
            await connection.create(CONFIG_MAPS, config_map("c"), namespace="n")
        return await names(cluster)

    assert run(main, clock) == ["a", "b"]
    assert len(deaths) == 1


def test_a_stalled_watch_tells_late_and_in_order():
    def told(health):
        clock = VirtualClock()
        seen = []

        async def main():
            cluster = MemoryCluster(clock.now)
            connection = WorkerConnection(cluster, seed="1", health=health)
            task = asyncio.create_task(
                follow(connection, CONFIG_MAPS, lambda e: seen.append((e.object["metadata"]["name"], clock.seconds())))
            )
            await asyncio.sleep(1)
            for name in "abc":
                await cluster.create(CONFIG_MAPS, config_map(name), namespace="n")
            await asyncio.sleep(60)
            task.cancel()

        run(main, clock)
        return seen

    assert [name for name, _ in told(Health())] == ["a", "b", "c"]
    assert told(Health())[-1][1] < 1.1
    stalled = told(Health(stalls=1.0, longest_stall_seconds=10.0))
    assert [name for name, _ in stalled] == ["a", "b", "c"]
    assert 3 < stalled[-1][1] < 31.1
