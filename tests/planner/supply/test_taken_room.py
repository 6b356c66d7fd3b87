"""Room that pods without a seat take on a machine that is kept for others: they tolerate every taint.

Nothing can keep such a pod off. So what it took counts, and whoever has no room left beside it gets another place.
Source: Kubernetes docs, "Taints and Tolerations": an empty key with operator Exists matches every taint.
"""

from typing import Any

from planner.model.plan import Plan
from planner.plan import plan
from tests.builders import Json, before, daemon_set, node, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import Scene, scene, seat

EVERYTHING = [{"operator": "Exists"}]
READY: Json = {"phase": "Ready", "readyAt": before(seconds=20), "registeredAt": before(seconds=22)}


def tolerant(name: str, cpu: str = "1500m", **more: Any) -> Json:
    return pod(name, cpu, tolerations=EVERYTHING, **more)


def reserved(*pods: Json, seats: list[Json], **more: Any) -> Scene:
    """Return machine m, of 2 CPUs, which has joined and is kept for its seats."""
    requests = [node_request("m", seats=[seat(each) for each in seats], **READY), *more.pop("requests", ())]
    return scene(*pods, nodes=[node("m")], requests=requests, **more)


def seats_of(made: Plan, name: str = "m") -> list[str]:
    return [each.name for each in made.reservations[name]]


def bought_for(made: Plan) -> list[list[str]]:
    return [[each.name for each in request.seats] for request in made.requests]


def test_a_pod_that_tolerates_everything_is_seated_like_others():
    given = scene(tolerant("t"), pod("a", "400m"), requests=[node_request("m", seats=[seat(tolerant("t"))])])
    made = planned(given)
    assert seats_of(made) == ["t", "a"]
    assert made.requests == ()


def test_a_pod_whose_room_was_taken_gets_another_machine():
    a = pod("a", "1500m")
    made = planned(reserved(tolerant("t", node="m"), a, seats=[a]))
    assert (seats_of(made), bought_for(made)) == ([], [["a"]])


def test_it_gets_the_seat_that_the_other_pod_left():
    """Pods t and a were bought a machine each; t took the first one that joined."""
    a, t = pod("a", "1500m"), tolerant("t", node="m")
    made = planned(reserved(t, a, seats=[a], requests=[node_request("n", seats=[seat(t)])]))
    assert (seats_of(made), seats_of(made, "n"), made.requests) == ([], ["a"], ())


def test_whoever_still_fits_keeps_the_seat():
    a, b = pod("a", "900m"), pod("b", "900m")
    made = planned(reserved(tolerant("t", "300m", node="m"), a, b, seats=[a, b]))
    assert (seats_of(made), bought_for(made)) == (["a"], [["b"]])


def test_the_most_important_pods_keep_theirs():
    low, high = pod("low", "900m"), pod("high", "900m", priority=10)
    made = planned(reserved(tolerant("t", "300m", node="m"), low, high, seats=[low, high]))
    assert (seats_of(made), bought_for(made)) == (["high"], [["low"]])


def test_room_that_is_enough_for_all_changes_nothing():
    a = pod("a", "1500m")
    made = planned(reserved(tolerant("t", "300m", node="m"), a, seats=[a]))
    assert (made.reservations, made.requests) == ({}, ())


def test_pods_with_a_seat_take_what_is_theirs():
    a, t = pod("a", "500m"), tolerant("t", node="m")
    made = planned(reserved(t, a, seats=[t, a]))
    assert (made.reservations, made.requests) == ({}, ())


def test_it_counts_from_the_moment_on_in_which_the_node_has_joined():
    a = pod("a", "1500m")
    request = node_request("m", seats=[seat(a)], phase="Provisioning", createAttemptAt=before(seconds=20))
    made = planned(scene(tolerant("t", node="m"), a, nodes=[node("m", ready=False)], requests=[request]))
    assert bought_for(made) == [["a"]]


def test_a_pod_that_may_not_be_beside_the_other_gets_another_machine():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "t"}}}
    keeps_away = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    a, b = pod("a", "100m", **keeps_away), pod("b", "100m")
    t = tolerant("t", "100m", node="m", labels={"app": "t"})
    made = planned(reserved(t, a, b, seats=[a, b]))
    assert (seats_of(made), bought_for(made)) == (["b"], [["a"]])


def test_a_pod_that_the_other_one_keeps_away_gets_another_machine():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
    keeps_away = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    a, b = pod("a", "100m", labels={"app": "a"}), pod("b", "100m")
    made = planned(reserved(tolerant("t", "100m", node="m", **keeps_away), a, b, seats=[a, b]))
    assert (seats_of(made), bought_for(made)) == (["b"], [["a"]])


def test_a_pod_whose_host_port_was_taken_gets_another_machine():
    ports = {"containers": [{"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    a, b = pod("a", "100m", **ports), pod("b", "100m")
    made = planned(reserved(tolerant("t", "100m", node="m", **ports), a, b, seats=[a, b]))
    assert (seats_of(made), bought_for(made)) == (["b"], [["a"]])


def test_of_what_nobody_took_a_lack_is_awaited():
    """A device plugin reports late: the pods of the seats wait for it, whoever has taken processors."""
    a = pod("a", "500m", requests={"example.com/gpu": "1"})
    made = plan(reserved(tolerant("t", "300m", node="m"), a, seats=[a]).snapshot())
    assert (made.reservations, made.requests) == ({}, ())


def test_daemon_pods_to_come_have_their_room_before_the_seats():
    a = pod("a", "1500m")
    agent = daemon_set("agent", "300m")
    made = planned(reserved(tolerant("t", "300m", node="m"), a, seats=[a], daemon_sets=[agent]))
    assert bought_for(made) == [["a"]]


def test_the_number_of_pods_is_room_too():
    a = pod("a", "100m")
    given = reserved(tolerant("t", "100m", node="m"), a, seats=[a])
    given.nodes[0]["status"]["allocatable"]["pods"] = "1"
    assert bought_for(planned(given)) == [["a"]]


def test_many_of_them_on_many_machines():
    waiting = [pod(f"a{i}", "1500m") for i in range(40)]
    given = scene(
        *waiting,
        *(tolerant(f"t{i}", node=f"m{i}") for i in range(40)),
        nodes=[node(f"m{i}") for i in range(40)],
        requests=[node_request(f"m{i}", seats=[seat(waiting[i])], **READY) for i in range(40)],
    )
    given.pools[0]["spec"]["limits"] = {"max": 100}
    made = planned(given)
    assert all(not seats for seats in made.reservations.values())
    assert sorted(name for names in bought_for(made) for name in names) == sorted(
        each["metadata"]["name"] for each in waiting
    )
