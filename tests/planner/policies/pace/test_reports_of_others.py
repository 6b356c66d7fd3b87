"""What users of other autoscalers have met with budgets and paid hours, each as an input of a round."""

from datetime import UTC, datetime, timedelta

from planner.plan import POLICIES, plan
from tests.builders import NOW, before, node
from tests.planner.policies.pace.test_billing import hourly, idle
from tests.planner.policies.pace.test_budgets import IDLE, Trigger, going, leaving, names, pool_of
from tests.planner.policies.test_repair import dead

WORKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri"]


def goes_at(budgets, at, reason="Drift"):
    given = pool_of(20, budgets)
    given.now = datetime.fromisoformat(at).replace(tzinfo=UTC)
    return len(leaving(given, Trigger(tuple(names(20)), reason)))


def test_only_in_working_hours():
    """kubernetes-sigs/karpenter issue 1866: two budgets with schedules were "invalid cron"."""
    budgets = [
        {"nodes": "10%"},
        {"nodes": 0, "days": ["Sun", *WORKDAYS], "start": "16:00", "end": "08:00"},
        {"nodes": 0, "days": ["Sat", "Sun"]},
    ]
    goes = {at: goes_at(budgets, at) for at in ("2026-03-02T08:00", "2026-03-06T15:59")}
    stays = {
        at: goes_at(budgets, at)
        for at in ("2026-03-02T07:59", "2026-03-06T16:00", "2026-03-07T12:00", "2026-03-08T23:59")
    }
    assert (set(goes.values()), set(stays.values())) == ({2}, {0})


def test_a_window_of_more_does_not_close_the_other_hours():
    """kubernetes-sigs/karpenter issues 2183, 1939: drift went outside of the schedule that was to allow it."""
    allows = [
        {"nodes": "35%", "days": ["Mon"], "start": "01:00", "end": "05:00"},
        {"nodes": "35%", "reasons": ["Empty"]},
    ]
    assert (goes_at(allows, "2026-03-02T01:00"), goes_at(allows, "2026-03-05T14:50")) == (7, 2)
    closes = [{"nodes": "35%"}, {"nodes": 0, "reasons": ["Drift"], "days": ["Mon"], "start": "05:00", "end": "01:00"}]
    closes += [{"nodes": 0, "reasons": ["Drift"], "days": ["Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]}]
    assert (goes_at(closes, "2026-03-02T04:59"), goes_at(closes, "2026-03-05T14:50")) == (7, 0)


def test_reasons_of_one_budget_do_not_close_others():
    """kubernetes-sigs/karpenter issue 1691: all three reasons were blocked where one was to be."""
    budgets = [{"nodes": 2}, {"nodes": 1, "reasons": ["Empty", "Drift"]}, {"nodes": 0, "reasons": ["Consolidation"]}]
    given = pool_of(20, budgets)
    wishes = [Trigger(("n-01",), "Consolidation"), Trigger(("n-02",), "Rotation"), Trigger(("n-03", "n-04"), "Drift")]
    made = plan(given.snapshot(), policies=wishes)
    assert [(r.node, r.reason) for r in made.removals] == [("n-02", "Rotation"), ("n-03", "Drift")]
    assert [(each.node, each.trigger) for each in made.blocked] == [("n-01", "Consolidation"), ("n-04", "Drift")]


def test_machines_that_are_not_ready_take_nothing_from_a_budget():
    """aws/karpenter-provider-aws issue 5750: bad nodes kept empty ones for hours."""
    given = pool_of(10, [{"nodes": "10%"}], pods=False, nodes=[dead(f"bad-{i}", since=1) for i in range(3)])
    assert len(leaving(given)) == 2  # of 13


def test_a_tenth_of_a_pool_of_two_is_one():
    """JiRaska/open-bank-oss issue 4317: read as "never", as if it were rounded down."""
    assert leaving(pool_of(2), Trigger(("n-00", "n-01"))) == ["n-00"]


def test_empty_machines_do_not_wait_for_those_that_are_drained():
    """kubernetes/autoscaler issue 5117."""
    removals = [going(f"x-{i}", "Consolidation", phase="Draining") for i in range(3)]
    given = pool_of(10, pods=False, removals=removals, nodes=[node(f"x-{i}") for i in range(3)])
    assert leaving(given) == names(10)


def test_the_last_minute_before_midnight_is_part_of_the_day():
    """cloudfoundry/app-autoscaler-cli-plugin issue 138: 00:00 to 23:59 left a minute open each night."""
    for window in (
        {"days": [*WORKDAYS, "Sat"]},
        {"start": "00:01", "end": "00:00"},
        {"start": "18:00", "end": "06:00"},
    ):
        budgets = [{"nodes": 0, "reasons": ["Drift"]} | window]
        assert goes_at(budgets, "2026-03-05T23:59:59") == 0


def test_a_limit_is_of_machines_at_once_and_not_of_a_window():
    """aws/karpenter-provider-aws issue 6911, kubernetes-sigs/karpenter issue 2909."""
    given = pool_of(20, [{"nodes": 1, "days": ["Sun"]}])
    assert leaving(given, Trigger(tuple(names(3)))) == ["n-00"]
    given.removals.append(going("n-00"))
    assert leaving(given, Trigger(tuple(names(3)))) == []
    # It has gone, in the same window.
    given.removals.clear()
    given.nodes.pop(0)
    assert leaving(given, Trigger(tuple(names(3)))) == ["n-01"]


def test_a_round_does_not_tick_past_the_end_of_an_hour():
    """woodpecker-ci/autoscaler pull request 645, kubernetes/autoscaler issue 2684: due at 1 h 58 min, it goes then."""
    assert [r.node for r in plan(hourly(idle(11, before(minutes=118))).snapshot()).removals] == ["n"]
    late = plan(hourly(idle(11, before(minutes=119, seconds=1))).snapshot())
    assert (late.removals, late.wake_at) == ((), NOW + timedelta(minutes=54, seconds=59))


def test_many_empty_machines_of_one_hour_go_together():
    """kubernetes/autoscaler issue 251: one after the other, thirty would be paid for three hours more."""
    machines = [node(name, annotations=IDLE) for name in names(30)]
    for each in machines:
        each["metadata"]["creationTimestamp"] = before(minutes=55)
    assert len(plan(hourly(*machines).snapshot(), policies=POLICIES).removals) == 30
