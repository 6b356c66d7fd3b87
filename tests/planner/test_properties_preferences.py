"""Random preferences change neither what a plan costs nor who has a place, and break no rule."""

import random
from collections import Counter
from copy import deepcopy
from unittest.mock import patch

from hypothesis import event, given
from hypothesis import strategies as st

from planner.model.plan import Plan
from planner.packing import arrange
from planner.packing.assemble import Assembly
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.preferences import preferred
from planner.packing.problem import Packing
from planner.plan import plan
from tests.builders import KINDS, kwok_node_class, node_pool, server_type
from tests.planner.checker import violations
from tests.planner.reading import Json
from tests.planner.scenes import Scene
from tests.planner.strategies import APPS, ZONED, crowds, scenes, sociable
from tests.planner.wishes import HOST, PREFERRED, ZONE, in_zones, preference, soft_spread, term
from tests.searching import searching

RANDOM = searching(80)
WEIGHTS = st.sampled_from([1, 50, 100])
KEYS = st.sampled_from([ZONE, ZONE, HOST, "kubernetes.io/arch"])
LABELS = st.sampled_from(
    [
        *(in_zones(*zones) for zones in (ZONED[:1], ZONED[1:2], ZONED[1:])),
        in_zones("arm64", key="kubernetes.io/arch"),
        in_zones("batch", key="growth.dev/pool"),
        {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
    ]
)
ONE_PRICE = [server_type(kind, locations=ZONED, pricePerHour="0.0066") for kind in KINDS]


@st.composite
def preferences(draw: st.DrawFn) -> tuple[Json, list[Json]]:
    """Draw preferred terms and soft spread constraints."""
    nodes = {draw(WEIGHTS): draw(LABELS)} if draw(st.booleans()) else {}
    near, away = (
        {draw(WEIGHTS): term(draw(KEYS), {"app": draw(st.sampled_from(APPS))})} if draw(st.booleans()) else {}
        for _ in range(2)
    )
    keys = draw(st.sampled_from([[], [ZONE], [HOST], [ZONE, "kubernetes.io/arch"], [ZONE, HOST]]))
    soft = [soft_spread(key, draw(st.integers(1, 3)), draw(st.sampled_from(APPS))) for key in keys]
    return preference(nodes=nodes, near=near, away=away), soft


def without_preferences(given_scene: Scene) -> Scene:
    """Return the scene whose pods prefer nothing."""
    plain = deepcopy(given_scene)
    for p in plain.pods:
        for terms in p["spec"].get("affinity", {}).values():
            terms.pop(PREFERRED, None)
        constraints = p["spec"].get("topologySpreadConstraints", [])
        p["spec"]["topologySpreadConstraints"] = [c for c in constraints if c["whenUnsatisfiable"] == "DoNotSchedule"]
    return plain


@st.composite
def purchases(draw: st.DrawFn) -> Scene:
    """Draw pods for which machines must be bought, in three zones and of two architectures at one price."""
    pods = [p for name in draw(st.sampled_from(["a", "ab", "abc"])) for p in draw(sociable(f"app{name}", largest=8))]
    kinds = [server_type(kind, locations=ZONED, pricePerHour="0.0066") for kind in ("cx22", "cax11")]
    types = ["cx22", draw(st.sampled_from(["cax11", {"name": "cax11", "max": 1}]))]
    return Scene(pods=pods, classes=[kwok_node_class(*kinds)], pools=[node_pool(types=types)])


@st.composite
def fond(draw: st.DrawFn) -> Scene:
    """Draw a scene in which owners' pods prefer something, often with machines of one price to choose from."""
    made = without_preferences(draw(st.one_of(purchases(), purchases(), scenes(), crowds())))
    if draw(st.booleans()):
        made.classes = [kwok_node_class(*ONE_PRICE)]
    wishes: dict[str, tuple[Json, list[Json]]] = {}
    for p in made.pods:
        owner = p["metadata"]["name"].rsplit("-", 1)[0]
        if owner not in wishes:
            wishes[owner] = draw(preferences())
        affinity, soft = wishes[owner]
        own = p["spec"].setdefault("affinity", {})
        for kind, terms in affinity.items():
            own[kind] = own.get(kind, {}) | terms
        keys = {c["topologyKey"] for c in p["spec"]["topologySpreadConstraints"]}
        p["spec"]["topologySpreadConstraints"] += [c for c in soft if c["topologyKey"] not in keys]
    return made


def crews(made: Plan) -> Counter[frozenset[str]]:
    """Return which pods are together on new machines."""
    return Counter(frozenset(seat.uid for seat in r.seats) for r in made.requests)


def wishes_apart(waiting: Json) -> bool:
    """Return whether the pod prefers hosts without some other pods."""
    spec = waiting["spec"]
    terms = [one["podAffinityTerm"] for one in spec.get("affinity", {}).get("podAntiAffinity", {}).get(PREFERRED, [])]
    soft = [c for c in spec["topologySpreadConstraints"] if c["whenUnsatisfiable"] == "ScheduleAnyway"]
    return HOST in {one["topologyKey"] for one in (*terms, *soft)}


@RANDOM
@given(fond())
def test_preferences_only_choose_between_machines_of_one_price(scene: Scene):
    plain, made = plan(without_preferences(scene).snapshot()), plan(scene.snapshot())
    assert violations(scene, made) == []
    assert made.cost_per_hour == plain.cost_per_hour
    assert made.lower_bound_per_hour == plain.lower_bound_per_hour
    # Pods that wish to be apart by host name are dealt over the machines that are had in any case.
    if not any(wishes_apart(p) for p in scene.pods):
        assert crews(made) == crews(plain)
        assert made.placed == plain.placed
    assert {u.uid for u in made.unplaced} == {u.uid for u in plain.unplaced}
    places = [Counter((r.server_type, r.location, r.pool) for r in one.requests) for one in (made, plain)]
    event("exchanged" if places[0] != places[1] else "the same")


@RANDOM
@given(fond(), st.randoms(use_true_random=False))
def test_the_order_of_pods_does_not_matter(scene: Scene, shuffler: random.Random):
    made = plan(scene.snapshot())
    shuffler.shuffle(scene.pods)
    assert plan(scene.snapshot()).requests == made.requests


@RANDOM
@given(st.one_of(scenes(), crowds()))
def test_a_plan_without_preferences_is_the_packers(scene: Scene):
    def asked(assembly: Assembly, packing: Packing, pod_counts: PodCounts) -> Packing:
        answer = preferred(assembly, packing, pod_counts)
        assert answer is packing
        return answer

    with patch.object(arrange, "preferred", asked):
        plan(without_preferences(scene).snapshot())
