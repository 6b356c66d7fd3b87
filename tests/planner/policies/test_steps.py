"""Proposals of one step go all together or none of them, and what is bought for them with them."""

from dataclasses import dataclass

from api.v1alpha1.node_pool import ClassRef
from planner.model.plan import PlannedRequest
from planner.plan import plan
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from tests.builders import node, pod
from tests.planner.scenes import scene


@dataclass(frozen=True)
class Exchange:
    """Proposes two machines as one step, with one in their place."""

    names: tuple[str, ...]

    def propose(self, view: PolicyView) -> Advice:
        bought = PlannedRequest(
            ordinal=0,
            pool="default",
            pool_uid="pool-default",
            server_type="cx32",
            location="fsn1",
            class_ref=ClassRef(),
            price_per_hour=0,
            seats=(),
            reserve=True,
            why="cheaper",
        )
        proposals = (
            Proposal(name, MachineAction.REMOVE, "Cheaper", "Saves", view.now, step="one", replacement=(0,))
            for name in self.names
        )
        return Advice(tuple(proposals), requests=(bought,))


def made(**parts):
    given = scene(node("a"), node("b"), pods=[pod("x", node="a"), pod("y", node="b")], **parts)
    return plan(given.snapshot(), policies=[Exchange(("a", "b"))])


def test_all_of_them_go_with_what_is_bought():
    assert [removal.node for removal in made().removals] == ["a", "b"]
    assert [request.server_type for request in made().requests] == ["cx32"]


def test_where_one_is_kept_none_goes_and_nothing_is_bought():
    kept = made(limits={"min": 1})
    assert kept.removals == kept.requests == ()
    protected = made(protected={"b"})
    assert protected.removals == protected.requests == ()
