"""What a machine of a pool that consolidates says: its trigger, what keeps it, and which budget it waits for."""

from tests.builders import after, before, disruption_budget, node, node_pool, node_removal_request, node_request
from tests.planner.consolidation.quiet_scenes import pod, quiet
from tests.planner.scenes import Scene, scene, seat
from tests.worker.looking import sight
from worker.commands.why.command import NODE, lines_about

PODS_STAY = "It is not removed: pods are on it."
WITHOUT_ROOM = {"disruptionsAllowed": 0, "currentHealthy": 3, "desiredHealthy": 3, "expectedPods": 3}
OF_ROUND = {"labels": {"growth.dev/request": "going"}}


def half_empty(*, cpu="500m", annotations=(), pods=(), **scale_down) -> Scene:
    """Return three machines of two cores with a pod each, so that one goes if nothing keeps it: a, the first."""
    own = [pod(f"x{n}", cpu=cpu, node=n, **(dict(pods) if n == "a" else {})) for n in "abc"]
    nodes = [node(n, annotations=dict(annotations) if n == "a" else {}) for n in "abc"]
    wish = {"mode": "drain", "consolidate": {}} | scale_down
    return quiet(scene(*nodes, types=["cx22"], pods=own, scaleDown=wish))


def told(given, name="a"):
    """Return the sentences after those on state and pods."""
    return lines_about(NODE, name, sight(given))[3:]


def test_one_that_goes_names_its_trigger_and_what_it_saves():
    (line,) = told(half_empty())
    assert line == (
        "The next round begins its removal (Consolidation): Saves 4.82 EUR a month: this machine goes, 1 pod moves; "
        "it goes at 12:01:00 (in 1m)."
    )


def test_a_pod_disruption_budget_without_room():
    given = half_empty(pods={"labels": {"app": "web"}, "ready": True})
    given.disruption_budgets = [disruption_budget("web") | {"status": WITHOUT_ROOM}]
    (line,) = told(given)
    assert line == (
        "It would go now (Consolidation), but pod default/xa is under PodDisruptionBudget web, which lets none go now: "
        "3 Ready, 3 needed."
    )


def test_do_not_disrupt():
    keeps = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}
    why = "pod default/xa is annotated karpenter.sh/do-not-disrupt: true."
    assert told(half_empty(pods=keeps)) == [f"It would go now (Consolidation), but {why}"]
    # Of a full one nobody asks why it stays, and still it says so.
    assert told(half_empty(cpu="1900m", pods=keeps)) == [
        PODS_STAY,
        f"No policy may empty it now: BlockedByAnnotation, {why}",
    ]


def test_do_not_disrupt_for_a_time_says_until_when():
    given = half_empty(pods={"annotations": {"karpenter.sh/do-not-disrupt": "1h"}})
    given.pods[0]["status"]["startTime"] = before(minutes=20)
    (line,) = told(given)
    assert line == (
        "It would go now (Consolidation), but pod default/xa is annotated karpenter.sh/do-not-disrupt: 1h, "
        "until 2026-03-01T12:40:00Z."
    )


def test_a_budget_of_0():
    assert told(half_empty(budgets=[{"nodes": 0, "reasons": ["Consolidation"]}])) == [
        PODS_STAY,
        "Consolidation waits for the budget of pool default, which lets none go now.",
    ]


def test_a_closed_window_says_when_it_opens():
    assert told(half_empty(budgets=[{"nodes": 0, "start": "08:00", "end": "20:00"}])) == [
        PODS_STAY,
        "Consolidation waits for the budget of pool default, which lets none go now.",
        "The budget opens at 20:00:00 (in 8h).",
    ]


def test_a_budget_that_others_use_up():
    given = half_empty()
    given.nodes.append(node("going"))
    given.pods.append(pod("xg", cpu="500m", node="going"))
    given.removals = [
        node_removal_request("going", phase="Deprovisioning", spec={"reason": "Consolidation"}, metadata=OF_ROUND)
    ]
    assert told(given) == [
        PODS_STAY,
        "Consolidation waits for the budget of pool default, which lets 1 machine go at once, and so many go already.",
    ]


def test_after_a_cancel_by_a_person_it_says_until_when():
    cancelled = {"growth.dev/removal-cancelled-at": before(minutes=20), "growth.dev/removals-cancelled": "1"}
    (line,) = told(half_empty(annotations=cancelled))
    assert line == (
        "It would go now (Consolidation), but a person cancelled its removal, and until 2026-03-01 12:40:00 UTC none "
        "is begun by itself."
    )


def test_one_that_is_not_quiet_says_until_when():
    given = quiet(half_empty(), minutes=5)
    assert told(given) == [
        PODS_STAY,
        "Consolidation looks at it from 12:10:00 (in 10m) on, if no pod comes or goes until then.",
    ]


def test_one_whose_going_saves_nothing():
    assert told(half_empty(cpu="1900m")) == [PODS_STAY, "Consolidation finds nothing to save by moving its pods."]


def test_while_a_machine_of_its_pool_comes():
    given = half_empty()
    given.requests = [node_request("coming", "cx22", phase="Provisioning", createAttemptAt=before(minutes=1))]
    assert told(given) == ["It would go now (Consolidation), but a machine of pool default is on its way."]


def test_while_pods_wait_for_another_pool():
    given = half_empty()
    given.pools.append(node_pool("other", ["cx22"]))
    given.pods.append(pod("waits", nodeSelector={"growth.dev/pool": "other"}))
    assert told(given) == [
        PODS_STAY,
        "Consolidation moves no pods while others wait for room or machines are coming.",
    ]


def test_a_replacement_under_way_names_the_machine_that_it_waits_for():
    given = half_empty()
    going = given.pods[0]
    given.nodes[0]["spec"]["taints"] = [{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}]
    given.requests = [
        node_request(
            "new",
            "cx22",
            seats=[seat(going)],
            phase="Provisioning",
            createAttemptAt=before(minutes=1),
            provisioningDeadline=after(minutes=4),
        )
    ]
    spec = {"replacedBy": ["new"], "reason": "Consolidation", "why": "Saves 4.82 EUR a month: this machine goes"}
    waiting = {"taintedAt": before(minutes=1), "scaleDownAt": after(minutes=9), "reason": "Replacement"}
    given.removals = [node_removal_request("a", spec=spec, **waiting)]
    lines = told(given)
    assert "Consolidation: Saves 4.82 EUR a month: this machine goes." in lines
    assert "It is replaced by new (boots, due by 12:04:00)." in lines
    assert lines[0].startswith("It is under removal until 12:09:00 (in 9m): ")
    assert "Its pods stay until machines that take its place are Ready: new (Provisioning)" in lines[0]


def test_a_pool_that_does_not_consolidate_says_nothing_of_it():
    given = half_empty(consolidate=None)
    assert told(given) == [PODS_STAY]
