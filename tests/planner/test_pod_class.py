"""Pods that are alike are one class, with a hash that the next round knows again."""

from planner.parse import parse_pod
from planner.pod_class import ClassKeys, group, seat_of
from tests.planner.scenes import apart, before, pod


def key(raw):
    return ClassKeys().of(parse_pod(raw))


def test_names_and_foreign_labels_do_not_tell_pods_apart():
    assert key(pod("a", labels={"pod-index": "0"})) == key(pod("b", labels={"pod-index": "1"}, namespace="other"))


def test_what_a_pod_asks_for_tells_it_apart():
    differing = [
        pod("a"),
        pod("a", cpu="501m"),
        pod("a", nodeSelector={"disk": "ssd"}),
        pod("a", tolerations=[{"operator": "Exists"}]),
        pod("a", priority=1),
        pod("a", affinity=apart(app="x")),
        pod("a", hostNetwork=True, containers=[{"ports": [{"containerPort": 1}]}]),
    ]
    assert len({key(raw) for raw in differing}) == len(differing)


def test_the_toleration_of_a_reservation_does_not_tell_a_pod_from_its_successor():
    reserved = {"key": "growth.dev/reserved", "operator": "Equal", "value": "m-1", "effect": "NoSchedule"}
    assert key(pod("a", tolerations=[reserved])) == key(pod("a"))


def test_the_hash_stays_the_same_between_versions():
    # Seats on live requests carry it: a change would part seats from successors once, at the upgrade.
    assert key(pod("a")) == "67d708714adee70a"


def test_pods_that_anti_affinity_tells_apart_are_in_different_groups():
    shy = parse_pod(pod("shy", labels={"app": "shy"}, affinity=apart(app="web")))
    web, other = (parse_pod(pod(n, labels={"app": n})) for n in ("web", "other"))
    keys = ClassKeys()
    assert keys.of(web) == keys.of(other)
    assert len(group([web, other], keys, [web, other])) == 1
    assert len(group([web, other], keys, [shy, web, other])) == 2


def test_old_pods_and_important_ones_come_first():
    young, old = pod("a"), pod("b")
    young["metadata"]["creationTimestamp"] = before(minutes=1)
    old["metadata"]["creationTimestamp"] = before(minutes=2)
    pods = [parse_pod(raw) for raw in (young, old, pod("c", priority=5))]
    classes = group(pods, ClassKeys(), pods)
    assert [[p.name for p in c.pods] for c in classes] == [["c"], ["b", "a"]]


def test_a_seat_names_pod_owner_and_class():
    seat = seat_of(parse_pod(pod("a", owner="rs")), "hash")
    assert seat.to_json() == {
        "namespace": "default",
        "name": "a",
        "uid": "uid-a",
        "owner": "rs",
        "class": "hash",
    }
