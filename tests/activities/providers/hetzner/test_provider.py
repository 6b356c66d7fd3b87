"""The provider against the fake API: what a create call ends in, whose servers are found, and what is kept of a look.

Numbers with # are issues of other autoscalers for Hetzner: see docs/hetzner.md.
"""

from dataclasses import replace

import pytest

from activities.ports.cluster import SECRETS
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
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.yard import LABELS, NAMESPACE, ORDER, TOKEN, Yard, hetzner_class, secret

NAME = ORDER.name


@pytest.fixture
async def yard():
    return await Yard().open()


async def state(yard, name=NAME):
    return await yard.provider.get(name, "default")


async def test_a_server_is_created_as_the_class_and_the_order_say(yard):
    await yard.create()
    server = yard.servers()[NAME]
    assert server.labels == {**LABELS, "growth.dev/node-class": "default"}
    assert (server.server_type, server.location) == ("cx23", "fsn1")
    assert "--register-with-taints=growth.dev/unregistered:NoSchedule" in server.user_data


async def test_a_lost_answer_makes_no_second_server(yard):  # 6: karpenter-hetzner#61, frappe/press#5857
    yard.cloud.faults.append(Fault("create_server", "lost_reply"))
    with pytest.raises(UnknownOutcome):
        await yard.create()
    adopted = await yard.create()
    assert adopted.labels["growth.dev/request-uid"] == "0f"
    assert list(yard.servers()) == [NAME]
    assert yard.cloud.count("create_server") == 1, "after an unknown outcome the name is looked up before a second call"


async def test_another_worker_adopts_the_server_by_its_name(yard):
    yard.cloud.faults.append(Fault("create_server", "lost_reply"))
    with pytest.raises(UnknownOutcome):
        await yard.create()
    yard.provider = yard.another_worker()
    adopted = await yard.create()
    assert adopted.labels["growth.dev/request-uid"] == "0f"
    assert list(yard.servers()) == [NAME]


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_an_error_that_left_a_server_behind_is_found_out(yard, status):  # 7: terraform-hcloud#469
    yard.cloud.faults.append(Fault("create_server", "error_after", status=status, code="server_error"))
    with pytest.raises(UnknownOutcome):
        await yard.create()
    assert (await yard.create()).name == NAME
    assert list(yard.servers()) == [NAME]


async def test_a_foreign_server_of_the_name_is_told_and_left_alone(yard):
    await yard.create(replace(ORDER, labels={**LABELS, "growth.dev/request-uid": "another"}))
    found = await yard.create()
    assert found.labels["growth.dev/request-uid"] == "another"
    assert len(yard.servers()) == 1


async def test_no_stock_is_believed_whatever_was_published(yard):  # 2: kubernetes/autoscaler#7038
    yard.cloud.sell_out("cx23", "fsn1")
    offered = {(o.server_type, o.location): o for o in yard.provider.offerings(await yard.node_class())}
    assert offered["cx23", "fsn1"].available, "the published flag says so"
    with pytest.raises(InsufficientCapacity, match="cx23 in fsn1"):
        await yard.create()
    assert yard.cloud.count("create_server") == 1


async def test_a_published_shortage_is_tried_all_the_same(yard):  # karpenter-provider-hcloud, 2026-08-16
    yard.cloud.publish_available("cx23", "fsn1", False)
    yard.pass_time(700)
    await yard.provider.tend()
    offered = {(o.server_type, o.location): o for o in yard.provider.offerings(await yard.node_class())}
    assert offered["cx23", "fsn1"].is_doubtful
    assert (await yard.create()).state is ServerState.CREATING


async def test_a_type_that_is_withdrawn_is_not_asked_for(yard):  # 17: PR#7211
    yard.cloud.withdraw("cx23", "fsn1", yard.now)
    yard.pass_time(700)
    await yard.provider.tend()
    with pytest.raises(InsufficientCapacity, match="no longer sold") as told:
        await yard.create()
    assert told.value.lasts
    assert yard.cloud.count("create_server") == 0
    assert (await yard.create(replace(ORDER, server_type="cx33"))).server_type == "cx33"


