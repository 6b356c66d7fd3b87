"""A pool with `scaleDown.group` that is above its max gives up machines at the fast rate.

Source: node-autoscalers reference, section 5A: as Escalator, but limited by the fast rate.
"""

from datetime import timedelta

from planner.plan import plan
from tests.builders import NOW, before, node, pod
from tests.planner.scenes import scene
from tests.tables import rows


def given(number=8, last=None, types=("cx22",), **limits):
    nodes = [node(f"n{i}") for i in range(number)]
    pods = [pod(f"on-n{i}", "100m", "64Mi", node=f"n{i}", owner="rs") for i in range(number)]
    group = {"lowerPercent": 0, "upperPercent": 1, "slow": 1, "fast": 2}
    down = {"mode": "drain", "budgets": [{"nodes": "100%"}], "group": group}
    made = scene(*nodes, pods=pods, types=types, limits=limits or {"max": 3}, scaleDown=down)
    made.pools[0]["status"] = {"lastShrinkAt": last} if last else {}
    return made


@rows(
    ("changes", "goes"),
    {
        "five too many": ({}, 2),
        "one too many": ({"max": 7}, 1),
        "of an entry": ({"types": ({"name": "cx22", "max": 2},), "max": 9}, 2),
        "of both": ({"types": ({"name": "cx22", "max": 6},), "max": 3}, 2),
        "the last ones began a minute ago": ({"last": before(minutes=1)}, 2),
        "they began a moment ago": ({"last": before(seconds=50)}, 0),
    },
)
def test_no_more_go_than_at_the_fast_rate(changes, goes):
    made = plan(given(**changes).snapshot())
    assert [removal.reason for removal in made.removals] == ["OverMax"] * goes
    (report,) = made.pools
    (condition,) = (each for each in report.status.conditions if each.type == "OverMax")
    assert condition.status == "True"
    assert (made.wake_at == NOW + timedelta(seconds=10)) is (goes == 0)


def test_without_the_field_all_go_at_once():
    of = given()
    del of.pools[0]["spec"]["scaleDown"]["group"]
    assert len(plan(of.snapshot()).removals) == 5
