"""Pods of machines that go find their places by the rules that hold for waiting pods."""

import pytest

from planner.displacement.displace import Displacer
from planner.displacement.displaced import Displacement, Misfit
from planner.model.stages import unwatched
from planner.packing.fallback.pack import pack
from planner.placement.decide import decide
from planner.placement.known_state import prepare
from tests.builders import claim, daemon_set, node, node_pool, node_removal_request, node_request, pod, volume
from tests.planner.scenes import scene
from tests.tables import rows

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}


def apart(key=HOSTNAME):
    return {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": WEB}, "topologyKey": key}
                ]
            }
        }
    }


def spread(key=HOSTNAME, skew=1):
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": skew,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": WEB},
            }
        ]
    }


def displaced(given, *names, decided=False):
    known = prepare(given.snapshot())
    if decided:
        made = decide(known, pack, unwatched)
        displacer = Displacer(known, names, made)
    else:
        displacer = Displacer(known, names)
    return displacer.displace(names, pack)


def moves(made):
    assert isinstance(made, Displacement), made
    return {move.pod: move.node for move in made.moves}


def bought(made):
    assert isinstance(made, Displacement), made
    return sorted(request.server_type for request in made.requests())


def misfit(made):
    assert isinstance(made, Misfit), made
    return made.machine, made.pod, made.reasons[0].code


def test_pods_go_to_the_room_of_others():
    given = scene(node("a"), node("b"), pods=[pod("x", node="a"), pod("y", node="b")])
    made = displaced(given, "a")
    assert moves(made) == {"default/x": "b"}
    assert bought(made) == []


def test_what_has_no_room_is_bought_for_with_seats():
    given = scene(node("a", "cx42"), node("b"), pods=[pod("x", cpu="1500m", node="a"), pod("y", cpu="1", node="b")])
    made = displaced(given, "a")
    assert moves(made) == {}
    (request,) = made.requests()
    assert (request.server_type, [seat.name for seat in request.seats]) == ("cx22", ["x"])
    assert made.cost_per_hour == request.price_per_hour


def test_one_large_machine_is_split_where_its_pods_keep_apart():
    pods = [pod(f"w{i}", cpu="1500m", memory="1Gi", labels=WEB, node="big") for i in range(2)]
    given = scene(node("big", "cx42"), types=["cx22", "cx42"], pods=pods)
    made = displaced(given, "big")
    assert bought(made) == ["cx22", "cx22"]


def test_machines_that_go_together_take_no_pods_of_each_other():
    given = scene(node("a"), node("b"), pods=[pod("x", node="a"), pod("y", node="b")])
    made = displaced(given, "a", "b")
    assert moves(made) == {}
    assert bought(made) == ["cx22"]


@pytest.mark.parametrize(
    "other",
    [
        node("b", ready=False),
        node("b", spec={"unschedulable": True}),
        node("b", deleting=True),
        node("b", taints=[{"key": "x", "effect": "NoSchedule"}]),
    ],
)
def test_a_node_that_takes_no_pods_is_no_place(other):
    assert bought(displaced(scene(node("a"), other, pods=[pod("x", node="a")]), "a")) == ["cx22"]


def test_a_machine_in_its_cool_off_is_no_place():
    removal = node_removal_request("b", phase="Pending")
    given = scene(node("a"), node("b"), removal, pods=[pod("x", node="a")])
    assert bought(displaced(given, "a")) == ["cx22"]


def test_a_machine_in_flight_is_no_place():
    given = scene(node("a"), node_request("r"), pods=[pod("x", node="a")])
    assert bought(displaced(given, "a")) == ["cx22"]


def test_the_max_counts_the_old_machine_beside_the_new_one():
    given = scene(node("a"), pods=[pod("x", node="a")], limits={"max": 1})
    assert misfit(displaced(given, "a")) == ("a", "default/x", "LimitReached")


@rows(
    ("limits", "fits"),
    {
        "cores for one": ({"cpu": 3}, False),
        "cores for both": ({"cpu": 4}, True),
        "memory for one": ({"memory": "7Gi"}, False),
        "memory for both": ({"memory": "8Gi"}, True),
        "money for one": ({"pricePerHour": "0.0131"}, False),
        "money for both": ({"pricePerHour": "0.0132"}, True),
    },
)
def test_limits_in_cores_memory_and_money_count_both_as_well(limits, fits):
    given = scene(node("a"), pods=[pod("x", node="a")], limits=limits)
    made = displaced(given, "a")
    assert (bought(made) == ["cx22"]) if fits else misfit(made) == ("a", "default/x", "LimitReached")


