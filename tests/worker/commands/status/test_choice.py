"""What `growth status` says of priorities: what they cost in the round that would come next, and in the last one."""

from tests.builders import node_pool, pod
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.status.choice import choices

DEAR, CHEAP = {"name": "cx42", "priority": 10}, {"name": "cx22"}
"""0.0170 and 0.0066 per hour: 0.0104 apart, which is 7.592 in 730 hours."""


def told(costs, at):
    return {"status": {"choice": {"costsPerHour": costs, "currency": "EUR", "at": at}}}


def test_what_the_next_round_pays_for_priorities():
    pool = node_pool("default", [DEAR, CHEAP], scaleUp={"choose": "priority"})
    (line,) = choices(sight(scene(pods=[pod("x", "500m")], pools=[pool])))
    assert line == (
        "Of what the next round buys, priorities cost 0.0104 EUR per hour (7.59 a month), beside price alone."
    )


def test_the_last_round_is_told_once_for_all_pools_that_it_bought_for():
    last = told("0.0104", "2026-01-02T00:00:00Z")
    pools = [
        node_pool("a", [CHEAP]) | last,
        node_pool("b", [CHEAP]) | told("0.5", "2026-01-01T00:00:00Z"),
        node_pool("c", [CHEAP]) | last,
    ]
    (line,) = choices(sight(scene(pools=pools)))
    assert line.startswith("Of what was bought at 2026-01-02")
    assert line.endswith(" for a, c, priorities cost 0.0104 EUR per hour (7.59 a month), beside price alone.")


def test_nothing_is_said_where_price_decides():
    assert list(choices(sight(scene(pods=[pod("x", "500m")], pools=[node_pool("default", [DEAR, CHEAP])])))) == []
