"""How near a pool is to `limits.pricePerHour`; a cx32 of the scenes costs 0.0106 per hour."""

import pytest

from planner.plan import plan
from tests.builders import Json, before, node, node_pool
from tests.planner.scenes import Scene, scene


def pool_at(limit: str | None, *machines: str, conditions: tuple[Json, ...] = ()) -> Scene:
    limits = {"max": 9} | ({} if limit is None else {"pricePerHour": limit})
    pool = node_pool(limits=limits) | {"status": {"conditions": list(conditions)}}
    return scene(*(node(f"n{k}", each) for k, each in enumerate(machines)), pools=[pool])


def told(given: Scene) -> tuple[str, str, str] | None:
    conditions = plan(given.snapshot()).pools[0].status.conditions
    found = next((each for each in conditions if each.type == "NearPriceLimit"), None)
    return None if found is None else (found.status, found.reason, found.message)


def condition(reason: str, status: str = "True") -> Json:
    return {
        "type": "NearPriceLimit",
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": before(hours=1),
    }


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, None),
        # Two machines of 0.0106 cost 0.0212 per hour and 15.476 per month: 79.99 %, 80 % and 100 % of these.
        ("0.026501", None),
        (
            "0.0265",
            "limits.pricePerHour is 0.0265, and the machines cost 0.0212 EUR per hour (15.476 a month), 80 % of it",
        ),
        (
            "0.0212",
            "limits.pricePerHour is 0.0212, and the machines cost 0.0212 EUR per hour (15.476 a month), 100 % of it",
        ),
    ],
)
def test_a_pool_tells_that_it_is_near_its_limit(limit: str | None, expected: str | None):
    reason = "PriceAtLimit" if limit == "0.0212" else "PriceNearLimit"
    assert told(pool_at(limit, "cx32", "cx32")) == (None if expected is None else ("True", reason, expected))


def test_it_is_over_once_machines_have_gone():
    given = pool_at("0.0265", "cx32", conditions=(condition("PriceNearLimit"),))
    assert told(given) == ("False", "BelowPriceLimit", "")


@pytest.mark.parametrize(
    ("limit", "known", "event"),
    [
        ("0.0265", (), "PriceNearLimit"),
        ("0.0265", (condition("BelowPriceLimit", "False"),), "PriceNearLimit"),
        ("0.0265", (condition("PriceNearLimit"),), None),
        ("0.0265", (condition("PriceAtLimit"),), None),
        ("0.0212", (), "PriceAtLimit"),
        ("0.0212", (condition("PriceNearLimit"),), "PriceAtLimit"),
        ("0.0212", (condition("PriceAtLimit"),), None),
        ("0.03", (condition("PriceNearLimit"),), None),
    ],
)
def test_an_event_tells_of_it_when_it_first_comes_to_it(limit: str, known: tuple[Json, ...], event: str | None):
    events = plan(pool_at(limit, "cx32", "cx32", conditions=known).snapshot()).events
    assert [each.reason for each in events if each.reason.startswith("Price")] == ([] if event is None else [event])
