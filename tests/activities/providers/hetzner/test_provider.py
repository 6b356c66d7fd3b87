"""The provider against the fake API: what a create call ends in, whose servers are found, and what is kept of a look.

Numbers with # are issues of other autoscalers for Hetzner: see docs/hetzner.md.
"""

from dataclasses import replace

import pytest

from activities.ports.errors import (
    AuthenticationFailed,
    ClassNotLookedUp,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    RateLimited,
    UnknownOutcome,
)
from activities.ports.provider import ServerState
from activities.providers.built_in import HETZNER_NODE_CLASSES
from tests.activities.providers.hetzner.scenes import LABELS, ORDER, TOKEN, ProviderScene
from tests.builders import hetzner_node_class

NAME = ORDER.name


async def test_a_server_is_created_as_the_class_and_the_order_say(scene):
    await scene.create()
    server = scene.servers()[NAME]
    assert server.labels == {**LABELS, "growth.dev/node-class": "default"}
    assert (server.server_type, server.location) == ("cx23", "fsn1")
    assert "--register-with-taints=growth.dev/unregistered:NoSchedule" in server.user_data


async def test_a_lost_answer_makes_no_second_server(scene):  # 6: karpenter-hetzner#61, frappe/press#5857
    scene.fail("create_server", "lost_reply")
    with pytest.raises(UnknownOutcome):
        await scene.create()
    adopted = await scene.create()
    assert adopted.labels["growth.dev/request-uid"] == "0f"
    assert list(scene.servers()) == [NAME]
    assert scene.cloud.count("create_server") == 1, "the name is looked up before a second call"


async def test_another_worker_adopts_the_server_by_its_name(scene):
    scene.fail("create_server", "lost_reply")
    with pytest.raises(UnknownOutcome):
        await scene.create()
    scene.provider = scene.another_worker()
    adopted = await scene.create()
    assert adopted.labels["growth.dev/request-uid"] == "0f"
    assert list(scene.servers()) == [NAME]


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_an_error_that_left_a_server_behind_is_found_out(scene, status):  # 7: terraform-hcloud#469
    scene.fail("create_server", "error_after", status=status, code="server_error")
    with pytest.raises(UnknownOutcome):
        await scene.create()
    assert (await scene.create()).name == NAME
    assert list(scene.servers()) == [NAME]


async def test_a_foreign_server_of_the_name_is_told_and_left_alone(scene):
    await scene.create(replace(ORDER, labels={**LABELS, "growth.dev/request-uid": "another"}))
    foreign = await scene.create()
    assert foreign.labels["growth.dev/request-uid"] == "another"
    assert len(scene.servers()) == 1


async def test_no_stock_is_believed_whatever_was_published(scene):  # 2: kubernetes/autoscaler#7038
    scene.cloud.sell_out("cx23", "fsn1")
    offered = {(o.server_type, o.location): o for o in scene.provider.offerings(await scene.node_class())}
    assert offered["cx23", "fsn1"].available, "the published flag says so"
    with pytest.raises(InsufficientCapacity, match="cx23 in fsn1"):
        await scene.create()
    assert scene.cloud.count("create_server") == 1


async def test_a_published_shortage_is_tried_all_the_same(scene):  # karpenter-provider-hcloud, 2026-08-16
    scene.cloud.publish_available("cx23", "fsn1", False)
    scene.pass_time(700)
    await scene.provider.tend()
    offered = {(o.server_type, o.location): o for o in scene.provider.offerings(await scene.node_class())}
    assert offered["cx23", "fsn1"].is_doubtful
    assert (await scene.create()).state is ServerState.CREATING


async def test_a_type_that_is_withdrawn_is_not_asked_for(scene):  # 17: PR#7211
    scene.cloud.withdraw("cx23", "fsn1", scene.now)
    scene.pass_time(700)
    await scene.provider.tend()
    with pytest.raises(InsufficientCapacity, match="no longer sold") as raised:
        await scene.create()
    assert raised.value.lasts
    assert scene.cloud.count("create_server") == 0
    assert (await scene.create(replace(ORDER, server_type="cx33"))).server_type == "cx33"


async def test_a_limit_of_the_project_is_no_shortage_and_stops_further_calls(scene):  # karpenter-hetzner p#64
    scene.cloud.set_server_limit(1)
    await scene.create()
    for number in range(20):
        with pytest.raises(QuotaExceeded, match="limit"):
            await scene.create(replace(ORDER, name=f"default-b{number}"))
    assert scene.cloud.count("create_server") == 2


async def test_a_limit_that_was_lifted_is_found_out(scene):
    scene.cloud.set_server_limit(0)
    with pytest.raises(QuotaExceeded):
        await scene.create()
    scene.cloud.set_server_limit(5)
    scene.pass_time(300)
    assert (await scene.create()).name == NAME


