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
