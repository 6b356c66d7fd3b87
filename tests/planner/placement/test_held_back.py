"""Pods that pools buy nothing for themselves. Source: docs/growth.md."""

from datetime import timedelta

import pytest

from tests.builders import NOW, before, node, node_pool, node_request, pod
from tests.planner.outcome import codes, planned
from tests.planner.scenes import scene


def young(name, *, seconds, cpu="2"):
    made = pod(name, cpu, "1Gi")
    made["metadata"]["creationTimestamp"] = before(seconds=seconds)
    return made


def test_a_young_pod_waits_for_its_age():
    made = planned(scene(young("old", seconds=31), young("new", seconds=10), scaleUp={"podGrace": "30s"}))
    assert codes(made) == {"new": "TooYoung"}
    assert [[s.name for s in r.seats] for r in made.requests] == [["old"]]
    assert made.wake_at == NOW + timedelta(seconds=20)
    assert made.memory.backoff == {}
    (left,) = made.unplaced
    assert left.reasons[0].message == "pool default buys for pods that have waited 30s: scaleUp.podGrace"


def test_a_young_pod_uses_what_is_there_or_coming():
    given = scene(
        young("a", seconds=1),
        young("b", seconds=1),
        node("n"),
        node_request("r", phase="Provisioning"),
        scaleUp={"podGrace": "30s"},
    )
    made = planned(given)
    assert (made.unplaced, made.requests) == ((), ())
    assert {p.node or p.request for p in made.placed} == {"n", "r"}


def test_a_pod_that_is_too_large_is_told_that_first():
    made = planned(scene(young("a", seconds=1, cpu="99"), scaleUp={"podGrace": "30s"}))
    assert codes(made) == {"a": "TooLarge"}


def test_another_pool_buys_for_it():
    pools = [
        node_pool("default", scaleUp={"podGrace": "30s"}),
        node_pool("other", matchUnselectedPods=True),
    ]
    made = planned(scene(young("a", seconds=1), pools=pools))
    assert [r.pool for r in made.requests] == ["other"]


@pytest.mark.parametrize(
    ("scale_up", "bought", "code"),
    [
        ({"estimators": ["threshold"]}, 0, "BelowThreshold"),
        ({"estimators": ["threshold"], "starvation": True}, 1, None),
        ({"estimators": ["threshold"], "starvation": True, "podGrace": "1m"}, 0, "TooYoung"),
        ({"estimators": ["threshold"], "starvation": True, "podGrace": "30s"}, 1, None),
        ({"estimators": ["binPack", "threshold"]}, 1, None),
        ({"estimators": ["binPack"]}, 1, None),
    ],
)
def test_who_is_bought_for(scale_up, bought, code):
    # 1 of 2 cores is taken on each of four Nodes, and the pod wants both.
    running = [pod(f"on-{k}", "1", "1Gi", node=f"n-{k}") for k in range(4)]
    nodes = [node(f"n-{k}") for k in range(4)]
    made = planned(
        scene(*nodes, *running, young("a", seconds=40), types=("cx22",), scaleUp=scale_up | {"thresholdPercent": 90})
    )
    assert len(made.requests) == bought
    assert codes(made) == ({} if code is None else {"a": code})


def test_young_pods_do_not_count_towards_the_threshold():
    half = node("n"), pod("on", "1", "1Gi", node="n")
    wish = {"estimators": ["threshold"], "podGrace": "30s"}
    given = scene(*[young(f"p-{k}", seconds=1) for k in range(5)], *half, scaleUp=wish)
    assert planned(given).requests == ()
    given.pods[:5] = [young(f"p-{k}", seconds=31) for k in range(5)]
    assert planned(given).requests
