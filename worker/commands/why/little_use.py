"""How much of a node and of its pool is requested, where machines go as that is little: and what each waits for."""

from collections.abc import Iterator

from api.duration import format_duration
from api.keys import ANNOTATION_UNDERUSED_SINCE
from api.meta import read_moment
from api.v1alpha1.pool_parts.utilisation import NodeUtilisation
from planner.model.pool_figures import Use, shown
from planner.objects.kinds import Node
from planner.policies.triggers.node_utilisation import is_little_used
from planner.policies.utilisation.pool_use import SHRINKING_MODES, is_counted
from planner.policies.utilisation.shares import asked_on, capacity_of
from planner.supply.machines import Machine
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.pool_lines import use_lines
from worker.commands.shared.times import since, until


def little_use(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    """Yield a sentence on each trigger by use that the node's pool has, due or not."""
    pool = view.pool(machine.pool)
    if pool is None or pool.spec.scale_down.mode not in SHRINKING_MODES or not is_counted(machine):
        return
    wish = pool.spec.scale_down
    if wish.node is not None:
        yield _of_node(machine, node, wish.node, view)
    if wish.group is not None:
        yield from use_lines(machine.pool, view.plan)


def _of_node(machine: Machine, node: Node, wish: NodeUtilisation, view: ClusterView) -> str:
    if wish.is_by_usage:
        return _of_usage(machine, node, wish, view)
    asked, has, now = asked_on(machine), capacity_of(machine), view.snapshot.now
    shares = " and ".join(f"{shown(share)} % of its {name}" for name, share in Use(asked, has).shares.items())
    bounds = f"below {wish.cpu_percent} % and {wish.memory_percent} %: scaleDown.node"
    if not is_little_used(asked, has, wish):
        return f"Its pods request {shares}: it would go {bounds}."
    began = read_moment(node.annotations.get(ANNOTATION_UNDERUSED_SINCE, ""))
    use = f"Its pods request {shares}, {bounds}"
    if began is None:
        return f"{use}; its window begins with the next round."
    at = began + wish.window
    goes = "its window is over" if at <= now else f"it goes at {until(at, now)} if that stays so"
    return f"{use}; so since {since(began, now)}: {goes}."


def _of_usage(machine: Machine, node: Node, wish: NodeUtilisation, view: ClusterView) -> str:
    bounds = f"{wish.cpu_percent} % of its cpu and {wish.memory_percent} % of its memory"
    goes = f"it would go after {format_duration(wish.window)} below {bounds}: scaleDown.node, basis usage"
    usage = view.snapshot.usage
    if not (samples := usage.samples.get(node.name)):
        return f"What it uses is not known{f' ({usage.problem})' if usage.problem else ''}; {goes}."
    used = {"cpu": samples[-1].cpu, "memory": samples[-1].memory}
    shares = " and ".join(
        f"{shown(share)} % of its {name}" for name, share in Use(used, capacity_of(machine)).shares.items()
    )
    # Each worker samples for itself: a command knows this one sample.
    return f"It uses {shares}; {goes}."
