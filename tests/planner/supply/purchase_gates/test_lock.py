"""The lock after purchases: when it closes, what it holds back, and what opens it. Source: docs/growth.md."""

from datetime import timedelta

import pytest

from api.v1alpha1.node_pool import NodePool
from planner.plan import plan
from tests.builders import NOW, after, before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.outcome import codes, planned
from tests.planner.scenes import scene

LOCK = {"lock": {"min": "2m", "max": "10m"}}


def bought(name, *, ago, by_hand=False, **status):
    """Return a request that was made some minutes ago, on its way unless its status says otherwise."""
    usual = {"phase": "Provisioning", "createAttemptAt": before(minutes=ago)}
    return node_request(name, by_hand=by_hand, metadata={"creationTimestamp": before(minutes=ago)}, **(usual | status))


def ready(name, *, ago):
    return bought(name, ago=ago, phase="Ready", readyAt=before(minutes=ago - 0.5), releasedAt=before(minutes=ago - 0.5))


def locked(*objects, status=None, lock=None, **spec):
    """Return a pool with a lock, and a pod that no machine has room for."""
    pool = node_pool(scaleUp=lock or LOCK, **spec) | ({"status": status} if status else {})
    return scene(pod("big", "8", "12Gi"), *objects, pools=[pool])


def state(given):
    """Return the lock as the round leaves it."""
    (report,) = planned(given).pools
    return report.status.lock


def seen(given):
    """Return whether the lock is closed, and what opened it."""
    made = plan(given.snapshot())
    lock = made.pools[0].status.lock
    return bool(made.requests), None if lock is None else lock.opened_by


@pytest.mark.parametrize(
    ("requests", "buys", "opened_by"),
    [
        ([], True, None),
        ([bought("a", ago=1)], False, None),
        ([ready("a", ago=1)], False, None),
        ([ready("a", ago=2)], True, "Ready"),
        ([bought("a", ago=9)], False, None),
        ([ready("a", ago=9), bought("b", ago=9)], False, None),
        ([bought("a", ago=10)], True, "Timeout"),
        ([bought("a", ago=3, phase="Unmet", reason="InsufficientCapacity", expiresAt=after(minutes=1))], True, "Ended"),
        ([bought("a", ago=1, by_hand=True)], True, None),
        ([bought("a", ago=14), ready("b", ago=3)], True, "Ready"),
    ],
)
def test_what_closes_and_opens_it(requests, buys, opened_by):
    # Ambiguities B2 and B3 of the reference page: min, then all Ready; else max, and it says which.
    given = locked(*requests)
    made = plan(given.snapshot())
    assert bool(made.requests) == buys
    lock = made.pools[0].status.lock
    if buys:
        # What this round buys closes it anew.
        assert (lock.closed_at, lock.requested, lock.opened_at) == (NOW, 1, None)
        quiet = locked(*requests)
        quiet.pods = []
        after_it = state(quiet)
        assert (None if after_it is None else after_it.opened_by) == opened_by
    else:
        assert lock.opened_at is None
        assert codes(made) == {"big": "PurchaseLockClosed"}


def test_the_status_holds_it_closed_where_records_are_gone():
    given = locked(status={"lock": {"closedAt": before(minutes=1), "requested": 3}})
    assert codes(planned(given)) == {"big": "PurchaseLockClosed"}
    assert state(given).requested == 3


def test_a_request_that_the_status_does_not_know_closes_it():
    # A round that ended between its requests and the status loses nothing.
    stale = {"lock": {"closedAt": before(hours=1), "openedAt": before(minutes=50), "openedBy": "Ready"}}
    given = locked(bought("a", ago=1), status=stale)
    assert codes(planned(given)) == {"big": "PurchaseLockClosed"}


def test_once_open_it_stays_open_until_a_purchase():
    known = {"closedAt": before(minutes=1), "requested": 1, "openedAt": before(seconds=30), "openedBy": "Ready"}
    assert len(plan(locked(bought("a", ago=1), status={"lock": known}).snapshot()).requests) == 1


def test_ambiguity_b1_the_minimum_goes_through_the_lock():
    # There, what a minimum lacks is bought without a look at the lock; its documents say that the lock comes first.
    given = locked(bought("a", ago=1), limits={"min": 5, "max": 9})
    assert planned(given).requests == ()
    given.requests = [ready("a", ago=4)]
    assert len(planned(given).requests) == 5


def test_the_round_wakes_when_it_may_open():
    made = planned(locked(bought("a", ago=1)))
    assert made.wake_at == NOW + timedelta(minutes=1)
    assert planned(locked(bought("a", ago=3))).wake_at == NOW + timedelta(minutes=7)


def test_the_pool_is_ready_all_the_same():
    (report,) = planned(locked(bought("a", ago=1))).pools
    conditions = {each.type: (each.status, each.reason) for each in report.status.conditions}
    assert conditions["Ready"] == ("True", "Usable")
    assert conditions["AtMax"][0] == "False"


IDLE = {"growth.dev/idle-since": before(hours=1)}


@pytest.mark.parametrize(("ago", "goes"), [(1, []), (3, ["n"])])
def test_no_removal_begins_by_itself_while_it_is_closed(ago, goes):
    given = scene(node("n", annotations=IDLE), ready("a", ago=ago), pools=[node_pool(scaleUp=LOCK)])
    made = planned(given)
    assert [each.node for each in made.removals] == goes
    # Its idle time runs on.
    assert "n" not in made.idle_since


def test_no_removal_begins_beside_a_purchase():
    given = locked(node("n", "cx22", annotations=IDLE))
    made = planned(given)
    assert (len(made.requests), made.removals) == (1, ())
    given.pools[0]["spec"]["scaleUp"] = {}
    assert [each.node for each in planned(given).removals] == ["n"]


def test_what_a_person_orders_goes_on():
    wish = {"key": "growth.dev/remove-now", "effect": "NoSchedule", "value": ""}
    given = scene(
        node("n", taints=[wish]),
        node("m"),
        node_removal_request("m", by_hand=True),
        bought("a", ago=1),
        pools=[node_pool(scaleUp=LOCK)],
    )
    made = planned(given)
    assert [each.node for each in made.removals] == ["n"]
    assert made.removal_cancels == ()


def test_a_request_without_a_server_may_be_taken_back():
    request = bought("a", ago=1, phase="Pending", createAttemptAt=None)
    made = plan(scene(request, pools=[node_pool(scaleUp=LOCK)]).snapshot())
    assert made.cancelled == ("a",)


def test_a_pool_without_a_lock_has_no_status_of_one():
    pool = node_pool()
    pool["status"] = {"lock": {"closedAt": before(minutes=1), "requested": 1}}
    assert NodePool.model_validate(pool).status.lock is not None
    assert state(scene(bought("a", ago=1), pools=[pool])) is None
