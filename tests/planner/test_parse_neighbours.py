"""What pods ask of the pods around them. Defaults follow the reference of the pod API and the scheduler's code."""

from typing import Any

import pytest

from planner.objects import PodTerm, Requirement, Spread
from planner.parse import UnreadableObject, parse_pod
from tests.planner.scenes import pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APP = {"matchLabels": {"app": "web"}}
WEB = Requirement("app", "In", ("web",))
LABELS = {"app": "web", "rev": "7"}


def term(kind: str = "podAffinity", **fields: Any) -> PodTerm:
    raw = pod("a", namespace="shop", labels=LABELS, affinity={kind: {REQUIRED: [{"topologyKey": "zone"} | fields]}})
    made = parse_pod(raw)
    (found,) = made.pod_affinity + made.pod_anti_affinity
    return found


@pytest.mark.parametrize(
    ("fields", "namespaces", "selector"),
    [
        ({}, {"shop"}, None),
        ({"namespaces": []}, {"shop"}, None),
        ({"namespaces": ["a", "b"]}, {"a", "b"}, None),
        ({"namespaceSelector": {}}, set(), ()),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, set(), (Requirement("team", "In", ("x",)),)),
        ({"namespaces": ["a"], "namespaceSelector": {}}, {"a"}, ()),
        ({"namespaceSelector": None}, {"shop"}, None),
    ],
)
def test_where_a_term_looks(fields: dict, namespaces: set[str], selector: tuple | None):
    for kind in ("podAffinity", "podAntiAffinity"):
        found = term(kind, labelSelector=APP, **fields)
        assert found == PodTerm("zone", (WEB,), frozenset(namespaces), selector)


@pytest.mark.parametrize(
    ("fields", "selector"),
    [
        ({}, None),
        ({"labelSelector": {}}, ()),
        ({"labelSelector": APP}, (WEB,)),
        (
            {"labelSelector": APP, "matchLabelKeys": ["rev"], "mismatchLabelKeys": ["tenant", "app"]},
            (WEB, Requirement("rev", "In", ("7",)), Requirement("app", "NotIn", ("web",))),
        ),
        # What the API server has written into the selector already is not there twice.
        (
            {
                "labelSelector": {"matchExpressions": [{"key": "rev", "operator": "In", "values": ["7"]}]},
                "matchLabelKeys": ["rev"],
            },
            (Requirement("rev", "In", ("7",)),),
        ),
        # Keys that the pod does not have say nothing, and nothing comes of no selector.
        ({"labelSelector": {}, "matchLabelKeys": ["tenant"]}, ()),
        ({"matchLabelKeys": ["rev"]}, None),
    ],
)
def test_which_pods_a_term_looks_for(fields: dict, selector: tuple | None):
    assert term(**fields).selector == selector


def test_affinity_and_anti_affinity_are_kept_apart():
    affinity = {
        "podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": APP}]},
        "podAntiAffinity": {REQUIRED: [{"topologyKey": "rack", "labelSelector": APP}]},
    }
    made = parse_pod(pod("a", affinity=affinity))
    assert [t.topology_key for t in made.pod_affinity] == ["zone"]
    assert [t.topology_key for t in made.pod_anti_affinity] == ["rack"]


SPREAD = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}


def spread(**fields: Any) -> tuple[Spread, ...]:
    return parse_pod(pod("a", labels=LABELS, topologySpreadConstraints=[SPREAD | fields])).spread


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Spread("zone", 2, (WEB,), 1, honors_node_affinity=True, honors_node_taints=False)),
        ({"whenUnsatisfiable": None}, Spread("zone", 2, (WEB,))),
        ({"minDomains": 3}, Spread("zone", 2, (WEB,), 3)),
        ({"nodeAffinityPolicy": "Ignore"}, Spread("zone", 2, (WEB,), honors_node_affinity=False)),
        ({"nodeTaintsPolicy": "Honor"}, Spread("zone", 2, (WEB,), honors_node_taints=True)),
        (
            {"matchLabelKeys": ["rev", "none"]},
            Spread("zone", 2, (WEB, Requirement("rev", "In", ("7",)))),
        ),
        ({"labelSelector": None}, Spread("zone", 2, None)),
        # It selects all pods, but the scheduler counts none of them.
        ({"labelSelector": {}}, Spread("zone", 2, None)),
        ({"labelSelector": {}, "matchLabelKeys": ["rev"]}, Spread("zone", 2, (Requirement("rev", "In", ("7",)),))),
    ],
)
def test_spreading_that_must_hold(fields: dict, expected: Spread):
    assert spread(**fields) == (expected,)


def test_spreading_as_a_wish_is_left_out():
    assert spread(whenUnsatisfiable="ScheduleAnyway") == ()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"topologySpreadConstraints": [SPREAD | {"maxSkew": 0}]}, "[0].maxSkew: 0 is not 1 or more"),
        ({"topologySpreadConstraints": [SPREAD | {"minDomains": 0}]}, "[0].minDomains: 0 is not 1 or more"),
        ({"topologySpreadConstraints": [SPREAD | {"topologyKey": ""}]}, "[0].topologyKey: a name is needed"),
        (
            {"topologySpreadConstraints": [SPREAD | {"nodeTaintsPolicy": "Obey"}]},
            "[0].nodeTaintsPolicy: 'Obey' is not one of Ignore, Honor",
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "Never"}]},
            "[0].whenUnsatisfiable: 'Never' is not one of DoNotSchedule, ScheduleAnyway",
        ),
        ({"affinity": {"podAffinity": {REQUIRED: [{}]}}}, f"podAffinity.{REQUIRED}[0].topologyKey: a name is needed"),
    ],
)
def test_what_cannot_be_read_is_named(spec: dict, message: str):
    with pytest.raises(UnreadableObject) as raised:
        parse_pod(pod("a", **spec))
    assert message in str(raised.value)
