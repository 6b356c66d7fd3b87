"""Repair: a machine whose Node is dead goes, in pools with `scaleDown.repair`; in all others it is only reported.

Few at a time, and none while most Nodes of the cluster are not Ready: then the fault is in what all of them stand on.
No minimum keeps a dead machine, as it carries nothing: the next round buys another.
Source: Karpenter docs, "Disruption: Node Auto Repair"; Cluster API docs, "Configure a MachineHealthCheck".
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.keys import ANNOTATION_SPARED_AT, LABEL_REQUEST
from api.meta import format_timestamp, read_moment, shown_time
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.scale_down import Repair
from planner.lifecycle.removal import FOUND_DEAD
from planner.lifecycle.step import shortened
from planner.model.plan import Reason
from planner.objects.dead_nodes import are_most, judged_at
from planner.objects.kinds import Pod
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from planner.report.pool_report import MOST_UNREADY
from planner.supply.machines import Machine

PERCENT_AT_ONCE: Final = 20
"""Of the machines of a pool with a Node, rounded down, and at least one. Source: Karpenter, node repair."""
REPAIR: Final = "Repair"
"""Why a machine goes whose Node runs and has a bad condition: `planner.policies.triggers.failing_nodes`."""
NOT_REPAIRED: Final = "NotRepaired"
REPAIRS: Final = "Repairs"
KEPT: Final = "Kept"
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class _Dead:
    """A machine whose Node is dead, or will be if it stays as it is."""

    machine: Machine
    since: datetime
    at: datetime
    why_kept: str = ""
    """Why it stays, as the rest of a sentence; empty if it goes, or may."""
    is_going: bool = False


@dataclass(frozen=True, slots=True)
class DeadNodes:
    """Proposes the machines with dead Nodes, the longest dead first."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines that go, now or later, and a report for each pool with dead Nodes."""
        nodes = [machine.node for machine in view.machines if machine.node is not None]
        unready = sum(not node.is_ready for node in nodes)
        most = f"{unready} of {len(nodes)}" if are_most(unready, len(nodes)) else ""
        by_pool: defaultdict[str, list[Machine]] = defaultdict(list)
        for machine in view.machines:
            by_pool[machine.pool].append(machine)
        proposals: list[Proposal] = []
        reports: dict[str, Reason] = {}
        for pool in view.pools:
            name = pool.metadata.name
            if pool.metadata.deletion_timestamp is not None:
                continue
            dead = sorted(
                (dead_node for machine in by_pool[name] if (dead_node := _dead(machine, pool, view)) is not None),
                key=lambda dead_node: (dead_node.since, dead_node.machine.name),
            )
            chosen, rest = _chosen(dead, by_pool[name], view.now, is_open=not most)
            proposals += map(_proposal, chosen)
            now_dead = [dead_node for dead_node in (*chosen, *rest) if dead_node.at <= view.now]
            if now_dead:
                reports[name] = _report(now_dead, pool, most)
        return Advice(tuple(proposals), dead_nodes=reports)


def have_ended_in_vain(pods: Iterable[Pod], now: datetime) -> bool:
    """Return whether all these pods, those that belong to their node left out, should have ended by now."""
    return all(pod.is_terminating and (pod.ends_at is None or pod.ends_at <= now) for pod in counted(pods))


