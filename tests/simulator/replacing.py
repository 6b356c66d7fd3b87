"""Plans by hand that replace machines, as a policy would make them, beside what a round decides by itself."""

from dataclasses import replace
from decimal import Decimal

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from api.keys import ANNOTATION_MOVE_FAILED
from api.v1alpha1.node_pool import ClassRef
from planner.model.plan import Move, Plan, PlannedRemoval, PlannedRequest
from planner.objects.pauses import read_pause
from planner.parsing.objects import parse_pod
from planner.supply.pod_group import GroupKeys, seat_of

PRICES = {"small": Decimal("0.010"), "large": Decimal("0.015")}


class Replacing:
    """Wants machines replaced: by a new one of a type, or by the room of others. Each round decides anew.

    Nothing is begun while a machine comes or goes, nor again before the wait after a failure is over.
    """

    def __init__(self, sim, sources, *, by="large", moves=None):
        self.sim, self.sources, self.by, self.moves = sim, sources, by, moves or {}
        self.begun = 0
        """Plans that were made."""

    def equip(self, ports):
        async def compute(work):
            made = await ports.compute(work)
            return self.change(made) if isinstance(made, Plan) else made

        return replace(ports, compute=compute)

    def change(self, plan):
        cluster = self.sim.world.cluster
        nodes = {node["metadata"]["name"]: node for node in cluster.peek(NODES)}
        is_busy = bool(plan.requests or cluster.peek(NODE_REQUESTS) or cluster.peek(NODE_REMOVAL_REQUESTS))
        if is_busy or not set(self.sources) <= set(nodes) or any(self.waits(nodes[name]) for name in self.sources):
            return plan
        pods = [parse_pod(pod) for pod in cluster.peek(PODS) if pod["spec"].get("nodeName") in self.sources]
        if any(pod.is_terminating for pod in pods) or {pod.node_name for pod in pods} != set(self.sources):
            return plan
        self.begun += 1
        self.sim.tell("solver", f"replaces {', '.join(self.sources)}")
        requests = (self.request(pods),) if self.by else ()
        return replace(
            plan, requests=requests, removals=tuple(self.removal(name, nodes[name], pods) for name in self.sources)
        )

    def waits(self, node):
        pause = read_pause(node["metadata"].get("annotations") or {}, ANNOTATION_MOVE_FAILED)
        return pause is not None and not pause.is_over(self.sim.now())

    def request(self, pods):
        (pool,) = self.sim.world.cluster.peek(NODE_POOLS)
        keys = GroupKeys()
        return PlannedRequest(
            ordinal=0,
            pool="default",
            pool_uid=pool["metadata"]["uid"],
            server_type=self.by,
            location="fsn1",
            class_ref=ClassRef(),
            price_per_hour=PRICES[self.by],
            seats=tuple(seat_of(pod, keys.of(pod)) for pod in pods),
            reserve=pool["spec"].get("scaleUp", {}).get("reserve", True),
            why="Saves something",
        )

    def removal(self, name, node, pods):
        return PlannedRemoval(
            node=name,
            server=name,
            provider_id=node["spec"]["providerID"],
            pool="default",
            server_type="small",
            location="fsn1",
            class_ref=ClassRef(),
            reason="Consolidation",
            why="Saves something",
            at=self.sim.now(),
            replacement=(0,) if self.by else (),
            moves=tuple(
                Move(pod.key, self.moves[name]) for pod in pods if pod.node_name == name and name in self.moves
            ),
            step="step" if len(self.sources) > 1 else "",
        )
