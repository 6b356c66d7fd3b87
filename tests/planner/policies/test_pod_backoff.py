"""Pods that no machine can take are looked at less and less often, until supply changes.

Source: docs/design.md#round.
"""

from datetime import timedelta

from api.v1alpha1.pool_parts.scale_up import PodBackoff
from planner.model.plan import PlannerMemory, PodBackoffState
from planner.plan import plan
from planner.policies.admission import Miss, remember, waiting
from tests.builders import NOW, kwok_node_class, node, pod, server_type
from tests.planner import scenes
from tests.planner.scenes import Scene


def scene():
    policy = {"podBackoff": {"afterRounds": 3, "base": "30s", "max": "2m"}}
    return scenes.scene(pod("large", "64"), types=["cx22"], scaleUp=policy)


def rounds(given, number, memory=None):
    """Run rounds 10 s apart and return the last plan."""
    made = None
    for _ in range(number):
        made = plan(given.snapshot(memory))
        memory = made.memory
        given.now += timedelta(seconds=10)
    return made


def codes(made):
    return [[r.code for r in u.reasons] for u in made.unplaced]


def test_the_third_miss_begins_the_wait():
    given = scene()
    assert codes(rounds(given, 2)) == [["TooLarge"]]
    given.now = NOW
    third = rounds(given, 3)
    assert codes(third) == [["TooLarge"]]
    (state,) = third.memory.backoff.values()
    assert (state.misses, state.until) == (3, NOW + timedelta(seconds=20 + 30))
    assert third.wake_at == state.until


def test_meanwhile_the_pod_is_left_out_and_still_told_why():
    given = scene()
    third = rounds(given, 3)
    fourth = plan(given.snapshot(third.memory))
    assert codes(fourth) == [["BackOff", "TooLarge"]]
    assert fourth.memory == third.memory
    assert fourth.events == ()


def test_each_further_miss_doubles_the_wait_up_to_the_ceiling_which_is_told_once():
    given = scene()
    made = rounds(given, 3)
    waits, told = [], []
    for _ in range(4):
        (state,) = made.memory.backoff.values()
        given.now = state.until
        made = plan(given.snapshot(made.memory))
        (after,) = made.memory.backoff.values()
        waits.append((after.until - given.now).total_seconds())
        told.append([e.reason for e in made.events])
    assert waits == [60, 120, 120, 120]
    assert told == [["TooLarge"], ["BackOff"], ["BackOff"], ["BackOff"]]
    quiet = plan(given.snapshot(made.memory))
    assert quiet.events == ()


def test_any_change_of_supply_admits_the_pod_again():
    given = scene()
    memory = rounds(given, 3).memory
    given.classes = [
        kwok_node_class(server_type("cx22"), server_type("cx42", capacity={"cpu": "64", "memory": "64Gi"}))
    ]
    given.pools[0]["spec"]["serverTypes"].append({"name": "cx42"})
    made = plan(given.snapshot(memory))
    assert made.result == "AllPlaced"
    assert made.memory.backoff == {}


def test_a_new_node_is_a_change_of_supply_and_a_fuller_one_is_not():
    given = scene()
    given.nodes = [node("n")]
    memory = rounds(given, 3).memory
    given.pods.append(pod("runs", node="n"))
    assert codes(plan(given.snapshot(memory)))[0][0] == "BackOff"
    given.nodes.append(node("m"))
    assert codes(plan(given.snapshot(memory))) == [["TooLarge"]]


def test_a_limit_that_has_room_again_is_a_change_of_supply():
    given = scene()
    given.pods = [pod("a", "2"), pod("b", "2")]
    given.pools[0]["spec"]["limits"] = {"max": 1}
    given.nodes = [node("n", ready=False)]
    memory = rounds(given, 3).memory
    assert codes(plan(given.snapshot(memory)))[0][0] == "BackOff"
    given.nodes = []
    assert len(plan(given.snapshot(memory)).requests) == 1


