"""What `growth why node` says that a machine costs: what was paid, and beside it the price of today if that differs."""

from tests.builders import node
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.why.command import NODE, lines_about


def told(*prices):
    """The first line about a cx22, of 0.0066 EUR today, whose Node bears these: price and currency."""
    annotations = dict(zip(("growth.dev/price-per-hour", "growth.dev/currency"), prices, strict=False))
    made = scene(node("m-1", annotations=annotations))
    return "\n".join(lines_about(NODE, "m-1", sight(made))).splitlines()[0]


def test_a_machine_that_was_bought_before_a_rise_tells_both_prices():
    assert told("0.0047", "EUR").endswith("; a cx22 in fsn1, 0.0047 EUR per hour, 0.0066 today.")


def test_a_machine_that_costs_the_same_today_tells_one_price():
    assert told("0.00660", "EUR").endswith("; a cx22 in fsn1, 0.0066 EUR per hour.")


def test_a_machine_of_which_nothing_was_kept_tells_the_price_of_today():
    assert told().endswith("; a cx22 in fsn1, 0.0066 EUR per hour.")


def test_a_class_that_has_another_currency_today_tells_it():
    assert told("0.0047", "USD").endswith("; a cx22 in fsn1, 0.0047 USD per hour, 0.0066 EUR today.")
