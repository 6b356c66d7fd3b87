"""What machines are counted at: what was paid for them, and the price of today only where nobody knows that."""

from decimal import Decimal

import pytest

from planner.plan import plan
from planner.supply.machines import machine_price, machines_of, price_list, price_paid, price_today
from tests.builders import (
    before,
    kwok_node_class,
    node,
    node_pool,
    node_removal_request,
    node_request,
    pod,
    server_type,
)
from tests.planner import scenes

PAID = {"growth.dev/price-per-hour": "0.0104", "growth.dev/currency": "EUR"}
RISEN = server_type("cx22", pricePerHour="0.0168")
"""As when Hetzner raised prices on 2026-06-15: servers that were there kept the old one."""


def scene(*nodes, **parts):
    return scenes.scene(*nodes, types=("cx22",), kinds=[RISEN], **parts)


def prices_of(given, name="m-1"):
    snapshot = given.snapshot()
    machine, ref = machines_of(snapshot)[name], given.snapshot().pools[0].spec.template.class_ref
    listed = price_list(snapshot)
    return price_paid(machine), price_today(machine, ref, listed), machine_price(machine, ref, listed)


def test_a_machine_costs_what_its_node_says_was_paid():
    paid, today = (Decimal("0.0104"), "EUR"), (Decimal("0.0168"), "EUR")
    assert prices_of(scene(node("m-1", annotations=PAID))) == (paid, today, paid)


def test_a_machine_that_nothing_is_known_of_costs_what_its_class_asks():
    today = (Decimal("0.0168"), "EUR")
    assert prices_of(scene(node("m-1"))) == (None, today, today)


@pytest.mark.parametrize(
    "changes",
    [{"growth.dev/price-per-hour": "cheap"}, {"growth.dev/currency": ""}, {"growth.dev/price-per-hour": "-1"}],
)
def test_a_price_on_a_node_that_cannot_be_read_is_none(changes):
    assert prices_of(scene(node("m-1", annotations=PAID | changes)))[0] is None


def test_a_machine_on_its_way_costs_what_its_request_was_bought_for():
    coming = node_request("m-1", createAttemptAt=before(seconds=5), pricePerHour="0.0104", currency="EUR")
    assert prices_of(scene(requests=[coming]))[2] == (Decimal("0.0104"), "EUR")
    joined = scene(node("m-1"), requests=[coming])
    assert prices_of(joined)[2] == (Decimal("0.0104"), "EUR")


def test_a_machine_whose_class_is_gone_keeps_its_price():
    given = scene(node("m-1", annotations=PAID))
    given.classes = []
    assert prices_of(given) == ((Decimal("0.0104"), "EUR"), None, (Decimal("0.0104"), "EUR"))


def test_a_rise_does_not_change_what_a_pool_costs():
    given = scene(node("m-1", annotations=PAID), node("m-2", annotations=PAID), node("m-3"))
    status = plan(given.snapshot()).pools[0].status
    assert status.price_per_hour == 2 * Decimal("0.0104") + Decimal("0.0168")
    given.classes = [kwok_node_class(server_type("cx22", pricePerHour="0.0301"))]
    assert plan(given.snapshot()).pools[0].status.price_per_hour == 2 * Decimal("0.0104") + Decimal("0.0301")


def test_of_empty_machines_the_one_goes_that_was_bought_dearer():
    idle = {"growth.dev/idle-since": before(hours=1)}
    given = scene(
        node("a-cheap", annotations=PAID | idle),
        node("b-dear", annotations=PAID | {"growth.dev/price-per-hour": "0.0168"} | idle),
    )
    given.pools = [node_pool(types=("cx22",), limits={"min": 1, "max": 9})]
    assert [each.node for each in plan(given.snapshot()).removals] == ["b-dear"]


def test_of_machines_in_their_cool_off_the_one_is_taken_back_that_was_bought_cheaper():
    given = scene(
        node("a-dear", annotations=PAID | {"growth.dev/price-per-hour": "0.0168"}),
        node("b-cheap", annotations=PAID),
        removals=[node_removal_request("a-dear"), node_removal_request("b-cheap")],
        pods=[pod("web")],
    )
    assert [each.removal for each in plan(given.snapshot()).removal_cancels] == ["b-cheap"]
