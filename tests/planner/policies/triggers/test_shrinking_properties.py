"""Random rounds: pools without the fields are as they were, and under a steady load pools come to rest."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from api.meta import format_timestamp
from planner.plan import plan
from tests.builders import node, pod
from tests.planner.policies.triggers.test_trigger_properties import worn
from tests.planner.reading import Json
from tests.planner.scenes import Scene, scene
from tests.planner.strategies import scenes
from tests.searching import searching


@searching(150)
@given(st.one_of(scenes(), worn()))
def test_a_pool_without_the_fields_is_planned_as_without_the_policies(drawn: Scene):
    snapshot = drawn.snapshot()
    with patch("planner.plan.SHRINKERS", ()):
        expected = plan(snapshot)
    made = plan(snapshot)
    assert made == expected
    assert not made.underused_since
    assert not any(report.status.last_shrink_at or report.status.last_growth_at for report in made.pools)


@st.composite
def little_used(draw: st.DrawFn) -> Scene:
    """Draw a pool with machines that are little used, and the fields by which they go."""
    number = draw(st.integers(2, 7))
    nodes = [node(f"n{i}", draw(st.sampled_from(["cx22", "cx32", "cx42"]))) for i in range(number)]
    pods = [
        pod(f"p{i}-{j}", draw(st.sampled_from(["100m", "500m", "1"])), "256Mi", node=f"n{i}", owner=f"rs-{i}")
        for i in range(number)
        for j in range(draw(st.integers(0, 2)))
    ]
    lower, upper = draw(st.sampled_from([(10, 40), (40, 50), (0, 90)]))
    group = {"lowerPercent": lower, "upperPercent": upper, "slow": draw(st.integers(0, 2)), "fast": 3}
    down = {"mode": draw(st.sampled_from(["drain", "wait"])), "budgets": [{"nodes": "100%"}]}
    if draw(st.booleans()):
        down["group"] = group
    if draw(st.booleans()):
        down["node"] = {"cpuPercent": 60, "memoryPercent": 60, "window": "5m"}
    if draw(st.booleans()):
        down["maxRemainingPercent"] = draw(st.sampled_from([50, 100]))
    return scene(*nodes, pods=pods, limits={"min": draw(st.integers(0, 2))}, scaleDown=down)


def _mark(raw: Json, marks: Mapping[str, datetime | None]) -> None:
    annotations, name = raw["metadata"].setdefault("annotations", {}), raw["metadata"]["name"]
    if (at := marks.get(name)) is not None:
        annotations["growth.dev/underused-since"] = format_timestamp(at)
    elif name in marks:
        del annotations["growth.dev/underused-since"]


@searching(60)
@given(little_used())
def test_a_steady_load_ends_in_no_action(drawn: Scene):
    machines, quiet = len(drawn.nodes), 0
    for _ in range(60):
        made = plan(drawn.snapshot())
        moved = {move.pod.partition("/")[2]: move.node for removal in made.removals for move in removal.moves}
        gone = {removal.node for removal in made.removals}
        # Whatever goes has another place by now, in mode drain; nothing is bought for it.
        assert made.requests == ()
        for each in drawn.pods:
            each["spec"]["nodeName"] = moved.get(each["metadata"]["name"], each["spec"]["nodeName"])
        if drawn.pools[0]["spec"]["scaleDown"]["mode"] == "wait":
            # Their pods end, and none comes again.
            drawn.pods = [each for each in drawn.pods if each["spec"]["nodeName"] not in gone]
        assert not any(each["spec"]["nodeName"] in gone for each in drawn.pods)
        drawn.nodes = [each for each in drawn.nodes if each["metadata"]["name"] not in gone]
        for each in drawn.nodes:
            _mark(each, made.underused_since)
        drawn.pools[0]["status"] = made.pools[0].status.to_json()
        drawn.now += timedelta(minutes=2)
        quiet = 0 if gone else quiet + 1
        if quiet > 5:
            break
    assert quiet > 5
    assert len(drawn.nodes) >= min(machines, drawn.pools[0]["spec"]["limits"]["min"])
    assert len(drawn.nodes) > 0 or not drawn.pods
