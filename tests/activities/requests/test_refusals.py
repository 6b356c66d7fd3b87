"""What a refused create call writes into the class's status: as much as the refusal stops, and no more.

Source: docs/design.md#unmet.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.errors import Conflict, Extent, InsufficientCapacity, QuotaExceeded
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.hetzner.registration import KIND
from tests.activities.lives import START
from tests.builders import hetzner_node_class

FIVE_MINUTES = START + timedelta(minutes=5)
DEDICATED = Extent("dedicated cores", ("cx32", "cx42"))
CLOSED = Extent("location fsn1", locations=("fsn1",))


async def status_of(life):
    return (await life.find(KWOK_NODE_CLASSES, "default")).get("status", {})


async def refused(life, error):
    await life.add_request()
    life.cloud.fail["create"] = error
    seen = await life.do("create_server")
    life.cloud.fail.clear()
    return seen


async def remember(life, **status):
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", status)


def part(until="2026-11-01T12:05:00Z", **more):
    times = {"lastFailureAt": "2026-11-01T12:00:00Z", "until": until}
    reach = {"limit": "dedicated cores", "serverTypes": ["cx32"], "locations": [], "isOfAccount": True}
    return reach | {"message": "no more", "failures": 1} | times | more


async def test_a_limit_of_some_types_pauses_these_and_not_the_class(life):
    seen = await refused(life, QuotaExceeded("dedicated core limit exceeded", extent=DEDICATED))
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "QuotaExceeded")
    assert seen.status.expires_at == FIVE_MINUTES
    (pause,) = (await status_of(life))["partialPauses"]
    assert (pause["limit"], pause["serverTypes"], pause["message"]) == (
        "dedicated cores",
        ["cx32", "cx42"],
        "dedicated core limit exceeded",
    )
    assert "pause" not in await status_of(life)
    assert "unavailable" not in await status_of(life)


async def test_a_closed_location_is_noted_once_for_all_types_and_for_the_time_of_a_shortage(life):
    seen = await refused(life, InsufficientCapacity("server location disabled", extent=CLOSED))
    assert (seen.status.phase, seen.status.reason) == ("Unmet", "InsufficientCapacity")
    (pause,) = (await status_of(life))["partialPauses"]
    assert (pause["serverTypes"], pause["locations"], pause["isOfAccount"]) == ([], ["fsn1"], False)
    # unavailableTTL of the pool.
    assert seen.status.expires_at == START + timedelta(seconds=120)


async def test_words_that_may_be_about_the_type_are_a_miss_of_the_offering_too(life):
    perhaps = Extent("location fsn1", ("cx32",), ("fsn1",), may_be_all_types=True)
    await refused(life, InsufficientCapacity("try with a different location", extent=perhaps))
    status = await status_of(life)
    assert [pause["serverTypes"] for pause in status["partialPauses"]] == [["cx32"]]
    assert [entry["serverType"] for entry in status["unavailable"]] == ["cx32"]


async def test_a_pending_request_of_what_is_refused_is_unmet_without_a_call(life):
    await remember(life, partialPauses=[part()])
    await life.add_request()
    seen = await life.do("mark_unmet")
    assert (seen.status.phase, seen.status.reason, seen.status.expires_at) == ("Unmet", "BuyingPaused", FIVE_MINUTES)
    assert seen.status.message == "Its class is refused dedicated cores until then: no more"
    assert life.cloud.calls == []


@pytest.mark.parametrize("other", [{"serverTypes": ["cx42"]}, {"locations": ["hel1"]}])
async def test_a_pending_request_of_something_else_is_asked_for(life, other):
    await remember(life, partialPauses=[part(**other)])
    await life.add_request()
    assert (await life.do("create_server")).status.phase == "Provisioning"


async def test_a_machine_of_it_that_was_asked_for_after_it_ends_the_memory(life):
    await remember(life, partialPauses=[part("2026-11-01T12:00:00Z")])
    await life.add_request()
    await life.do("create_server")
    await life.add_node(ready=True)
    await life.do("register_node")
    await life.do("mark_ready")
    assert (await status_of(life))["partialPauses"] == []


async def test_a_note_that_cannot_be_written_does_not_undo_the_refusal(life):
    def refuse(verb, resource, _):
        if (verb, resource) == ("patch", KWOK_NODE_CLASSES):
            raise Conflict("?")

    life.cluster.refuse = refuse
    seen = await refused(life, QuotaExceeded("dedicated core limit exceeded", extent=DEDICATED))
    assert (seen.status.phase, seen.status.expires_at) == ("Unmet", FIVE_MINUTES)


GONE = {"phase": "Deprovisioning", "removalAttempts": 1, "removeAttemptedAt": START - timedelta(seconds=9)}


async def machine_goes(life, **spec):
    await life.add_leaving(GONE, server=False, node=False, **spec)
    life.pass_time(60)
    await life.do("finish_removal")


async def test_a_machine_that_is_gone_ends_what_its_account_was_short_of(life):
    shut = part(limit="location fsn1", serverTypes=[], locations=["fsn1"], isOfAccount=False)
    pause = {"message": "no servers", "failures": 2, "lastFailureAt": "2026-11-01T12:00:00Z"}
    later = "2026-11-01T12:30:00Z"
    await remember(life, pause=pause | {"until": later}, partialPauses=[part(later), shut | {"until": later}])
    await machine_goes(life)
    status = await status_of(life)
    now = "2026-11-01T12:01:00Z"
    assert status["pause"] == pause | {"until": now}, "failures stay: if it was not enough, the next pause is longer"
    assert [each["until"] for each in status["partialPauses"]] == [now, later]


async def test_a_server_that_never_became_a_machine_has_freed_nothing(life):
    """It may have failed for want of the very thing: bought and deleted again, it would end each pause."""
    await remember(life, partialPauses=[part()])
    await machine_goes(life, immediate=True)
    assert (await status_of(life))["partialPauses"] == [part()]


async def test_a_lock_of_the_account_is_not_ended_by_a_machine_that_goes(life):
    pause = {"message": "write to support", "failures": 1, "lastFailureAt": "2026-11-01T12:00:00Z"}
    locked = pause | {"until": "2026-11-01T12:05:00Z", "isOfAccount": False}
    await remember(life, pause=locked)
    await machine_goes(life)
    assert (await status_of(life))["pause"] == locked


async def test_a_refusal_that_no_machine_ends_is_noted_as_such(life):
    await refused(life, QuotaExceeded("write to support", frees=False))
    assert (await status_of(life))["pause"]["isOfAccount"] is False


async def test_classes_of_one_account_share_what_a_machine_leaves(life):
    for name in ("same", "other"):
        node_class = {"metadata": {"name": name, "labels": {"account": name}}, "spec": {"serverTypes": []}}
        await life.cluster.create(KWOK_NODE_CLASSES, node_class)
        await life.cluster.put(KWOK_NODE_CLASSES, name, "/status", {"partialPauses": [part()]})
    accounts = {"KwokNodeClass": lambda node_class: node_class["metadata"].get("labels", {}).get("account", "same")}
    life.ports = replace(life.ports, accounts=accounts)
    life.restart()
    await machine_goes(life)
    ends = {
        name: (await life.find(KWOK_NODE_CLASSES, name))["status"]["partialPauses"][0]["until"]
        for name in ("same", "other")
    }
    assert ends == {"same": "2026-11-01T12:01:00Z", "other": "2026-11-01T12:05:00Z"}


@pytest.mark.parametrize(
    ("ref", "is_same"),
    [
        ({"namespace": "growth-system", "name": "hcloud"}, True),
        ({"namespace": "growth-system", "name": "hcloud", "key": "token"}, True),
        ({"namespace": "growth-system", "name": "second"}, False),
    ],
)
def test_hetzner_classes_with_one_token_are_of_one_account(ref, is_same):
    one, other = hetzner_node_class("one"), hetzner_node_class("other", tokenSecretRef=ref)
    assert (KIND.account(one) == KIND.account(other)) is is_same
