"""Constraints that cannot be met: how many pods get a place, why the others have none, and that others are planned.

Sources: Kubernetes docs, "Pod Topology Spread Constraints" (minDomains: with fewer domains the global minimum is 0;
nodes without the key take no pods; nodeAffinityPolicy Honor and nodeTaintsPolicy Ignore where nothing is said) and
"Inter-pod affinity and anti-affinity"; kube-scheduler's plugin InterPodAffinity, by which a pod that is there has to
match all affinity terms at once.
"""

import time

import pytest

from planner.plan import plan
from tests.builders import pod
from tests.planner.packing.domains.rows import at, away, by_zone, near, planned, scene, several, spread, term
from tests.planner.wishes import HOST, ZONE, needs

RACK = "example.com/rack"
ONLY_FSN1 = {"nodeSelector": {ZONE: "fsn1"}}


def in_zone(*zones, operator="In"):
    return {"key": ZONE, "operator": operator, "values": list(zones)}


def told(given):
    """Return the pods of app web with a place, and the distinct reasons of the others; the pods beside have a place."""
    made = planned(given)
    left = {unplaced.pod.removeprefix("default/"): unplaced.reasons for unplaced in made.unplaced}
    assert all(name.startswith("web-") for name in left)
    webs = sum(each["metadata"]["name"].startswith("web-") for each in given.pods)
    reasons = dict.fromkeys((reason.code, reason.message) for own in left.values() for reason in own)
    return webs - len(left), list(reasons)


def crowd(number=4, *others, nodes=(), zones=("fsn1", "hel1", "nbg1"), **wish):
    """Return pods with the same wish and two without any."""
    return scene(*several(number, **wish), *several(2, app="other"), *others, nodes=nodes, zones=zones)


SPREAD_ZONE = f"topology spread over {ZONE} with maxSkew 1"


