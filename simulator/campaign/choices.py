"""What a seed decides about priorities of types, and about what is bought for one namespace.

Each is drawn in a share of histories, from streams of their own. People leave pools without bounds of namespaces, so
that all pods are served once all is calm.
"""

from dataclasses import replace
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import NodePool
from simulator.campaign.setup import Setup

_WITH_PRIORITIES: Final = 0.2
_WITH_BOUNDS: Final = 0.12
"""Shares of histories."""
_CHOOSES: Final = 0.7
"""Share of their pools that choose by priority; in others it decides between equally cheap types."""
_EACH: Final = 0.6
"""Share of pools with a bound."""
_PRIORITIES: Final = (0, 5, 10)
_CPU: Final = ("2", "3", "5")
_MACHINES: Final = (1, 2, 3)


def with_choices(setup: Setup, random: Random) -> Setup:
    """Return the setup, in a share of histories with priorities, and in one with bounds of namespaces."""
    has_priorities, has_bounds = random.random() < _WITH_PRIORITIES, random.random() < _WITH_BOUNDS
    if not (has_priorities or has_bounds):
        return setup
    choices = {name: _choice(setup, random) if has_priorities else {} for name in setup.pools}
    bounds = {name: _bounds(random) if has_bounds else {} for name in setup.pools}

    def chosen(pool: Object) -> Object:
        choice, spec = choices[pool["metadata"]["name"]], pool["spec"]
        if not choice:
            return pool
        of_types = [each | {"priority": choice["types"][each["name"]]} for each in spec["serverTypes"]]
        scale_up = {**spec["scaleUp"], "choose": choice["choose"]}
        return _valid(pool, serverTypes=of_types, priority=choice["pool"], scaleUp=scale_up)

    def bounded(pool: Object) -> Object:
        bound = bounds[pool["metadata"]["name"]]
        return _valid(pool, limits={**pool["spec"]["limits"], "perNamespace": bound}) if bound else pool

    return replace(
        setup,
        objects=[bounded(chosen(item)) if item["kind"] == "NodePool" else item for item in setup.objects],
        pools={name: chosen(pool) for name, pool in setup.pools.items()},
    )


def _choice(setup: Setup, random: Random) -> dict[str, Any]:
    return {
        "types": {name: random.choice(_PRIORITIES) for name in setup.types},
        "pool": random.choice(_PRIORITIES),
        "choose": "priority" if random.random() < _CHOOSES else "price",
    }


def _bounds(random: Random) -> dict[str, Any]:
    drawn = {"cpu": random.choice(_CPU), "machines": random.choice(_MACHINES)}
    return {name: value for name, value in drawn.items() if random.random() < _EACH}


def _valid(pool: Object, **fields: Any) -> Object:
    return NodePool.model_validate({**pool, "spec": {**pool["spec"], **fields}}).to_json()
