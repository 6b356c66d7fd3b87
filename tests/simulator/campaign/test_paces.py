"""Pools of histories that pace how they grow and shrink: what is drawn, and that people leave pools without it."""

from random import Random

import pytest

from api.v1alpha1.pool_parts.scale_up import ScaleUp
from simulator.campaign import paces
from simulator.campaign.history import PACED, play
from simulator.campaign.paces import with_paces
from simulator.campaign.setup import draw


def drawn(seed):
    before = draw(Random(seed), Random(f"drains of {seed}"))
    return before, with_paces(before, Random(f"paces of {seed}"))


def pools(setup):
    return [item for item in setup.objects if item["kind"] == "NodePool"]


def test_each_field_is_drawn_and_people_leave_pools_without_any():
    seen = set()
    for seed in range(60):
        before, after = drawn(seed)
        assert after.pools == before.pools
        for pool in pools(after):
            seen |= {*pool["spec"], *pool["spec"]["scaleUp"], *pool["spec"]["scaleDown"]}
    assert {*paces._SCALE_UP, *paces._SCALE_DOWN, *paces._SPEC, "dryRun", "mode"} <= seen


def test_each_new_field_of_growth_is_among_those_that_are_drawn():
    of_growth = {field.alias or name for name, field in ScaleUp.model_fields.items() if field.default is None}
    assert of_growth - {"choose", "startup_taints", "expendable_priority", "startupTaints", "expendablePriority"} <= {
        *paces._SCALE_UP,
        "threshold_percent",
        "batch_max",
        "max_in_flight",
        "pod_grace",
    }


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_wrong_in_them(seed):
    assert play(seed, PACED).wrong == ()
