"""Random pods that ask something of each other, of ports and of volumes: judged by the checker and by brute force."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from planner.plan import plan
from tests.builders import kwok_node_class, node_pool, pod, server_type
from tests.planner.brute_force import cheapest_among_others
from tests.planner.checker import violations
from tests.planner.neighbours import storage_for
from tests.planner.reading import Json
from tests.planner.scenes import Scene
from tests.planner.strategies import sociable
from tests.planner.wishes import ZONE, spread
from tests.searching import searching

RANDOM = searching(80)
KINDS = [server_type(name, locations=("fsn1", "nbg1")) for name in ("cx22", "cx42")]


def scene_of(*pods: Json) -> Scene:
    return Scene(pods=list(pods), classes=[kwok_node_class(*KINDS)], pools=[node_pool(types=["cx22", "cx42"])])


@st.composite
def small_scenes(draw: st.DrawFn) -> Scene:
    groups = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True))
    scene = scene_of(*(p for name in groups for p in draw(sociable(name, largest=2))))
    for kind, objects in storage_for(draw, scene.pods).items():
        setattr(scene, kind, objects)
    return scene


@RANDOM
@given(small_scenes())
def test_the_bound_is_not_above_the_optimum(scene: Scene):
    made = plan(scene.snapshot())
    assert violations(scene, made) == []
    optimum = cheapest_among_others(scene, [s.uid for r in made.requests for s in r.seats])
    assert made.lower_bound_per_hour <= optimum <= made.cost_per_hour


def test_the_brute_force_knows_what_spreading_costs():
    # Two small pods share a cx22 (0.0066); in two zones they need two.
    pods = [pod(name, "500m", "1Gi", labels={"app": "web"}) for name in ("a", "b")]
    assert cheapest_among_others(scene_of(*pods), ["uid-a", "uid-b"]) == Decimal("0.0066")
    for p in pods:
        p["spec"]["topologySpreadConstraints"] = [spread(ZONE, 1, "web", minDomains=2)]
    assert cheapest_among_others(scene_of(*pods), ["uid-a", "uid-b"]) == Decimal("0.0132")
