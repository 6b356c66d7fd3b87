"""Tenants beside the users of a cluster, whose pods are of a kind that makes trouble for others.

What they have and do is drawn from a stream of its own, so that histories without them stay as they were.
"""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from simulator.campaign.setup import Setup
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation

_TOLERANT: Final = 0.4
"""Share of histories without drains."""
_AGENTS: Final = 0.5
"""Share of the other histories."""
AGENT: Final = "agent"
"""Name of the DaemonSet."""
_AGENT_NAMESPACE: Final = "kube-system"
_MOST_REPLICAS: Final = 4
_REST_SECONDS: Final = (1.0, 25.0)


@dataclass(frozen=True, slots=True)
class Tenancy:
    """What the tenants of one history have."""

    workloads: tuple[Workload, ...] = ()
    """Users know nothing of them."""
    objects: tuple[Object, ...] = ()
    """Of the cluster from the beginning on."""
    admitted: dict[str, dict[str, str]] = field(default_factory=dict)
    """Requests that a webhook gives the pods of a DaemonSet, by its name."""


def draw_tenants(random: Random, setup: Setup) -> Tenancy:
    """Return the tenants of a history: mostly none."""
    workloads: list[Workload] = []
    # No taint empties a machine of pods that tolerate all: the next ones come back to it while it is drained.
    if random.random() < _TOLERANT and not (setup.has_drains or setup.has_policies):
        requests = {"cpu": random.choice(["300m", "700m", "1200m"]), "memory": "512Mi"}
        workloads.append(Workload("agents", 0, requests, spec={"tolerations": [{"operator": "Exists"}]}))
    elif random.random() < _AGENTS:
        return _with_agent(random)
    return Tenancy(tuple(workloads))


def _with_agent(random: Random) -> Tenancy:
    """Return a DaemonSet whose pods ask for what its template says, or for what admission makes of it."""
    # Beside the largest pod it fits on the smallest type, whose machines can always be had.
    amount = {"cpu": random.choice(["250m", "450m"])}
    source = random.choice(["template", "LimitRange", "webhook"])
    container: dict[str, Any] = {"name": "main", "image": "example.org/agent"}
    spec = {
        "priority": 2_000_001_000,
        "containers": [container | ({"resources": {"requests": amount}} if source == "template" else {})],
    }
    agent: Object = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": AGENT, "namespace": _AGENT_NAMESPACE},
        "spec": {"selector": {}, "template": {"metadata": {"labels": {"app": AGENT}}, "spec": spec}},
    }
    usual: Object = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "usual", "namespace": _AGENT_NAMESPACE},
        "spec": {"limits": [{"type": "Container", "defaultRequest": amount, "default": amount}]},
    }
    return Tenancy(
        objects=(agent, usual) if source == "LimitRange" else (agent,),
        admitted={AGENT: amount} if source == "webhook" else {},
    )


class Tenants:
    """What tenants do, whatever else happens.

    Args:
        sim: the simulation.
        tenancy: what they have.
        random: decides when they want how much.
    """

    def __init__(self, sim: Simulation, tenancy: Tenancy, random: Random) -> None:
        self._sim = sim
        self._tenancy = tenancy
        self._random = random
        self.is_calm = False
        """Whether they want nothing else any more."""

    async def begin(self) -> None:
        """Let them act beside the history, until all is calm."""
        self._sim.world.daemons.admitted = dict(self._tenancy.admitted)
        await self._sim.world.apply(*self._tenancy.objects)
        for workload in self._tenancy.workloads:
            self._sim.world.workloads.add(workload)
        if self._tenancy.workloads:
            self._sim.spawn(self._act())

    async def _act(self) -> None:
        while not self.is_calm:
            workload = self._random.choice(self._tenancy.workloads)
            replicas = self._random.randint(0, _MOST_REPLICAS)
            self._sim.tell("tenant", f"wants {replicas} of {workload.name}")
            self._sim.scale(workload.name, replicas)
            await asyncio.sleep(self._random.uniform(*_REST_SECONDS))