@pytest.mark.parametrize(
    ("wish", "placed", "reason"),
    [
        # One domain of three wanted: the minimum counts as 0, so one pod may go into it.
        (
            {"topologySpreadConstraints": [spread(minDomains=3)]} | ONLY_FSN1,
            1,
            (
                f"one more pod breaks the {SPREAD_ZONE} and minDomains 3, of which 1 are there (fsn1 has 1): with "
                "fewer domains than minDomains none may have more than maxSkew, and its nodeSelector or node "
                "affinity leaves out hel1, nbg1"
            ),
        ),
        (
            {"topologySpreadConstraints": [spread(minDomains=5)]},
            3,
            (
                f"one more pod breaks the {SPREAD_ZONE} and minDomains 5, of which 3 are there (fsn1 has 1, hel1 has "
                "1, nbg1 has 1): with fewer domains than minDomains none may have more than maxSkew; lower it, or "
                "let the pod use more domains"
            ),
        ),
        (
            {"topologySpreadConstraints": [spread(RACK)]},
            0,
            (
                f"its topology spread over {RACK} with maxSkew 1 needs Nodes with the label {RACK}, and no machine "
                "that may take it has it: label the Nodes, or a pool's machines by spec.template.labels"
            ),
        ),
        (
            {"affinity": near(term(RACK, "web"))},
            0,
            (
                f"its pod affinity over {RACK} needs Nodes with the label {RACK}, and no machine that may take it "
                "has it: label the Nodes, or a pool's machines by spec.template.labels"
            ),
        ),
        (
            {"affinity": near(term(ZONE, "nobody"))},
            0,
            (
                f"there is no pod that its pod affinity over {ZONE} looks for, and none waits: its labelSelector and "
                "namespaces say which"
            ),
        ),
        (
            {"affinity": near(term(ZONE, "other"), term(ZONE, "web"))},
            0,
            f"there is no pod that meets all 2 terms of its pod affinity over {ZONE} at once, as the scheduler asks",
        ),
        (
            {"affinity": near(term(ZONE, "web")) | away(term(ZONE, "web"))},
            1,
            (
                f"its pod affinity over {ZONE} leaves only fsn1, where pod anti-affinity over {ZONE} keeps it away "
                "from default/web-0"
            ),
        ),
        (
            {"affinity": near(term(HOST, "web")) | away(term(HOST, "web"))},
            1,
            (
                f"its pod affinity over {HOST} leaves only a new machine, where pod anti-affinity over {HOST} keeps "
                "it away from default/web-0"
            ),
        ),
        (
            {"affinity": near(term(HOST, "other")) | away(term(ZONE, "other"))},
            0,
            (
                f"its pod affinity over {HOST} leaves only a new machine, where pod anti-affinity over {ZONE} keeps "
                "it away from default/other-0"
            ),
        ),
        (
            {"affinity": near(term(HOST, "web")), "topologySpreadConstraints": [spread(minDomains=2)]},
            1,
            (
                f"its pod affinity over {HOST} leaves only a new machine, where one more pod breaks the "
                f"{SPREAD_ZONE} (hel1 has 0, nbg1 has 0, fsn1 has 1)"
            ),
        ),
        (
            {"affinity": away(term(ZONE, "web"))},
            3,
            (
                f"pod anti-affinity ({ZONE}) leaves no machine and no domain for it: pods that it keeps away from "
                "are in fsn1, hel1, nbg1"
            ),
        ),
        (
            {"nodeSelector": {ZONE: "fsn1"}, "affinity": needs([in_zone("hel1")])},
            0,
            f"no node can be what the pod asks for: {ZONE} In fsn1 and {ZONE} In hel1 exclude each other",
        ),
        (
            {"affinity": needs([in_zone("fsn1"), in_zone("fsn1", operator="NotIn")])},
            0,
            f"no node can be what the pod asks for: {ZONE} In fsn1 and {ZONE} NotIn fsn1 exclude each other",
        ),
    ],
    ids=[
        "fewer domains than minDomains, by its own selector",
        "fewer domains than minDomains",
        "spread over a key that no node has",
        "affinity over a key that no node has",
        "affinity to nobody",
        "affinity to two pods, of which none is both",
        "affinity and anti-affinity to the same, by zone",
        "affinity and anti-affinity to the same, by host",
        "beside it on its machine and not in its zone",
        "all on one machine and spread over zones",
        "more pods than zones to keep apart in",
        "selector and affinity",
        "two expressions of one term",
    ],
)
def test_what_contradicts_itself_is_told_by_name(wish, placed, reason):
    number, reasons = told(crowd(**wish))
    assert number == placed
    assert [message for _, message in reasons] == [reason]


@pytest.mark.parametrize(
    ("constraint", "zones"),
    [
        # A selector that no pod matches, and one without requirements: the scheduler counts no pod for either.
        (spread(app="nobody"), None),
        (spread() | {"labelSelector": {}}, None),
        # Three times maxSkew in each of three domains: the fourth pod of none.
        (spread(skew=3, minDomains=5), {"fsn1": 3, "hel1": 3, "nbg1": 3}),
        # Keys that the pod lacks select nothing more.
        (spread(matchLabelKeys=["pod-template-hash"]), {"fsn1": 3, "hel1": 3, "nbg1": 3}),
    ],
)
def test_odd_constraints_that_can_be_met_are_met(constraint, zones):
    made = planned(scene(*several(9, topologySpreadConstraints=[constraint])))
    assert made.unplaced == ()
    assert zones is None or by_zone(made) == zones


def test_a_key_that_only_a_full_node_has():
    """Rack r1 has room for one pod; the counts would allow more there."""
    given = crowd(
        3, pod("full", "1200m", node="n"), nodes=[at("n", "fsn1", labels={RACK: "r1"})],
        topologySpreadConstraints=[spread(RACK)],
    )  # fmt: skip
    assert told(given) == (
        1,
        [
            (
                "SpreadUnsatisfiable",
                (
                    f"its topology spread over {RACK} with maxSkew 1 leaves only r1, where no machine has room for "
                    "it; other machines lack that label"
                ),
            )
        ],
    )


