"""What keeps a machine beside its pods, in which order, and steps that go whole or not at all."""

from dataclasses import replace
from datetime import timedelta

import pytest

from planner.plan import POLICIES, plan
from planner.policies.port import Advice
from planner.policies.safety.evictions import EvictionSafety, eviction_checks
from planner.supply.machines import machines_of
from tests.builders import NOW, before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.policies.safety.trigger import EmptyAll, decided, drained, one_node, outcome, runs

DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
KARPENTER = "karpenter.sh/do-not-disrupt"
GOES = (["n"], {})


@pytest.mark.parametrize(
    ("annotations", "reason", "why"),
    [
        ({DISABLED: "true"}, "BlockedByAnnotation", f"it is annotated {DISABLED}"),
        ({KARPENTER: "true"}, "BlockedByAnnotation", f"it is annotated {KARPENTER}"),
        (
            {"growth.dev/do-not-remove": "mine"},
            "BlockedByAnnotation",
            "a person annotated it growth.dev/do-not-remove",
        ),
        ({DISABLED: "false", KARPENTER: "30m"}, None, ""),
    ],
)
def test_words_on_the_node(annotations, reason, why):
    expected = GOES if reason is None else ([], {"n": (reason, why)})
    assert outcome(one_node(pods=[runs("x")], annotations=annotations)) == expected


def test_words_of_others_keep_no_machine_that_is_empty():
    """Today's policies obey none of the checks for removals that evict: what they do stays as it was."""
    since = {"growth.dev/idle-since": before(minutes=11), DISABLED: "true", KARPENTER: "true"}
    made = plan(one_node(annotations=since, mode="empty", disruption_budgets=None).snapshot(), policies=POLICIES)
    assert ([r.reason for r in made.removals], made.blocked) == (["Empty"], ())


@pytest.mark.parametrize("mode", ["empty", "drain", "none"])
def test_only_pools_that_drain_are_emptied(mode):
    leaving, blocked = outcome(one_node(pods=[runs("x")], mode=mode))
    told = {} if mode != "empty" else {"n": ("ModeNotDrain", "pool default says scaleDown.mode: empty")}
    assert (leaving, blocked) == (["n"] if mode == "drain" else [], told)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (one_node(protected={"n"}), "CarriesGrowth"),
        (drained(node("n", spec={"unschedulable": True})), "Cordoned"),
        (drained(node("n", deleting=True)), "NodeTerminating"),
        (drained(node("n", labels={"growth.dev/request": "other"})), "NotBoughtByGrowth"),
        (drained(node("n"), requests=[node_request("n", phase="Provisioning")]), "RequestOpen"),
        (one_node(paused=True), "PoolPaused"),
        (
            one_node(removals=[node_removal_request("n", cancel={"at": before(seconds=1), "by": "Person"})]),
            "RemovalCancelled",
        ),
        (one_node(pods=[pod("w")]), "WantedByPods"),
    ],
)
def test_checks_of_all_removals_have_a_reason_each(given, reason):
    leaving, blocked = outcome(given)
    assert (leaving, blocked["n"][0]) == ([], reason)


def test_the_first_check_is_told():
    given = one_node(pods=[runs("x", owner=None)], annotations={DISABLED: "true"}, limits={"min": 1})
    given.disruption_budgets = None
    order = ["BlockedByAnnotation", "BlockedByBarePod", "BlockedByUnreadBudgets", "BlockedByMinimum"]
    for reason in order:
        assert outcome(given)[1]["n"][0] == reason
        if reason == "BlockedByAnnotation":
            given.nodes = [node("n")]
        elif reason == "BlockedByBarePod":
            given.pods = [runs("x")]
        elif reason == "BlockedByUnreadBudgets":
            given.disruption_budgets = []


def test_a_minimum_keeps_a_machine_and_is_told():
    given = drained(node("a"), node("b"), pods=[runs("x", "a"), runs("y", "b")], limits={"min": 1})
    leaving, blocked = outcome(given)
    assert leaving == ["a"]
    assert blocked["b"] == (
        "BlockedByMinimum",
        "kept by a minimum: pool default keeps 1 machines, 0 of type cx22",
    )


