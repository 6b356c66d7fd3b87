"""How many machines go at once, for which reasons and when. Source: Karpenter, "Disruption Budgets"."""

import time
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from planner.plan import POLICIES, plan
from planner.policies.departures import departures
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from planner.supply.machines import machines_of
from tests.builders import NOW, before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.policies.test_repair import dead, stuck
from tests.planner.scenes import scene
from tests.tables import rows

IDLE = {"growth.dev/idle-since": before(minutes=11)}
SHUT = {"nodes": 0, "start": "11:00", "end": "13:00"}
"""Opens at 11:00 UTC, an hour before `NOW`, a Sunday."""


@dataclass(frozen=True)
class Trigger:
    """A policy that wants these machines to go for a reason, each step whole."""

    names: tuple[str, ...]
    reason: str = "Drift"
    step: str = ""
    after: timedelta = timedelta(0)

    def propose(self, view: PolicyView) -> Advice:
        return Advice(
            tuple(
                Proposal(
                    name,
                    MachineAction.REMOVE,
                    self.reason,
                    "Because",
                    view.now + self.after,
                    evicts=True,
                    step=self.step,
                )
                for name in self.names
            )
        )


def names(count):
    return [f"n-{i:02}" for i in range(count)]


def pool_of(count, budgets=None, *, removals=(), pods=True, nodes=(), **scale_down):
    """A pool in mode drain of so many machines with a pod each."""
    wish = {"mode": "drain"} | ({} if budgets is None else {"budgets": budgets}) | scale_down
    residents = [pod(f"web-{name}", node=name, owner="web") for name in names(count)] if pods else []
    machines = [node(name, annotations=None if pods else IDLE) for name in names(count)]
    return scene(*machines, *nodes, pods=residents, removals=list(removals), scaleDown=wish)


def going(name, reason="Drift", *, by_hand=False, spec=None, **status):
    """A removal that a round has made, unless it is by hand."""
    labels = {} if by_hand else {"growth.dev/request": name}
    return node_removal_request(name, spec={"reason": reason} | (spec or {}), metadata={"labels": labels}, **status)


def leaving(given, *policies):
    return [removal.node for removal in plan(given.snapshot(), policies=policies or POLICIES).removals]


def room(given, reason):
    """Return what the report says of a reason: allowed, used, when it opens."""
    (report,) = plan(given.snapshot()).pools
    state = next(each for each in report.budget if each.reason == reason)
    return state.allowed, state.used, state.opens_at


@rows(
    ("size", "budgets", "reason", "goes"),
    {
        "without budgets, a tenth": (20, None, "Drift", 2),
        "rounded up": (21, None, "Drift", 3),
        "of one machine, that one": (1, None, "Consolidation", 1),
        "for other reasons of policies, no limit": (20, None, "TooOld", 20),
        "a number": (20, [{"nodes": 3}], "Drift", 3),
        "a share, rounded up": (19, [{"nodes": "20%"}], "Drift", 4),
        "a share of all": (9, [{"nodes": "100%"}], "Drift", 9),
        "more than the usual tenth": (10, [{"nodes": 7}], "Drift", 7),
        "none": (20, [{"nodes": 0, "reasons": ["Drift"]}], "Drift", 0),
        "the strictest": (20, [{"nodes": "50%"}, {"nodes": 2}, {"nodes": 3}], "Drift", 2),
        "of another reason": (20, [{"nodes": 5, "reasons": ["Rotation"]}], "Drift", 2),
        "of more reasons": (20, [{"nodes": 5, "reasons": ["Rotation", "Drift"]}], "Drift", 5),
        "none by a window that is open": (20, [SHUT, {"nodes": 4}], "Drift", 0),
        "a window that is not open": (20, [SHUT | {"start": "12:01"}, {"nodes": 4}], "Drift", 4),
        "no window is open: the usual tenth": (20, [SHUT | {"end": "12:00"}], "Drift", 2),
        "of a zone": (20, [SHUT | {"timezone": "Asia/Kolkata"}], "Drift", 2),
        "on its day": (20, [{"nodes": 1, "days": ["Sun"]}], "Drift", 1),
        "on another day": (20, [{"nodes": 1, "days": ["Sat"]}], "Drift", 2),
        "of a zone that does not exist": (20, [SHUT | {"timezone": "Mars/Olympus", "end": "11:01"}], "Drift", 0),
    },
)
def test_how_many_go_at_once(size, budgets, reason, goes):
    given = pool_of(size, budgets)
    made = plan(given.snapshot(), policies=[Trigger(tuple(names(size)), reason)])
    assert len(made.removals) == goes
    assert len(made.blocked) == size - goes
    assert {each.reason for each in made.blocked} <= {"Budget"}


