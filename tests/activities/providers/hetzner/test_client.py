"""The client on the fake API: what is asked, what is understood, and that each call is made once."""

import asyncio

import pytest
from pydantic import SecretStr

from activities.ports.errors import (
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
from activities.providers.hetzner.api.refusals import GroupFull, Locked, NameInUse, Protected
from simulator.hetzner.faults import Fault
from simulator.hetzner.http import serve
from tests.activities.providers.hetzner.clients import TOKEN, World


@pytest.fixture
def world():
    return World()


async def test_a_server_is_asked_for_and_found_by_its_name(world):
    created = await world.client.create_server(world.creation())
    assert (created.server.name, created.server.server_type, created.server.location) == ("a-1", "cx23", "fsn1")
    assert created.server.status == "initializing"
    assert created.server.created_at == world.now
    assert [action.command for action in created.actions] == ["create_server", "start_server"]
    assert {action.status for action in created.actions} == {"running"}
    world.passes(60)
    found = await world.client.server("a-1")
    assert found is not None
    assert (found.id, found.status) == (created.server.id, "running")
    assert found.labels == {"growth.dev/cluster": "prod"}
    assert await world.client.server("a") is None


async def test_all_that_is_asked_for_arrives(world):
    network, firewall, key = world.cloud.add_network("n"), world.cloud.add_firewall("f"), world.cloud.add_ssh_key("k")
    group = await world.client.create_placement_group("g-1", {"a": "b"})
    created = await world.client.create_server(
        world.creation(
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
    (kept,) = world.cloud.servers_of()
    assert kept.user_data == "#cloud-config\n"
    world.passes(60)
    found = await world.client.server("a-1")
    assert found is not None
    assert (found.status, found.networks) == ("off", (network,))


@pytest.mark.parametrize(
    ("change", "kind", "told"),
    [
        ({"location": "ash"}, InsufficientCapacity, "(cx23 in ash)"),
        ({"image": 1}, InvalidConfiguration, "image"),
        ({"labels": {"hetzner.cloud/x": "y"}}, InvalidConfiguration, "labels"),
    ],
)
async def test_refusals_leave_nothing_behind_and_say_what_is_wrong(world, change, kind, told):
    with pytest.raises(ProviderError) as refused:
        await world.client.create_server(world.creation(**change))
    assert type(refused.value) is kind
    assert told in str(refused.value)
    assert world.cloud.servers_of() == []


async def test_a_type_that_is_sold_out_or_not_sold_in_a_location(world):
    world.cloud.sell_out("cx23", "fsn1")
    with pytest.raises(InsufficientCapacity) as sold_out:
        await world.client.create_server(world.creation())
    assert not sold_out.value.lasts
    with pytest.raises(InsufficientCapacity) as never_sold:
        await world.client.create_server(world.creation(location="ash"))
    assert never_sold.value.lasts


async def test_a_project_that_may_have_no_more_servers(world):
    world.cloud.set_server_limit(1)
    await world.made()
    with pytest.raises(QuotaExceeded, match=r"server_limit.*ask Hetzner for a higher limit"):
        await world.client.create_server(world.creation("a-2"))


async def test_a_name_that_is_taken(world):
    await world.made()
    with pytest.raises(NameInUse):
        await world.client.create_server(world.creation())
    assert len(world.cloud.servers_of()) == 1


async def test_an_eleventh_server_does_not_fit_into_a_group(world):
    group = await world.client.create_placement_group("g-1", {"growth.dev/cluster": "prod"})
    ids = {await world.made(f"a-{number}", placement_group=group.id) for number in range(10)}
    with pytest.raises(GroupFull):
        await world.client.create_server(world.creation("a-11", placement_group=group.id))
    (read,) = await world.client.placement_groups("growth.dev/cluster=prod")
    assert (read.id, read.name, set(read.servers)) == (group.id, "g-1", ids)
    assert await world.client.placement_groups("growth.dev/cluster=other") == []


async def test_a_group_is_deleted_once_and_again(world):
    group = await world.client.create_placement_group("g-1", {})
    with pytest.raises(NameInUse):
        await world.client.create_placement_group("g-1", {})
    await world.client.delete_placement_group(group.id)
    await world.client.delete_placement_group(group.id)
    assert world.cloud.project().groups == {}


async def test_a_lost_answer_to_a_creation_is_one_request_and_one_server_that_can_be_found(world):
    world.cloud.faults.append(Fault("create_server", "lost_reply"))
    with pytest.raises(UnknownOutcome, match=r"create server a-1 \(cx23 in fsn1\): .* did not answer within 20 s"):
        await world.client.create_server(world.creation())
    assert world.cloud.count("create_server") == 1
    assert await world.client.server("a-1") is not None


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (502, "", UnknownOutcome),
        (503, "", UnknownOutcome),
        (504, "", UnknownOutcome),
        (502, "bad_gateway", UnknownOutcome),
        (504, "timeout", UnknownOutcome),
        (500, "server_error", UnknownOutcome),
        (409, "conflict", Locked),
        (423, "locked", Locked),
        (429, "rate_limit_exceeded", RateLimited),
        (429, "", RateLimited),
    ],
)
@pytest.mark.parametrize("call", ["create", "read"])
async def test_no_call_is_repeated_whatever_it_is_answered(world, status, code, kind, call):
    world.cloud.faults.append(Fault("any", "error", times=None, status=status, code=code))
    with pytest.raises(ProviderError) as failed:
        await (world.client.create_server(world.creation()) if call == "create" else world.client.server("a-1"))
    assert type(failed.value) is kind
    assert world.count() == 1


async def test_one_call_too_many_stops_the_whole_project_without_a_further_request(world):
    world.cloud.set_rate_limit(1)
    world.cloud.project().bucket.take(world.now)
    with pytest.raises(RateLimited) as refused:
        await world.client.servers("a=b")
    assert refused.value.retry_after_seconds == 60.0
    assert TOKEN[:8] not in str(refused.value)
    assert "[redacted]" in str(refused.value)
    with pytest.raises(RateLimited, match="Growth has used up its calls"):
        await world.client.delete_server(1)
    assert world.count() == 1


async def test_calls_end_before_hetzner_refuses_one_as_others_spend_them_too(world):
    world.cloud.set_rate_limit(10)
    for _ in range(8):
        world.cloud.project().bucket.take(world.now)
    for _ in range(2):
        await world.client.servers("a=b")
    with pytest.raises(RateLimited, match="Growth has used up its calls"):
        await world.client.servers("a=b")
    assert world.count() == 2


async def test_a_server_that_is_gone_is_deleted(world):
    await world.client.delete_server(77)
    made = await world.made()
    await world.client.delete_server(made)
    world.passes(60)
    await world.client.delete_server(made)
    assert world.cloud.servers_of() == []


async def test_a_protected_server_is_not_deleted_and_says_so(world):
    made = await world.made()
    world.cloud.protect("a-1")
    found = await world.client.server("a-1")
    assert found is not None
    assert found.is_protected
    with pytest.raises(Protected, match="a person has protected it"):
        await world.client.delete_server(made)


async def test_a_server_that_something_is_done_to_is_locked(world):
    created = await world.client.create_server(world.creation())
    with pytest.raises(Locked):
        await world.client.delete_server(created.server.id)


async def test_labels_are_replaced_as_a_whole(world):
    made = await world.made(labels={"a": "b", "c": "d"})
    await world.client.set_labels(made, {"e": "f"})
    assert world.labels("a-1") == {"e": "f"}
    with pytest.raises(NotFound):
        await world.client.set_labels(77, {})


async def test_a_stopped_server_is_attached_and_started(world):
    network = world.cloud.add_network("n")
    made = await world.made(start=False)
    attached = await world.client.attach_to_network(made, network, "10.0.1.0/24")
    assert attached is not None
    assert attached.command == "attach_to_network"
    world.passes(10)
    assert await world.client.attach_to_network(made, network, None) is None
    assert (await world.client.power_on(made)).command == "start_server"
    world.passes(10)
    found = await world.client.server("a-1")
    assert found is not None
    assert (found.status, found.networks) == ("running", (network,))


async def test_a_subnet_without_a_free_address_is_named(world):
    network = world.cloud.add_network("n", subnets=(("10.0.1.0/30", "eu-central"),))
    first, second = await world.made("a-1"), await world.made("a-2")
    await world.client.attach_to_network(first, network, "10.0.1.0/30")
    world.passes(10)
    with pytest.raises(QuotaExceeded, match=r"\(10\.0\.1\.0/30\).*its subnet has no free address"):
        await world.client.attach_to_network(second, network, "10.0.1.0/30")


async def test_actions_are_looked_at_in_batches(world):
    ids = []
    for number in range(30):
        created = await world.client.create_server(world.creation(f"a-{number}"))
        ids += [action.id for action in created.actions]
    before = world.count()
    found = await world.client.actions(ids)
    assert [action.id for action in found] == sorted(ids)
    assert world.count() - before == 3
    assert await world.client.actions([]) == []
    assert world.count() - before == 3
    world.passes(60)
    assert {action.status for action in await world.client.actions(ids)} == {"success"}


async def test_why_an_action_failed_is_told(world):
    world.cloud.faults.append(Fault("create_server", "action_error", code="resource_unavailable", message="no room"))
    created = await world.client.create_server(world.creation())
    world.passes(60)
    actions = await world.client.actions([created.actions[0].id])
    assert [(action.status, action.error_code, action.error_message) for action in actions] == [
        ("error", "resource_unavailable", "no room")
    ]


async def test_all_pages_of_a_list_are_read(world):
    for number in range(60):
        await world.client.create_server(world.creation(f"a-{number}", labels={"even": str(number % 2 == 0).lower()}))
    before = world.count()
    assert {server.name for server in await world.client.servers("even")} == {f"a-{number}" for number in range(60)}
    assert world.count() - before == 2
    assert len(await world.client.servers("even=true")) == 30
    assert world.count() - before == 3


async def test_at_most_five_calls_are_under_way_at_a_time(world):
    under_way, seen = 0, []

    async def compute(work):
        nonlocal under_way
        under_way += 1
        seen.append(under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return work()

    client = world.client_of(TOKEN, compute=compute)
    await asyncio.gather(*(client.server(f"a-{number}") for number in range(20)))
    assert max(seen) == 5
    assert len(seen) == 20


async def test_deletions_go_first_and_nothing_else(world):
    spent = []

    class Noted(CallBudget):
        async def spend(self, *, first: bool = False) -> None:
            spent.append(first)

    client = world.client_of(TOKEN, budget=Noted())
    await client.delete_server(1)
    await client.delete_placement_group(1)
    assert spent == [True, True]
    await client.server("a-1")
    await client.create_server(world.creation())
    assert spent == [True, True, False, False]


@pytest.mark.parametrize("hangs", [False, True])
async def test_over_a_real_connection_a_lost_answer_is_one_request_and_one_server(world, hangs):
    world.cloud.faults.append(Fault("create_server", "lost_reply", hangs=hangs))
    with serve(world.cloud) as endpoint:
        client = HetznerClient(SecretStr(TOKEN), endpoint=endpoint, budget=CallBudget(), timeout_seconds=0.2)
        try:
            with pytest.raises(UnknownOutcome, match="did not answer within" if hangs else "no answer from"):
                await client.create_server(world.creation())
            assert world.cloud.count("create_server") == 1
            found = await client.server("a-1")
        finally:
            client.close()
    assert found is not None
