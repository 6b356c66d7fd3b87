"""What must be true when all is quiet, judged by what the cluster and the provider show."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from activities.ports.cluster import DISRUPTION_BUDGETS, NODE_POOLS, NODES, PODS, Object
from activities.ports.errors import BudgetExhausted
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import LABEL_ABANDONED, LABEL_EXCLUDED, TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from api.meta import read_moment
from simulator.apiserver.disruption_budgets import check_budgets
from simulator.campaign.judging.headroom import is_expendable
from simulator.campaign.judging.pod_departures import Leaving, keeps_disk, must_stay
from simulator.campaign.judging.provider_side import Side
from simulator.campaign.judging.recorder import Witness, is_daemon, is_ours, labels_of, phase_of, pool_asked_for
from simulator.scheduling.fit import FitHost, misfit
from simulator.scheduling.pod_request import occupies
from simulator.simulation import Simulation

_LONG_PAUSE: Final = timedelta(minutes=15)
"""Pauses double; after this one the next may be over only when nobody looks any more."""
_OWN_TAINTS: Final = (TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED)


class End:
    """Judges a history at its rests.

    Args:
        sim: the simulation.
        witness: what happened.
        cloud: knows what is of others.
    """

    def __init__(self, sim: Simulation, witness: Witness, cloud: Side) -> None:
        self._sim = sim
        self._witness = witness
        self._cloud = cloud

    def unserved(self, is_judged: Callable[[Object], bool] = lambda _: True) -> list[str]:
        """Return the violations while the load is as wanted: pods that wait although they could be served."""
        pods = [pod for pod in self._sim.world.cluster.peek(PODS) if occupies(pod)]
        # Of those of DaemonSets, each belongs to a Node: see `agents`.
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName") and not is_daemon(pod) and is_judged(pod)]
        if not waiting:
            return []
        on: dict[str, list[Object]] = {}
        for pod in pods:
            on.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        hosts = [FitHost(node, on.get(node["metadata"]["name"], [])) for node in self._sim.world.cluster.peek(NODES)]
        pools = {pool["metadata"]["name"]: pool for pool in self._sim.world.cluster.peek(NODE_POOLS)}
        wrong: list[str] = []
        for pod in waiting:
            name = pod["metadata"]["name"]
            if any(misfit(pod, host, hosts) is None for host in hosts):
                wrong.append(f"pod {name} waits, although a node has room for it")
            elif self._can_buy(pod, pools):
                wrong.append(f"pod {name} waits, although its pool may buy a machine")
        return wrong

    def unsettled(self) -> list[str]:
        """Return the violations in objects, lifecycles, taints and servers when nothing is on its way."""
        witness = self._witness
        wrong = [f"{kind} taint is left on {node}" for node, kind in self._own_taints()]
        wrong += [
            f"{name} is left off load balancers"
            for name, node in witness.nodes.items()
            if LABEL_EXCLUDED in labels_of(node)
        ]
        wrong += [
            f"{item['kind']} {name} is left in phase {phase_of(item)}"
            for items in witness.lifecycles.values()
            for name, item in items.items()
        ]
        for incarnation in self._sim.alive:
            uids = (item["metadata"]["uid"] for items in witness.lifecycles.values() for item in items.values())
            if incarnation.driver.running_uids() != frozenset(map(str, uids)):
                wrong.append(f"incarnation {incarnation.number} drives other lifecycles than there are objects")
        own_servers = {name for name, record in witness.servers.items() if is_ours(record)}
        abandoned = {name for name, record in witness.servers.items() if LABEL_ABANDONED in labels_of(record)}
        wrong += [f"server {name} is an orphan" for name in self.orphans()]
        others = self._cloud.foreign_nodes
        wrong += [
            f"node {name} has no server" for name in sorted(set(witness.nodes) - own_servers - abandoned - others)
        ]
        wrong += [
            f"the server {name} of another cluster is gone"
            for name in sorted(self._cloud.foreign - set(witness.servers))
        ]
        wrong += [f"the foreign node {name} is gone" for name in sorted(others - set(witness.nodes) - witness.bereft)]
        return wrong

    def drains(self, leaving: Leaving, *, with_blocked: bool) -> list[str]:
        """Return the removals that are left in Draining, without or with those that pods or budgets still block."""
        draining = [(n, r) for n, r in self._witness.removals.items() if phase_of(r) == "Draining"]
        if not draining:
            return []
        pods = [pod for pod in self._sim.world.cluster.peek(PODS) if occupies(pod)]
        return [
            f"removal {name} is left in phase Draining"
            for name, removal in draining
            if with_blocked or leaving.may_be_forced(removal) or not self._is_blocked(name, pods)
        ]

    def _is_blocked(self, node: str, pods: list[Object]) -> bool:
        budgets = self._sim.world.cluster.peek(DISRUPTION_BUDGETS)
        for pod in pods:
            if pod["spec"].get("nodeName") == node:
                if must_stay(pod) or keeps_disk(pod):
                    return True
                try:
                    check_budgets(pod, budgets, pods)
                except BudgetExhausted:
                    return True
        return False

    def orphans(self) -> list[str]:
        """Return the servers that nothing in the cluster is about."""
        witness = self._witness
        return sorted(n for n, record in witness.servers.items() if is_ours(record) and not witness.is_minded(n))

    def surplus(self, least: Mapping[str, int]) -> list[str]:
        """Return the violations without any load: pools with another number of machines than their minimum."""
        wrong: list[str] = []
        for pool, number in least.items():
            machines = sorted(name for name, _ in self._witness.machines_of(pool))
            if len(machines) != number:
                wrong.append(f"pool {pool} has {len(machines)} machines without load, {number} are wanted: {machines}")
        return wrong

    def _can_buy(self, pod: Object, pools: Mapping[str, Object]) -> bool:
        """Return whether a machine for the pod may be bought: every pod of the workloads fits on any type."""
        pool = pool_asked_for(pod)
        if pool not in pools or is_expendable(pod, pools[pool]) or self._pauses_for_long(pools[pool]):
            return False
        machines = list(self._witness.machines_of(pool))
        most, most_of = self._witness.most(pool, 0)
        room = any(sum(1 for _, t in machines if t == kind) < bound for kind, bound in most_of.items())
        return len(machines) < most and room

    def _pauses_for_long(self, pool: Object) -> bool:
        """Return whether the class buys nothing for so long that the pause may outlast a history."""
        name = pool["spec"].get("template", {}).get("classRef", {}).get("name", "default")
        for item in self._sim.world.cluster.peek(KWOK_NODE_CLASSES):
            pause = item.get("status", {}).get("pause")
            if item["metadata"]["name"] == name and pause is not None:
                since, until = (read_moment(pause[end]) for end in ("lastFailureAt", "until"))
                return since is not None and until is not None and until - since >= _LONG_PAUSE
        return False

    def _own_taints(self) -> list[tuple[str, str]]:
        return [
            (name, taint["key"])
            for name, node in self._witness.nodes.items()
            for taint in node.get("spec", {}).get("taints") or ()
            if taint["key"] in _OWN_TAINTS
        ]
