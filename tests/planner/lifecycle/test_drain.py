"""Whose turn it is on a node that is drained, what blocks it and what is said of that, and how long a pause is."""

from datetime import timedelta

import pytest

from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.drain import NAMED, Occupant, blocked, in_turn, see_drain
from planner.lifecycle.removal import next_step
from planner.lifecycle.seen import Blocker, DrainSeen
from tests.planner.lifecycle.removals import NOW, draining

WEB = Occupant("shop/web")
DB = Occupant("shop/db", blocker=Blocker.LOCAL_STORAGE, why="has local storage: emptyDir data")
BARE = Occupant("shop/bare", blocker=Blocker.BARE_POD, why="has no controller")
KEPT = Occupant("shop/kept", blocker=Blocker.ANNOTATION, why="is annotated")
GOING = Occupant("shop/going", is_terminating=True)
STUCK = Occupant("shop/stuck", is_terminating=True, blocker=Blocker.TERMINATING, why="should have ended at noon")
DNS = Occupant("kube-system/dns", is_critical=True)
CRITICAL_STUCK = Occupant("kube-system/x", is_critical=True, is_terminating=True, blocker=Blocker.TERMINATING, why="…")
UNTOLD = NodeRemovalRequestStatus()


@pytest.mark.parametrize(
    ("pods", "leave"),
    [
        ([], []),
        ([DNS, WEB, DB], [WEB, DB]),
        ([DNS, GOING], []),
        ([DNS, WEB, GOING], [WEB]),
        ([DNS], [DNS]),
        ([DNS, CRITICAL_STUCK], [DNS]),
    ],
    ids=["none", "ordinary first", "one still goes", "others go on", "critical last", "critical ones together"],
)
def test_system_critical_pods_go_when_all_others_are_gone(pods, leave):
    assert in_turn(pods) == leave


@pytest.mark.parametrize(
    ("pods", "seen"),
    [
        ([WEB, DNS], DrainSeen(in_turn=1)),
        ([GOING, DNS], DrainSeen(terminating=1)),
        (
            [WEB, DB, BARE, KEPT],
            DrainSeen(
                in_turn=4,
                blocker=Blocker.ANNOTATION,
                blockers=(
                    "shop/kept is annotated",
                    "shop/bare has no controller",
                    "shop/db has local storage: emptyDir data",
                ),
            ),
        ),
        # What must stay is told before what does not end, and that only when nothing else can go on.
        (
            [STUCK, BARE],
            DrainSeen(in_turn=1, terminating=1, blocker=Blocker.BARE_POD, blockers=("shop/bare has no controller",)),
        ),
        ([STUCK, WEB], DrainSeen(in_turn=1, terminating=1)),
        (
            [STUCK, DNS],
            DrainSeen(terminating=1, blocker=Blocker.TERMINATING, blockers=("shop/stuck should have ended at noon",)),
        ),
    ],
    ids=["none blocks", "one goes", "all kinds", "stuck and bare", "stuck and free", "stuck before critical ones"],
)
def test_what_a_step_is_shown(pods, seen):
    assert see_drain(pods, UNTOLD) == seen


def test_what_blocks_is_told_once_and_again_when_it_changes():
    seen = see_drain([DB], UNTOLD)
    assert not seen.is_told
    told = NodeRemovalRequestStatus(reason=Blocker.LOCAL_STORAGE, message=blocked(seen))
    assert see_drain([DB], told).is_told
    assert not see_drain([DB, BARE], told).is_told
    assert not see_drain([WEB], told).is_told


def test_many_blockers_are_counted():
    many = [Occupant(f"shop/db-{n}", blocker=Blocker.BARE_POD, why="has no controller") for n in range(NAMED + 3)]
    seen = see_drain(many, UNTOLD)
    assert len(seen.blockers) == NAMED + 1
    assert blocked(seen) == (
        "No pod is evicted while one must stay: shop/db-0 has no controller, shop/db-1 has no controller, "
        "shop/db-2 has no controller, shop/db-3 has no controller, shop/db-4 has no controller, 3 more. "
        "Move or delete it, or cancel the removal. The node is looked at again every 1m"
    )


def test_pods_that_do_not_end_are_told_with_what_helps():
    assert blocked(see_drain([STUCK], UNTOLD)) == (
        "Pods do not end: shop/stuck should have ended at noon. See whether their node still runs, "
        "or delete them by force. The node is looked at again every 1m"
    )


def test_what_others_write_does_not_make_a_message_too_long():
    many = [Occupant(f"{'n' * 63}/{'p' * 253}", blocker=Blocker.ANNOTATION, why="w" * 90) for _ in range(9)]
    message = blocked(see_drain(many, UNTOLD))
    assert len(message) == 1024
    assert message.endswith("... Move or delete it, or cancel the removal. The node is looked at again every 1m")


@pytest.mark.parametrize(
    ("refusals", "pause"),
    [(0, 10), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 300), (7, 300), (10**6, 300)],
)
def test_the_pause_doubles_up_to_five_minutes(refusals, pause):
    seen = draining({"evict_attempts": refusals, "evict_attempted_at": NOW, "reason": "BlockedByBudget"})
    assert next_step(seen, None, NOW).until == NOW + timedelta(seconds=pause)


def test_a_budget_is_told_in_the_words_of_the_api_server():
    words = "evict pod shop/a: The disruption budget web needs 1 healthy pods and has 1 currently"
    status = {"evict_attempts": 1, "evict_attempted_at": NOW, "reason": "BlockedByBudget", "message": words}
    # Asked 10 s later again: planner.lifecycle.drain, ASK_AGAIN_AFTER.
    evict = "At the deadline: Evict 2 pods; system-critical ones go last"
    assert next_step(draining(status), None, NOW).message == f"{words}. {evict}"


def test_the_deadline_is_announced():
    drain = {"blocker": Blocker.BARE_POD, "blockers": ("shop/bare has no controller",), "is_told": True}
    message = next_step(draining(drain=drain, hard_grace=60), None, NOW).message
    assert message.endswith(
        "or cancel the removal. The node is looked at again every 1m. "
        "At the deadline: hardGrace is over: delete 2 pods, whatever keeps them"
    )
