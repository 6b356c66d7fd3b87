"""Consolidation to rest after half of the pods have left: what is left over packing anew, pods moved, and CPU seconds.

python -m benchmarks.consolidate [NODES ...]

Each size once an hour after the last pod has left, when moves must bring their whole share, and once a day after it.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Final

from api.keys import ANNOTATION_CURRENCY, ANNOTATION_PODS_SINCE, ANNOTATION_PRICE, LABEL_REQUEST
from api.meta import format_timestamp
from api.v1alpha1.consolidation import Consolidation
from benchmarks.generator import Recipe, draw
from benchmarks.objects import snapshot_of
from planner.consolidation.policy import Consolidating
from planner.consolidation.quiet import pods_hash
from planner.displacement.displace import waiting
from planner.model.plan import PlannedRequest, Snapshot
from planner.model.stages import unwatched
from planner.objects.kinds import Node, Pod
from planner.packing.optimiser.solve import solve, warm
from planner.placement.decide import decide
from planner.placement.known_state import prepare
from planner.plan import plan
from planner.policies.departures import candidates
from planner.policies.port import Advice, PolicyView
from planner.supply.machines import price_list
from planner.supply.node_template import node_labels

DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_SIZES: Final = (100, 300, 1000, 3000)
_PODS_OF_NODE: Final = 10
"""Left on each, after as many have gone."""
_SHAPES: Final = 60
_MOST_ROUNDS: Final = 400
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What consolidation came to."""

    nodes: int
    pods: int
    quiet: timedelta
    """For how long no pod had come or left."""
    first_seconds: float
    """CPU of the first look."""
    seconds: float
    """CPU of all looks."""
    rounds: int
    moved: int
    bought: int
    before: Decimal
    after: Decimal
    anew: Decimal
    """What the same pods cost on new machines alone."""

    @property
    def row(self) -> str:
        """One line of the table."""
        over = float((self.after / self.anew - 1) * _PERCENT)
        began = float((self.before / self.anew - 1) * _PERCENT)
        return (
            f"{self.nodes:>6} nodes {self.pods:>6} pods, {self.quiet // _HOUR:>2} h later: "
            f"first look {self.first_seconds:.2f} s, "
            f"all {self.seconds:.1f} s in {self.rounds} rounds; {began:.1f} % over anew -> {over:.2f} %; "
            f"{self.moved} moves, {self.bought} bought\n"
        )


def rest_of(nodes: int, seed: int = 0, *, quiet: timedelta = DAY, mix: bool = False, zonal: bool = False) -> Rest:
    """Return what consolidation comes to on a cluster of about so many nodes.

    Half of its pods have left, `quiet` ago.
    """
    snapshot = _half_left(nodes, seed, mix=mix, zonal=zonal)
    anew = _anew(snapshot)
    before = _price(snapshot)
    took: list[float] = []
    moved = bought = rounds = 0
    while rounds < _MOST_ROUNDS:
        rounds += 1
        snapshot = _quiet(snapshot, quiet)
        advice, seconds = _look(snapshot)
        took.append(seconds)
        if not advice.proposals:
            break
        snapshot, moves = _after(snapshot, advice)
        moved += moves
        bought += len(advice.requests)
    return Rest(
        nodes=nodes,
        pods=len(snapshot.pods),
        quiet=quiet,
        first_seconds=took[0],
        seconds=sum(took),
        rounds=rounds,
        moved=moved,
        bought=bought,
        before=before,
        after=_price(snapshot),
        anew=anew,
    )


def _look(snapshot: Snapshot) -> tuple[Advice, float]:
    """Return what consolidation advises, and the CPU seconds of that alone."""
    known = prepare(snapshot)
    decided = decide(known, solve, unwatched)
    machines = tuple(known.machines.values())
    view = PolicyView(
        snapshot.now,
        tuple(candidates(snapshot.pools, machines)),
        {},
        price_list(snapshot),
        pools=snapshot.pools,
        machines=machines,
    )
    began = time.process_time()
    advice = Consolidating(known, decided, solve).propose(view)
    return advice, time.process_time() - began


