"""Sweeps over a cluster with leftovers: what goes, how, who is told, and what stays whatever fails."""

import asyncio
from dataclasses import replace

import pytest

from activities.ports.cluster import CONFIG_MAPS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.errors import AuthenticationFailed, UnknownOutcome, Unreachable
from activities.providers.built_in import HETZNER_NODE_CLASSES, KWOK_NODE_CLASSES
from api.model import read
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from planner.lifecycle.garbage import Garbage
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import RESERVED, SCALE_DOWN
from tests.activities.yards import NAME, SPACE, START, Listed, Yard
from tests.api.objects import hetzner_class
from tests.tables import rows


async def test_an_orphan_gets_a_removal_that_knows_all_of_it(yard):
    await yard.server()
    assert await yard.sweep() == [Garbage.ORPHAN]
    removal = read(NodeRemovalRequest, (await yard.removals())[NAME])
    assert removal.spec.to_json() == {
        "serverName": NAME,
        "providerID": f"kwok://test/{NAME}",
        "pool": "default",
        "serverType": "cx22",
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "reason": "Orphan",
        "immediate": True,
        "replacedBy": [],
    }
    assert removal.metadata.labels["growth.dev/request-uid"] == "u-1"
    assert removal.metadata.finalizers == ("growth.dev/lifecycle",)
    assert ("NodeRemovalRequest", NAME, "Orphan") in await yard.event_reasons()
    # The removal deletes it; a sweep calls nothing but list and get.
    assert set(yard.provider.calls) == {"list", "get"}
    assert await yard.sweep() == []


async def test_the_removal_names_the_class_that_made_the_server(yard):
    await yard.server(**{"growth.dev/node-class": "other"})
    await yard.sweep()
    removal = read(NodeRemovalRequest, (await yard.removals())[NAME])
    assert str(removal.spec.class_ref) == "KwokNodeClass/other"


async def test_an_orphan_of_a_pool_that_is_gone_goes_all_the_same(yard):
    await yard.server(**{"growth.dev/pool": "gone"})
    assert await yard.sweep() == [Garbage.ORPHAN]
    assert (await yard.removals())[NAME]["spec"]["pool"] == "gone"


@rows(
    "labels",
    {
        "another cluster's": {"cluster": "another"},
        "of no cluster": {"cluster": ""},
        "of no request": {"growth.dev/request": ""},
        "of no uid": {"uid": ""},
        "abandoned": {"growth.dev/abandoned": "true"},
    },
)
async def test_servers_of_others_are_never_touched(yard, labels):
    await yard.server(**labels)
    for _ in range(3):
        assert await yard.sweep() == []
    assert await yard.removals() == {}
    assert await yard.find(CONFIG_MAPS, NAME, SPACE) is not None


async def test_a_server_stays_while_a_request_bears_its_name_even_with_another_uid(yard):
    await yard.server(uid="earlier")
    await yard.request()
    assert await yard.sweep() == []


async def test_a_young_server_is_given_its_time(yard):
    await yard.server(age=START - START)
    assert await yard.sweep() == []
    yard.pass_time(600)
    assert await yard.sweep() == [Garbage.ORPHAN]


async def test_one_sweep_is_not_enough_and_a_restart_begins_anew(yard):
    await yard.server()
    assert await yard.healer.heal() == ()
    yard.pass_time(30)
    assert await yard.another().heal() == ()
    assert await yard.removals() == {}


@pytest.mark.parametrize("call", ["list", "noderequests", "noderemovalrequests", "nodes"])
async def test_a_failed_list_heals_nothing_and_breaks_the_row_of_sightings(yard, call, monkeypatch):
    await yard.server()
    await yard.healer.heal()
    yard.pass_time(30)
    with monkeypatch.context() as broken:
        if call == "list":
            broken.setitem(yard.provider.fail, "list", UnknownOutcome("time-out"))
            assert await yard.healer.heal() == ()
            assert ("Namespace", SPACE, "ServersUnknown") in await yard.event_reasons()
        else:
            real = yard.cluster.list

            async def list_objects(resource, **options):
                if resource.plural == call:
                    raise Unreachable("no answer")
                return await real(resource, **options)

            broken.setattr(yard.cluster, "list", list_objects)
            with pytest.raises(Unreachable):
                await yard.healer.heal()
    assert await yard.removals() == {}
    yard.pass_time(30)
    assert await yard.healer.heal() == ()
    yard.pass_time(30)
    assert len(await yard.healer.heal()) == 1


async def test_an_empty_list_by_error_heals_nothing(yard):
    await yard.server()
    await yard.node()
    yard.provider.hides = frozenset({NAME})
    assert await yard.sweep() == []
    # Not Ready and not listed, it is asked for by name, and it is there.
    await yard.set_status(NODES, NAME, {"conditions": [{"type": "Ready", "status": "False"}]})
    assert await yard.sweep() == []
    assert yard.provider.calls.count("get") >= 2


async def test_orphans_that_are_too_many_stay_and_their_pool_is_told(yard, caplog):
    for name in ("default-a1", "default-a2", "default-a3"):
        await yard.server(name)
    assert await yard.sweep() == []
    assert await yard.removals() == {}
    assert await yard.event_reasons() == [("NodePool", "default", "OrphansKept")]
    assert caplog.text.count("3 of 3 servers of cluster test belong to no request, removal or Node") == 1
    assert "default-a1, default-a2, default-a3" in caplog.text


async def test_orphans_of_pools_that_are_gone_are_told_on_the_namespace(yard):
    for name in ("gone-a1", "gone-a2"):
        await yard.server(name, **{"growth.dev/pool": "gone"})
    assert await yard.sweep() == []
    assert await yard.event_reasons() == [("Namespace", SPACE, "OrphansKept")]


