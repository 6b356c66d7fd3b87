"""Which machine takes the place of which, and where its pods go: the same told of both."""

from collections.abc import Iterator

from api.v1alpha1.node_removal_request import NodeRemovalRequest
from planner.supply.replacement.moving import replaced_by_name
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.machine_state import state
from worker.commands.shared.tables import count, names


def why_replaces(name: str, view: ClusterView) -> Iterator[str]:
    """Yield the machines whose place the machine takes, as long as they go."""
    replaced = [machine.name for machine in replaced_by_name(view.machines.values()).get(name, ())]
    if replaced:
        yield (
            f"It takes the place of {', '.join(replaced)}: pods stay there until it is Ready, and it is kept for them "
            f"until they have moved. `growth why removal {replaced[0]}` tells more."
        )


def why_replaced(removal: NodeRemovalRequest, view: ClusterView) -> Iterator[str]:
    """Yield why its pods move, the machines that take the place of one that goes, and where its pods move to."""
    now = view.snapshot.now
    if removal.spec.why:
        yield f"{removal.spec.reason}: {removal.spec.why}."
    machines = {name: view.machines.get(name) for name in removal.spec.replaced_by}
    if machines:
        states = (f"{name} ({'gone' if one is None else state(one, now)})" for name, one in machines.items())
        yield f"It is replaced by {', '.join(states)}."
    moves = removal.spec.moves
    if moves:
        pods = [f"{move.pod} to {move.node}" for move in moves]
        yield f"Machines that are there have room for {count(len(pods), 'pod')} of it: {names(pods)}."
