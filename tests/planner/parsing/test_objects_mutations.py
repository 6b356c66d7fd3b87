"""Broken objects of all kinds: each is read, or told in one line; nothing else happens."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.parsing.objects import Parsed, parse_objects
from planner.scheduling.volume_places import resolve
from planner.supply.pod_group import GroupKeys, pod_groups
from tests.builders import claim, csi_node, daemon_set, node, pod, storage_class, volume
from tests.planner.reading import REQUIRED
from tests.planner.wishes import PREFERRED, ZONE, soft_spread, spread, term
from tests.searching import searching

Json = dict[str, Any]
CONTAINER = {
    "name": "main",
    "restartPolicy": "Always",
    "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "UDP", "hostIP": "127.0.0.1"}],
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}},
}
EXPRESSION = {"key": "cores", "operator": "Gt", "values": ["3"]}
FIELD = {"key": "metadata.name", "operator": "In", "values": ["n"]}
TERM = term(
    ZONE, {"app": "x"}, namespaces=["shop"], namespaceSelector={"matchLabels": {"a": "b"}}, matchLabelKeys=["app"]
)
FULL_POD = pod(
    "a",
    owner="rs",
    labels={"app": "x"},
    containers=[CONTAINER],
    initContainers=[CONTAINER],
    nodeSelector={"disk": "ssd"},
    affinity={
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [EXPRESSION], "matchFields": [FIELD]}]},
            PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [EXPRESSION], "matchFields": [FIELD]}}],
        },
        "podAffinity": {REQUIRED: [TERM], PREFERRED: [{"weight": 100, "podAffinityTerm": TERM}]},
        "podAntiAffinity": {REQUIRED: [TERM], PREFERRED: [{"weight": 50, "podAffinityTerm": TERM}]},
    },
    topologySpreadConstraints=[
        spread(app="x", minDomains=2, nodeTaintsPolicy="Honor", matchLabelKeys=["app"]),
        soft_spread(app="x", matchLabelKeys=["app"]),
    ],
    tolerations=[{"key": "a", "operator": "Lt", "value": "3", "effect": "NoSchedule"}],
    volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "e", "ephemeral": {}}],
    overhead={"cpu": "10m"},
    resources={"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
    schedulingGates=[{"name": "g"}],
    resourceClaims=[{"name": "gpu"}],
    priority=5,
)
FULL_POD["status"] |= {
    "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}}]
}
FULL_VOLUME = volume("v", zone="a", claimRef={"namespace": "default", "name": "c"}, cinder={"volumeID": "x"})
OBJECTS: dict[str, Json] = {
    "pods": FULL_POD,
    "nodes": node("n", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}]),
    "daemon_sets": daemon_set("agent", nodeSelector={"disk": "ssd"}),
    "namespaces": {"metadata": {"name": "shop", "labels": {"a": "b"}}},
    "claims": claim("c", "v"),
    "volumes": FULL_VOLUME,
    "storage_classes": storage_class("waits", "a", "b"),
    "csi_nodes": csi_node("n", 16),
}
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["-1", "1e999", "In", "Gt", "Always", "2026-01-01", "0001-01-01T00:00:00+23:59", "٣", "9" * 60]),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=2),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), st.one_of(st.none(), st.integers()), max_size=2),
    st.just([[{}]]),
    st.just({"a": {"b": []}}),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return holder and key of everything in an object."""
    if isinstance(value, dict):
        found: list[tuple[Any, Any]] = [(value, key) for key in value]
    elif isinstance(value, list):
        found = [(value, index) for index in range(len(value))]
    else:
        return []
    return found + [deeper for holder, key in found for deeper in places(holder[key])]


def used(parsed: Parsed) -> None:
    """Do with what was read what a round does first."""
    pods = resolve(parsed.pods, parsed.volumes)
    pod_groups(pods, GroupKeys(), pods)


@searching(400)
@given(
    kind=st.sampled_from(sorted(OBJECTS)),
    randomly=st.randoms(use_true_random=False),
    values=st.lists(WRONG, max_size=3),
)
def test_a_mutated_object_is_read_or_told(kind: str, randomly: random.Random, values: list[Any]):
    raw = copy.deepcopy(OBJECTS)
    for value in values:
        holder, key = randomly.choice(places(raw[kind]) or [(raw, kind)])
        holder[key] = copy.deepcopy(value)
    parsed = parse_objects(**{name: [item] for name, item in raw.items()})
    assert len(parsed.problems) <= 1
    assert all("\n" not in p.message and p.name for p in parsed.problems)
    used(parsed)


@pytest.mark.parametrize("kind", sorted(OBJECTS))
@pytest.mark.parametrize("wrong", [None, 1, True, "text", [], [1], {}, {"metadata": None}, {"metadata": {"name": []}}])
def test_what_is_no_object_at_all_is_told(kind: str, wrong: Any):
    parsed = parse_objects(**{kind: [wrong]})
    (problem,) = parsed.problems
    assert problem.name == "without a name"


def test_the_objects_are_readable_before_they_are_mutated():
    parsed = parse_objects(**{name: [item] for name, item in OBJECTS.items()})
    assert parsed.problems == ()
    assert parsed.pods[0].spread
    preferences = parsed.pods[0].preferences
    assert all((preferences.nodes, preferences.near, preferences.apart, preferences.spread))
    assert parsed.nodes[0].attach_limits
    used(parsed)