def test_minimums_are_kept():
    given = scene(node("a", "cx42"), node("b"), pods=[pod("x", node="a")], limits={"min": 2})
    made = displaced(given, "a")
    assert moves(made) == {"default/x": "b"}
    assert bought(made) == ["cx22"]
    of_type = scene(node("a", "cx42"), node("b"), types=[{"name": "cx42", "min": 1}, "cx22"], pods=[pod("x", node="a")])
    assert bought(displaced(of_type, "a")) == ["cx42"]


def test_daemon_sets_take_their_part_of_new_machines():
    given = scene(node("a", "cx42"), daemon_set("agent", cpu="600m"), pods=[pod("x", cpu="1500m", node="a")])
    assert bought(displaced(given, "a")) == ["cx32"]


def test_pods_of_the_node_stay_with_it():
    agent = pod("agent", node="a", owner=("DaemonSet", "uid-agent"))
    going = pod("old", node="a", deleting=True)
    made = displaced(scene(node("a"), pods=[agent, going]), "a")
    assert (moves(made), bought(made)) == ({}, [])


def test_anti_affinity_holds_both_ways():
    runs = pod("y", node="b", labels={"app": "other"}, **apart())
    given = scene(node("a"), node("b"), pods=[pod("x", node="a", labels=WEB), runs])
    assert bought(displaced(given, "a")) == ["cx22"]
    given = scene(
        node("a"), node("b"), pods=[pod("x", node="a", labels=WEB, **apart()), pod("y", node="b", labels=WEB)]
    )
    assert bought(displaced(given, "a")) == ["cx22"]


def test_affinity_follows_the_pods_that_stay():
    near = {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
                ]
            }
        }
    }
    x = pod("x", node="a", labels=WEB, **near)
    given = scene(node("a"), node("b"), node("c"), pods=[x, pod("db", node="c", labels={"app": "db"})])
    assert moves(displaced(given, "a")) == {"default/x": "c"}
    alone = scene(node("a"), pods=[x, pod("db", node="a", labels={"app": "db"})])
    assert bought(displaced(alone, "a")) == ["cx22"]


def test_a_spread_counts_the_old_node_as_a_domain_until_it_is_gone():
    pods = [pod(f"w{n}", node=n, labels=WEB, **spread()) for n in "abc"]
    given = scene(*map(node, "abc"), pods=pods)
    # On b or c there would be two of them while a, which still counts, has none.
    assert moves(displaced(given, "a")) == {}
    assert bought(displaced(given, "a")) == ["cx22"]
    assert moves(displaced(scene(*map(node, "abc"), pods=pods[:2]), "a")) == {"default/wa": "c"}


def test_host_ports_do_not_meet():
    ports = {"containers": [{"name": "m", "resources": {"requests": {"cpu": "1"}}, "ports": [{"hostPort": 80}]}]}
    given = scene(node("a"), node("b"), pods=[pod("x", node="a", **ports), pod("y", node="b", **ports)])
    assert bought(displaced(given, "a")) == ["cx22"]