@rows(
    ("budgets", "goes"),
    {
        "freely, as by earlier versions": (None, 20),
        "under a budget for all reasons": ([{"nodes": 2}], 2),
        "under one for empty ones": ([{"nodes": "15%", "reasons": ["Empty"]}], 3),
        "under one for others": ([{"nodes": 1, "reasons": ["Drift"]}], 20),
        "none at these hours": ([SHUT], 0),
    },
)
def test_empty_machines_go(budgets, goes):
    assert len(leaving(pool_of(20, budgets, pods=False))) == goes


@rows(
    ("removal", "counts"),
    {
        "in its cool-off": (going("x"), True),
        "that drains": (going("x", phase="Draining"), True),
        "whose server is being deleted": (going("x", phase="Deprovisioning"), True),
        "of another reason": (going("x", "Empty"), False),
        "that is parked": (going("x", phase="CouldNotRemove"), False),
        "by hand": (going("x", "Requested"), False),
        "by hand, for a reason as of a policy": (going("x", by_hand=True), False),
        "of a pool that was deleted": (going("x", "PoolDeleted"), False),
        "of a machine that never joined": (going("x", spec={"immediate": True}), False),
        "without a Node": (going("x", spec={"nodeName": None}), False),
        "that is cancelled": (going("x", cancel={"at": before(seconds=1), "by": "Planner"}), False),
    },
)
def test_a_removal_counts(removal, counts):
    given = pool_of(19, [{"nodes": 1, "reasons": ["Drift"]}], removals=[removal], nodes=[node("x")])
    assert leaving(given, Trigger(("n-00",))) == ([] if counts else ["n-00"])
    assert room(given, "Drift") == (1, int(counts), None)


def test_only_machines_with_a_node_are_counted():
    """Source: kubernetes-sigs/karpenter pull request 925: machines that were coming made the share larger."""
    given = pool_of(10)
    given.requests += [node_request(f"coming-{i}", phase="Provisioning") for i in range(40)]
    assert room(given, "Drift") == (1, 0, None)


def test_policies_share_a_budget_and_the_first_has_it():
    given = pool_of(20, [{"nodes": 3}])
    assert leaving(given, Trigger(("n-00", "n-01")), Trigger(("n-02", "n-03"), "Rotation")) == ["n-00", "n-01", "n-02"]


def test_what_one_reason_may_not_another_may():
    given = pool_of(20, [{"nodes": 0, "reasons": ["Empty"]}], pods=False)
    assert leaving(given, *POLICIES, Trigger(("n-05",))) == ["n-05"]
    made = plan(given.snapshot(), policies=[*POLICIES, Trigger(("n-05",))])
    assert "n-05" not in {each.node for each in made.blocked}


@rows(
    ("budgets", "goes"),
    {
        "without budgets by its own rule": (None, True),
        "also while nothing else goes": ([SHUT], True),
        "not where a budget names repairs": ([SHUT | {"reasons": ["Repair"]}], False),
    },
)
def test_a_dead_machine_goes(budgets, goes):
    given = pool_of(9, budgets, nodes=[dead("x")], repair={"after": "20m"})
    given.pods.append(stuck("db", "x"))
    assert leaving(given) == (["x"] if goes else [])


def test_a_dead_machine_counts_as_a_repair():
    given = pool_of(10, [{"nodes": 2}], removals=[going("x", "Dead")], nodes=[node("x")])
    assert room(given, "Repair") == (2, 1, None)
    assert leaving(given, Trigger(tuple(names(4)))) == ["n-00"]