def counted(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods but for those that belong to their node: DaemonSet and mirror pods."""
    return [pod for pod in pods if not (pod.is_daemon or pod.is_mirror)]


def read_spared_at(annotations: Mapping[str, str]) -> datetime | None:
    """Return when a person last cancelled the repair of a node; a value that cannot be read counts as absent."""
    return read_moment(annotations.get(ANNOTATION_SPARED_AT, ""))


def is_under_repair(machine: Machine) -> bool:
    """Return whether it goes because its Node is dead or has a bad condition: both together are few at a time."""
    reasons = {FOUND_DEAD, REPAIR}
    return machine.is_leaving and machine.removal is not None and machine.removal.spec.reason in reasons


def _dead(machine: Machine, pool: NodePool, view: PolicyView) -> _Dead | None:
    node = machine.node
    if machine.is_leaving and not _is_repaired(machine):
        return None
    if node is None or node.is_ready or node.unready_since is None or node.labels.get(LABEL_REQUEST) != node.name:
        return None
    repair = pool.spec.scale_down.repair
    at = judged_at(
        node.unready_since,
        (repair or Repair()).after,
        watched_since=view.watched_since,
        spared_at=read_spared_at(node.annotations),
    )
    if machine.is_leaving:
        return _Dead(machine, node.unready_since, min(at, view.now), is_going=True)
    residents = counted(machine.residents)
    # Without pods it goes as an empty machine does, if nothing is said of dead ones.
    if not have_ended_in_vain(residents, view.now) or (repair is None and not residents):
        return None
    why_kept = view.refusals.get(machine.name, "")
    if repair is None:
        why_kept = "scaleDown.repair is not set"
    elif pool.spec.scale_down.mode == "none":
        why_kept = "scaleDown.mode is none"
    return _Dead(machine, node.unready_since, at, why_kept)


def _is_repaired(machine: Machine) -> bool:
    """Return whether it goes as a dead one, whatever has become of its Node."""
    return machine.is_leaving and machine.removal is not None and machine.removal.spec.reason == FOUND_DEAD


def _chosen(
    dead: Sequence[_Dead], of_pool: Sequence[Machine], now: datetime, *, is_open: bool
) -> tuple[list[_Dead], list[_Dead]]:
    """Return those to propose, now or later, and the others."""
    size = sum(machine.node is not None for machine in of_pool)
    left = max(1, size * PERCENT_AT_ONCE // 100) - sum(map(is_under_repair, of_pool))
    chosen: list[_Dead] = []
    rest: list[_Dead] = []
    for dead_node in dead:
        if dead_node.is_going or dead_node.why_kept or not is_open or (dead_node.at <= now and left <= 0):
            rest.append(dead_node)
            continue
        chosen.append(dead_node)
        left -= dead_node.at <= now
    return chosen, rest


def _proposal(dead_node: _Dead) -> Proposal:
    return Proposal(
        machine=dead_node.machine.name,
        action=MachineAction.REMOVE,
        reason=FOUND_DEAD,
        why=f"Not Ready since {format_timestamp(dead_node.since.replace(microsecond=0))}, and no pod on it can end",
        at=dead_node.at,
        below_minimum=True,
    )


def _report(dead: Sequence[_Dead], pool: NodePool, most: str) -> Reason:
    names = [
        f"{dead_node.machine.name} (since {shown_time(dead_node.since)}{_stays(dead_node)})"
        for dead_node in dead[:_NAMED]
    ]
    more = len(dead) - _NAMED
    listed = ", ".join(names) + (f" and {more} more" if more > 0 else "")
    subject = (
        "1 Node is not Ready, and its pods" if len(dead) == 1 else f"{len(dead)} Nodes are not Ready, and their pods"
    )
    message = f"{subject} cannot end: {listed}"
    may_go = pool.spec.scale_down.repair is not None and pool.spec.scale_down.mode != "none"
    if not may_go:
        code = NOT_REPAIRED
    elif most:
        code = MOST_UNREADY
        message = f"No dead machine is removed while most Nodes of the cluster are not Ready, {most}. {message}"
    elif all(dead_node.why_kept for dead_node in dead):
        code = KEPT
    else:
        code = REPAIRS
        message = f"{message}. At most {PERCENT_AT_ONCE} % of the pool, or one, go at a time"
    return Reason(code, shortened(message))


def _stays(dead_node: _Dead) -> str:
    return f"; stays: {dead_node.why_kept}" if dead_node.why_kept else ""
