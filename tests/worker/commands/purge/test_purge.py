"""A purge on a cluster in memory: what goes, what stays, and what stops it half-way, without Temporal."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CONFIG_MAPS, CRDS, LEASES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.errors import AuthenticationFailed, Conflict, InvalidConfiguration, UnknownOutcome, Unreachable
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.meta import format_timestamp
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.yards import SPACE, START, Yard
from worker.commands.purge.look import look
from worker.commands.purge.purge import SERVERS_GONE_WITHIN, purge
from worker.errors import CommandError
from worker.ports import ports_on

READY, COMING, ABANDONED, GONE = "default-a1", "default-a2", "default-a3", "default-a4"
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "growth-round"},
    "spec": {"renewTime": "2026-11-01T11:00:00.000000Z"},
}


@pytest.fixture
async def yard():
    """A machine with pods, one that comes, one that was abandoned, a Node without a server; others' beside."""
    made = Yard()
    await made.install()
    await made.server(READY)
    await made.node(READY)
    await made.pod()
    await made.request(COMING, phase="Provisioning", createAttemptAt=START - timedelta(minutes=5))
    await made.server(COMING)
    await made.server(ABANDONED, **{"growth.dev/abandoned": "true"})
    await made.node(ABANDONED)
    await made.removal(READY)
    await made.node(GONE, ready=False)
    await made.server("foreign", cluster="another")
    await made.server("strange", **{"growth.dev/request": ""})
    await made.node("home", labels={})
    await MemoryCluster.create(made.cluster, LEASES, LEASE, namespace=SPACE)
    counters = {"metadata": {"name": "growth-kwok-faults"}, "data": {}}
    await MemoryCluster.create(made.cluster, CONFIG_MAPS, counters, namespace=SPACE)
    return made


async def names(yard, resource, namespace=None):
    return [item["metadata"]["name"] for item in (await MemoryCluster.list(yard.cluster, resource)).items]


async def purged(yard, *, pools=False, abandoned=False):
    lines = []

    async def sleep(seconds):
        yard.pass_time(seconds)

    found = await look(yard.ports, abandoned=abandoned)
    await purge(yard.ports, found, None, pools=pools, abandoned=abandoned, tell=lines.append, sleep=sleep)
    return lines


async def test_what_there_is_is_told_with_what_becomes_of_it_and_its_price(yard):
    found = await look(yard.ports, abandoned=False)
    assert {one.fact.name: one.stays for one in found.servers} == {
        READY: "",
        COMING: "",
        ABANDONED: "a person abandoned it: --abandoned deletes it too",
        "strange": "its labels do not say that Growth made it",
    }
    assert {one.fact.name: (one.pods, one.stays) for one in found.nodes} == {
        READY: (1, ""),
        ABANDONED: (0, "its server stays"),
        GONE: (0, ""),
    }
    assert {currency: str(price) for currency, price in found.price_per_hour().items()} == {"EUR": "0.012"}
    assert [item["metadata"]["name"] for _, item in found.objects] == [COMING, READY]
    assert [name for _, name in found.own] == ["growth-round", "growth-kwok-faults"]
    assert found.others == frozenset()
    assert found.last_round == START - timedelta(hours=1)


async def test_everything_of_the_cluster_goes_and_nothing_else(yard):
    lines = await purged(yard)
    assert sorted(await names(yard, CONFIG_MAPS)) == [ABANDONED, "foreign", "strange"]
    assert sorted(await names(yard, NODES)) == [ABANDONED, "home"]
    assert await names(yard, NODE_REQUESTS) == await names(yard, NODE_REMOVAL_REQUESTS) == []
    assert await names(yard, LEASES) == []
    assert (await names(yard, NODE_POOLS), await names(yard, KWOK_NODE_CLASSES)) == (["default"], ["default"])
    assert lines == [
        f"requests and removals gone: {COMING}, {READY}",
        "0 of 2 servers gone",
        "2 of 2 servers gone",
        "2 Nodes gone",
        f"Lease {SPACE}/growth-round is gone",
        f"ConfigMap {SPACE}/growth-kwok-faults is gone",
    ]


async def test_with_pools_and_abandoned_servers_nothing_of_growth_is_left(yard):
    await MemoryCluster.patch(
        yard.cluster,
        NODE_POOLS,
        "default",
        [{"op": "add", "path": "/metadata/finalizers", "value": ["growth.dev/lifecycle"]}],
    )
    await purged(yard, pools=True, abandoned=True)
    assert (await names(yard, NODE_POOLS), await names(yard, KWOK_NODE_CLASSES)) == ([], [])
    assert sorted(await names(yard, CONFIG_MAPS)) == ["foreign", "strange"]
    assert await names(yard, NODES) == ["home"]


