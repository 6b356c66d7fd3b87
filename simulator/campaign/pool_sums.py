"""What a seed decides about limits in cores, memory and money: a share of histories has pools with some.

People leave pools without them, so that all pods are served once all is calm.
"""

from dataclasses import replace
from random import Random
from typing import Final

from activities.ports.cluster import Object
from simulator.campaign.setup import Setup

_SHARE: Final = 0.12
"""Of histories."""
_EACH: Final = 0.5
"""Share of pools with a field."""
_FIELDS: Final = {
    "cpu": (4, "6", 10, "16"),
    "memory": ("8Gi", "12Gi", "24Gi"),
    "pricePerHour": ("0.02", "0.041", "0.06", "0.09"),
}
"""Of machines of 2, 4 and 8 cores, 2Gi a core and about 0.005 a core."""


def with_sums(setup: Setup, random: Random) -> Setup:
    """Return the setup, in a share of histories with pools that may not come to more than so much."""
    if random.random() >= _SHARE:
        return setup
    drawn = [_drawn(item, random) if item["kind"] == "NodePool" else item for item in setup.objects]
    return replace(setup, objects=drawn)


def _drawn(pool: Object, random: Random) -> Object:
    limits = {name: random.choice(values) for name, values in _FIELDS.items() if random.random() < _EACH}
    return {**pool, "spec": {**pool["spec"], "limits": {**pool["spec"]["limits"], **limits}}}
