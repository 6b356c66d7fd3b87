"""A refusal that stops a part of a class: the rest is bought, and of the part one machine is tried first.

Source: docs/design.md#unmet.
"""

from datetime import timedelta

import pytest

from api.model import read
from api.v1alpha1.node_class_status import NodeClassStatus
from planner.lifecycle.request import next_step
from planner.plan import plan
from planner.supply.unavailable import (
    FIRST_PAUSE,
    MOST_PARTS,
    REMEMBERED_FOR,
    PartRefused,
    after_removal,
    part_in_force,
    with_part_refused,
    with_parts_freed,
    with_refusal,
    without_parts_had,
)
from tests.builders import NOW, after, before, kwok_node_class, node_pool, node_request, pod, server_type
from tests.planner.lifecycle import test_request as steps
from tests.planner.scenes import Scene

CX32 = PartRefused("type cx32", "no more", server_types=("cx32",))


def part(until, server_types=("cx32",), locations=(), limit="type cx32", **more):
    times = {"lastFailureAt": before(minutes=5), "until": until}
    reach = {"serverTypes": list(server_types), "locations": list(locations)}
    return {"limit": limit, "message": "no more", "failures": 1} | reach | times | more


def scene(*pods, parts, types=("cx22", "cx32"), **given):
    classes = kwok_node_class(server_type("cx22"), server_type("cx32", locations=("fsn1", "nbg1")))
    classes["status"]["partialPauses"] = list(parts)
    return Scene(classes=[classes], pools=[node_pool(types=types)], pods=list(pods), **given)


def bought(given):
    return [(r.server_type, r.location) for r in plan(given.snapshot()).requests]


def test_pods_that_need_what_is_refused_wait_and_no_others():
    given = scene(pod("big", "3"), pod("small"), parts=[part(after(minutes=5))])
    made = plan(given.snapshot())
    assert [r.server_type for r in made.requests] == ["cx22"]
    (unplaced,) = made.unplaced
    assert unplaced.pod == "default/big"
    assert {(r.code, r.message) for r in unplaced.reasons} >= {
        ("BuyingPaused", "KwokNodeClass/default is refused type cx32 until 2026-03-01T12:05:00Z: no more")
    }


def test_a_closed_location_leaves_the_others():
    closed = part(after(minutes=5), server_types=(), locations=("fsn1",), limit="location fsn1")
    assert bought(scene(pod("a"), parts=[closed])) == [("cx32", "nbg1")]


def test_after_it_one_machine_of_the_part_is_tried_and_others_do_not_wait():
    pods = [pod(f"big-{n}", "3") for n in range(3)] + [pod(f"small-{n}", "1500m") for n in range(2)]
    given = scene(*pods, parts=[part(before(seconds=1))])
    assert sorted(bought(given)) == [("cx22", "fsn1"), ("cx22", "fsn1"), ("cx32", "fsn1")]
    waiting = {unplaced.reasons[0].message for unplaced in plan(given.snapshot()).unplaced}
    assert waiting == {"KwokNodeClass/default was refused type cx32: one machine is tried first"}


def test_the_trial_counts_in_every_location_of_the_part_until_it_is_answered():
    asked = node_request("m", "cx32", createAttemptAt=before(seconds=1))
    given = scene(pod("big", "3"), parts=[part(before(seconds=9))], requests=[asked], types=("cx32",))
    assert bought(given) == []
    had = node_request("m", "cx32", phase="Provisioning", createAttemptAt=before(seconds=1))
    given = scene(*(pod(f"big-{n}", "3") for n in range(4)), parts=[part(before(seconds=9))], requests=[had])
    assert len(bought(given)) >= 3


def test_the_plan_is_made_again_at_its_end():
    assert plan(scene(parts=[part(after(seconds=70))]).snapshot()).wake_at == NOW + timedelta(seconds=70)


def test_a_status_without_the_field_pauses_nothing():
    assert read(NodeClassStatus, {}).partial_pauses == ()


def test_what_a_later_version_adds_to_it_is_passed_over():
    stored = {"partialPauses": [part(after(minutes=1), tomorrow=7)], "somethingNew": 1}
    assert read(NodeClassStatus, stored).partial_pauses[0].limit == "type cx32"