async def test_a_limit_of_the_project_is_no_shortage_and_stops_further_calls(yard):  # karpenter-hetzner p#64
    yard.cloud.set_server_limit(1)
    await yard.create()
    for number in range(20):
        with pytest.raises(QuotaExceeded, match="limit"):
            await yard.create(replace(ORDER, name=f"default-b{number}"))
    assert yard.cloud.count("create_server") == 2


async def test_a_limit_that_was_lifted_is_found_out(yard):
    yard.cloud.set_server_limit(0)
    with pytest.raises(QuotaExceeded):
        await yard.create()
    yard.cloud.set_server_limit(5)
    yard.pass_time(300)
    assert (await yard.create()).name == NAME


async def test_one_call_too_many_stops_all_calls_of_the_project_for_a_while(yard):
    yard.cloud.faults.append(Fault("create_server", "error", status=429, code="rate_limit_exceeded", times=None))
    yard.cloud.set_rate_limit(36, per_second=0.01)
    with pytest.raises(RateLimited):
        await yard.create()
    before = yard.cloud.count()
    for number in range(5):
        with pytest.raises(RateLimited) as told:
            await yard.create(replace(ORDER, name=f"default-b{number}"))
        assert told.value.retry_after_seconds > 5
    assert yard.cloud.count() == before


@pytest.mark.parametrize("times", [1, 3])
async def test_a_locked_server_is_deleted_later(yard, times):
    await yard.create()
    yard.pass_time(60)
    yard.cloud.faults.append(Fault("delete_server", "error", status=423, code="locked", times=times))
    for _ in range(times):
        with pytest.raises(UnknownOutcome, match="locked"):
            await yard.provider.delete(NAME, "default")
    await yard.provider.delete(NAME, "default")
    yard.pass_time(60)
    with pytest.raises(NotFound):
        await state(yard)


async def test_a_protected_server_stays_and_says_so(yard):
    await yard.create()
    yard.pass_time(60)
    yard.cloud.protect(NAME)
    with pytest.raises(InvalidConfiguration, match="protected"):
        await yard.provider.delete(NAME, "default")
    assert NAME in yard.servers()


async def test_a_server_that_went_by_itself_is_deleted_with_success(yard):
    await yard.create()
    yard.pass_time(60)
    yard.cloud.faults.append(Fault("delete_server", "error", status=404, code="not_found"))
    await yard.provider.delete(NAME, "default")


async def test_a_deletion_that_has_no_effect_is_asked_for_again(yard):
    await yard.create()
    yard.pass_time(60)
    stuck = yard.cloud.faults.append(Fault("delete_server", "stuck_delete", times=None))
    await yard.provider.delete(NAME, "default")
    await yard.tend_for(60)
    assert (await state(yard)).state is ServerState.DELETING
    yard.cloud.faults.remove(stuck)
    await yard.provider.delete(NAME, "default")
    await yard.tend_for(60)
    with pytest.raises(NotFound):
        await state(yard)


async def test_a_server_that_no_list_shows_yet_is_not_missing(yard):
    yard.cloud.faults.append(Fault("create_server", "hidden", seconds=120))
    await yard.create()
    for _ in range(10):
        yard.pass_time(10)
        assert (await state(yard)).name == NAME


@pytest.mark.parametrize("command", ["create_server", "start_server"])
async def test_a_failure_after_the_answer_makes_the_server_a_broken_one(yard, command):  # 4: PR#6364-6367
    yard.cloud.faults.append(
        Fault("create_server", "action_error", command=command, code="resource_unavailable", message="no hosts")
    )
    await yard.create()
    await yard.tend_for(60)
    broken = await state(yard)
    assert broken.state is ServerState.BROKEN
    assert "no hosts" in broken.problem
    await yard.provider.delete(NAME, "default")
    await yard.tend_for(60)
    with pytest.raises(NotFound):
        await state(yard)
    assert not yard.servers()