@rows(
    ("budgets", "step", "goes"),
    {
        "that has room": ([{"nodes": 3}], 3, 3),
        "larger than what is left": ([{"nodes": 4}], 4, 0),
        "larger than the whole budget": ([{"nodes": 2}], 3, 0),
    },
)
def test_a_step_goes_whole_or_not_at_all(budgets, step, goes):
    removals = [going("x")] if budgets[0]["nodes"] == 4 else []
    given = pool_of(20, budgets, removals=removals, nodes=[node("x")])
    made = plan(given.snapshot(), policies=[Trigger(tuple(names(step)), "Consolidation", "step-1"), Trigger(("n-19",))])
    assert [r.node for r in made.removals][:goes] == names(step)[:goes]
    if not goes:
        # What is left is for others.
        assert [r.node for r in made.removals] == ["n-19"]
        assert [each.node for each in made.blocked] == names(step)
        most = budgets[0]["nodes"]
        assert made.blocked[0].why.startswith(
            f"the budget of pool default for Consolidation, {most}, lets {most} machines go at once, and {step} are"
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda given: given.nodes[1]["spec"].update(unschedulable=True),
        lambda given: given.nodes[1]["metadata"]["annotations"].update({"growth.dev/do-not-remove": "mine"}),
        lambda given: given.pools[0]["spec"]["limits"].update(min=9),
        lambda given: given.nodes[1]["metadata"]["annotations"].update(
            {"growth.dev/removal-cancelled-at": before(minutes=5)}
        ),
    ],
    ids=["refused", "annotated", "minimum", "cancelled by a person"],
)
def test_one_that_stays_keeps_its_step(change):
    given = pool_of(10, [{"nodes": 5}])
    step = Trigger(("n-00", "n-01"), "Consolidation", "step-1")
    assert leaving(given, step) == ["n-00", "n-01"]
    given.nodes[1]["metadata"].setdefault("annotations", {})
    change(given)
    # Minimums have their room back.
    assert leaving(given, step, Trigger(("n-05",))) == ["n-05"]


def test_a_step_waits_for_the_last_of_it():
    given = pool_of(10)
    late = plan(given.snapshot(), policies=[Trigger(("n-00",), step="a", after=timedelta(minutes=3))])
    assert (late.removals, late.wake_at) == ((), NOW + timedelta(minutes=3))


def test_a_step_over_two_pools_needs_room_in_both():
    given = pool_of(10, [{"nodes": 2}])
    given.pools.append(node_pool("other", scaleDown={"mode": "drain", "budgets": [SHUT]}))
    given.nodes += [node("o", pool="other")]
    assert leaving(given, Trigger(("n-00", "o"), "Consolidation", "step")) == []
    assert leaving(given, Trigger(("n-00",), "Consolidation"), Trigger(("o",), "Consolidation")) == ["n-00"]
    del given.pools[1]["spec"]["scaleDown"]["budgets"]
    assert leaving(given, Trigger(("n-00", "o"), "Consolidation", "step")) == ["n-00", "o"]


def test_a_machine_that_is_held_back_says_why_and_wakes_the_round_when_its_window_changes():
    given = pool_of(10, [SHUT | {"timezone": "Europe/Berlin", "end": "14:00", "days": ["Sun"]}])
    made = plan(given.snapshot(), policies=[Trigger(("n-00",))])
    (held,) = made.blocked
    assert (held.node, held.uid, held.pool, held.trigger, held.reason) == (
        "n-00",
        "uid-n-00",
        "default",
        "Drift",
        "Budget",
    )
    assert held.why == (
        "the budget of pool default for Drift, 0 on Sun from 11:00 to 14:00 Europe/Berlin, lets none go now"
    )
    assert made.wake_at == NOW + timedelta(hours=1)
    assert room(given, "Drift") == (0, 0, NOW + timedelta(hours=1))
    assert plan(pool_of(10).snapshot(), policies=[]).wake_at is None, "nobody waits for it"


def test_when_it_opens_is_when_the_last_of_several_closes():
    given = pool_of(
        10, [SHUT, SHUT | {"start": "12:30", "end": "02:00"}, {"nodes": 0, "days": ["Mon"], "reasons": ["Empty"]}]
    )
    assert room(given, "Drift") == (0, 0, NOW + timedelta(hours=14))
    assert room(given, "Empty") == (0, 0, NOW + timedelta(hours=38))


def test_a_zone_that_does_not_exist_is_told_of_and_stops_nothing_else():
    given = pool_of(2, [{"nodes": 1}, SHUT | {"timezone": "Europe/Berln"}])
    given.pods.append(pod("waits", cpu="2"))
    made = plan(given.snapshot())
    assert len(made.requests) == 1
    (condition,) = (each for each in made.pools[0].status.conditions if each.type == "BudgetsInvalid")
    assert (condition.status, condition.reason) == ("True", "UnknownTimeZone")
    assert condition.message == (
        "scaleDown.budgets[1].timezone: Europe/Berln is no time zone of the IANA database:"
        " until it is set right, such a budget is always open"
    )
    assert [(e.kind, e.name, e.reason) for e in made.events] == [("NodePool", "default", "UnknownTimeZone")]
    given.pools[0]["spec"]["scaleDown"]["budgets"].pop()
    given.pools[0]["status"] = {"conditions": [condition.model_dump(mode="json", by_alias=True)]}
    (condition,) = (each for each in plan(given.snapshot()).pools[0].status.conditions if each.type == "BudgetsInvalid")
    assert (condition.status, condition.reason) == ("False", "BudgetsValid")


