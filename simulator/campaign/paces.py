"""What a seed decides about how fast pools grow and shrink: thresholds, locks, rates, waits, hours, health, dry runs.

Each field is drawn in a share of the pools, from a stream of its own. People leave pools without them, so that all pods
are served once all is calm.
"""

from dataclasses import replace
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import NodePool
from simulator.campaign.setup import Setup

_EACH: Final = 0.45
"""Share of pools with a field."""
_MODES: Final = 0.8
"""Share of pools with a mode in which machines with pods go."""
_PROMPT: Final = 0.75
"""Share of histories in which each call has its answer, so that paces can be judged to the second."""
_SCALE_UP: Final[dict[str, tuple[Any, ...]]] = {
    "lock": ({"min": "5s", "max": "20s"}, {"min": "0s", "max": "45s"}),
    "cooldown": ("5s", "20s"),
    "batchMax": (1, 2, 5),
    "maxInFlight": (1, 3),
    "podGrace": ("3s", "15s"),
    "breaker": ({"failures": 1, "halfOpenAfter": "20s"}, {"failures": 3, "halfOpenAfter": "10s"}),
    "estimators": (["threshold"], ["binPack", "threshold"]),
    "thresholdPercent": (60, 70, 90),
    "starvation": (True, False),
}
_SCALE_DOWN: Final[dict[str, tuple[Any, ...]]] = {
    "hardGrace": ("20s", "2m"),
    "group": (
        {"lowerPercent": 10, "upperPercent": 40, "slow": 1, "fast": 1, "every": "1m"},
        {"lowerPercent": 20, "upperPercent": 55, "slow": 1, "fast": 2, "every": "30s"},
    ),
    "node": ({"window": "10s"}, {"cpuPercent": 30, "memoryPercent": 60, "window": "30s"}),
    "order": ("dearest", "oldest", "leastUtilised"),
    "cooldownAfterScaleUp": ("10s", "30s"),
    "cooldownAfterScaleDown": ("5s", "30s"),
    "maxRemainingPercent": (60, 100),
}
_SPEC: Final[dict[str, tuple[Any, ...]]] = {
    "health": ({"grace": "5s", "newestPercent": 50, "maxUnhealthyPercent": 40},),
    "schedule": (
        [{"min": 1}],
        [{"start": "00:00", "end": "12:00", "max": 3}, {"days": ["Mon"], "min": 2}],
        [{"start": "00:01", "end": "00:04", "max": 1}],
        [{"start": "00:02", "end": "00:05", "min": 2, "max": 2}, {"max": 5}],
    ),
}
_DRY: Final = 0.1
"""Share of pools that only tell what they would do."""


def with_paces(setup: Setup, random: Random) -> Setup:
    """Return the setup with pools that pace how they grow and shrink."""
    drawn = [_drawn(item, random) if item["kind"] == "NodePool" else item for item in setup.objects]
    prompt: dict[str, Any] = {"losses": 0.0, "stalls": 0.0} if random.random() < _PROMPT else {}
    return replace(setup, objects=drawn, **prompt)


def _drawn(pool: Object, random: Random) -> Object:
    spec = pool["spec"]
    mode = {"mode": random.choice(["wait", "drain"])} if random.random() < _MODES else {}
    fields = {
        "scaleUp": {**spec.get("scaleUp", {}), **_fields(_SCALE_UP, random)},
        "scaleDown": {**spec.get("scaleDown", {}), **mode, **_fields(_SCALE_DOWN, random)},
        **_fields(_SPEC, random),
    }
    if random.random() < _DRY:
        fields["dryRun"] = True
    return NodePool.model_validate({**pool, "spec": {**spec, **fields}}).to_json()


def _fields(values: dict[str, tuple[Any, ...]], random: Random) -> dict[str, Any]:
    """Return a value of each field that is drawn; of each, as many choices are made whether it is or not."""
    drawn = {name: (random.random() < _EACH, random.choice(choices)) for name, choices in values.items()}
    return {name: value for name, (is_drawn, value) in drawn.items() if is_drawn}
