"""Which budgets keep a machine's pods, as the eviction API judges.

Source: kubernetes/kubernetes, pkg/registry/core/pod/storage/eviction.go and eviction_test.go.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.objects.disruption_budget import DisruptionBudget
from planner.objects.kinds import Pod, Requirement
from planner.objects.predicates import selects
from planner.parsing.objects import UnreadableObject, parse_disruption_budget
from planner.policies.safety.disruption_budgets import BudgetIndex
from tests.builders import disruption_budget, node
from tests.planner.policies.safety.trigger import drained, one_node, outcome, runs

WEB = {"labels": {"app": "web"}}
GOES = (["n"], {})
UNCOUNTED = "PodDisruptionBudget web, which is not counted yet"
ROOM = {"disruptionsAllowed": 5}
NONE_LEFT = "PodDisruptionBudget web, which lets none go now: 2 Ready, 2 needed"


def budget(*, selector=..., generation=1, status=..., name="web", namespace="default", **spec):
    made = disruption_budget(name, {"app": "web"}, namespace=namespace, **spec)
    if selector is not ...:
        made["spec"]["selector"] = selector
    made["metadata"]["generation"] = generation
    usual = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2}
    return made if status is None else made | {"status": usual | ({} if status is ... else status)}


def asking(*expressions, **labels):
    return budget(selector={"matchLabels": labels, "matchExpressions": list(expressions)})


def on(key, operator, *values):
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def kept(why, pod="default/x"):
    return [], {"n": ("BlockedByBudget", f"pod {pod} is under {why}")}


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], GOES),
        ([budget()], kept(NONE_LEFT)),
        ([budget(status={"disruptionsAllowed": 1})], GOES),
        ([budget(status={"disruptionsAllowed": -1})], kept(NONE_LEFT)),
        ([budget(namespace="shop")], GOES),
        ([budget(selector=None)], GOES),
        ([budget(selector={})], kept(NONE_LEFT)),
        ([budget(selector={"matchLabels": {"app": "db"}})], GOES),
        (
            [asking(on("app", "In", "web", "db"))],
            kept(NONE_LEFT),
        ),
        ([asking(on("app", "NotIn", "web"))], GOES),
        ([asking(on("tier", "DoesNotExist"))], kept(NONE_LEFT)),
        ([asking(on("app", "Exists"))], kept(NONE_LEFT)),
        ([asking(on("tier", "Exists"))], GOES),
        (
            [
                budget(
                    selector={
                        "matchLabels": {"app": "web"},
                        "matchExpressions": [{"key": "tier", "operator": "Exists"}],
                    }
                )
            ],
            GOES,
        ),
        # Not counted since it was edited, or not at all.
        (
            [budget(generation=2, status={"disruptionsAllowed": 1})],
            kept(UNCOUNTED),
        ),
        ([budget(status=None)], kept(UNCOUNTED)),
        # Two of them always refuse, whatever room they have.
        (
            [
                budget(status=ROOM),
                budget(name="all", selector={}, status=ROOM),
            ],
            kept("PodDisruptionBudgets all and web, and the eviction API refuses a pod with more than one"),
        ),
    ],
)
def test_budgets_over_a_running_pod(budgets, expected):
    assert outcome(one_node(*budgets, pods=[runs("x", **WEB)])) == expected


@pytest.mark.parametrize(
    ("change", "spec", "status", "goes"),
    [
        # Healthy enough without it, so it may go (IfHealthyBudget, also where nothing is said).
        ({"ready": False}, {}, {}, True),
        ({"ready": False}, {}, {"currentHealthy": 1}, False),
        ({"ready": False}, {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}, {"currentHealthy": 1}, False),
        ({"ready": False}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"currentHealthy": 1}, True),
        # A budget that needs none says nothing of what is healthy enough.
        ({"ready": False}, {}, {"currentHealthy": 0, "desiredHealthy": 0}, False),
        ({"ready": True}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {}, False),
        ({"phase": "Pending", "ready": False}, {}, {"currentHealthy": 1}, True),
        ({"phase": "Succeeded"}, {}, {}, True),
        ({"deleting": True}, {}, {}, True),
        ({"owner": ("DaemonSet", "d")}, {}, {}, True),
    ],
)
def test_pods_that_are_not_healthy(change, spec, status, goes):
    given = one_node(budget(status=status, **spec), pods=[runs("x", **WEB, **change)])
    leaving, blocked = outcome(given)
    assert (leaving, list(blocked)) == ((["n"], []) if goes else ([], ["n"]))


def test_two_pods_of_a_budget_that_lets_one_go_leave_one_after_the_other():
    pods = [runs("x", **WEB), runs("y", **WEB), runs("z", "m", **WEB)]
    given = drained(node("n"), node("m"), budget(status={"disruptionsAllowed": 1}), pods=pods)
    assert outcome(given) == (["m", "n"], {})


def test_without_the_right_to_read_them_no_machine_with_pods_is_emptied():
    given = drained(node("n"), node("empty"), pods=[runs("x")], disruption_budgets=None)
    leaving, blocked = outcome(given)
    assert leaving == ["empty"]
    assert blocked["n"] == (
        "BlockedByUnreadBudgets",
        "PodDisruptionBudgets may not be read: grant list and watch of them, as deploy/kustomize/base does",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}}, "'Is' is not one of"),
        ({"spec": {"selector": []}}, "spec.selector"),
        ({"status": {"disruptionsAllowed": "1"}}, "status.disruptionsAllowed"),
        ({"metadata": {}}, "metadata.name"),
    ],
)
def test_a_budget_that_cannot_be_read_is_told(change, message):
    with pytest.raises(UnreadableObject, match=message):
        parse_disruption_budget(budget() | change)


KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1).map(tuple)),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.one_of(st.none(), st.lists(REQUIREMENTS, max_size=3).map(tuple))
NAMESPACES = st.sampled_from(["a", "b"])


@given(st.lists(st.tuples(NAMESPACES, SELECTORS), max_size=8), st.lists(st.tuples(NAMESPACES, LABELS), max_size=8))
def test_the_index_finds_what_a_look_at_each_budget_finds(selectors, labelled):
    budgets = [DisruptionBudget(space, f"b{i}", selector) for i, (space, selector) in enumerate(selectors)]
    index = BudgetIndex(budgets)
    for space, labels in labelled:
        pod = Pod(space, "p", "u", {}, labels=labels)
        about = {
            b.name for b in budgets if b.namespace == space and b.selector is not None and selects(b.selector, labels)
        }
        seen = [b.name for b in index.of(pod)]
        assert set(seen) <= about
        assert len(seen) == len(set(seen)) == min(len(about), 2)