def refused(*times, what=CX32):
    pauses = ()
    for at in times:
        pauses = with_part_refused(pauses, what, now=at)
    return pauses


def test_each_further_refusal_doubles_it_and_one_within_it_does_not_count():
    (pause,) = refused(NOW, NOW + FIRST_PAUSE / 2)
    assert (pause.failures, pause.until) == (1, NOW + FIRST_PAUSE)
    at, waits, pauses = NOW, [], ()
    for _ in range(6):
        pauses = with_part_refused(pauses, CX32, now=at)
        waits.append((pauses[0].until - at) // timedelta(minutes=1))
        at = pauses[0].until
    assert waits == [5, 10, 20, 40, 60, 60]
    (anew,) = refused(NOW, NOW + FIRST_PAUSE + REMEMBERED_FOR)
    assert anew.failures == 1


def test_two_limits_are_remembered_apart():
    pauses = with_part_refused(refused(NOW), PartRefused("location nbg1", "shut", locations=("nbg1",)), now=NOW)
    assert {pause.limit for pause in pauses} == {"type cx32", "location nbg1"}
    assert part_in_force(pauses, "cx22", "nbg1", NOW) is not None
    assert part_in_force(pauses, "cx22", "fsn1", NOW) is None


@pytest.mark.parametrize("second", [NOW + FIRST_PAUSE / 2, NOW + FIRST_PAUSE])
def test_a_limit_that_two_types_meet_may_be_one_of_all_types(second):
    pauses = ()
    for at, name in ((NOW, "cx32"), (second, "cx22")):
        what = PartRefused("flux", "no more", server_types=(name,), may_be_all_types=True)
        pauses = with_part_refused(pauses, what, now=at)
    assert part_in_force(pauses, "cax11", "hel1", second) is not None


def test_a_limit_whose_types_are_known_widens_by_what_it_names():
    pauses = refused(NOW)
    pauses = with_part_refused(pauses, PartRefused("type cx32", "no more", server_types=("cx42",)), now=NOW)
    assert pauses[0].server_types == ("cx32", "cx42")


def test_no_more_are_remembered_than_a_status_holds():
    pauses = ()
    for number in range(MOST_PARTS + 5):
        pauses = with_part_refused(pauses, PartRefused(f"type t{number}", "no", server_types=(f"t{number}",)), now=NOW)
    NodeClassStatus(partial_pauses=pauses)
    assert len(pauses) == MOST_PARTS


def test_only_a_machine_of_it_asked_for_after_it_ends_the_memory():
    pauses = refused(NOW)
    end = NOW + FIRST_PAUSE
    assert without_parts_had(pauses, "cx22", "fsn1", asked_at=end) == pauses
    assert without_parts_had(pauses, "cx32", "fsn1", asked_at=end - timedelta(seconds=1)) == pauses
    assert without_parts_had(pauses, "cx32", "fsn1", asked_at=end) == ()


def test_a_machine_that_goes_ends_what_its_account_was_short_of():
    now = NOW + timedelta(minutes=1)
    (freed,) = with_parts_freed(refused(NOW), "cx32", "hel1", now=now)
    assert (freed.until, freed.failures) == (now, 1)
    assert with_parts_freed(refused(NOW), "cx22", "hel1", now=now) == refused(NOW), "it used none of it"
    shut = refused(NOW, what=PartRefused("location fsn1", "shut", locations=("fsn1",), is_of_account=False))
    assert with_parts_freed(shut, "cx32", "fsn1", now=now) == shut


def test_a_machine_that_goes_ends_the_pause_of_a_whole_class_that_is_its_accounts():
    now = NOW + timedelta(minutes=1)
    ended = after_removal(with_refusal(None, "no more", now=NOW), now=now)
    assert ended is not None
    assert (ended.until, ended.failures) == (now, 1)
    locked = with_refusal(None, "write to support", now=NOW, is_of_account=False)
    assert after_removal(locked, now=now) == locked
    assert after_removal(None, now=now) is None


def test_a_pending_request_of_the_part_is_unmet_without_a_call():
    seen = steps.pending(buying_paused_until=steps.ahead(60), pause_message="no more", refused_part="type cx32")
    step = next_step(seen, steps.NOW)
    assert step.message == "Its class is refused type cx32 until then: no more"