async def test_a_slow_creation_is_one_that_progresses(yard):  # 5: k/a#5757, #8013
    yard.cloud.faults.append(Fault("create_server", "slow_action", seconds=720))
    await yard.create()
    for _ in range(11):
        await yard.tend_for(60, step=20)
        slow = await state(yard)
        assert (slow.state, slow.is_progressing) == (ServerState.CREATING, True)
    await yard.tend_for(120, step=20)
    assert (await state(yard)).state is ServerState.RUNNING


async def test_a_server_that_somebody_switched_off_is_broken_once_it_is_not_young(yard):
    await yard.create()
    yard.pass_time(3600)
    assert (await state(yard)).state is ServerState.RUNNING
    number = yard.servers()[NAME].id
    yard.cloud.handle("POST", f"/servers/{number}/actions/poweroff", [], None, TOKEN)
    yard.pass_time(60)
    assert (await state(yard)).state is ServerState.BROKEN


async def test_labels_of_others_stay_when_one_is_added(yard):
    await yard.create()
    yard.pass_time(60)
    server = yard.servers()[NAME]
    await yard.provider.label(NAME, {"growth.dev/abandoned": "true"}, "default")
    assert yard.servers()[NAME].labels == {**server.labels, "growth.dev/abandoned": "true"}


async def test_after_a_change_of_the_class_a_call_waits_until_it_was_looked_up(yard):
    path = "/spec/image/name"
    await yard.cluster.patch(HETZNER_NODE_CLASSES, "default", [{"op": "replace", "path": path, "value": "debian-13"}])
    with pytest.raises(ClassNotLookedUp, match="looked up"):
        await yard.create()
    assert yard.cloud.count("create_server") == 0
    yard.pass_time(1)
    await yard.provider.tend()
    assert (await yard.create()).name == NAME


async def test_a_token_that_was_refused_is_read_anew(yard):
    yard.cloud.remove_token(TOKEN)
    with pytest.raises(AuthenticationFailed, match="tokenSecretRef"):
        await yard.create()
    fresh = "f" * 64
    yard.cloud.add_token(fresh)
    await _put_token(yard, fresh)
    assert (await yard.create()).name == NAME


async def test_a_machine_of_a_class_that_is_gone_can_still_be_deleted(yard):
    await yard.create()
    yard.pass_time(60)
    await yard.cluster.delete(HETZNER_NODE_CLASSES, "default")
    await yard.provider.delete(NAME, "default")
    yard.pass_time(60)
    with pytest.raises(NotFound):
        await state(yard)


async def test_without_any_class_nothing_is_said_to_be_absent():
    yard = Yard()
    with pytest.raises(InvalidConfiguration, match="HetznerNodeClass"):
        await yard.provider.get(NAME)
    with pytest.raises(InvalidConfiguration, match="default does not exist"):
        await yard.provider.get(NAME, "default")


async def test_classes_of_one_project_share_what_is_known_of_it():
    yard = await Yard().open(hetzner_class("one"), hetzner_class("two"))
    await yard.create(name="one")
    before = yard.cloud.count()
    yard.pass_time(30)
    assert (await yard.provider.get(NAME, "one")).labels["growth.dev/node-class"] == "one"
    assert len(await yard.provider.list("one")) == 1
    assert yard.cloud.count() == before + 1


async def test_a_class_with_a_bad_token_harms_no_other():  # karpenter-hetzner p#65
    yard = Yard()
    await yard.cluster.create(SECRETS, secret("bad", token="nope" * 16), namespace=NAMESPACE)
    bad = {"namespace": NAMESPACE, "name": "bad", "key": "token"}
    await yard.open(hetzner_class("good"), hetzner_class("bad", tokenSecretRef=bad))
    with pytest.raises(InvalidConfiguration, match=r"bad.*token"):
        yard.provider.offerings(await yard.node_class("bad"))
    assert (await yard.create(name="good")).name == NAME
    yard.pass_time(60)
    assert (await yard.provider.get(NAME, "good")).state is ServerState.RUNNING
    before = len([each for each in yard.cloud.requests if each.verb != "list_servers"])
    await yard.tend_for(600)
    refused = len([each for each in yard.cloud.requests if each.verb != "list_servers"]) - before
    assert refused <= 40, "a token that is refused is tried less and less often"


