"""What raising a limit by one brings: tried by hand, and by planning anew under the higher limit."""

from planner.plan import plan
from tests.builders import before, kwok_node_class, node, pod, server_type
from tests.planner import scenes
from tests.planner.wishes import apart

INSTANCE = "node.kubernetes.io/instance-type"


def scene(*pods, types=("cx22",), kinds=(), **spec):
    listed = [server_type(k) if isinstance(k, str) else k for k in kinds]
    return scenes.scene(*pods, types=types, kinds=listed, **spec)


def limits(given):
    """Return what is told of limits, by pod."""
    return {
        u.pod.removeprefix("default/"): [r.message.partition("; ")[2] for r in u.reasons if r.code == "LimitReached"]
        for u in plan(given.snapshot()).unplaced
    }


def many(number, cpu="1", memory="1Gi", name="p", **more):
    return [pod(f"{name}-{k}", cpu, memory, owner=name, **more) for k in range(number)]


def test_all_that_is_left_fits_one_machine_more():
    # One cx22 takes two pods of a core, a second one the other two: that is all, so nothing is least.
    given = scene(*many(4), limits={"max": 1})
    assert set(map(tuple, limits(given).values())) == {("raising it by 1 places 2 pods, on a cx22",)}
    given.pools[0]["spec"]["limits"]["max"] = 2
    assert plan(given.snapshot()).unplaced == ()


def test_where_more_is_left_the_number_is_a_least_one():
    told = limits(scene(*many(9), limits={"max": 1}))
    assert len(told) == 7
    assert set(map(tuple, told.values())) == {("raising it by 1 places at least 2 pods, on a cx22",)}


def test_a_limit_of_a_type_needs_no_name_of_a_machine():
    told = limits(scene(*many(4), types=({"name": "cx22", "max": 1},)))
    assert set(map(tuple, told.values())) == {("raising it by 1 places 2 pods",)}


def test_the_machine_that_takes_most_is_tried():
    # One machine is a cx42 with eight pods of a core; the next would be one, too, with the other three.
    told = limits(scene(*many(11), types=("cx22", "cx42"), limits={"max": 1}))
    assert set(map(tuple, told.values())) == {("raising it by 1 places 3 pods, on a cx42",)}


def test_pods_that_would_still_wait_are_told_of_others():
    # The one cx22 takes what is worth most; of the rest, small pods of the same priority go first onto a second.
    first = pod("first", "2", "4Gi", priority=10)
    told = limits(scene(first, pod("large", "2", "3Gi"), *many(4, "500m", "512Mi", "small"), limits={"max": 1}))
    assert told["large"] == ["raising it by 1 places at least 4 other pods, on a cx22"]
    assert told["small-0"] == ["raising it by 1 places at least 4 pods, on a cx22"]


def test_high_priority_goes_first_onto_the_machine_that_is_tried():
    pods = [pod("first", "2", priority=20), pod("second", "2", priority=10), *many(4, "500m", name="small")]
    told = limits(scene(*pods, limits={"max": 1}))
    assert told["second"] == ["raising it by 1 places at least 1 pod, on a cx22"]
    assert told["small-0"] == ["raising it by 1 places at least 1 other pod, on a cx22"]


def test_where_two_limits_bind_raising_one_brings_nothing():
    given = scene(*many(4), types=({"name": "cx22", "max": 1},), limits={"max": 1})
    reasons = plan(given.snapshot()).unplaced[0].reasons
    assert [r.message for r in reasons] == [
        "pool default is at its max of 1 machines",
        "pool default is at its max of 1 machines of type cx22",
    ]


def test_a_limit_of_a_pattern_is_over_all_its_types_and_names_the_machine_that_would_do():
    pods = [pod("large", "4", "4Gi", priority=9), *many(8)]
    given = scene(*pods, types=("cx42", {"pattern": "cx?2", "max": 1}), kinds=("cx22", "cx32", "cax11"))
    made = plan(given.snapshot())
    assert [request.server_type for request in made.requests] == ["cx32"]
    messages = {reason.message for unplaced in made.unplaced for reason in unplaced.reasons}
    limit = 'pool default is at its max of 1 machines of serverTypes[1], pattern "cx?2"'
    assert messages == {f"{limit}; raising it by 1 places at least 4 pods, on a cx32"}


def test_a_max_below_what_is_there_has_to_rise_further():
    given = scene(*many(2), limits={"max": 1})
    given.nodes = [node(f"m-{k}") for k in range(3)]
    given.pods += [pod(f"old-{k}", "2", "4Gi", node=f"m-{k}") for k in range(3)]
    told = limits(given)
    assert told["p-0"] == ["raising it by 3 places 2 pods, on a cx22"]
    given.pools[0]["spec"]["limits"]["max"] = 3
    assert len(plan(given.snapshot()).unplaced) == 2
    given.pools[0]["spec"]["limits"]["max"] = 4
    assert plan(given.snapshot()).unplaced == ()


def test_three_limits_a_round_are_tried():
    names = ("a", "b", "c", "d")
    kinds = [server_type(n, capacity={"cpu": "1", "memory": "2Gi"}) for n in names]
    pods = [p for n in names for p in many(2, name=n, nodeSelector={INSTANCE: n})]
    told = limits(scene(*pods, types=[{"name": n, "max": 1} for n in names], kinds=kinds))
    assert sorted(told.values()) == [[""], *[["raising it by 1 places 1 pod"]] * 3]


def test_a_probe_is_no_limit_that_a_person_set():
    entry = {
        "serverType": "cx22",
        "location": "fsn1",
        "until": before(minutes=1),
        "lastFailureAt": before(minutes=9),
        "failures": 1,
    }
    given = scene(*many(4))
    given.classes = [kwok_node_class(server_type("cx22"), unavailable=[entry])]
    (reason,) = plan(given.snapshot()).unplaced[0].reasons
    assert reason.message == "cx22 in fsn1 had no capacity: one machine is tried first"


def test_pods_that_keep_apart_come_one_by_one():
    web = many(3, "500m", labels={"app": "web"}, affinity=apart(app="web"))
    told = limits(scene(*web, limits={"max": 1}))
    assert set(map(tuple, told.values())) == {("raising it by 1 makes room for 1 pod, on a cx22",)}
