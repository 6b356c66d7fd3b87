"""Machines that triggers let go: a few a round, each after all of its pods have another place."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from planner.displacement.renewals import MOST_ASKED, Renewing
from planner.model.stages import unwatched
from planner.packing.fallback.pack import pack
from planner.placement.decide import decide
from planner.placement.known_state import prepare
from planner.plan import plan
from planner.policies.departures import candidates
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from planner.supply.machines import price_list
from tests.builders import NOW, kwok_node_class, node, node_pool, pod, server_type
from tests.planner.consolidation.quiet_scenes import consolidating, quiet
from tests.planner.scenes import scene

DRAIN = {"scaleDown": {"mode": "drain", "budgets": [{"nodes": "100%"}]}}


@dataclass(frozen=True)
class Proposes:
    """A policy that wants these machines emptied."""

    names: tuple[str, ...]
    renews: bool = True
    reason: str = "Old"

    def propose(self, view: PolicyView) -> Advice:
        return Advice(
            tuple(
                Proposal(
                    name, MachineAction.REMOVE, self.reason, "It is old", view.now, evicts=True, renews=self.renews
                )
                for name in self.names
            )
        )


def made(given, *names, renews=True, now=NOW):
    return plan(replace(given.snapshot(), now=now), policies=[], triggers=[Proposes(names, renews)])


def pinned(name, on):
    """A pod that only its Node can have."""
    return pod(name, node=on, owner="rs", nodeSelector={"kubernetes.io/hostname": on})


def test_pods_move_onto_room_and_onto_what_is_bought_and_each_removal_names_its_own():
    given = scene(
        node("a"),
        node("b"),
        node("room"),
        pods=[
            pod("small", "500m", owner="rs", node="a"),
            pod("big", "1900m", owner="rs", node="b"),
            pod("x", "1", owner="rs", node="room"),
        ],
        **DRAIN,
    )
    result = made(given, "a", "b")
    assert [(r.node, r.replacement, [(m.pod, m.node) for m in r.moves]) for r in result.removals] == [
        ("a", (), [("default/small", "room")]),
        ("b", (0,), []),
    ]
    (request,) = result.requests
    assert ([seat.name for seat in request.seats], request.ordinal) == (["big"], 0)
    assert result.cost_per_hour == request.price_per_hour
    (report,) = result.pools
    assert report.delta == -1


def test_what_is_bought_first_is_counted_on_from_what_the_round_buys():
    waits = pod("waits", "1900m", nodeSelector={"growth.dev/pool": "other"})
    given = scene(node("a"), pods=[pod("x", "1900m", owner="rs", node="a"), waits], **DRAIN)
    given.pools.append(node_pool("other"))
    result = made(given, "a")
    assert [(r.ordinal, [seat.name for seat in r.seats]) for r in result.requests] == [(0, ["waits"]), (1, ["x"])]
    assert [r.replacement for r in result.removals] == [(1,)]


def test_room_that_waiting_pods_are_given_is_taken():
    given = scene(
        node("a"),
        node("room"),
        pods=[pod("x", "1500m", owner="rs", node="a"), pod("waits", "1500m")],
        types=[{"name": "cx22", "max": 2}],
        **DRAIN,
    )
    result = made(given, "a")
    assert result.removals == ()
    (blocked,) = result.blocked
    assert (blocked.pool, blocked.node, blocked.uid, blocked.trigger) == ("default", "a", "uid-a", "Old")
    assert blocked.why.startswith("default/x has no other place: ")


def test_one_that_cannot_go_holds_up_no_other():
    given = scene(node("a"), node("b"), pods=[pinned("x", "a"), pod("y", owner="rs", node="b")], **DRAIN)
    result = made(given, "a", "b")
    assert [r.node for r in result.removals] == ["b"]
    assert [each.node for each in result.blocked] == ["a"]


def test_worn_out_machines_give_each_other_no_room_and_others_do():
    given = scene(node("a"), node("b"), pods=[pod("x", owner="rs", node="a"), pinned("y", "b")], **DRAIN)
    worn = made(given, "a", "b")
    assert [(r.node, r.replacement) for r in worn.removals] == [("a", (0,))]
    others = made(given, "a", "b", renews=False)
    assert [(r.node, [m.node for m in r.moves]) for r in others.removals] == [("a", ["b"])]


def test_a_machine_that_goes_in_this_round_gives_no_room():
    idle = node("idle", annotations={"growth.dev/idle-since": "2026-03-01T11:00:00Z"})
    given = scene(node("a"), idle, pods=[pod("x", owner="rs", node="a")], **DRAIN)
    result = plan(given.snapshot(), triggers=[Proposes(("a",))])
    assert [(r.node, r.reason, r.replacement) for r in result.removals] == [("idle", "Empty", ()), ("a", "Old", (0,))]


def test_a_minimum_is_bought_first_where_pods_need_no_machine():
    given = scene(node("a"), node("b", pool="other"), pods=[pod("x", owner="rs", node="a")], limits={"min": 1}, **DRAIN)
    given.pools.append(node_pool("other"))
    result = made(given, "a")
    (request,) = result.requests
    assert (request.pool, request.seats) == ("default", ())
    assert [(r.replacement, [m.node for m in r.moves]) for r in result.removals] == [((0,), ["b"])]


def test_no_minimum_is_bought_below_a_max():
    given = scene(
        node("a"), node("b", pool="other"), pods=[pod("x", owner="rs", node="a")], limits={"min": 1, "max": 1}, **DRAIN
    )
    given.pools.append(node_pool("other"))
    result = made(given, "a")
    assert (result.removals, result.requests) == ((), ())
    assert [(each.node, each.reason) for each in result.blocked] == [("a", "BlockedByMinimum")]


def test_a_machine_that_would_need_too_many_is_left_out():
    pods = [pod(f"p{number}", "900m", "64Mi", owner="rs", node="a") for number in range(11)]
    given = scene(node("a", allocatable={"cpu": "20"}), pods=pods, types=["one"], **DRAIN)

    given.classes = [kwok_node_class(server_type("one"))]
    result = made(given, "a")
    assert (result.removals, result.requests) == ((), ())
    assert result.blocked[0].why == "its pods would need more than 10 new machines"


def test_a_few_are_asked_in_one_round_and_every_one_in_the_end():
    names = [f"n{number:02}" for number in range(40)]
    given = scene(*map(node, names), pods=[pinned(f"p-{name}", name) for name in names], **DRAIN)
    told = set()
    for minute in range(8):
        result = made(given, *names, now=NOW + timedelta(minutes=minute))
        assert len(result.blocked) == MOST_ASKED
        told |= {each.node for each in result.blocked}
        assert {"n00", "n04"} <= {each.node for each in result.blocked}
    assert told == set(names)


def test_one_that_can_go_is_reached_behind_many_that_cannot():
    names = [f"n{number:02}" for number in range(40)]
    given = scene(*map(node, names), pods=[pinned(f"p-{name}", name) for name in names[:-1]], **DRAIN)
    given.pods.append(pod("free", owner="rs", node=names[-1]))
    gone = [r.node for minute in range(8) for r in made(given, *names, now=NOW + timedelta(minutes=minute)).removals]
    assert set(gone) == {names[-1]}


@pytest.mark.parametrize("number", [1, MOST_ASKED, 3 * MOST_ASKED])
def test_all_are_packed_at_once(number):
    calls = []

    def counted(problem):
        calls.append(problem)
        return pack(problem)

    names = tuple(f"n{i:02}" for i in range(number))
    given = scene(*map(node, names), pods=[pod(f"p-{name}", owner="rs", node=name) for name in names], **DRAIN)
    without = plan(given.snapshot(), packer=counted, policies=[], triggers=[])
    before, calls[:] = len(calls), []
    result = plan(given.snapshot(), packer=counted, policies=[], triggers=[Proposes(names)])
    assert without.removals == ()
    assert len(result.removals) == min(number, MOST_ASKED)
    assert len(calls) - before <= 2


def test_in_a_round_that_renews_nothing_is_consolidated():
    given = consolidating(
        node("a"),
        node("b"),
        node("old"),
        pods=[
            pod("x", owner="rs", node="a"),
            pod("y", cpu="600m", owner="rs", node="b"),
            pod("z", "1900m", owner="rs", node="old"),
        ],
    )
    alone = plan(quiet(given).snapshot(), triggers=[])
    assert {removal.reason for removal in alone.removals} == {"Consolidation"}
    both = plan(quiet(given).snapshot(), triggers=[Proposes(("old",))])
    assert [(removal.node, removal.reason) for removal in both.removals] == [("old", "Old")]
    ordinals = [request.ordinal for request in both.requests]
    assert len(set(ordinals)) == len(ordinals)


def test_a_paused_pool_renews_nothing():
    given = scene(node("a"), pods=[pod("x", owner="rs", node="a")], paused=True, **DRAIN)
    assert made(given, "a").removals == ()


@pytest.mark.parametrize(("allowed", "goes"), [(0, 0), (1, 1), (2, 2), (None, 3)])
def test_no_more_are_given_a_place_than_may_go(allowed, goes):
    given = scene(*map(node, "abc"), pods=[pod(f"p-{name}", owner="rs", node=name) for name in "abc"], **DRAIN)
    known = prepare(given.snapshot())
    decided = decide(known, pack, unwatched)
    machines = tuple(known.machines.values())
    view = PolicyView(
        NOW,
        tuple(candidates(known.snapshot.pools, machines)),
        {},
        price_list(known.snapshot),
        pools=known.snapshot.pools,
        machines=machines,
        allowance=lambda pool, reason: allowed if (pool, reason) == ("default", "Old") else None,
    )
    renewing = Renewing(known, decided, pack, [Proposes(tuple("abc"))])
    advice = renewing.propose(view)
    given_a_place = [proposal for proposal in advice.proposals if proposal.moves or proposal.replacement]
    assert (len(given_a_place), advice.blocked) == (goes, ())
    assert {ordinal for p in advice.proposals for ordinal in p.replacement} == {r.ordinal for r in advice.requests}


def test_machines_that_budgets_keep_are_told_of_and_wake_the_round_when_that_may_change():
    closed = {"mode": "drain", "budgets": [{"nodes": 0, "start": "11:00", "end": "13:00"}]}
    given = scene(node("a"), node("room"), pods=[pod("x", owner="rs", node="a")], scaleDown=closed)
    result = plan(given.snapshot(), policies=[], triggers=[Proposes(("a",), reason="Drift")])
    assert (result.removals, result.requests) == ((), ())
    assert [(each.node, each.trigger, each.reason) for each in result.blocked] == [("a", "Drift", "Budget")]
    assert result.wake_at == NOW + timedelta(hours=1)
