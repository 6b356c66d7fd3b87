"""The one way out: all proposals go through the same checks and one budget. Source: docs/design.md#departures."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from planner.objects.local_volume import local_volumes
from planner.plan import POLICIES, plan
from planner.policies.checks import refusals, safety_checks
from planner.policies.departures import candidates
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from planner.supply.machines import machines_of
from tests.builders import NOW, before, node, node_removal_request, node_request, pod, volume
from tests.planner.scenes import scene

IDLE = {"growth.dev/idle-since": before(minutes=11)}
DATA = volume("pvc-1", zone="n", key="kubernetes.io/hostname", claimRef={"namespace": "default", "name": "data-db-0"})
"""On the Node n alone."""


@dataclass(frozen=True)
class Renewal:
    """A policy as a later one would be written: proposes named machines, with or without pods."""

    names: tuple[str, ...]
    action: MachineAction = MachineAction.REMOVE
    after: timedelta = timedelta(0)

    def propose(self, view: PolicyView) -> Advice:
        return Advice(
            tuple(Proposal(n, self.action, "TooOld", "Older than 7d", view.now + self.after) for n in self.names)
        )


def planned(given, *policies):
    return plan(given.snapshot(), policies=policies)


def leaving(given, *policies):
    return [(r.node, r.reason) for r in planned(given, *policies).removals]


def test_a_new_policy_is_an_entry_of_the_tuple():
    given = scene(node("busy"), node("idle", annotations=IDLE), pods=[pod("x", node="busy")])
    assert leaving(given, *POLICIES) == [("idle", "Empty")]
    made = planned(given, *POLICIES, Renewal(("busy",)))
    assert [(r.node, r.reason) for r in made.removals] == [("idle", "Empty"), ("busy", "TooOld")]
    (_, removed) = made.removals
    assert (removed.server, removed.pool, removed.server_type, removed.why) == (
        "busy",
        "default",
        "cx22",
        "Older than 7d",
    )
    assert removed.at == NOW + timedelta(minutes=1)


def test_without_policies_nothing_goes():
    made = planned(scene(node("n", annotations=IDLE), requests=[node_request("r")]))
    assert (made.removals, made.cancelled, made.idle_since) == ((), (), {})


@pytest.mark.parametrize(
    "given",
    [
        scene(node("n", annotations={"growth.dev/do-not-remove": "mine"})),
        scene(node("n"), protected={"n"}),
        scene(node("n", spec={"unschedulable": True})),
        scene(node("n", deleting=True)),
        scene(node("n", labels={"growth.dev/request": "another"})),
        scene(node("n"), requests=[node_request("n", phase="Ready", readyAt=before(minutes=1))]),
        scene(node("n"), removals=[node_removal_request("n")]),
        scene(node("n"), removals=[node_removal_request("n", cancel={"at": before(seconds=1), "by": "Person"})]),
        scene(node("n"), pods=[pod("waits")]),
        scene(node("n"), limits={"min": 1}),
        scene(node("n"), scaleDown={"mode": "none"}),
        scene(requests=[node_request("n", phase="Provisioning", createAttemptAt=before(seconds=9))]),
    ],
    ids=[
        "annotated",
        "protected",
        "cordoned",
        "terminating",
        "foreign",
        "open request",
        "under removal",
        "cancelled removal",
        "wanted",
        "minimum",
        "mode none",
        "coming",
    ],
)
def test_no_policy_gets_past_what_keeps_a_machine(given):
    assert leaving(given, Renewal(("n",))) == []
    assert leaving(scene(node("n")), Renewal(("n",))) == [("n", "TooOld")]


def test_two_policies_share_a_minimum():
    given = scene(node("idle", annotations=IDLE), node("old"), pods=[pod("x", node="old")], limits={"min": 1})
    assert leaving(given, *POLICIES) == [("idle", "Empty")]
    assert leaving(given, Renewal(("old",))) == [("old", "TooOld")]
    assert leaving(given, *POLICIES, Renewal(("old",))) == [("idle", "Empty")]
    assert leaving(given, Renewal(("old",)), *POLICIES) == [("old", "TooOld")]


def test_two_policies_that_cancel_share_a_minimum():
    given = scene(requests=[node_request("dear", "cx42"), node_request("cheap")], limits={"min": 1})
    first = Renewal(("cheap",), MachineAction.CANCEL)
    assert planned(given, *POLICIES).cancelled == ("dear",)
    assert planned(given, first).cancelled == ("cheap",)
    assert planned(given, first, *POLICIES).cancelled == ("cheap",)


def test_a_removal_takes_nothing_from_requests_that_a_minimum_of_nodes_allows():
    given = scene(node("a"), node("b"), requests=[node_request("r")], limits={"min": 1})
    made = planned(given, Renewal(("a", "b")), *POLICIES)
    assert ([r.node for r in made.removals], made.cancelled) == (["a"], ("r",))


def test_a_machine_goes_once_by_the_first_policy_that_proposes_it():
    given = scene(node("n", annotations=IDLE), node("m"))
    assert leaving(given, Renewal(("n",)), *POLICIES) == [("n", "TooOld")]
    assert leaving(given, *POLICIES, Renewal(("n", "n"))) == [("n", "Empty")]


def test_a_proposal_for_later_wakes_the_planner_then():
    given = scene(node("n", annotations={"growth.dev/idle-since": before(minutes=3)}))
    made = planned(given, *POLICIES, Renewal(("n",), after=timedelta(hours=1)))
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(minutes=7))
    sooner = planned(given, *POLICIES, Renewal(("n",), after=timedelta(minutes=1)))
    assert (sooner.removals, sooner.wake_at) == ((), NOW + timedelta(minutes=1))


def test_a_proposal_that_a_check_refuses_wakes_nobody():
    given = scene(node("n", annotations={"growth.dev/do-not-remove": "mine"}))
    assert planned(given, Renewal(("n",), after=timedelta(hours=1))).wake_at is None


@pytest.mark.parametrize(
    ("name", "action"), [("n", MachineAction.CANCEL), ("r", MachineAction.REMOVE), ("unknown", MachineAction.REMOVE)]
)
def test_a_machine_goes_in_the_way_that_is_open_to_it(name, action):
    made = planned(scene(node("n"), requests=[node_request("r")]), Renewal((name,), action))
    assert (made.removals, made.cancelled) == ((), ())


def test_a_refusal_names_its_reason_and_the_first_check_comes_first():
    kept = node("n", annotations={"growth.dev/do-not-remove": "mine"}, spec={"unschedulable": True}, deleting=True)
    given = scene(
        kept,
        DATA,
        removals=[node_removal_request("n", cancel={"at": before(seconds=1), "by": "Person"})],
    ).snapshot()
    (candidate,) = candidates(given.pools, machines_of(given).values())
    assert list(refusals(candidate, safety_checks({"n"}, {"n"}, local_volumes(given.volumes, given.nodes), NOW))) == [
        "waiting pods are planned onto it",
        "its removal was cancelled and has not ended yet",
        "it carries the worker or its Temporal",
        "a person annotated it growth.dev/do-not-remove",
        "it is cordoned, and whoever did that decides about it",
        "its Node is being deleted already",
        "data is on it that would go with it: volume pvc-1 of claim default/data-db-0",
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (scene(node("n", labels={"growth.dev/request": "another"})), "it bears no request of Growth's"),
        (scene(node("n"), requests=[node_request("n", phase="Provisioning")]), "its request is not done with it"),
        (scene(requests=[node_request("n", by_hand=True)]), "a person asked for it"),
        (scene(requests=[node_request("n")]), None),
        (scene(node("n")), None),
    ],
)
def test_what_is_not_a_rounds_own_is_kept(given, reason):
    snapshot = given.snapshot()
    (candidate,) = candidates(snapshot.pools, machines_of(snapshot).values())
    assert (
        next(
            refusals(candidate, safety_checks((), (), local_volumes(snapshot.volumes, snapshot.nodes), snapshot.now)),
            None,
        )
        == reason
    )


def test_policies_see_who_is_refused_and_not_who_goes_already():
    seen = []

    class Onlooker:
        def propose(self, view):
            seen.append(([c.machine.name for c in view.candidates], dict(view.refusals)))
            return Advice()

    planned(scene(node("a", annotations=IDLE), node("b"), protected={"b"}), *POLICIES, Onlooker())
    assert seen == [(["b"], {"b": "it carries the worker or its Temporal"})]


def test_a_machine_stays_for_the_data_on_it_and_an_event_says_so():
    made = planned(scene(node("n", annotations=IDLE), node("m", annotations=IDLE), DATA), *POLICIES)
    why = "data is on it that would go with it: volume pvc-1 of claim default/data-db-0"
    assert [removal.node for removal in made.removals] == ["m"]
    assert [(kept.node, kept.why) for kept in made.kept_machines] == [("n", why)]
    # Its idle time begins anew when the data is gone.
    assert made.idle_since == {"n": None}
    told = [(e.kind, e.name, e.reason, e.message, e.warning) for e in made.events]
    assert told == [("Node", "n", "HasLocalData", f"It is not removed: {why}", False)]


@pytest.mark.parametrize(
    "given",
    [
        scene(node("n", annotations=IDLE), DATA, pods=[pod("x", node="n")]),
        scene(node("n", annotations=IDLE, spec={"unschedulable": True}), DATA),
        scene(node("n", annotations=IDLE), DATA, scaleDown={"mode": "none"}),
    ],
    ids=["busy", "cordoned", "of a pool that removes nothing"],
)
def test_no_event_tells_of_data_on_a_machine_that_something_else_keeps(given):
    made = planned(given, *POLICIES)
    assert (made.removals, made.kept_machines, made.events) == ((), (), ())
