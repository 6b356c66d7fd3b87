"""Groups whose calls others come between: creates at once, names that are taken, limits, and what is left empty."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from activities.ports.errors import UnknownOutcome
from activities.ports.identity import ClusterIdentity
from activities.providers.hetzner.api.refusals import NoGroup
from activities.providers.hetzner.servers.placement_groups import SpreadGroups
from tests.activities.providers.hetzner.scenes import CLUSTER, ORDER, TOKEN, ClientScene, ProviderScene
from tests.builders import hetzner_node_class

LIMIT = {"status": 403, "code": "resource_limit_exceeded", "message": "placement group limit exceeded"}


async def interrupted(work):
    """Run a blocking call as a thread does: others go on before and after it."""
    await asyncio.sleep(0)
    done = work()
    await asyncio.sleep(0)
    return done


class Lot:
    """Groups of a cluster, without a provider, whose calls others may come between."""

    def __init__(self, cluster=CLUSTER):
        self.scene = ClientScene()
        self.cloud = self.scene.cloud
        self.groups = self.another_worker(cluster)

    def another_worker(self, cluster=CLUSTER, uid="", own_servers=()):
        client = self.scene.client(TOKEN, compute=interrupted)
        return SpreadGroups(client, ClusterIdentity(cluster, uid), self.scene.elapsed, lambda: own_servers)

    @property
    def names(self):
        return {group.name: group.id for group in self.cloud.project().groups.values()}

    async def has(self, name, **labels):
        """Make a group of somebody's."""
        return await self.scene.api.create_placement_group(name, labels)

    async def choose(self, count, class_name="a"):
        return await asyncio.gather(*(self.groups.choose(class_name) for _ in range(count)))

    async def make(self, *groups):
        for group in groups:
            name = f"s-{len(self.cloud.servers_of())}"
            await self.scene.api.create_server(self.scene.creation(name, placement_group=group))

    async def look_for(self, seconds):
        for _ in range(0, seconds, 20):
            self.scene.pass_time(20)
            await self.groups.delete_empty()


@pytest.fixture
def lot():
    return Lot()


@pytest.fixture
async def emptied(lot):
    """A group of the lot that has been empty for a while."""
    (group,) = await lot.choose(1)
    lot.groups.give_back(group)
    await lot.look_for(900)
    return group


async def test_servers_that_are_made_at_once_share_one_list_and_fill_one_group_after_the_other():
    scene = await ProviderScene().open(hetzner_node_class(placement={"strategy": "spread"}))
    scene.provider = scene.another_worker(compute=interrupted)
    node_class, lists = await scene.node_class(), scene.cloud.count("list_placement_groups")
    await asyncio.gather(*(scene.provider.create(node_class, replace(ORDER, name=f"s-{n}")) for n in range(25)))
    members = Counter(server.placement_group for server in scene.servers().values())
    assert sorted(members.values()) == [5, 10, 10]
    assert scene.cloud.count("list_placement_groups") == lists + 1
    assert scene.cloud.count("create_placement_group") == 3


async def test_a_list_does_not_forget_servers_whose_calls_are_under_way(lot):
    (first,) = set(await lot.choose(10))
    lot.scene.pass_time(61)
    (second,) = await lot.choose(1)
    assert second != first


async def test_servers_that_have_come_are_not_counted_twice(lot):
    (first,) = set(await lot.choose(5))
    await lot.make(*[first] * 5)
    lot.scene.pass_time(61)
    assert set(await lot.choose(5)) == {first}
    assert set(await lot.choose(1)) != {first}


async def test_servers_that_never_come_are_counted_for_two_minutes(lot):
    (first,) = set(await lot.choose(10))
    lot.scene.pass_time(121)
    assert await lot.choose(1) == [first]


async def test_what_is_given_back_has_room_again(lot):
    (first,) = set(await lot.choose(10))
    lot.groups.give_back(first)
    assert await lot.choose(1) == [first]
    assert await lot.choose(1) != [first]


async def test_nobody_is_sent_to_a_group_that_is_being_deleted(lot, emptied):
    lot.scene.pass_time(301)
    deletion = asyncio.create_task(lot.groups.delete_empty())
    while not lot.cloud.count("delete_placement_group"):
        await asyncio.sleep(0)
    chosen = await lot.groups.choose("a")
    await deletion
    assert chosen in lot.names.values()
    assert chosen != emptied


