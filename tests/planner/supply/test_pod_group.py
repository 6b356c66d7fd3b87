"""Pods that are alike are one class, with a hash that the next round knows again."""

import pytest

from planner.parsing.objects import parse_objects, parse_pod
from planner.scheduling.volume_places import resolve
from planner.supply.pod_group import GroupKeys, pod_groups, seat_of
from tests.builders import before, claim, pod, storage_class, volume
from tests.planner.reading import Json
from tests.planner.wishes import HOST, ZONE, affinity, apart, in_zones, preference, soft_spread, spread, term, using


def ports(host: int, **more: str) -> list[Json]:
    return [{"ports": [{"containerPort": 80, "hostPort": host} | more]}]


def key(raw: Json) -> str:
    return GroupKeys().of(parse_pod(raw))


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
        pod("a", affinity=affinity(away=term(ZONE, {"app": "x"}))),
        pod("a", affinity=affinity(away=term(HOST, {"app": "x"}, namespaces=["shop"]))),
        pod("a", affinity=affinity(away=term(HOST, {"app": "x"}, namespaceSelector={}))),
        pod("a", affinity=affinity(near=term(ZONE, {"app": "x"}))),
        pod("a", affinity=affinity(near=term(ZONE, {"app": "x"})), labels={"app": "x"}),
        pod("a", affinity=affinity(near=term(ZONE, {"app": "x"})), namespace="shop"),
        pod("a", topologySpreadConstraints=[spread(app="x")]),
        pod("a", topologySpreadConstraints=[spread(app="x", max_skew=2)]),
        pod("a", topologySpreadConstraints=[spread(app="x")], labels={"app": "x"}),
        pod("a", containers=ports(80)),
        pod("a", containers=ports(81)),
        pod("a", containers=ports(80, protocol="UDP")),
    ]
    assert len({key(raw) for raw in differing}) == len(differing)


def test_preferences_do_not_tell_pods_apart():
    # They never decide whether a pod finds a place: neither a seat nor a back-off is about them.
    wish = preference(nodes={1: in_zones("z1")}, near={1: term(ZONE, {"app": "x"})}, away={1: term(HOST, {"app": "x"})})
    fond = pod("a", affinity=wish, topologySpreadConstraints=[soft_spread(app="x")])
    assert key(fond) == key(pod("b"))
    made = [parse_pod(raw) for raw in (fond, pod("b"), pod("c", labels={"app": "x"}))]
    assert len(pod_groups(made, GroupKeys(), made)) == 1


def test_the_toleration_of_a_reservation_does_not_tell_a_pod_from_its_successor():
    reserved = {"key": "growth.dev/reserved", "operator": "Equal", "value": "m-1", "effect": "NoSchedule"}
    assert key(pod("a", tolerations=[reserved])) == key(pod("a"))


def test_the_hash_stays_the_same_between_versions():
    # Seats on live requests carry it: a change would part seats from successors once, at the upgrade.
    assert key(pod("a")) == "67d708714adee70a"


def test_pods_that_anti_affinity_tells_apart_are_in_different_groups():
    shy = parse_pod(pod("shy", labels={"app": "shy"}, affinity=apart(app="web")))
    web, other = (parse_pod(pod(n, labels={"app": n})) for n in ("web", "other"))
    keys = GroupKeys()
    assert keys.of(web) == keys.of(other)
    assert len(pod_groups([web, other], keys, [web, other])) == 1
    assert len(pod_groups([web, other], keys, [shy, web, other])) == 2


def same_group(looking: Json, *pods: Json) -> bool:
    """Return whether two pods that differ in labels or namespace are one class beside the pod that looks."""
    made = [parse_pod(raw) for raw in pods]
    return len(pod_groups(made, GroupKeys(), [parse_pod(looking), *made])) == 1