@pytest.mark.parametrize("tainted", [False, True])
def test_an_empty_domain_without_capacity_is_named(tainted):
    """Its node counts for the spread and holds the minimum at 0. Of a tainted one, a policy would not count it."""
    taints = [{"key": "team", "value": "blue", "effect": "NoSchedule"}] if tainted else []
    full = pod("full", "2", node="n", tolerations=[{"operator": "Exists"}])
    hint = "; nodeTaintsPolicy: Honor would not count Nodes whose taints it does not tolerate" if tainted else ""
    given = crowd(
        5, full, nodes=[at("n", "fsn1", taints=taints)], zones=("hel1", "nbg1"), topologySpreadConstraints=[spread()]
    )
    assert told(given) == (
        2,
        [
            (
                "SpreadUnsatisfiable",
                (
                    f"one more pod breaks the {SPREAD_ZONE} (fsn1 has 0, hel1 has 1, nbg1 has 1): fsn1 would have to "
                    f"get one first, and no machine there can take it{hint}"
                ),
            )
        ],
    )


def test_a_host_that_holds_nothing_keeps_each_machine_at_one_pod():
    """It counts as a domain with 0 pods, as the scheduler sees it."""
    nothing = at("n", "fsn1")
    nothing["status"]["allocatable"] = {"cpu": "0", "memory": "0", "pods": "0"}
    made = planned(crowd(5, nodes=[nothing], topologySpreadConstraints=[spread(HOST)]))
    assert made.unplaced == ()
    assert len(made.requests) == 5


def test_the_pods_that_it_looks_for_are_where_it_may_not_be():
    given = crowd(2, *several(1, app="db", nodeSelector={ZONE: "hel1"}), affinity=near(term(ZONE, "db")), **ONLY_FSN1)
    assert told(given) == (
        0,
        [
            (
                "AffinityUnsatisfiable",
                f"the pods that its pod affinity over {ZONE} looks for are in hel1, and no machine there can take it",
            )
        ],
    )


def test_a_domain_that_is_sold_out_is_none():
    """Nothing can be bought in nbg1 and no node is there: the scheduler knows of no such domain."""
    given = crowd(6, topologySpreadConstraints=[spread()])
    for kind in given.classes[0]["spec"]["serverTypes"]:
        next(place for place in kind["locations"] if place["name"] == "nbg1")["available"] = False
    assert told(given) == (6, [])


@pytest.mark.parametrize("number", [500, pytest.param(5000, marks=pytest.mark.nightly)])
def test_classes_without_end_have_a_reason_each_and_others_are_planned(number):
    """A whole round with its reasons; a round has 45 s, and 5,000 classes may take half of it."""
    crossed = [
        {"topologySpreadConstraints": [spread(RACK)]},
        {"affinity": near(term(ZONE, "web")) | away(term(ZONE, "web"))},
        {"nodeSelector": {ZONE: "fsn1"}, "affinity": needs([in_zone("hel1")])},
        {"topologySpreadConstraints": [spread(minDomains=5)]},
    ]
    pods = [
        pod(f"web-{k}", f"{100 + k % 700}m", f"{200 + k}Mi", labels={"app": "web"}, **crossed[k % 4])
        for k in range(number)
    ]
    given = scene(*pods, *several(2, app="other"), limits={"max": 50}).snapshot()
    started = time.process_time()
    made = plan(given)
    assert time.process_time() - started < 22
    left = {unplaced.pod: unplaced.reasons for unplaced in made.unplaced}
    assert left.keys().isdisjoint({"default/other-0", "default/other-1"})
    assert len(left) >= number - 4
    assert all(reasons and all(reason.message for reason in reasons) for reasons in left.values())