@pytest.mark.parametrize(
    ("requests", "pods", "blocked"),
    [
        ([node_request("coming", phase="Provisioning", pool="default")], [], True),
        ([node_request("gone", phase="Failed", pool="default")], [], False),
        # Nothing on its way yet, and this round buys.
        ([], [pod("large", "7")], True),
    ],
)
def test_a_purchase_in_flight_keeps_its_pool(requests, pods, blocked):
    given = one_node(requests=requests, pods=[runs("x"), *pods])
    told = {"n": ("BlockedByPurchase", "a machine of pool default is on its way")} if blocked else {}
    assert outcome(given) == ([] if blocked else ["n"], told)


def test_a_purchase_of_another_pool_keeps_nothing():
    pools = [node_pool(scaleDown={"mode": "drain"}), node_pool("other", scaleDown={"mode": "drain"})]
    coming = node_request("coming", phase="Provisioning", pool="other")
    assert outcome(drained(node("n"), pools=pools, pods=[runs("x")], requests=[coming])) == GOES


def stepped(*names, **parts):
    return EmptyAll(names, step="s1", **parts)


def test_a_step_goes_whole_or_not_at_all():
    given = drained(node("a"), node("b"), node("c"), pods=[runs("x", "a"), runs("y", "b", owner=None)])
    assert outcome(given, stepped("a", "b"))[0] == []
    # Only what is kept itself is told of.
    assert list(outcome(given, stepped("a", "b"))[1]) == ["b"]
    assert outcome(given, stepped("a", "c")) == (["a", "c"], {})
    assert outcome(given, stepped("a", "unknown")) == ([], {})


def test_a_step_that_a_minimum_cuts_takes_nothing_from_it():
    given = drained(*(node(name) for name in "abc"), limits={"min": 1})
    leaving, blocked = outcome(given, EmptyAll(("a", "b", "c"), step="s1"), EmptyAll(("a", "b")))
    assert (leaving, list(blocked)) == (["a", "b"], ["c"])


def test_a_proposal_for_later_is_told_when_its_time_has_come():
    class Later(EmptyAll):
        def propose(self, view):
            later = view.now + timedelta(hours=1)
            return Advice(tuple(replace(one, at=later) for one in EmptyAll.propose(self, view).proposals))

    made = decided(one_node(pods=[runs("x", owner=None)]), Later())
    assert (made.removals, made.blocked, made.wake_at) == ((), (), NOW + timedelta(hours=1))


def test_a_machine_that_two_policies_would_empty_is_told_once():
    made = decided(one_node(pods=[runs("x", owner=None)]), EmptyAll(reason="Drift"), EmptyAll())
    assert [(b.node, b.pool, b.uid, b.trigger) for b in made.blocked] == [("n", "default", "uid-n", "Drift")]


def test_policies_may_ask_before_they_propose():
    seen = {}

    class Looking:
        def propose(self, view):
            seen.update({c.machine.name: view.blocker(c) for c in view.candidates})
            return Advice()

    decided(drained(node("a"), node("b"), pods=[runs("x", "a", owner=None)]), Looking())
    assert {name: blocked and blocked.by for name, blocked in seen.items()} == {"a": "BlockedByBarePod", "b": None}


def test_a_machine_is_judged_once_a_round():
    snapshot = one_node(pods=[runs("x")]).snapshot()
    asked = []

    class Check:
        def blocks(self, candidate):
            asked.append(candidate.machine.name)

    class Twice:
        def propose(self, view):
            for candidate in view.candidates * 2:
                assert EvictionSafety.blocker(safety, candidate) is None
            return Advice()

    safety = EvictionSafety({}, lambda: [Check(), *eviction_checks(snapshot, machines_of(snapshot))])
    plan(snapshot, policies=[Twice()])
    assert asked == ["n"]