def test_a_pool_without_budgets_has_no_condition_on_them():
    (report,) = plan(pool_of(2).snapshot()).pools
    assert "BudgetsInvalid" not in {each.type for each in report.status.conditions}


REASONS = st.sampled_from(["Empty", "Consolidation", "Rotation", "Drift", "Repair", "OverMax"])
BUDGETS = st.lists(
    st.fixed_dictionaries(
        {"nodes": st.sampled_from([0, 1, 2, 3, "10%", "25%", "50%"]), "days": st.just(["Mon", "Sun"])},
        optional={
            "reasons": st.lists(REASONS, min_size=1, max_size=3),
            "start": st.just("11:58"),
            "end": st.sampled_from(["12:03", "12:07", "09:00"]),
        },
    ).filter(lambda budget: ("start" in budget) == ("end" in budget)),
    max_size=3,
)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("round"), REASONS, st.sets(st.integers(0, 11), min_size=1), st.sampled_from(["", "s"])),
        st.tuples(st.just("ends"), st.integers(0, 11)),
        st.tuples(st.just("parks"), st.integers(0, 11)),
        st.tuples(st.just("wait"), st.integers(1, 5)),
    ),
    max_size=12,
)


@settings(deadline=None)
@drawn(BUDGETS, ACTS)
def test_budgets_hold_whenever_a_removal_begins(budgets, acts):
    """An independent reading of the rule: after each round, every open budget of its reason holds."""
    given, removals = pool_of(12, budgets or None), {}
    for act, *of in acts:
        if act == "round":
            reason, chosen, step = of
            given.removals[:] = removals.values()
            wanted = tuple(names(12)[i] for i in sorted(chosen))
            made = plan(given.snapshot(), policies=[Trigger(wanted, reason, step)])
            new = [r.node for r in made.removals]
            for name in new:
                removals[name] = going(name, reason)
            assert not step or set(new) in (set(), set(wanted))
            if new:
                size = len(given.nodes)
                for most, reasons in open_budgets(budgets, given.now, reason):
                    used = sum(
                        r["spec"]["reason"] in reasons and r["status"].get("phase") != "CouldNotRemove"
                        for r in removals.values()
                    )
                    assert used <= (-(-int(most[:-1]) * size // 100) if isinstance(most, str) else most)
        elif act == "wait":
            given.now += timedelta(minutes=of[0])
        elif (name := names(12)[of[0]]) in removals:
            if act == "ends":
                del removals[name]
                given.nodes[:] = [each for each in given.nodes if each["metadata"]["name"] != name]
                given.pods[:] = [each for each in given.pods if each["spec"].get("nodeName") != name]
            else:
                removals[name]["status"] = {"phase": "CouldNotRemove"}


def open_budgets(budgets, now, reason):
    """Return the budgets that hold for a reason at this time, by their windows of one Sunday."""
    every = {"Empty", "Consolidation", "Rotation", "Drift", "Repair", "OverMax"}
    clock = f"{now:%H:%M}"
    holding = []
    for budget in budgets:
        start, end = budget.get("start", "00:00"), budget.get("end", "24:00")
        is_open = start <= clock < end if start < end else clock >= start or clock < end
        if is_open and reason in budget.get("reasons", every):
            holding.append((budget["nodes"], set(budget.get("reasons", every))))
    return holding or ([] if reason == "Empty" else [("10%", every - {"Empty"})])


def test_a_thousand_machines_and_fifty_windows_cost_little():
    zones = ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]
    budgets = [
        {"nodes": 0, "start": f"{i % 23:02}:00", "end": f"{i % 23 + 1:02}:30", "timezone": zones[i % 5]}
        for i in range(50)
    ]
    given = pool_of(1000, budgets).snapshot()
    everyone = Trigger(tuple(names(1000)))
    machines = machines_of(given)

    def cost(of):
        began = time.process_time()
        departures(of, machines, (), [everyone], {})
        return time.process_time() - began

    cost(given)
    bare = pool_of(1000).snapshot()
    extra = min(cost(given) for _ in range(3)) - min(cost(bare) for _ in range(3))
    assert extra < 0.1  # measured: see the report
    print(f"{extra * 1000:.1f} ms")
