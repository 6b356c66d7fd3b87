"""The client on the fake API: what is asked, what is understood, and that each call is made once."""

import asyncio

import pytest
from pydantic import SecretStr

from activities.ports.errors import (
    CreateRefused,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    UnknownOutcome,
)
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.refusals import GroupFull, Locked, NameInUse, NamesGone, Protected
from simulator.hetzner.http import serve
from tests.activities.providers.hetzner.scenes import TOKEN, ClientScene


@pytest.fixture
def scene():
    return ClientScene()


async def test_a_server_is_asked_for_and_found_by_its_name(scene):
    created = await scene.api.create_server(scene.creation())
    assert (created.server.name, created.server.server_type, created.server.location) == ("a-1", "cx23", "fsn1")
    assert created.server.status == "initializing"
    assert created.server.created_at == scene.now
    assert [action.command for action in created.actions] == ["create_server", "start_server"]
    assert {action.status for action in created.actions} == {"running"}
    scene.pass_time(60)
    server = await scene.api.server("a-1")
    assert server is not None
    assert (server.id, server.status) == (created.server.id, "running")
    assert server.labels == {"growth.dev/cluster": "prod"}
    assert await scene.api.server("a") is None


async def test_all_that_is_asked_for_arrives(scene):
    network, firewall, key = scene.cloud.add_network("n"), scene.cloud.add_firewall("f"), scene.cloud.add_ssh_key("k")
    group = await scene.api.create_placement_group("g-1", {"a": "b"})
    created = await scene.api.create_server(
        scene.creation(
            networks=(network,),
            firewalls=(firewall,),
            ssh_keys=(key,),
            placement_group=group.id,
            enable_ipv4=False,
            start=False,
        )
    )
    assert created.server.placement_group == group.id
    assert [action.command for action in created.actions] == ["create_server", "attach_to_network"]
    (stored,) = scene.cloud.servers_of()
    assert stored.user_data == "#cloud-config\n"
    scene.pass_time(60)
    server = await scene.api.server("a-1")
    assert server is not None
    assert (server.status, server.networks) == ("off", (network,))


@pytest.mark.parametrize(
    ("change", "kind", "part"),
    [
        ({"location": "ash"}, InsufficientCapacity, "(cx23 in ash)"),
        ({"image": 1}, NamesGone, "image"),
        ({"labels": {"hetzner.cloud/x": "y"}}, InvalidConfiguration, "labels"),
    ],
)
async def test_refusals_leave_nothing_behind_and_say_what_is_wrong(scene, change, kind, part):
    with pytest.raises(ProviderError) as refused:
        await scene.api.create_server(scene.creation(**change))
    assert type(refused.value) is kind
    assert part in str(refused.value)
    assert scene.cloud.servers_of() == []


async def test_a_type_that_is_sold_out_or_not_sold_in_a_location(scene):
    scene.cloud.sell_out("cx23", "fsn1")
    with pytest.raises(InsufficientCapacity) as sold_out:
        await scene.api.create_server(scene.creation())
    assert not sold_out.value.lasts
    with pytest.raises(InsufficientCapacity) as never_sold:
        await scene.api.create_server(scene.creation(location="ash"))
    assert never_sold.value.lasts


async def test_a_project_that_may_have_no_more_servers(scene):
    scene.cloud.set_server_limit(1)
    await scene.boot()
    with pytest.raises(QuotaExceeded, match=r"server_limit.*ask Hetzner for a higher limit"):
        await scene.api.create_server(scene.creation("a-2"))


async def test_a_name_that_is_taken(scene):
    await scene.boot()
    with pytest.raises(NameInUse):
        await scene.api.create_server(scene.creation())
    assert len(scene.cloud.servers_of()) == 1


async def test_an_eleventh_server_does_not_fit_into_a_group(scene):
    group = await scene.api.create_placement_group("g-1", {"growth.dev/cluster": "prod"})
    ids = {await scene.boot(f"a-{number}", placement_group=group.id) for number in range(10)}
    with pytest.raises(GroupFull):
        await scene.api.create_server(scene.creation("a-11", placement_group=group.id))
    (read,) = await scene.api.placement_groups("growth.dev/cluster=prod")
    assert (read.id, read.name, set(read.servers)) == (group.id, "g-1", ids)
    assert await scene.api.placement_groups("growth.dev/cluster=other") == []


