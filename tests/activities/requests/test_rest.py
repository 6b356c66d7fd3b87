"""The look at a machine at rest: no call of its own as long as caches show nothing to do, a live one for all else."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.kube.cache import Cache
from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, NODES
from activities.ports.errors import UnknownOutcome
from activities.ports.provider import ServerState
from planner.lifecycle.request import next_step
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act, EffectInput, Wait
from tests.activities.lives import NAME, RESERVED, START, Life

READY = {
    "phase": "Ready",
    "attempts": 1,
    "createAttemptAt": START - timedelta(minutes=5),
    "providerID": f"kwok://test/{NAME}",
    "readyAt": START - timedelta(minutes=2),
    "registeredAt": START - timedelta(minutes=2),
    "releasedAt": START - timedelta(minutes=1),
    "expiresAt": START + timedelta(minutes=8),
    "nodeName": NAME,
    "workflowId": "w",
}
UNMET = {"phase": "Unmet", "reason": "NoCapacity", "expiresAt": START + timedelta(minutes=5), "workflowId": "w"}


class Resting(Life):
    """A machine whose reader is a cache that was filled once, with a count of live calls."""

    async def fill(self):
        """Let the cache have what is there now; what changes later it does not know."""
        self.cache = Cache(self.cluster, (NODE_REQUESTS, NODE_POOLS, NODES))
        for store in self.cache._stores.values():
            await self.cache._list(store)
        self.ports = replace(self.ports, reader=self.cache)
        self.restart()
        self.cluster.reads.clear()
        self.gets = []
        get = self.cluster.get

        async def counted(resource, name, **options):
            self.gets.append(resource.plural)
            return await get(resource, name, **options)

        self.cluster.get = counted
        self.cloud.calls.clear()

    async def look(self, *, at_rest=True):
        return await self.requests.look_request(EffectInput(name=NAME, uid=self.uid, at_rest=at_rest))

    @property
    def live(self):
        return [*self.gets, *self.cluster.reads]


@pytest.fixture
async def life():
    made = Resting()
    await made.install()

    async def servers(_cluster):
        await made.cloud._begin("list")
        return list(made.cloud.servers.values())

    made.cloud.list = servers
    return made


async def at_rest(life, *taints, status=READY, **machine):
    await life.add_machine(status, *taints, ready=True, **machine)
    await life.fill()


async def test_a_machine_at_rest_is_looked_at_without_a_call_for_it(life):
    await at_rest(life)
    quick, live = await life.look(), await life.look(at_rest=False)
    assert quick == live
    assert next_step(quick, life.now()) == next_step(live, life.now())
    assert isinstance(next_step(quick, life.now()), Wait)
    assert life.cloud.calls == ["list", "get"]
    life.gets.clear()
    for _ in range(50):
        await life.look()
    assert (life.live, life.cloud.calls) == ([], ["list", "get"])


async def test_servers_are_listed_anew_after_half_a_minute(life):
    await at_rest(life)
    for seconds in (0, 29, 1, 29, 1):
        life.pass_time(seconds)
        await life.look()
    assert life.cloud.calls == ["list"] * 3
    assert life.live == []


async def test_an_offering_without_capacity_rests_without_a_call(life):
    await life.add_request(UNMET)
    await life.fill()
    quick = await life.look()
    assert life.live == []
    assert quick == await life.look(at_rest=False)


async def test_a_message_asks_for_a_live_look(life):
    await at_rest(life)
    await life.look(at_rest=False)
    assert set(life.gets) == {"noderequests", "nodepools", "nodes"}
    assert life.cloud.calls == ["get"]


@pytest.mark.parametrize("lost", ["node", "server", "request"])
async def test_that_something_is_gone_is_never_believed_of_a_cache(life, lost):
    """The cache lacks it, or the list does, and it is there."""
    await at_rest(life)
    store = life.cache._stores
    if lost == "node":
        store[NODES].items.clear()
    elif lost == "request":
        store[NODE_REQUESTS].items.clear()
    else:
        life.cloud.list = lambda _cluster: _none()
    seen = await life.look()
    assert seen.exists
    assert seen.node is not None
    assert seen.server is ServerSeen.RUNNING
    assert life.gets[0] == "noderequests"


async def _none():
    return []


async def test_what_is_to_be_done_by_the_cache_is_looked_at_live(life):
    """The cache shows a reservation that has been lifted since."""
    await at_rest(life, RESERVED)
    await life.cluster.put(NODES, NAME, "/spec/taints", [])
    seen = await life.look()
    assert life.gets
    assert not seen.node.reserved


async def test_the_deadline_is_seen_by_the_cache_and_acted_on_live(life):
    await at_rest(life)
    life.pass_time(8 * 60)
    seen = await life.look()
    assert life.gets
    step = next_step(seen, life.now())
    assert isinstance(step, Act)
    assert step.reason == "Expired"


async def test_a_provider_without_an_answer_is_asked_once_for_all(life):
    await at_rest(life)
    life.cloud.fail["list"] = UnknownOutcome("no answer")
    for _ in range(50):
        seen = await life.look()
        assert seen.server is ServerSeen.UNKNOWN
    assert life.cloud.calls == ["list"]
    assert life.live == []


async def test_a_server_that_went_is_noticed_by_the_first_list_after_it(life):
    await at_rest(life)
    await life.look()
    del life.cloud.servers[NAME]
    life.pass_time(60)
    seen = await life.look()
    assert seen.server is ServerSeen.ABSENT
    assert isinstance(next_step(seen, life.now()), Act)


async def test_a_machine_whose_node_is_not_ready_rests_while_its_server_is_there(life):
    """As by a live look: whether it goes is the policies' to say."""
    await life.add_machine(READY, ready=False, server=ServerState.RUNNING)
    await life.fill()
    quick = await life.look()
    assert life.live == []
    assert quick == await life.look(at_rest=False)


async def test_a_request_in_its_course_is_looked_at_live(life):
    await at_rest(life, status={**READY, "releasedAt": None} | {"releaseBy": START})
    await life.look()
    assert life.gets