async def test_after_it_there_is_nothing_to_do(yard):
    await purged(yard)
    assert await purged(yard) == []


async def test_definitions_that_hang_because_nobody_lets_go_of_their_objects_go_too(yard):
    for resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_POOLS, KWOK_NODE_CLASSES):
        await yard.delete_definition(resource)
    await purged(yard)
    # The API server does not know the kinds any more.
    found = await look(yard.ports, abandoned=False)
    assert (found.objects, found.pools) == ((), ())
    assert {one.price for one in found.servers} == {None}
    assert sorted(await names(yard, NODES)) == [ABANDONED, "home"]


async def test_a_server_that_may_still_appear_is_waited_for(yard):
    await yard.set_status(NODE_REQUESTS, COMING, {"createAttemptAt": START - timedelta(seconds=10)})
    late = iter([True])
    real = yard.provider.list

    async def list_servers(cluster):
        if yard.now() >= START + timedelta(seconds=20) and next(late, False):
            await yard.server("default-late")
            await yard.node("default-late")
        return await real(cluster)

    yard.provider.list = list_servers
    lines = await purged(yard)
    assert "waiting until 12:00:50 UTC: a server that was asked for may appear until then" in lines
    assert yard.now() >= START + timedelta(seconds=50)
    assert "default-late" not in [*await names(yard, CONFIG_MAPS), *await names(yard, NODES)]


async def test_a_server_that_does_not_go_is_told_and_the_same_command_goes_on(yard, monkeypatch):
    async def delete(name, class_name=None):
        raise UnknownOutcome("locked")

    with monkeypatch.context() as locked:
        locked.setattr(yard.provider, "delete", delete)
        with pytest.raises(CommandError, match=f"2 servers still there after 5m, .*: {READY}, {COMING}"):
            await purged(yard)
    assert yard.now() - START > SERVERS_GONE_WITHIN
    await purged(yard)
    assert READY not in await names(yard, CONFIG_MAPS)


async def test_what_is_being_deleted_is_asked_for_again_only_after_a_while(yard, monkeypatch):
    """The deletion of READY takes, and gets stuck until it is asked for again; that of COMING fails once."""
    calls, deleting = [], set()
    real_list, real_delete = yard.provider.list, yard.provider.delete

    async def delete(name, class_name=None):
        calls.append((name, (yard.now() - START).total_seconds()))
        if [called for called, _ in calls].count(name) == {READY: 3, COMING: 2}[name]:
            await real_delete(name, class_name)
        else:
            deleting.add(name)

    async def list_servers(cluster):
        if yard.now() >= START + timedelta(seconds=10):
            deleting.discard(COMING)
        return [
            replace(one, state=ServerState.DELETING) if one.name in deleting else one
            for one in await real_list(cluster)
        ]

    monkeypatch.setattr(yard.provider, "delete", delete)
    monkeypatch.setattr(yard.provider, "list", list_servers)
    lines = await purged(yard)
    # Seen as being deleted at 2 s, and after the second call at 34 s.
    assert [at for name, at in calls if name == READY] == [0, 32, 64]
    # Its deletion has failed by 10 s.
    assert [at for name, at in calls if name == COMING] == [0, 10]
    assert "2 of 2 servers gone" in lines


async def test_a_refusal_for_good_stops_at_once(yard, monkeypatch):
    async def delete(name, class_name=None):
        raise AuthenticationFailed("token")

    monkeypatch.setattr(yard.provider, "delete", delete)
    with pytest.raises(CommandError, match="the purge has stopped, the same command goes on with it: token"):
        await purged(yard)


@pytest.mark.parametrize("write", range(1, 12))
async def test_cut_off_at_any_write_the_same_command_goes_on(yard, write):
    yard.cluster.refuse = lambda *_: cut(yard, write)
    with pytest.raises(CommandError, match=r"the purge has stopped|still there"):
        await purged(yard)
    yard.cluster.refuse = None
    await purged(yard)
    assert sorted(await names(yard, CONFIG_MAPS)) == [ABANDONED, "foreign", "strange"]
    assert sorted(await names(yard, NODES)) == [ABANDONED, "home"]
    assert await names(yard, NODE_REQUESTS) == await names(yard, NODE_REMOVAL_REQUESTS) == []


def cut(yard, write):
    if len(yard.cluster.writes) >= write:
        raise Unreachable("no answer")


async def test_an_object_that_others_write_to_goes_all_the_same(yard):
    left = iter(range(3))

    def conflict(verb, resource, name):
        if resource == NODE_REQUESTS and next(left, None) is not None:
            raise Conflict("changed")

    yard.cluster.refuse = conflict
    await purged(yard)
    assert await names(yard, NODE_REQUESTS) == []


