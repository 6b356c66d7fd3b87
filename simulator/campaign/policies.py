"""What a seed decides about machines that go with pods on them: a share of histories moves pods.

Each field is drawn in about half of those histories, from a stream of its own.
"""

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import NodePool
from simulator.campaign.setup import Setup
from simulator.clock import START
from simulator.scheduling.workloads import Workload

_SHARE: Final = 0.35
"""Of histories."""
_DRAINS: Final = 0.9
"""Share of pools whose pods are asked to leave."""
_CONSOLIDATES: Final = 0.7
_EACH: Final = 0.5
"""Share of pools with a field."""
BAD: Final = "KernelDeadlock"
"""The condition of Nodes that pools name as bad."""
LONG_AGE: Final = "1h"
"""The age of machines once all is calm: none is so old when a history ends."""
_EVICTING: Final = ("Consolidation", "Rotation", "Drift", "Repair", "OverMax")


def with_policies(setup: Setup, random: Random) -> Setup:
    """Return the setup, in a share of histories with pools that move pods, and pods that write to their disks."""
    if random.random() >= _SHARE:
        return setup
    pools = {name: _drawn(pool, random) for name, pool in setup.pools.items()}
    return replace(
        setup,
        objects=[pools.get(item["metadata"]["name"], item) if _is_pool(item) else item for item in setup.objects],
        pools={name: _calm(pool) for name, pool in pools.items()},
        workloads=[_with_disk(workload) if random.random() < _EACH else workload for workload in setup.workloads],
        has_policies=True,
    )


def _drawn(pool: Object, random: Random) -> Object:
    """Return the pool as it is in the middle of its history."""
    spec, down = pool["spec"], dict(pool["spec"]["scaleDown"])
    if random.random() < _DRAINS:
        down["mode"] = "drain"
    if random.random() < _CONSOLIDATES:
        down["consolidate"] = _consolidation(random)
    fields: dict[str, Any] = {
        "budgets": [_budget(random) for _ in range(random.choice([1, 1, 2]))],
        "drainTimeout": random.choice(["10s", "30s", "60s"]),
        "terminationGracePeriod": random.choice(["35s", "60s"]),
        "emptyDir": random.choice(["keep", "evict"]),
    }
    down |= {name: value for name, value in fields.items() if random.random() < _EACH}
    if random.random() < _EACH:
        condition = {"type": BAD, "status": "True", "after": random.choice(["3s", "10s"])}
        down["repair"] = {"after": "45s", **down.get("repair", {}), "conditions": [condition]}
    more = {"rotation": _rotation(spec, random)} if random.random() < _EACH else {}
    return NodePool.model_validate({**pool, "spec": {**spec, **more, "scaleDown": down}}).to_json()


def _calm(pool: Object) -> Object:
    """Return the pool as people leave it: its machines are not renewed for ever."""
    spec = pool["spec"]
    more = {"rotation": {**spec["rotation"], "maxNodeAge": LONG_AGE}} if "rotation" in spec else {}
    return {**pool, "spec": {**spec, **more}}


def _rotation(spec: dict[str, Any], random: Random) -> dict[str, Any]:
    age = {"maxNodeAge": random.choice(["1m", "2m"])}
    is_at_min = random.random() < _EACH and spec["limits"].get("min", 0) > 0
    return {**age, "onlyAtMin": True} if is_at_min else age


def _consolidation(random: Random) -> dict[str, Any]:
    fields: dict[str, Any] = {"after": random.choice(["2s", "5s", "15s"])}
    more = {
        "minSavingPercent": random.choice([0, 20]),
        "maxMovedPods": random.choice([1, 3]),
        "movePrice": random.choice(["0", "0.002"]),
        "minSavingPerHour": "0.002",
    }
    return fields | {name: value for name, value in more.items() if random.random() < _EACH / 2}


def _budget(random: Random) -> dict[str, Any]:
    """Return a budget; none that keeps machines without pods for ever."""
    reasons = sorted(random.sample(_EVICTING, random.randint(1, 3)))
    window = {} if random.random() < _EACH else _window(random)
    kind = random.choice(["some", "some", "share", "none"])
    if kind == "some":
        of = {"reasons": reasons} if random.random() < _EACH else {}
        return {"nodes": random.choice([1, 1, 2]), **of, **window}
    if kind == "share":
        return {"nodes": random.choice(["10%", "50%"]), "reasons": reasons, **window}
    return {"nodes": 0, "reasons": reasons, **(window or _window(random))}


def _window(random: Random) -> dict[str, str]:
    """Return a window of minutes near the beginning of a history."""
    start = START + timedelta(minutes=random.randint(0, 4))
    return {"start": f"{start:%H:%M}", "end": f"{start + timedelta(minutes=random.randint(2, 6)):%H:%M}"}


def _with_disk(workload: Workload) -> Workload:
    volumes = [*workload.spec.get("volumes", ()), {"name": "scratch", "emptyDir": {}}]
    return replace(workload, spec={**workload.spec, "volumes": volumes})


def _is_pool(item: Object) -> bool:
    return item["kind"] == "NodePool"
