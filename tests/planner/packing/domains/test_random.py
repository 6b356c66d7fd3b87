"""Random rounds with constraints between pods, judged pod by pod as the scheduler would."""

from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from planner.packing import arrange
from planner.plan import plan
from tests.builders import Json, pod
from tests.planner.packing.domains.landing import not_landed
from tests.planner.packing.domains.rows import ZONES, at, away, near, scene, spread, term
from tests.planner.scenes import Scene
from tests.planner.wishes import HOST, ZONE

RANDOM = settings(
    max_examples=60,
    # The judge below looks for an order of binding without trying all; drawn anew in each run it would fail by chance.
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
APPS = ("web", "db", "queue")
POOL = "growth.dev/server-type"


@st.composite
def constraints(draw: st.DrawFn, app: str) -> Json:
    """Draw what a pod of this app asks of others: one or two things."""
    spec: Json = {}
    keys = st.sampled_from([ZONE, ZONE, HOST, POOL])
    other = draw(st.sampled_from([app, app, *APPS]))
    for _ in range(draw(st.integers(0, 2))):
        match draw(st.integers(0, 4)):
            case 0 | 1:
                made = spread(draw(keys), draw(st.sampled_from([1, 1, 2])), other)
                if draw(st.integers(0, 3)) == 0:
                    made["minDomains"] = draw(st.integers(2, 4))
                spec.setdefault("topologySpreadConstraints", []).append(made)
            case 2:
                spec.setdefault("affinity", {}).update(away(term(draw(keys), other)))
            case 3:
                spec.setdefault("affinity", {}).update(near(term(draw(keys), other)))
            case _:
                ports = [{"containerPort": 1, "hostPort": draw(st.sampled_from([80, 81]))}]
                requests = {"requests": {"cpu": "300m"}}
                spec["containers"] = [{"name": "main", "resources": requests, "ports": ports}]
    return spec


@st.composite
def rounds(draw: st.DrawFn) -> Scene:
    """Draw nodes with pods, and pods that wait."""
    made = scene(zones=draw(st.sampled_from([ZONES, ZONES[:2], ZONES[:1]])), types=("cx22", "cx32"))
    made.pools[0]["spec"]["limits"]["max"] = draw(st.sampled_from([3, 6, 20]))
    for k in range(draw(st.integers(0, 4))):
        name = f"n{k}"
        made.nodes.append(at(name, draw(st.sampled_from(ZONES)), ready=draw(st.integers(0, 5)) > 0))
        for j in range(draw(st.integers(0, 2))):
            app = draw(st.sampled_from(APPS))
            spec = draw(constraints(app)) if draw(st.booleans()) else {}
            made.pods.append(pod(f"on-{name}-{j}", "300m", "64Mi", node=name, labels={"app": app}, **spec))
    for k in range(draw(st.integers(1, 4))):
        app = draw(st.sampled_from(APPS))
        spec, cpu = draw(constraints(app)), draw(st.sampled_from(["100m", "700m", "1500m"]))
        number, priority = draw(st.integers(1, 7)), draw(st.sampled_from([0, 0, 0, 10]))
        for j in range(number):
            name = f"w{k}-{j}"
            made.pods.append(
                pod(name, cpu, "64Mi", labels={"app": app}, owner=f"rs-{k}", **({"priority": priority} | spec))
            )
    return made


@RANDOM
@given(rounds())
def test_every_planned_pod_lands_and_the_last_check_refuses_none(given_round: Scene):
    for arrangement in watched(given_round):
        assert arrangement.refused == {} or arrangement.left_out


def watched(given_round: Scene) -> Iterator[arrange.Arrangement]:
    """Plan, judge the plan, and return what its last check saw."""
    seen: list[arrange.Arrangement] = []
    before = arrange._packed
    try:
        arrange._packed = lambda *args: seen.append(before(*args)) or seen[-1]
        made = plan(given_round.snapshot())
    finally:
        arrange._packed = before
    assert not_landed(given_round, made) == []
    assert made.lower_bound_per_hour <= made.cost_per_hour
    return iter(seen)