def _half_left(nodes: int, seed: int, *, mix: bool, zonal: bool) -> Snapshot:
    """Return a cluster that was packed by the optimiser, and lost every second pod by chance."""
    pods = 2 * _PODS_OF_NODE * nodes
    snapshot = snapshot_of(draw(Recipe(pods=pods, shapes=_SHAPES, seed=seed, mix=mix, zonal=zonal)))
    pool = snapshot.pools[0]
    scale_down = pool.spec.scale_down.model_copy(update={"mode": "drain", "consolidate": Consolidation()})
    pool = pool.model_copy(update={"spec": pool.spec.model_copy(update={"scale_down": scale_down})})
    snapshot = replace(snapshot, pools=(pool,))
    made = plan(snapshot, solve)
    snapshot = _with(snapshot, made.requests, "first")
    stay = set(Random(seed).sample([pod.uid for pod in snapshot.pods], len(snapshot.pods) // 2))  # noqa: S311
    return replace(snapshot, pods=tuple(pod for pod in snapshot.pods if pod.uid in stay and pod.node_name))


def _with(snapshot: Snapshot, requests: Sequence[PlannedRequest], name: str) -> Snapshot:
    """Return the cluster once these machines have come and have their pods."""
    offerings = {
        (each.server_type, each.location): each for node_class in snapshot.classes for each in node_class.offerings
    }
    nodes: list[Node] = []
    homes: dict[str, str] = {}
    for request in requests:
        offering, own = offerings[request.server_type, request.location], f"{name}-{request.ordinal}"
        nodes.append(
            Node(
                name=own,
                uid=own,
                allocatable=offering.allocatable,
                labels={**node_labels(snapshot.pools[0], offering, own), LABEL_REQUEST: own},
                annotations={ANNOTATION_PRICE: str(offering.price_per_hour), ANNOTATION_CURRENCY: offering.currency},
                is_ready=True,
            )
        )
        homes.update((seat.uid, own) for seat in request.seats)
    pods = tuple(
        replace(pod, node_name=homes[pod.uid], phase="Running", is_unschedulable=False) if pod.uid in homes else pod
        for pod in snapshot.pods
    )
    return replace(snapshot, nodes=(*snapshot.nodes, *nodes), pods=pods)


def _after(snapshot: Snapshot, advice: Advice) -> tuple[Snapshot, int]:
    """Return the cluster after the steps, and the number of pods that moved."""
    gone = {proposal.machine for proposal in advice.proposals}
    moves = {move.pod: move.node for proposal in advice.proposals for move in proposal.moves}
    moved = sum(pod.node_name in gone for pod in snapshot.pods)
    pods = tuple(replace(pod, node_name=moves[pod.key]) if pod.key in moves else pod for pod in snapshot.pods)
    snapshot = replace(snapshot, pods=pods, nodes=tuple(node for node in snapshot.nodes if node.name not in gone))
    if advice.requests:
        snapshot = _with(snapshot, advice.requests, f"m{len(snapshot.nodes)}-{min(gone)[:20]}")
    return snapshot, moved


def _quiet(snapshot: Snapshot, quiet: timedelta) -> Snapshot:
    """Return the cluster with Nodes whose pods have been the same for so long."""
    by_node: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        by_node.setdefault(pod.node_name, []).append(pod)
    since = format_timestamp(snapshot.now - quiet)
    # One that is empty has gone by then.
    nodes: list[Node] = []
    for node in snapshot.nodes:
        if node.name in by_node:
            mark = f"{since} {pods_hash(by_node[node.name])}"
            nodes.append(replace(node, annotations={**node.annotations, ANNOTATION_PODS_SINCE: mark}))
    return replace(snapshot, nodes=tuple(nodes))


def _price(snapshot: Snapshot) -> Decimal:
    used = {pod.node_name for pod in snapshot.pods}
    return sum((Decimal(n.annotations[ANNOTATION_PRICE]) for n in snapshot.nodes if n.name in used), Decimal(0))


def _anew(snapshot: Snapshot) -> Decimal:
    return plan(replace(snapshot, nodes=(), pods=tuple(map(waiting, snapshot.pods))), solve).cost_per_hour


def main(sizes: Sequence[int]) -> None:
    """Print a row for each size."""
    warm()
    for nodes in sizes:
        for quiet in (_HOUR, DAY):
            sys.stdout.write(rest_of(nodes, quiet=quiet).row)
            sys.stdout.flush()


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or _SIZES)
