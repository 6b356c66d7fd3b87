"""What pods ask of the pods around them. Defaults follow the reference of the pod API and the scheduler's code."""

from typing import Any

import pytest

from planner.objects.kinds import PodTerm, Preferences, PreferredNodes, PreferredPods, Requirement, Spread
from planner.objects.predicates import FIELD_NAME, NEVER
from planner.parsing.objects import UnreadableObject, parse_pod
from tests.builders import pod
from tests.planner.wishes import HOST, PREFERRED, ZONE, in_zones, preference

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


def test_spreading_as_a_wish_does_not_have_to_hold():
    soft = SPREAD | {"whenUnsatisfiable": "ScheduleAnyway"}
    made = parse_pod(pod("a", labels=LABELS, topologySpreadConstraints=[SPREAD, soft | {"maxSkew": 5}]))
    assert made.spread == (Spread("zone", 2, (WEB,)),)
    assert made.preferences == Preferences(spread=(Spread("zone", 5, (WEB,)),))


def test_preferred_pods():
    near = preference(near={7: {"topologyKey": "zone", "labelSelector": APP, "matchLabelKeys": ["rev"]}})
    away = preference(away={1: {"topologyKey": "zone"}, 100: {"topologyKey": HOST, "namespaces": ["b"]}})
    made = parse_pod(pod("a", namespace="shop", labels=LABELS, affinity=near | away))
    shop = frozenset({"shop"})
    assert made.preferences == Preferences(
        near=(PreferredPods(7, PodTerm("zone", (WEB, Requirement("rev", "In", ("7",))), shop)),),
        apart=(PreferredPods(1, PodTerm("zone", None, shop)), PreferredPods(100, PodTerm(HOST, None, frozenset("b")))),
    )
    assert (made.pod_affinity, made.pod_anti_affinity) == ((), ())


def test_preferred_nodes():
    name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    both = in_zones("z1", "z2") | {"matchFields": [name]}
    made = parse_pod(pod("a", affinity=preference(nodes={1: both, 100: in_zones("z1"), 50: {}})))
    zone = Requirement(ZONE, "In", ("z1",))
    assert made.preferences == Preferences(
        nodes=(
            PreferredNodes(1, (Requirement(ZONE, "In", ("z1", "z2")), Requirement(FIELD_NAME, "In", ("n1",)))),
            PreferredNodes(100, (zone,)),
            # A term that says nothing selects no node.
            PreferredNodes(50, (NEVER,)),
        )
    )
    assert made.node_affinity == ()


def test_equal_preferences_are_one_object():
    # Thousands of pods have the same, and they are compared by identity.
    one, other = (parse_pod(pod(name, affinity=preference(nodes={1: in_zones("z1")}))) for name in "ab")
    assert one.preferences is other.preferences
    assert parse_pod(pod("a")).preferences is parse_pod(pod("b")).preferences


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
        *(
            ({"affinity": preference(**{kind: {weight: term}})}, f"[0].weight: {weight} is not between 1 and 100")
            for kind, term in (("nodes", in_zones("z")), ("near", {"topologyKey": "zone"}), ("away", {}))
            for weight in (0, -1, 101)
        ),
        ({"affinity": {"nodeAffinity": {PREFERRED: [{}]}}}, f"nodeAffinity.{PREFERRED}[0].weight: 0 is not between"),
        ({"affinity": {"nodeAffinity": {PREFERRED: {}}}}, f"nodeAffinity.{PREFERRED}: {{}} is not a list"),
        (
            {"affinity": preference(near={1: {"labelSelector": APP}})},
            f"podAffinity.{PREFERRED}[0].podAffinityTerm.topologyKey: a name is needed",
        ),
        (
            {"affinity": preference(nodes={1: {"matchExpressions": [{"key": "a", "operator": "Is"}]}})},
            f"nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].operator: 'Is' is not one of In, NotIn",
        ),
        (
            {"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 0}]},
            "[0].maxSkew: 0 is not 1 or more",
        ),
        ({"affinity": {"podAffinity": {REQUIRED: [{}]}}}, f"podAffinity.{REQUIRED}[0].topologyKey: a name is needed"),
    ],
)
def test_what_cannot_be_read_is_named(spec: dict, message: str):
    with pytest.raises(UnreadableObject) as raised:
        parse_pod(pod("a", **spec))
    assert message in str(raised.value)