async def test_a_group_is_deleted_once_and_again(scene):
    group = await scene.api.create_placement_group("g-1", {})
    with pytest.raises(NameInUse):
        await scene.api.create_placement_group("g-1", {})
    await scene.api.delete_placement_group(group.id)
    await scene.api.delete_placement_group(group.id)
    assert scene.cloud.project().groups == {}


async def test_a_lost_answer_to_a_creation_is_one_request_and_one_server_that_can_be_found(scene):
    scene.fail("create_server", "lost_reply")
    with pytest.raises(UnknownOutcome, match=r"create server a-1 \(cx23 in fsn1\): .* did not answer within 20 s"):
        await scene.api.create_server(scene.creation())
    assert scene.cloud.count("create_server") == 1
    assert await scene.api.server("a-1") is not None


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (502, "", UnknownOutcome),
        (503, "", UnknownOutcome),
        (504, "", UnknownOutcome),
        (502, "bad_gateway", UnknownOutcome),
        (504, "timeout", UnknownOutcome),
        (500, "server_error", UnknownOutcome),
        (409, "conflict", CreateRefused),
        (423, "locked", CreateRefused),
        (429, "rate_limit_exceeded", RateLimited),
        (429, "", RateLimited),
    ],
)
@pytest.mark.parametrize("call", ["create", "read"])
async def test_no_call_is_repeated_whatever_it_is_answered(scene, status, code, kind, call):
    scene.fail("any", times=None, status=status, code=code)
    with pytest.raises(ProviderError) as failed:
        await (scene.api.create_server(scene.creation()) if call == "create" else scene.api.server("a-1"))
    # What is locked is certain to have made nothing; a read is asked for again.
    assert type(failed.value) is (Locked if kind is CreateRefused and call == "read" else kind)
    assert scene.cloud.count() == 1


async def test_one_call_too_many_stops_the_whole_project_without_a_further_request(scene):
    scene.cloud.set_rate_limit(1)
    scene.cloud.project().bucket.take(scene.now)
    with pytest.raises(RateLimited) as refused:
        await scene.api.servers("a=b")
    assert refused.value.retry_after_seconds == 60.0
    assert TOKEN[:8] not in str(refused.value)
    assert "[redacted]" in str(refused.value)
    with pytest.raises(RateLimited, match="Growth has used up its calls"):
        await scene.api.delete_server(1)
    assert scene.cloud.count() == 1


async def test_calls_end_before_hetzner_refuses_one_as_others_spend_them_too(scene):
    scene.cloud.set_rate_limit(10)
    for _ in range(8):
        scene.cloud.project().bucket.take(scene.now)
    for _ in range(2):
        await scene.api.servers("a=b")
    with pytest.raises(RateLimited, match="Growth has used up its calls"):
        await scene.api.servers("a=b")
    assert scene.cloud.count() == 2


async def test_a_server_that_is_gone_is_deleted(scene):
    await scene.api.delete_server(77)
    made = await scene.boot()
    await scene.api.delete_server(made)
    scene.pass_time(60)
    await scene.api.delete_server(made)
    assert scene.cloud.servers_of() == []


async def test_a_protected_server_is_not_deleted_and_says_so(scene):
    made = await scene.boot()
    scene.cloud.protect("a-1")
    server = await scene.api.server("a-1")
    assert server is not None
    assert server.is_protected
    with pytest.raises(Protected, match="a person has protected it"):
        await scene.api.delete_server(made)


async def test_a_server_that_something_is_done_to_is_locked(scene):
    created = await scene.api.create_server(scene.creation())
    with pytest.raises(Locked):
        await scene.api.delete_server(created.server.id)


async def test_labels_are_replaced_as_a_whole(scene):
    made = await scene.boot(labels={"a": "b", "c": "d"})
    await scene.api.set_labels(made, {"e": "f"})
    assert scene.servers()["a-1"].labels == {"e": "f"}
    with pytest.raises(NotFound):
        await scene.api.set_labels(77, {})