async def test_one_call_too_many_stops_all_calls_of_the_project_for_a_while(scene):
    scene.fail("create_server", status=429, code="rate_limit_exceeded", times=None)
    scene.cloud.set_rate_limit(36, per_second=0.01)
    with pytest.raises(RateLimited):
        await scene.create()
    before = scene.cloud.count()
    for number in range(5):
        with pytest.raises(RateLimited) as raised:
            await scene.create(replace(ORDER, name=f"default-b{number}"))
        assert raised.value.retry_after_seconds > 5
    assert scene.cloud.count() == before


@pytest.mark.parametrize("times", [1, 3])
async def test_a_locked_server_is_deleted_later(booted, times):
    booted.fail("delete_server", status=423, code="locked", times=times)
    for _ in range(times):
        with pytest.raises(UnknownOutcome, match="locked"):
            await booted.provider.delete(NAME, "default")
    await booted.provider.delete(NAME, "default")
    booted.pass_time(60)
    with pytest.raises(NotFound):
        await booted.provider.get(NAME, "default")


async def test_a_protected_server_stays_and_says_so(booted):
    booted.cloud.protect(NAME)
    with pytest.raises(InvalidConfiguration, match="protected"):
        await booted.provider.delete(NAME, "default")
    assert NAME in booted.servers()


async def test_a_server_that_went_by_itself_is_deleted_with_success(booted):
    booted.fail("delete_server", status=404, code="not_found")
    await booted.provider.delete(NAME, "default")


async def test_a_deletion_that_has_no_effect_is_asked_for_again(booted):
    stuck = booted.fail("delete_server", "stuck_delete", times=None)
    await booted.provider.delete(NAME, "default")
    await booted.tend_for(60)
    assert await booted.state() is ServerState.DELETING
    booted.cloud.faults.remove(stuck)
    await booted.provider.delete(NAME, "default")
    await booted.tend_for(60)
    with pytest.raises(NotFound):
        await booted.provider.get(NAME, "default")


async def test_a_server_that_no_list_shows_yet_is_not_missing(scene):
    scene.fail("create_server", "hidden", seconds=120)
    await scene.create()
    for _ in range(10):
        scene.pass_time(10)
        assert (await scene.provider.get(NAME, "default")).name == NAME


@pytest.mark.parametrize("command", ["create_server", "start_server"])
async def test_a_failure_after_the_answer_makes_the_server_a_broken_one(scene, command):  # 4: PR#6364-6367
    scene.fail("create_server", "action_error", command=command, code="resource_unavailable", message="no hosts")
    await scene.create()
    await scene.tend_for(60)
    broken = await scene.provider.get(NAME, "default")
    assert broken.state is ServerState.BROKEN
    assert "no hosts" in broken.problem
    await scene.provider.delete(NAME, "default")
    await scene.tend_for(60)
    with pytest.raises(NotFound):
        await scene.provider.get(NAME, "default")
    assert not scene.servers()


async def test_a_slow_creation_is_one_that_progresses(scene):  # 5: k/a#5757, #8013
    scene.fail("create_server", "slow_action", seconds=720)
    await scene.create()
    for _ in range(11):
        await scene.tend_for(60, step=20)
        slow = await scene.provider.get(NAME, "default")
        assert (slow.state, slow.is_progressing) == (ServerState.CREATING, True)
    await scene.tend_for(120, step=20)
    assert await scene.state() is ServerState.RUNNING


async def test_a_server_that_somebody_switched_off_is_broken_once_it_is_not_young(scene):
    await scene.create()
    scene.pass_time(3600)
    assert await scene.state() is ServerState.RUNNING
    scene.power_off()
    scene.pass_time(60)
    assert await scene.state() is ServerState.BROKEN


async def test_labels_of_others_stay_when_one_is_added(booted):
    server = booted.servers()[NAME]
    await booted.provider.label(NAME, {"growth.dev/abandoned": "true"}, "default")
    assert booted.servers()[NAME].labels == {**server.labels, "growth.dev/abandoned": "true"}


async def test_after_a_change_of_the_class_a_call_waits_until_it_was_looked_up(scene):
    await scene.change("/spec/image/name", "debian-13")
    with pytest.raises(ClassNotLookedUp, match="looked up"):
        await scene.create()
    assert scene.cloud.count("create_server") == 0
    scene.pass_time(1)
    await scene.provider.tend()
    assert (await scene.create()).name == NAME


async def test_a_token_that_was_refused_is_read_anew(scene):
    scene.cloud.remove_token(TOKEN)
    with pytest.raises(AuthenticationFailed, match="tokenSecretRef"):
        await scene.create()
    fresh = "f" * 64
    scene.cloud.add_token(fresh)
    await scene.change_token(fresh)
    assert (await scene.create()).name == NAME


async def test_a_machine_of_a_class_that_is_gone_can_still_be_deleted(booted):
    await booted.cluster.delete(HETZNER_NODE_CLASSES, "default")
    await booted.provider.delete(NAME, "default")
    booted.pass_time(60)
    with pytest.raises(NotFound):
        await booted.provider.get(NAME, "default")