async def test_a_group_that_a_server_is_put_into_is_not_deleted(lot, emptied):
    lot.scene.pass_time(301)
    _, chosen = await asyncio.gather(lot.groups.delete_empty(), lot.groups.choose("a"))
    assert chosen == emptied
    assert list(lot.names.values()) == [emptied]


async def test_a_deletion_that_fails_is_tried_again(lot):
    (old,) = await lot.choose(1)
    lot.groups.give_back(old)
    lot.scene.fail("delete_placement_group", status=503, code="unavailable")
    await lot.look_for(900)
    with pytest.raises(UnknownOutcome):
        await lot.look_for(300)
    assert await lot.choose(1) == [old]
    lot.groups.give_back(old)
    await lot.look_for(1500)
    assert not lot.names


@pytest.mark.parametrize(
    ("cluster", "class_name", "labels"),
    [
        ("one", "a", {}),
        ("one", "a", {"growth.dev/cluster": "one"}),
        ("x", "y-z", {"growth.dev/cluster": "x-y", "growth.dev/node-class": "z"}),
    ],
)
async def test_a_name_that_somebody_else_has_makes_way_for_the_next_number(cluster, class_name, labels):
    lot = Lot(cluster)
    name = f"growth-{cluster}-{class_name}"
    await lot.has(f"{name}-1", **labels)
    (chosen,) = set(await lot.choose(10, class_name))
    assert chosen == lot.names[f"{name}-2"]
    calls = lot.cloud.count()
    await lot.choose(1, class_name)
    assert sorted(lot.names) == [f"{name}-1", f"{name}-2", f"{name}-3"]
    assert lot.cloud.count() == calls + 1, "the name that is taken was asked for again"


async def test_a_group_that_another_worker_was_first_to_make_is_used(lot):
    await lot.choose(1, "b")
    other_group = await lot.another_worker().choose("a")
    assert await lot.choose(1) == [other_group]
    assert sorted(lot.names) == ["growth-one-a-1", "growth-one-b-1"]


async def test_names_that_are_all_taken_are_a_refusal_that_says_so(lot):
    for number in range(1, 6):
        await lot.has(f"growth-one-a-{number}")
    with pytest.raises(NoGroup, match=r"HetznerNodeClass a: groups named growth-one-a-1, .*growth-one-a-5 are in"):
        await lot.groups.choose("a")
    assert await lot.choose(1, "b") == [lot.names["growth-one-b-1"]]
    made = lot.cloud.count("create_placement_group")
    with pytest.raises(NoGroup, match="growth-one-a-5"):
        await lot.groups.choose("a")
    assert lot.cloud.count("create_placement_group") == made
    lot.scene.pass_time(301)
    assert await lot.choose(1) == [lot.names["growth-one-a-6"]]


async def test_a_refused_group_is_asked_for_once_in_five_minutes(lot):
    lot.scene.fail("create_placement_group", **LIMIT, times=None)
    for minutes in range(5):
        refusals = await asyncio.gather(*(lot.groups.choose("a") for _ in range(5)), return_exceptions=True)
        assert [type(each) for each in refusals] == [NoGroup] * 5, minutes
        assert "placement group limit exceeded" in str(refusals[4])
        lot.scene.pass_time(60)
    assert lot.cloud.count("create_placement_group") == 1
    lot.cloud.faults.clear()
    assert await lot.choose(1) == [lot.names["growth-one-a-1"]]


async def test_room_that_comes_while_groups_are_refused_is_used(lot):
    (first,) = set(await lot.choose(10))
    lot.scene.fail("create_placement_group", **LIMIT, times=None)
    with pytest.raises(NoGroup):
        await lot.groups.choose("a")
    lot.groups.give_back(first)
    assert await lot.choose(1) == [first]


async def test_a_group_that_was_deleted_makes_room_for_another_at_once(lot):
    (empty,) = await lot.choose(1, "gone")
    lot.groups.give_back(empty)
    await lot.look_for(900)
    lot.scene.fail("create_placement_group", **LIMIT)
    with pytest.raises(NoGroup):
        await lot.groups.choose("a")
    await lot.look_for(280)
    assert lot.cloud.count("delete_placement_group") == 1
    assert await lot.choose(1) == [lot.names["growth-one-a-1"]]