async def test_a_stopped_server_is_attached_and_started(scene):
    network = scene.cloud.add_network("n")
    made = await scene.boot(start=False)
    attached = await scene.api.attach_to_network(made, network, "10.0.1.0/24")
    assert attached is not None
    assert attached.command == "attach_to_network"
    scene.pass_time(10)
    assert await scene.api.attach_to_network(made, network, None) is None
    assert (await scene.api.power_on(made)).command == "start_server"
    scene.pass_time(10)
    server = await scene.api.server("a-1")
    assert server is not None
    assert (server.status, server.networks) == ("running", (network,))


async def test_a_subnet_without_a_free_address_is_named(scene):
    network = scene.cloud.add_network("n", subnets=(("10.0.1.0/30", "eu-central"),))
    first, second = await scene.boot("a-1"), await scene.boot("a-2")
    await scene.api.attach_to_network(first, network, "10.0.1.0/30")
    scene.pass_time(10)
    with pytest.raises(QuotaExceeded, match=r"\(10\.0\.1\.0/30\).*its subnet has no free address"):
        await scene.api.attach_to_network(second, network, "10.0.1.0/30")


async def test_actions_are_looked_at_in_batches(scene):
    ids = []
    for number in range(30):
        created = await scene.api.create_server(scene.creation(f"a-{number}"))
        ids += [action.id for action in created.actions]
    before = scene.cloud.count()
    actions = await scene.api.actions(ids)
    assert [action.id for action in actions] == sorted(ids)
    assert scene.cloud.count() - before == 3
    assert await scene.api.actions([]) == []
    assert scene.cloud.count() - before == 3
    scene.pass_time(60)
    assert {action.status for action in await scene.api.actions(ids)} == {"success"}


async def test_why_an_action_failed_is_told(scene):
    scene.fail("create_server", "action_error", code="resource_unavailable", message="no room")
    created = await scene.api.create_server(scene.creation())
    scene.pass_time(60)
    actions = await scene.api.actions([created.actions[0].id])
    assert [(action.status, action.error_code, action.error_message) for action in actions] == [
        ("error", "resource_unavailable", "no room")
    ]


async def test_all_pages_of_a_list_are_read(scene):
    for number in range(60):
        await scene.api.create_server(scene.creation(f"a-{number}", labels={"even": str(number % 2 == 0).lower()}))
    before = scene.cloud.count()
    assert {server.name for server in await scene.api.servers("even")} == {f"a-{number}" for number in range(60)}
    assert scene.cloud.count() - before == 2
    assert len(await scene.api.servers("even=true")) == 30
    assert scene.cloud.count() - before == 3


async def test_at_most_five_calls_are_under_way_at_a_time(scene):
    under_way, seen = 0, []

    async def compute(work):
        nonlocal under_way
        under_way += 1
        seen.append(under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return work()

    client = scene.client(TOKEN, compute=compute)
    await asyncio.gather(*(client.server(f"a-{number}") for number in range(20)))
    assert max(seen) == 5
    assert len(seen) == 20


async def test_deletions_go_first_and_nothing_else(scene):
    spent = []

    class Noted(CallBudget):
        async def spend(self, *, first: bool = False) -> None:
            spent.append(first)

    client = scene.client(TOKEN, budget=Noted())
    await client.delete_server(1)
    await client.delete_placement_group(1)
    assert spent == [True, True]
    await client.server("a-1")
    await client.create_server(scene.creation())
    assert spent == [True, True, False, False]


@pytest.mark.parametrize("hangs", [False, True])
async def test_over_a_real_connection_a_lost_answer_is_one_request_and_one_server(scene, hangs):
    scene.fail("create_server", "lost_reply", hangs=hangs)
    with serve(scene.cloud) as endpoint:
        client = HetznerClient(SecretStr(TOKEN), endpoint=endpoint, budget=CallBudget(), timeout_seconds=0.2)
        try:
            with pytest.raises(UnknownOutcome, match="did not answer within" if hangs else "no answer from"):
                await client.create_server(scene.creation())
            assert scene.cloud.count("create_server") == 1
            server = await client.server("a-1")
        finally:
            client.close()
    assert server is not None