async def test_without_any_class_nothing_is_said_to_be_absent():
    scene = ProviderScene()
    with pytest.raises(InvalidConfiguration, match="HetznerNodeClass"):
        await scene.provider.get(NAME)
    with pytest.raises(InvalidConfiguration, match="default does not exist"):
        await scene.provider.get(NAME, "default")


async def test_classes_of_one_project_share_what_is_known_of_it():
    scene = await ProviderScene().open(hetzner_node_class("one"), hetzner_node_class("two"))
    await scene.create(name="one")
    before = scene.cloud.count()
    scene.pass_time(30)
    assert (await scene.provider.get(NAME, "one")).labels["growth.dev/node-class"] == "one"
    assert len(await scene.provider.list("one")) == 1
    assert scene.cloud.count() == before + 1


async def test_a_class_with_a_bad_token_harms_no_other():  # karpenter-hetzner p#65
    scene = ProviderScene()
    bad = await scene.add_token("nope" * 16, name="bad")
    await scene.open(hetzner_node_class("good"), hetzner_node_class("bad", tokenSecretRef=bad))
    with pytest.raises(InvalidConfiguration, match=r"bad.*token"):
        scene.provider.offerings(await scene.node_class("bad"))
    assert (await scene.create(name="good")).name == NAME
    scene.pass_time(60)
    assert (await scene.provider.get(NAME, "good")).state is ServerState.RUNNING
    before = len([each for each in scene.cloud.requests if each.verb != "list_servers"])
    await scene.tend_for(600)
    refused = len([each for each in scene.cloud.requests if each.verb != "list_servers"]) - before
    assert refused <= 40, "a token that is refused is tried less and less often"


async def test_a_type_whose_disk_the_image_does_not_fit_on_is_not_offered():
    scene = ProviderScene()
    scene.cloud.add_image(description="golden", labels={"role": "worker"}, disk_gb=100)
    await scene.open(hetzner_node_class(image={"selector": "role=worker"}))
    offered = {offering.server_type for offering in scene.provider.offerings(await scene.node_class())}
    # cx23 has 40 GB, cx43 160 GB.
    assert "cx43" in offered
    assert "cx23" not in offered


async def test_a_deleted_server_is_known_to_be_gone_as_soon_as_its_deletion_has_ended(scene):
    await scene.create()
    await scene.tend_for(60)
    await scene.provider.delete(NAME, "default")
    await scene.tend_for(8)
    with pytest.raises(NotFound):
        await scene.provider.get(NAME, "default")


async def test_a_location_without_a_host_left_is_a_shortage(scene):
    scene.fail("create_server", status=503, code="placement_error")
    with pytest.raises(InsufficientCapacity):
        await scene.create()


async def test_two_tokens_of_one_project_list_each_server_once():
    scene = ProviderScene()
    scene.cloud.add_token("s" * 64)
    ref = await scene.add_token("s" * 64, name="second")
    await scene.open(hetzner_node_class("first"), hetzner_node_class("second", tokenSecretRef=ref))
    await scene.create(name="first")
    assert len(await scene.provider.list("one")) == 1


async def test_a_token_that_was_changed_moments_ago_is_used_at_once(scene):
    await scene.create()
    scene.cloud.remove_token(TOKEN)
    scene.cloud.add_token("f" * 64)
    await scene.change_token("f" * 64)
    assert (await scene.create(replace(ORDER, name="default-b2"))).name == "default-b2"


async def test_a_server_whose_answer_was_lost_is_adopted_although_no_more_may_be_had(scene):
    scene.fail("create_server", "lost_reply")
    with pytest.raises(UnknownOutcome):
        await scene.create()
    scene.provider = scene.another_worker()
    scene.cloud.set_server_limit(1)
    with pytest.raises(QuotaExceeded):
        await scene.create(replace(ORDER, name="default-b2"))
    assert (await scene.create()).labels["growth.dev/request-uid"] == "0f"


async def test_actions_that_the_api_has_forgotten_say_nothing_of_their_server(scene):
    scene.cloud.durations.create_seconds = 600
    await scene.create()
    scene.fail("list_servers", status=503, code="unavailable", times=None)
    with_ids = scene.provider._projects.known[0].actions
    with_ids._open = {number + 1000: kept for number, kept in with_ids._open.items()}
    await scene.tend_for(20)
    assert await scene.state() is ServerState.CREATING


async def test_a_server_that_is_switched_off_for_good_costs_no_calls(scene):
    await scene.create()
    await scene.tend_for(1200, step=20)
    scene.power_off()
    scene.pass_time(30)
    await scene.provider.list("one")
    before = scene.cloud.count("list_servers")
    await scene.tend_for(600)
    assert scene.cloud.count("list_servers") == before


async def test_a_mistyped_token_does_not_keep_a_machine_from_being_deleted(booted):
    await booted.change_token("not a token!")
    await booted.provider.delete(NAME, "default")
    booted.pass_time(60)
    with pytest.raises(NotFound):
        await booted.provider.get(NAME, "default")
