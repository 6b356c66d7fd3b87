"""A machine's reason names the cheaper one that was passed over for its priority; the plan says what all that costs."""

from decimal import Decimal

from planner.packing.fallback.pack import pack
from planner.plan import plan
from tests.builders import node_pool, pod
from tests.planner.scenes import scene
from worker.commands.plan.document import document

DEAR, CHEAP = {"name": "cx42", "priority": 10}, {"name": "cx22"}
"""0.0170 and 0.0066 per hour."""


def made(*types, **spec):
    pool = node_pool("default", [dict(each) for each in types], **spec)
    return plan(scene(pods=[pod("x", "500m")], pools=[pool]).snapshot(), pack)


def test_the_cheaper_one_is_named_with_both_priorities():
    (request,) = made(DEAR, CHEAP, scaleUp={"choose": "priority"}).requests
    cheaper = request.because.cheaper
    assert request.server_type == "cx42"
    assert cheaper is not None
    assert cheaper.obstacle is not None
    assert (cheaper.server_type, cheaper.obstacle.code) == ("cx22", "LowerPriority")
    assert "cx22 in fsn1 would be 0.0104 cheaper, but its type has priority 0, and cx42 10" in request.why


def test_the_choice_costs_what_price_alone_would_save_and_the_bound_is_that_of_the_choice():
    by_priority = made(DEAR, CHEAP, scaleUp={"choose": "priority"})
    assert by_priority.choice_costs_per_hour == Decimal("0.0104")
    assert by_priority.cost_per_hour == by_priority.lower_bound_per_hour == Decimal("0.0170")
    assert document(by_priority)["choiceCostsPerHour"] == "0.0104"


def test_nothing_is_said_where_the_choice_costs_nothing():
    assert "choiceCostsPerHour" not in document(made(DEAR, CHEAP))
    cheap_first = made({"name": "cx42"}, {"name": "cx22", "priority": 1}, scaleUp={"choose": "priority"})
    assert cheap_first.choice_costs_per_hour == 0


def test_a_pool_remembers_what_its_last_purchase_cost_more():
    pool = node_pool("default", [DEAR, CHEAP], scaleUp={"choose": "priority"})
    given = scene(pods=[pod("x", "500m")], pools=[pool]).snapshot()
    (report,) = plan(given, pack).pools
    choice = report.status.choice
    assert choice is not None
    assert (choice.costs_per_hour, choice.currency, choice.at) == (Decimal("0.0104"), "EUR", given.now)
    assert document(plan(given, pack))["pools"][0]["choice"]["costsPerHour"] == "0.0104"


def remembering(*types, pods=()):
    status = {"choice": {"costsPerHour": "0.5", "currency": "EUR", "at": "2026-01-01T00:00:00Z"}}
    pool = node_pool("default", [dict(each) for each in types], scaleUp={"choose": "priority"}) | {"status": status}
    return plan(scene(pods=pods, pools=[pool]).snapshot(), pack).pools[0].status.choice


def test_it_stays_in_rounds_that_buy_nothing_and_ends_with_a_purchase_that_costs_no_more():
    stays = remembering(DEAR, CHEAP)
    assert stays is not None
    assert stays.costs_per_hour == Decimal("0.5")
    assert remembering({"name": "cx42"}, {"name": "cx22", "priority": 1}, pods=[pod("x", "500m")]) is None