async def test_empty_groups_of_an_earlier_process_and_of_classes_that_are_gone_are_deleted(lot):
    await lot.make(*await lot.choose(1, "kept"), *await lot.choose(1, "gone"))
    await lot.choose(1, "old")
    await lot.has("growth-one-mine-1", **{"growth.dev/cluster": "one"})
    await lot.has("growth-two-a-1", **{"growth.dev/cluster": "two", "growth.dev/node-class": "a"})
    lot.groups = lot.another_worker()
    await lot.look_for(880)
    assert len(lot.names) == 5
    await lot.look_for(400)
    assert sorted(lot.names) == ["growth-one-gone-1", "growth-one-kept-1", "growth-one-mine-1", "growth-two-a-1"]


async def test_looking_for_empty_groups_costs_twelve_lists_an_hour_and_one_where_there_are_none(lot):
    await lot.look_for(3600)
    assert lot.cloud.count() == 1
    await lot.make(*await lot.choose(1))
    lot.scene.pass_time(60)
    calls = lot.cloud.count("list_placement_groups")
    await lot.look_for(3600)
    assert lot.cloud.count("list_placement_groups") - calls == 12


async def test_nobody_is_sent_to_a_group_whose_deletion_was_not_answered(lot, emptied):
    lot.scene.fail("delete_placement_group", "lost_reply")
    lot.scene.pass_time(301)
    with pytest.raises(UnknownOutcome):
        await lot.groups.delete_empty()
    (chosen,) = await lot.choose(1)
    assert list(lot.names.values()) == [chosen]


async def test_a_group_that_somebody_deleted_is_not_chosen_again(lot):
    (old,) = await lot.choose(1)
    await lot.scene.api.delete_placement_group(old)
    lot.scene.pass_time(61)
    assert await lot.choose(1) == list(lot.names.values()) != [old]


async def test_a_group_that_is_full_stays_so_when_a_list_was_under_way(lot):
    (old,) = await lot.choose(1)
    lot.scene.pass_time(61)
    lists = lot.cloud.count("list_placement_groups")
    choice = asyncio.create_task(lot.groups.choose("a"))
    while lot.cloud.count("list_placement_groups") == lists:
        await asyncio.sleep(0)
    lot.groups.give_back(old, is_full=True)
    assert await choice != old


async def test_a_group_that_was_used_meanwhile_is_empty_from_then_on(lot):
    lot.groups.give_back(*await lot.choose(1))
    await lot.look_for(900)
    lot.groups.give_back(*await lot.choose(1))
    await lot.look_for(880)
    assert lot.cloud.count("delete_placement_group") == 0
    await lot.look_for(600)
    assert lot.cloud.count("delete_placement_group") == 1


MARKED = {"growth.dev/cluster": CLUSTER, "growth.dev/node-class": "a", "growth.dev/cluster-uid": "theirs"}
UNMARKED = {key: value for key, value in MARKED.items() if key != "growth.dev/cluster-uid"}


@pytest.mark.parametrize("labels", [MARKED, UNMARKED])
async def test_a_group_of_another_cluster_of_that_name_is_neither_used_nor_deleted(labels):
    lot = Lot()
    lot.groups = lot.another_worker(uid="ours")
    theirs = await lot.has(f"growth-{CLUSTER}-a-1", **labels)
    (chosen,) = await lot.choose(1)
    assert lot.names == {f"growth-{CLUSTER}-a-1": theirs.id, f"growth-{CLUSTER}-a-2": chosen}
    assert lot.cloud.project().groups[chosen].labels == UNMARKED | {"growth.dev/cluster-uid": "ours"}
    await lot.look_for(2400)
    assert lot.names == {f"growth-{CLUSTER}-a-1": theirs.id}, "the own one goes when it has been empty for long"


async def test_a_group_of_an_earlier_version_is_the_clusters_if_a_server_in_it_is():
    lot = Lot()
    ours, theirs = [await lot.has(f"growth-{CLUSTER}-a-{number}", **UNMARKED) for number in (1, 2)]
    await lot.make(ours.id, theirs.id)
    own = next(each.id for each in lot.cloud.servers_of() if each.placement_group == ours.id)
    lot.groups = lot.another_worker(uid="ours", own_servers={own})
    assert await lot.choose(1) == [ours.id]
    assert lot.cloud.project().groups[ours.id].labels == UNMARKED | {"growth.dev/cluster-uid": "ours"}
    assert lot.cloud.project().groups[theirs.id].labels == UNMARKED
