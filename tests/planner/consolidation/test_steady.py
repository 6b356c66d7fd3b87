"""A load that does not change: once it has come to rest, a week of rounds does nothing but look at the clock."""

from datetime import timedelta

import pytest

from planner.plan import plan
from tests.builders import NOW, disruption_budget, node
from tests.planner.consolidation.quiet_scenes import consolidating, pod
from tests.planner.consolidation.test_brute_force import scene_of
from tests.planner.consolidation.test_to_rest import ROUNDS, after, world

WEEK = timedelta(days=7)
WINDOWS = [
    {"nodes": 0, "days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "08:00", "end": "20:00"},
    {"nodes": "50%", "start": "01:00", "end": "03:00", "timezone": "Europe/Berlin"},
]
WEB = {"matchLabels": {"app": "web"}}
SOFT = {
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": {"labelSelector": WEB, "topologyKey": "kubernetes.io/hostname"}}
            ]
        }
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": WEB,
        }
    ],
}


def apply_marks(given, made):
    """Write what the round writes on Nodes and on the pool."""
    for raw in given.nodes:
        name, annotations = raw["metadata"]["name"], raw["metadata"]["annotations"]
        for key, marks in (("pods-since", made.pods_since), ("template-hash", made.template_hashes)):
            if name in marks:
                annotations[f"growth.dev/{key}"] = marks[name]
    for raw, report in zip(given.pools, made.pools, strict=True):
        raw["status"] = report.status.to_json()


def week_of(given):
    """Run rounds for a week, at least one an hour and whenever one asks for it; yield their plans."""
    given.now = NOW
    while given.now < NOW + WEEK:
        made = plan(given.snapshot())
        yield made
        apply_marks(given, made)
        hour = given.now + timedelta(hours=1)
        given.now = hour if made.wake_at is None else max(given.now + timedelta(seconds=1), min(hour, made.wake_at))


def rested(seed):
    small = world(seed)
    for count in range(ROUNDS):
        made = plan(scene_of(small).snapshot())
        if not made.removals:
            return small
        small = after(small, made, count)
    raise AssertionError("never at rest")


def is_still(made):
    return not (made.removals or made.requests or made.cancelled or made.removal_cancels)


@pytest.mark.parametrize("seed", [1, 5])
def test_at_rest_a_week_changes_nothing(seed):
    given = scene_of(rested(seed))
    given.pools[0]["spec"]["scaleDown"]["budgets"] = WINDOWS
    given.pools[0]["spec"]["rotation"] = {"maxNodeAge": "720h"}
    plans = list(week_of(given))
    assert len(plans) >= 7 * 24
    assert [made for made in plans if not is_still(made)] == []
    # Nothing is written either: no look begins the time of quiet anew.
    assert [made for made in plans[2:] if made.pods_since or made.idle_since or made.template_hashes] == []


def test_preferences_that_a_step_has_broken_do_not_undo_it():
    """Three machines with a pod each that would rather be alone: they become one, and that is where it ends."""
    names = ("a", "b", "c")
    pods = [pod(f"w{n}", "300m", node=n, labels={"app": "web"}, **SOFT) for n in names]
    given = consolidating(*map(node, names), disruption_budget("web", minAvailable=1), pods=pods, types=["cx22"])
    given.disruption_budgets[0]["status"] = {
        "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3, "observedGeneration": 1
    }  # fmt: skip
    first = plan(given.snapshot())
    going = {removal.node for removal in first.removals}
    (stays,) = set(names) - going
    given.nodes = [raw for raw in given.nodes if raw["metadata"]["name"] == stays]
    for raw in given.pods:
        raw["spec"]["nodeName"] = stays
    assert all(is_still(made) for made in week_of(given))
