"""Why pods stay on a machine of a pool that consolidates, though nothing keeps them there."""

from collections.abc import Iterator

from planner.consolidation.looks import are_machines_changing
from planner.consolidation.quiet import quiet_since
from planner.consolidation.terms import CONSOLIDATED
from planner.displacement.displace import movable
from planner.objects.kinds import Node
from planner.supply.machines import Machine
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.tables import count
from worker.commands.shared.times import until
from worker.commands.why.budget import budget_state, when_it_opens


def why_not_moved(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    """Yield why consolidation moves none of its pods now; nothing of a machine whose pool does not consolidate."""
    pool, now = view.pool(machine.pool), view.snapshot.now
    settings = None if pool is None or not pool.consolidates else pool.spec.scale_down.consolidate
    pods = movable(machine)
    if settings is None or not pods:
        return
    quiet_at = quiet_since(node, pods, now, settings.after).since + settings.after
    if now < quiet_at:
        yield f"Consolidation looks at it from {until(quiet_at, now)} on, if no pod comes or goes until then."
    state = budget_state(machine.pool, CONSOLIDATED, view)
    if state is not None and state.left == 0:
        most = count(state.allowed or 0, "machine")
        allows = f"{most} go at once, and so many go already" if state.allowed else "none go now"
        yield f"Consolidation waits for the budget of pool {machine.pool}, which lets {allows}."
        yield from when_it_opens(state, view)
    elif now >= quiet_at:
        is_busy = bool(view.plan.requests or view.plan.placed) or are_machines_changing(
            view.machines.values(), view.known.seating, now
        )
        yield (
            "Consolidation moves no pods while others wait for room or machines are coming."
            if is_busy
            else "Consolidation finds nothing to save by moving its pods."
        )