def test_a_local_volume_goes_nowhere():
    local = volume("pv", zone="a", key=HOSTNAME, claimRef={"namespace": "default", "name": "data"})
    x = pod("x", node="a", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    given = scene(node("a"), node("b"), pods=[x], claims=[claim("data", "pv")], volumes=[local])
    machine, name, _ = misfit(displaced(given, "a"))
    assert (machine, name) == ("a", "default/x")


def test_room_that_the_round_gives_to_waiting_pods_is_taken():
    given = scene(node("a"), node("b"), pods=[pod("x", cpu="1500m", node="a"), pod("w", cpu="1500m", priority=9)])
    assert moves(displaced(given, "a")) == {"default/x": "b"}
    assert bought(displaced(given, "a", decided=True)) == ["cx22"]


def test_room_that_pods_of_running_removals_move_to_is_taken():
    going = node_removal_request(
        "gone", phase="Draining", spec={"moves": [{"pod": "default/m", "node": "b", "owner": "rs"}]}
    )
    given = scene(node("a"), node("b"), node("gone"), pods=[pod("x", cpu="1600m", node="a"), pod("m", node="gone")])
    given.removals.append(going)
    assert bought(displaced(given, "a")) == ["cx22"]
    # It has left.
    given.pods.pop()
    assert moves(displaced(given, "a")) == {"default/x": "b"}


HOST_PORT = {
    "containers": [{"name": "m", "resources": {"requests": {"cpu": "100m"}}, "ports": [{"hostPort": 80}]}],
}


@pytest.mark.parametrize(
    ("own", "moving"),
    [(HOST_PORT, HOST_PORT), (apart(), {}), ({}, apart()), (spread(), spread())],
    ids=["host ports", "keeps away", "is kept away", "hard spread"],
)
def test_rules_about_pods_of_running_removals_hold_where_these_are_to_be(own, moving):
    """Both would find the room, and the second of them not the place: it would wait until its move has failed."""
    going = node_removal_request(
        "gone", phase="Draining", spec={"moves": [{"pod": "default/m", "node": "b", "owner": "rs"}]}
    )
    x, m = (pod(n, "100m", node=n, labels=WEB, **rule) for n, rule in (("x", own), ("m", moving)))
    x["spec"]["nodeName"], m["spec"]["nodeName"] = "a", "gone"
    given = scene(node("a"), node("b"), node("gone"), going, pods=[x, m])
    assert bought(displaced(given, "a")) == ["cx22"]
    given.pods.pop()
    assert moves(displaced(given, "a")) == {"default/x": "b"}


@pytest.mark.parametrize("old", [node("gone"), node("gone", spec={"unschedulable": True})], ids=["open", "cordoned"])
def test_pods_of_running_removals_count_once_for_a_spread(old):
    """One moves to the zone of `b`, which then has it alone: the other one would be the second there."""
    going = node_removal_request(
        "gone", phase="Draining", spec={"moves": [{"pod": "default/m", "node": "b", "owner": "rs"}]}
    )
    pods = [pod(name, "100m", node=on, labels=WEB, **spread(ZONE)) for name, on in (("x", "a"), ("m", "gone"))]
    given = scene(node("a"), node("b", labels={ZONE: "hel1"}), old, going, pods=pods)
    assert bought(displaced(given, "a")) == ["cx22"]
    given.removals = []
    assert moves(displaced(given, "a")) == {"default/x": "b"}


def test_purchases_of_the_round_count_towards_the_max():
    pods = [pod("x", cpu="1500m", node="a"), pod("w", cpu="1500m")]
    assert misfit(displaced(scene(node("a"), pods=pods, limits={"max": 2}), "a", decided=True))[2] == "LimitReached"
    assert bought(displaced(scene(node("a"), pods=pods, limits={"max": 3}), "a", decided=True)) == ["cx22"]


def test_purchases_of_the_round_count_towards_cores():
    pods = [pod("x", cpu="1500m", node="a"), pod("w", cpu="1500m")]
    assert misfit(displaced(scene(node("a"), pods=pods, limits={"cpu": 5}), "a", decided=True))[2] == "LimitReached"
    assert bought(displaced(scene(node("a"), pods=pods, limits={"cpu": 6}), "a", decided=True)) == ["cx22"]


def test_pods_cross_to_pools_that_they_allow():
    pools = [node_pool("big", ["cx42"], matchUnselectedPods=True), node_pool("small", ["cx22"])]
    select = {"nodeSelector": {"growth.dev/pool": "big"}}
    either = {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "growth.dev/pool", "operator": "In", "values": ["big", "small"]}]}
                    ]
                }
            }
        }
    }
    for spec, expected in ((select, ["cx42"]), (either, ["cx22"])):
        given = scene(node("a", "cx42", pool="big"), pools=pools, pods=[pod("x", node="a", **spec)])
        assert bought(displaced(given, "a")) == expected


def test_a_pod_that_is_not_judged_keeps_its_machine():
    x = pod("x", node="a", resourceClaims=[{"name": "gpu"}])
    made = displaced(scene(node("a"), node("b"), pods=[x]), "a")
    assert isinstance(made, Misfit)
    assert (made.pod, made.reasons[0].code) == ("default/x", "NotJudged")