async def _put_token(yard, token):
    await yard.cluster.delete(SECRETS, "hcloud", namespace=NAMESPACE)
    await yard.cluster.create(SECRETS, secret("hcloud", token=token), namespace=NAMESPACE)


async def test_a_type_whose_disk_the_image_does_not_fit_on_is_not_offered():
    yard = Yard()
    yard.cloud.add_image(description="golden", labels={"role": "worker"}, disk_gb=100)
    await yard.open(hetzner_class(image={"selector": "role=worker"}))
    offered = {one.server_type for one in yard.provider.offerings(await yard.node_class())}
    # cx23 has 40 GB, cx43 160 GB.
    assert "cx43" in offered
    assert "cx23" not in offered


async def test_a_deleted_server_is_known_to_be_gone_as_soon_as_its_deletion_has_ended(yard):
    await yard.create()
    await yard.tend_for(60)
    await yard.provider.delete(NAME, "default")
    await yard.tend_for(8)
    with pytest.raises(NotFound):
        await state(yard)


async def test_a_location_without_a_host_left_is_a_shortage(yard):
    yard.cloud.faults.append(Fault("create_server", "error", status=503, code="placement_error"))
    with pytest.raises(InsufficientCapacity):
        await yard.create()


async def test_two_tokens_of_one_project_list_each_server_once():
    yard = Yard()
    yard.cloud.add_token("s" * 64)
    await yard.cluster.create(SECRETS, secret("second", token="s" * 64), namespace=NAMESPACE)
    ref = {"namespace": NAMESPACE, "name": "second", "key": "token"}
    await yard.open(hetzner_class("first"), hetzner_class("second", tokenSecretRef=ref))
    await yard.create(name="first")
    assert len(await yard.provider.list("one")) == 1


async def test_a_token_that_was_changed_moments_ago_is_used_at_once(yard):
    await yard.create()
    yard.cloud.remove_token(TOKEN)
    yard.cloud.add_token("f" * 64)
    await _put_token(yard, "f" * 64)
    assert (await yard.create(replace(ORDER, name="default-b2"))).name == "default-b2"


async def test_a_server_whose_answer_was_lost_is_adopted_although_no_more_may_be_had(yard):
    yard.cloud.faults.append(Fault("create_server", "lost_reply"))
    with pytest.raises(UnknownOutcome):
        await yard.create()
    yard.provider = yard.another_worker()
    yard.cloud.set_server_limit(1)
    with pytest.raises(QuotaExceeded):
        await yard.create(replace(ORDER, name="default-b2"))
    assert (await yard.create()).labels["growth.dev/request-uid"] == "0f"


async def test_actions_that_the_api_has_forgotten_say_nothing_of_their_server(yard):
    yard.cloud.durations.create_seconds = 600
    await yard.create()
    yard.cloud.faults.append(Fault("list_servers", "error", status=503, code="unavailable", times=None))
    with_ids = yard.provider._projects.known[0].actions
    with_ids._open = {number + 1000: kept for number, kept in with_ids._open.items()}
    await yard.tend_for(20)
    assert (await state(yard)).state is ServerState.CREATING


async def test_a_server_that_is_switched_off_for_good_costs_no_calls(yard):
    await yard.create()
    await yard.tend_for(1200, step=20)
    number = yard.servers()[NAME].id
    yard.cloud.handle("POST", f"/servers/{number}/actions/poweroff", [], None, TOKEN)
    yard.pass_time(30)
    await yard.provider.list("one")
    before = yard.cloud.count("list_servers")
    await yard.tend_for(600)
    assert yard.cloud.count("list_servers") == before


async def test_a_mistyped_token_does_not_keep_a_machine_from_being_deleted(yard):
    await yard.create()
    yard.pass_time(60)
    await _put_token(yard, "not a token!")
    await yard.provider.delete(NAME, "default")
    yard.pass_time(60)
    with pytest.raises(NotFound):
        await state(yard)
