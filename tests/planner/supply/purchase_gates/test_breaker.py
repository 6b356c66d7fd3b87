"""The breaker and the cool-down of a pool. Source: docs/growth.md."""

from datetime import timedelta

import pytest

from planner.plan import plan
from tests.builders import NOW, after, before, node_pool, node_request, pod
from tests.planner.outcome import codes, planned
from tests.planner.scenes import scene

BREAKER = {"breaker": {"failures": 3, "halfOpenAfter": "10m"}}


def failed(name, *, ago, phase="Failed", reason="InvalidConfiguration", **status):
    """Return a request that failed some minutes ago."""
    events = [{"at": before(minutes=ago), "name": reason}]
    made = before(minutes=ago + 1)
    return node_request(
        name,
        metadata={"creationTimestamp": made},
        phase=phase,
        reason=reason,
        events=events,
        expiresAt=after(minutes=30),
        **status,
    )


def ready(name, *, ago):
    at = before(minutes=ago)
    return node_request(name, metadata={"creationTimestamp": at}, phase="Ready", readyAt=at, releasedAt=at)


def given(*requests, status=None, pods=3, scale_up=BREAKER):
    pool = node_pool(types=("cx22",), scaleUp=scale_up) | ({"status": status} if status else {})
    return scene(*[pod(f"p-{k}", "2", "1Gi") for k in range(pods)], *requests, pools=[pool])


def state(made):
    breaker = made.pools[0].status.breaker
    return breaker.failures, breaker.half_open_at


@pytest.mark.parametrize(
    ("requests", "failures"),
    [
        ([], 0),
        ([failed("a", ago=1), failed("b", ago=2)], 2),
        ([failed("a", ago=1), failed("b", ago=3), ready("c", ago=2), failed("d", ago=4)], 1),
        ([failed("a", ago=1), failed("b", ago=1, phase="Deprovisioning", reason="JoinTimeout")], 2),
        ([failed("a", ago=1), failed("b", ago=1, phase="Deprovisioning", reason="Deleted")], 1),
        (
            [
                failed("a", ago=1),
                failed("b", ago=1, phase="Deprovisioning", reason="NodeGone", readyAt=before(hours=1)),
            ],
            1,
        ),
    ],
)
def test_a_few_failures_stop_nothing(requests, failures):
    # Without a breaker, a single Failed request would stop the pool.
    made = planned(given(*requests))
    assert state(made) == (failures, None)
    assert len(made.requests) == 3


def row(last):
    return [failed("a", ago=last + 2), failed("b", ago=last + 1), failed("c", ago=last)]


def test_it_opens_after_the_third_in_a_row():
    made = planned(given(*row(2)))
    assert made.requests == ()
    assert set(codes(made).values()) == {"BreakerOpen"}
    assert state(made) == (3, NOW + timedelta(minutes=8))
    assert made.wake_at == NOW + timedelta(minutes=8)
    conditions = {each.type: (each.status, each.reason) for each in made.pools[0].status.conditions}
    assert (conditions["Ready"], conditions["Blocked"][0]) == (("False", "BreakerOpen"), "False")


def test_half_open_it_tries_one_machine():
    made = planned(given(*row(10)))
    assert len(made.requests) == 1
    assert set(codes(made).values()) == {"BreakerOpen"}
    trial = node_request("t", metadata={"creationTimestamp": before(seconds=5)}, phase="Provisioning")
    assert planned(given(*row(10), trial, pods=9)).requests == ()


def test_a_trial_that_fails_opens_it_again():
    made = planned(given(*row(12), failed("t", ago=1)))
    assert (made.requests, state(made)) == ((), (4, NOW + timedelta(minutes=9)))


def test_a_trial_that_comes_closes_it():
    made = planned(given(*row(12), ready("t", ago=1)))
    assert (len(made.requests), state(made)) == (3, (0, None))


def test_the_status_remembers_failures_whose_records_are_gone():
    known = {"breaker": {"failures": 2, "countedUntil": before(minutes=5)}}
    assert state(planned(given(failed("c", ago=1), status=known)))[0] == 3
    # One that it has counted already is not counted twice.
    assert state(planned(given(failed("c", ago=5), status=known)))[0] == 2


def test_two_that_failed_in_one_second_are_both_counted():
    known = {"breaker": {"failures": 1, "countedUntil": before(minutes=5)}}
    assert state(planned(given(failed("a", ago=5), failed("b", ago=5), status=known)))[0] == 2


@pytest.mark.parametrize(("ago", "buys"), [(1, False), (2, True), (3, True)])
def test_a_cooldown(ago, buys):
    request = ready("r", ago=ago)
    made = plan(given(request, scale_up={"cooldown": "2m"}).snapshot())
    assert bool(made.requests) == buys
    status = made.pools[0].status
    assert status.last_growth_at == (NOW if buys else NOW - timedelta(minutes=ago))
    if not buys:
        assert made.wake_at == NOW + timedelta(minutes=1)
        assert set(codes(made).values()) == {"PurchaseCooldown"}


def test_a_cooldown_by_the_status_alone():
    made = planned(given(scale_up={"cooldown": "2m"}, status={"lastGrowthAt": before(minutes=1)}))
    assert made.requests == ()


def test_at_most_so_many_on_their_way():
    coming = node_request("r", "cx22", phase="Provisioning", metadata={"creationTimestamp": before(seconds=5)})
    made = planned(given(coming, pods=5, scale_up={"maxInFlight": 3}))
    assert len(made.requests) == 2
    assert set(codes(made).values()) == {"MaxInFlight"}


def test_a_pod_that_waits_for_the_pace_does_not_back_off():
    made = planned(given(scale_up={"batchMax": 1}))
    assert set(codes(made).values()) == {"BatchMax"}
    assert made.memory.backoff == {}
    (report,) = made.pools
    assert {each.type: each.status for each in report.status.conditions}["AtMax"] == "False"