@pytest.mark.parametrize(
    ("looking", "tells_apart"),
    [
        (pod("l"), False),
        (pod("l", affinity=affinity(near=term(ZONE, {"app": "a"}))), True),
        (pod("l", affinity=affinity(near=term(ZONE, {"tier": "a"}))), False),
        (pod("l", affinity=affinity(away=term(ZONE, {"app": "a"}))), True),
        # Without a selector it looks for no pod.
        (pod("l", affinity=affinity(away=term(ZONE))), False),
        (pod("l", affinity=affinity(away=term(ZONE, {"app": "a"}, namespaces=["shop"]))), False),
        (pod("l", namespace="shop", affinity=affinity(away=term(ZONE, {"app": "a"}, namespaces=["default"]))), True),
        (pod("l", namespace="shop", affinity=affinity(away=term(ZONE, {"app": "a"}, namespaceSelector={}))), True),
        (pod("l", topologySpreadConstraints=[spread(app="a")]), True),
        (pod("l", namespace="shop", topologySpreadConstraints=[spread(app="a")]), False),
    ],
)
def test_labels_count_where_a_selector_looks_at_them(looking: Json, *, tells_apart: bool):
    a, b = pod("1", labels={"app": "a", "index": "1"}), pod("2", labels={"app": "b", "index": "2"})
    assert same_group(looking, a, b) != tells_apart
    alike = pod("3", labels={"app": "a", "index": "3"})
    assert same_group(looking, a, alike)


@pytest.mark.parametrize(
    ("more", "tells_apart"),
    [({}, True), ({"namespaceSelector": {}}, True), ({"namespaces": ["elsewhere"]}, False)],
)
def test_namespaces_count_where_a_term_looks(more: Json, *, tells_apart: bool):
    looking = pod("l", affinity=affinity(away=term(ZONE, {}, **more)))
    assert same_group(looking, pod("1"), pod("2", namespace="shop")) != tells_apart


def test_claims_count_by_what_they_mean_and_not_by_name():
    """Each pod of a StatefulSet has claims and volumes of its own."""
    zones = {"v1": "a", "v2": "a", "v3": "b"}
    stored = parse_objects(
        claims=[claim(f"d{v}", v) for v in zones] + [claim("new")],
        volumes=[volume(v, zone=zone) for v, zone in zones.items()],
        storage_classes=[storage_class()],
    )
    names = ["dv1", "dv2", "dv3", "new", "gone", "lost"]
    pods = [parse_pod(using(pod(name), name)) for name in names]
    one, alike, elsewhere, made, gone, lost = resolve(pods, stored.volumes)
    keys = GroupKeys()
    assert keys.of(one) == keys.of(alike)
    assert len({keys.of(p) for p in (one, elsewhere, made, gone, parse_pod(pod("a")))}) == 5
    # The hash is one for all that are blocked, so that they fill no memory; what blocks each is told apart.
    assert keys.of(gone) == keys.of(lost)
    assert len(pod_groups([gone, lost], keys, [])) == 2


def test_the_hash_does_not_depend_on_the_order_of_a_set():
    wide = pod("a", affinity=affinity(near=term(ZONE, {"app": "x"}, namespaces=["b", "a", "c", "d", "e"])))
    assert key(wide) == "1c80db627d6901a8"


def test_old_pods_and_important_ones_come_first():
    young, old = pod("a"), pod("b")
    young["metadata"]["creationTimestamp"] = before(minutes=1)
    old["metadata"]["creationTimestamp"] = before(minutes=2)
    pods = [parse_pod(raw) for raw in (young, old, pod("c", priority=5))]
    classes = pod_groups(pods, GroupKeys(), pods)
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


def test_pods_that_share_different_volumes_are_in_different_classes_of_one_key():
    pods = [using(pod(name), disk) for name, disk in {"a": "x", "b": "x", "c": "y", "d": "z", "e": "w"}.items()]
    pods.append(using(pod("runs", node="n"), "y"))
    disks = "wxyz"
    parsed = parse_objects(
        pods=pods,
        claims=[claim(d, f"v-{d}") for d in disks],
        volumes=[volume(f"v-{d}") for d in disks],
        storage_classes=[storage_class()],
    )
    resolved = resolve(parsed.pods, parsed.volumes)
    found = pod_groups(resolved[:5], GroupKeys(), resolved)
    assert [[p.name for p in one.pods] for one in found] == [["a", "b"], ["c"], ["d", "e"]]
    assert len({one.key for one in found}) == 1
