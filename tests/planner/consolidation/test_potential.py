"""What pools could save that do not consolidate."""

from decimal import Decimal

import pytest

from planner.consolidation.potential import potential
from planner.model.saving import PoolPotential
from planner.placement.known_state import prepare
from tests.builders import node, pod
from tests.planner.consolidation.quiet_scenes import CONSOLIDATES
from tests.planner.scenes import scene


def potential_of(snapshot):
    return potential(prepare(snapshot))


def half_empty(*, kept="", **scale_down):
    pods = [pod(f"x{n}", cpu="500m", node=n, owner="web") for n in "abcd"]
    nodes = [node(n, annotations={"growth.dev/do-not-remove": "a test"} if n in kept else {}) for n in "abcd"]
    return scene(*nodes, types=["cx22"], pods=pods, scaleDown=scale_down).snapshot()


@pytest.mark.parametrize("mode", ["empty", "drain", "none"])
def test_it_is_told_whatever_the_mode(mode):
    found = potential_of(half_empty(mode=mode))
    # Four pods of half a core fit on one machine of two, so three go.
    assert (found.saving_per_hour, found.currency, found.machines, found.moved) == (Decimal("0.0198"), "EUR", 3, 3)
    assert found.pools == {"default": PoolPotential(Decimal("0.0198"), machines=3, moved=3)}


def test_a_pool_that_consolidates_is_no_news():
    assert potential_of(half_empty(**CONSOLIDATES)).machines == 0


def test_what_a_check_refuses_is_not_promised():
    assert potential_of(half_empty(kept="ab")).machines == 2


def test_a_cluster_without_machines_saves_nothing():
    assert potential_of(scene().snapshot()).machines == 0