def test_pods_without_a_pool_wait_by_the_default_policy():
    given = Scene(pods=[pod("a")])
    made = rounds(given, 4)
    assert codes(made) == [["BackOff", "NoPool"]]


def test_pods_that_are_not_judged_do_not_wait():
    given = scene()
    given.pods = [pod("a", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])]
    made = rounds(given, 5)
    assert codes(made) == [["NotJudged"]]
    assert made.memory.backoff == {}


def test_the_memory_keeps_the_forty_with_the_most_misses():
    memory = PlannerMemory()
    for _ in range(2):
        memory = remember(memory, "s", [Miss("old", PodBackoff())], {}, NOW).memory
    many = [Miss(f"{k:016x}", PodBackoff(), f"{k:08x}") for k in range(60)] + [Miss("old", PodBackoff())]
    kept = remember(memory, "s", many, {}, NOW).memory
    assert len(kept.backoff) == 40
    assert kept.backoff["old"].misses == 3
    assert len(kept.model_dump_json()) < 4096


def test_nothing_waits_under_another_supply():
    memory = PlannerMemory(supply="a")
    for _ in range(3):
        memory = remember(memory, "a", [Miss("x", PodBackoff())], {}, NOW).memory
    assert list(waiting(memory, "a", NOW)) == ["x"]
    assert waiting(memory, "b", NOW) == {}
    assert waiting(memory, "a", NOW + timedelta(seconds=30)) == {}


def looking(app):
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def looking_scene():
    given = scene()
    given.pods = [pod("web", "500m", affinity=looking("db")), pod("large", "64")]
    return given


def test_a_new_pod_that_its_affinity_looks_for_ends_the_wait():
    given = looking_scene()
    third = rounds(given, 3)
    (waits,) = [u for u in plan(given.snapshot(third.memory)).unplaced if u.pod == "default/web"]
    assert waits.reasons[0].code == "BackOff"
    assert waits.reasons[0].message.endswith("or until what can be bought or which pods its affinity finds changes")
    given.pods.append(pod("db", "500m", labels={"app": "db"}))
    fourth = plan(given.snapshot(third.memory))
    assert codes(fourth) == [["BackOff", "TooLarge"]]
    assert [[seat.name for seat in bought.seats] for bought in fourth.requests] == [["db", "web"]]


def test_a_running_pod_that_its_affinity_looks_for_ends_the_wait_and_counts_anew():
    given = looking_scene()
    third = rounds(given, 3)
    given.nodes.append(node("n"))
    given.pods.append(pod("db", "2", labels={"app": "db"}, node="n"))
    # The node alone would end every wait.
    memory = third.memory.model_copy(update={"supply": plan(given.snapshot()).memory.supply})
    fourth = plan(given.snapshot(memory))
    assert {u.pod: u.reasons[0].code for u in fourth.unplaced} == {
        "default/web": "AffinityUnsatisfiable",
        "default/large": "BackOff",
    }
    assert sorted(state.misses for state in fourth.memory.backoff.values()) == [1, 3]


def test_the_memory_holds_back_off_and_nothing_else():
    """What else a round must remember is on objects. Source: docs/decisions/0011-rounds-remember-on-objects.md."""
    assert set(PlannerMemory.model_fields) == {"backoff", "supply"}
    assert set(PodBackoffState.model_fields) == {"misses", "until", "sought"}


def test_a_wait_that_a_clock_an_hour_ahead_began_is_over():
    given = scene()
    memory = rounds(given, 3).memory
    (until,) = [state.until for state in memory.backoff.values()]
    given.now = until - timedelta(hours=1, seconds=30)
    assert codes(plan(given.snapshot(memory))) == [["TooLarge"]]
    # Clocks that are kept right differ by less.
    given.now = until - timedelta(seconds=30 + 50)
    assert codes(plan(given.snapshot(memory)))[0][0] == "BackOff"