@pytest.mark.parametrize("evidence", ["workflow", "node"])
async def test_machines_of_another_cluster_are_told_of(yard, evidence):
    if evidence == "workflow":
        await yard.set_status(NODE_REMOVAL_REQUESTS, READY, {"workflowId": f"node-removal:prod:{READY}:u-9"})
        expected = "prod"
    else:
        await yard.node("foreign")
        expected = "another"
    found = await look(yard.ports, abandoned=False)
    assert found.others == {expected}
    assert {one.fact.name: one.stays for one in found.nodes}.get("foreign", "") in {
        "",
        "its server is not this cluster's",
    }


def with_hetzner(yard):
    """Return the ports of a worker, which has providers for both kinds of class."""
    both = ports_on(yard.cluster, yard.cluster, cluster_name=yard.name, namespace=SPACE, now=yard.now)
    return replace(yard.ports, providers={**both.providers, **yard.ports.providers})


async def test_a_cluster_without_a_class_of_hetzner_s_is_purged_of_the_rest(yard):
    found = await look(with_hetzner(yard), abandoned=False)
    assert {one.fact.name: one.stays for one in found.nodes}[GONE] == ""
    assert found.nodes == (await look(yard.ports, abandoned=False)).nodes


async def test_a_cluster_without_hetzner_s_kind_is_purged_of_the_rest(yard):
    await MemoryCluster.delete(yard.cluster, CRDS, "hetznernodeclasses.growth.dev")
    found = await look(with_hetzner(yard), abandoned=False)
    assert [one.fact.name for one in found.servers] == [READY, COMING, ABANDONED, "strange"]


async def test_a_node_of_a_server_in_an_account_that_no_class_names_stops_a_purge(yard):
    await yard.node("default-a5")
    of_hetzner = [{"op": "replace", "path": "/spec/providerID", "value": "hcloud://7"}]
    await MemoryCluster.patch(yard.cluster, NODES, "default-a5", of_hetzner)
    with pytest.raises(InvalidConfiguration, match=r"look at server default-a5: there is no HetznerNodeClass"):
        await look(with_hetzner(yard), abandoned=False)


async def test_the_last_create_call_counts_wherever_it_is_written(yard):
    await yard.removal("default-a9", createAttemptAt=format_timestamp(START), immediate=True)
    found = await look(yard.ports, abandoned=False)
    assert found.settled_at() == START + timedelta(seconds=60)


UID = "growth.dev/cluster-uid"


async def test_servers_of_another_cluster_of_that_name_and_those_that_nothing_proves_stay():
    yard = Yard(uid="ours")
    await yard.install()
    await yard.server("marked", uid="u-1", **{UID: "ours"})
    await yard.server("theirs", uid="u-2", **{UID: "theirs"})
    await yard.server("unknown", uid="u-3")
    await yard.server("early", uid="u-4")
    await yard.node("early", uid="u-4")
    uid = await yard.request("asked", phase="Provisioning", createAttemptAt=START - timedelta(minutes=5))
    await yard.server("asked", uid=uid)
    await yard.removal("leaving")
    await yard.server("leaving", uid="u-6")
    await yard.removal("orphan", reason="Orphan")
    await yard.server("orphan", uid="u-7")
    for name, made_for in (("leaving", "u-6"), ("orphan", "u-7")):
        label = [{"op": "add", "path": "/metadata/labels", "value": {"growth.dev/request-uid": made_for}}]
        await MemoryCluster.patch(yard.cluster, NODE_REMOVAL_REQUESTS, name, label)
    found = await look(yard.ports, abandoned=False)
    unproven = f"nothing here proves it to be this cluster's: it has no label {UID}"
    assert {one.fact.name: one.stays for one in found.servers if one.stays} == {
        "theirs": f"it is of another Kubernetes cluster, {UID}=theirs",
        "unknown": unproven,
        "orphan": unproven,
    }
    await purged(yard)
    assert sorted(await names(yard, CONFIG_MAPS)) == ["orphan", "theirs", "unknown"]


async def test_killed_when_their_requests_are_gone_servers_of_an_earlier_version_are_still_known(monkeypatch):
    yard = Yard(uid="ours")
    await yard.install()
    uid = await yard.request("asked", phase="Provisioning", createAttemptAt=START - timedelta(minutes=5))
    await yard.server("asked", uid=uid)

    async def die(*_given, **_more):
        raise Unreachable("killed")

    with monkeypatch.context() as patched:
        patched.setattr("worker.commands.purge.purge._delete_servers", die)
        with pytest.raises(CommandError, match="the same command goes on with it"):
            await purged(yard)
    assert await names(yard, NODE_REQUESTS) == []
    await purged(yard)
    assert await names(yard, CONFIG_MAPS) == []