async def test_too_many_orphans_do_not_keep_taints_from_being_lifted(yard):
    await yard.server("default-a2")
    await yard.server("default-a3")
    await yard.node("home", SCALE_DOWN, labels={})
    assert await yard.sweep() == [Garbage.SCALE_DOWN]


@pytest.mark.parametrize("change", ["request", "removal", "node", "abandoned", "gone"])
async def test_what_comes_between_the_look_and_the_deed_saves_the_server(yard, change, monkeypatch):
    await yard.server()
    await yard.healer.heal()
    yard.pass_time(30)
    real = yard.provider.get

    async def get(name, class_name=None):
        monkeypatch.undo()
        if change == "abandoned":
            await yard.provider.label(name, {"growth.dev/abandoned": "true"})
        elif change == "gone":
            await yard.provider.delete(name)
        else:
            await getattr(yard, change)()
        return await real(name)

    monkeypatch.setattr(yard.provider, "get", get)
    assert await yard.healer.heal() == ()
    assert list(await yard.removals()) == ([NAME] if change == "removal" else [])


async def test_two_replicas_at_once_heal_everything_once(yard):
    await yard.server()
    await yard.node("default-a2", ready=False)
    await yard.node("default-a3", SCALE_DOWN)
    other = yard.another()
    await asyncio.gather(yard.healer.heal(), other.heal())
    yard.pass_time(30)
    healed = await asyncio.gather(yard.healer.heal(), other.heal())
    assert sorted(found.kind for sweep in healed for found in sweep) == sorted(
        [Garbage.ORPHAN, Garbage.SCALE_DOWN, Garbage.SERVER_GONE]
    )
    assert list(await yard.removals()) == [NAME, "default-a2"]


@pytest.mark.parametrize("resource", [NODE_REQUESTS, NODE_REMOVAL_REQUESTS, KWOK_NODE_CLASSES])
async def test_while_a_definition_is_gone_nothing_is_called_and_nothing_healed(yard, resource):
    await yard.server()
    await yard.node("default-a2", SCALE_DOWN)
    await yard.healer.heal()
    await yard.delete_definition(resource)
    yard.provider.calls.clear()
    yard.pass_time(30)
    assert await yard.healer.heal() == ()
    assert yard.provider.calls == []
    assert await yard.taints("default-a2") == ["growth.dev/scale-down"]


@pytest.mark.parametrize("resource", [NODE_REQUESTS, NODE_REMOVAL_REQUESTS])
async def test_a_cache_that_has_not_seen_a_definition_go_lets_nothing_be_healed(yard, resource):
    await yard.server()
    await yard.node("default-a2", SCALE_DOWN)
    await yard.request("default-a3", phase="Provisioning")
    await yard.removal("default-a4")
    kinds = (NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS, KWOK_NODE_CLASSES, NODES)
    cached = Frozen({each: await MemoryCluster.list(yard.cluster, each) for each in kinds})
    object.__setattr__(yard.ports, "reader", cached)
    await yard.healer.heal()
    await yard.delete_definition(resource)
    yard.cluster.writes.clear()
    yard.pass_time(30)
    assert await yard.healer.heal() == ()
    assert yard.cluster.writes == []


async def test_without_a_node_class_no_provider_is_called():
    yard = Yard()
    await yard.install(classes=False)
    await yard.server()
    await yard.node("default-a2", RESERVED, ready=False)
    assert await yard.sweep() == [Garbage.RESERVED]
    assert yard.provider.calls == []


async def test_a_clean_cluster_costs_one_list_and_no_live_read_of_objects(yard, monkeypatch):
    await yard.server()
    await yard.node()
    uid = await yard.request("default-a2", phase="Provisioning")
    await yard.server("default-a2", uid=uid)
    live, gets, get = yard.cluster.reads, set(), yard.cluster.get
    cached = Cached(yard.cluster)
    object.__setattr__(yard.ports, "reader", cached)

    async def noted(resource, name, **options):
        gets.add(resource.plural)
        return await get(resource, name, **options)

    monkeypatch.setattr(yard.cluster, "get", noted)
    live.clear()
    assert await yard.sweep() == []
    assert yard.provider.calls == ["list", "list"]
    assert set(live) == {"configmaps"}
    # KWOK's, of the class of servers that have not joined. No definition is asked for.
    assert gets == {"kwoknodeclasses"}


async def test_a_cache_that_is_behind_condemns_nothing(yard):
    await yard.server()
    object.__setattr__(yard.ports, "reader", Cached(yard.cluster, without=NODES))
    await yard.node()
    assert await yard.sweep() == []
    assert await yard.removals() == {}


class Cached:
    """A reader beside the live cluster."""

    def __init__(self, cluster, without=None):
        self._cluster = cluster
        self._without = without

    async def list(self, resource):
        listed = await MemoryCluster.list(self._cluster, resource)
        if resource == self._without:
            listed.items.clear()
        return listed


class Frozen:
    """A cache that stands still."""

    def __init__(self, lists):
        self._lists = lists

    async def list(self, resource):
        return self._lists[resource]


async def test_a_provider_that_does_not_list_its_servers_keeps_no_other_from_being_swept(yard):
    class Silent(Listed):
        node_classes = HETZNER_NODE_CLASSES

    silent = Silent(yard.cluster, SPACE, yard.now)
    silent.fail["list"] = AuthenticationFailed("bad token")
    await yard.cluster.create(HETZNER_NODE_CLASSES, hetzner_class())
    yard.ports = replace(yard.ports, providers={"HetznerNodeClass": silent, **yard.ports.providers})
    yard.healer = yard.another()
    await yard.server()
    assert await yard.sweep() == [Garbage.ORPHAN]
    assert ("Namespace", SPACE, "ServersUnknown") in await yard.event_reasons()
