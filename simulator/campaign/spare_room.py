"""What a seed decides about headroom and about pods that nothing is bought for: a share of histories has them."""

from dataclasses import replace
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import NodePool
from simulator.campaign.setup import Setup
from simulator.scheduling.workloads import Workload

_WITH_HEADROOM: Final = 0.25
_WITH_EXPENDABLES: Final = 0.15
"""Shares of histories."""
_EACH: Final = 0.7
"""Share of their pools."""
_CUTOFF: Final = -10
_BELOW: Final = -20


def with_spare_room(setup: Setup, random: Random) -> Setup:
    """Return the setup, in a share of histories with headroom, and in one with pods that wait for free room."""
    has_headroom, has_expendables = random.random() < _WITH_HEADROOM, random.random() < _WITH_EXPENDABLES
    if not (has_headroom or has_expendables):
        return setup

    def changed(pool: Object, headroom: list[dict[str, Any]]) -> Object:
        spec = dict(pool["spec"])
        if headroom:
            spec["headroom"] = headroom
        if has_expendables:
            spec["scaleUp"] = {**spec["scaleUp"], "expendablePriority": _CUTOFF}
        return NodePool.model_validate({**pool, "spec": spec}).to_json()

    drawn = {name: _headroom(random) if has_headroom and random.random() < _EACH else [] for name in setup.pools}
    spare = Workload("spare", random.randint(1, 4), {"cpu": "500m", "memory": "512Mi"}, spec={"priority": _BELOW})
    return replace(
        setup,
        objects=[
            changed(item, drawn[item["metadata"]["name"]]) if item["kind"] == "NodePool" else item
            for item in setup.objects
        ],
        pools={name: changed(pool, drawn[name]) for name, pool in setup.pools.items()},
        workloads=[*setup.workloads, *([spare] if has_expendables else [])],
    )


def _headroom(random: Random) -> list[dict[str, Any]]:
    cpu, memory = random.choice([("500m", "512Mi"), ("1", "1Gi"), ("1500m", "2Gi"), ("3", "4Gi")])
    return [{"requests": {"cpu": cpu, "memory": memory}, "count": random.randint(1, 3)}]
