"""The state of a machine in plain words."""

from datetime import datetime

from api.keys import ANNOTATION_DO_NOT_REMOVE, LABEL_REQUEST
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.objects.kinds import Node, Pod
from planner.policies.emptiness import read_idle_since
from planner.supply.machines import Machine
from worker.commands.shared.tables import count
from worker.commands.shared.times import clock, span


def is_ours(machine: Machine) -> bool:
    """Return whether Growth bought the machine, or was asked to buy or to remove it."""
    by_node = machine.node is not None and machine.node.labels.get(LABEL_REQUEST) == machine.node.name
    return by_node or machine.request is not None or machine.removal is not None


def own_pods(machine: Machine) -> list[Pod]:
    """Return the pods on the machine that are not part of it: those of DaemonSets and their like are left out."""
    return [pod for pod in machine.residents if pod.node_name and not pod.is_of_node]


def per_node_pods(machine: Machine) -> list[Pod]:
    """Return the pods of other controllers than DaemonSets that belong to the machine."""
    return [pod for pod in machine.residents if pod.is_per_node]


def awaited_pods(machine: Machine) -> list[Pod]:
    """Return the pods that the scheduler keeps the machine for: DaemonSet and mirror pods left out."""
    return [pod for pod in machine.residents if not (pod.node_name or pod.is_of_node)]


def state(machine: Machine, now: datetime) -> str:
    """Return in a few words where the machine stands."""
    if machine.removal is not None:
        return _under_removal(machine.removal, now)
    if machine.request is not None and machine.request.status.phase is not RequestPhase.READY:
        return _coming(machine.request, now)
    if machine.node is None:
        return "Ready once, its Node is gone"
    return _there(machine, machine.node, now)


def _under_removal(removal: NodeRemovalRequest, now: datetime) -> str:
    status = removal.status
    if status.phase is RemovalPhase.DEPROVISIONING:
        return f"is being deleted, {count(status.removal_attempts, 'call')} so far"
    if status.phase is RemovalPhase.COULD_NOT_REMOVE:
        at = "" if status.retry_at is None else f", tried again at {clock(status.retry_at, now)}"
        return f"could not be deleted: parked{at}"
    if status.cancel is not None:
        return f"stays: its removal was cancelled by {status.cancel.by}"
    if status.phase is RemovalPhase.DRAINING:
        return f"is drained ({status.reason or RemovalPhase.DRAINING}), then goes"
    if removal.spec.immediate:
        return "its server is to be deleted"
    at = "" if status.scale_down_at is None else f" until {clock(status.scale_down_at, now)}"
    if removal.spec.replaced_by:
        return f"is to be replaced by {', '.join(removal.spec.replaced_by)}, awaited{at}"
    if removal.spec.moves:
        return f"goes once its {count(len(removal.spec.moves), 'pod')} have moved"
    return f"cools off{at}, then goes"


def _coming(request: NodeRequest, now: datetime) -> str:
    status = request.status
    if request.metadata.deletion_timestamp is not None:
        return "is cancelled"
    match status.phase:
        case RequestPhase.PENDING:
            return "is not asked for yet" if status.create_attempt_at is None else "is being asked for"
        case RequestPhase.PROVISIONING if status.registered_at is not None:
            return f"has joined, not Ready yet{_by(status.join_deadline, now)}"
        case RequestPhase.PROVISIONING if status.running_at is not None:
            return f"runs, its Node shall join{_by(status.join_deadline, now)}"
        case RequestPhase.PROVISIONING:
            return f"boots{_by(status.provisioning_deadline, now)}"
        case RequestPhase.UNMET:
            return "no capacity: no machine"
        case RequestPhase.FAILED:
            return f"failed ({status.reason or 'no reason told'}): no machine"
        case _:
            return "is given up and handed over to a removal"


def _there(machine: Machine, node: Node, now: datetime) -> str:
    words = ["Ready" if node.is_ready else "not Ready"]
    if node.is_terminating:
        words.append("its Node is being deleted")
    if machine.is_reserved and machine.request is not None:
        words.append(f"kept for {count(len(machine.request.spec.reserved_for), 'pod')}")
    if node.is_cordoned:
        words.append("cordoned")
    if node.annotations.get(ANNOTATION_DO_NOT_REMOVE):
        words.append("do-not-remove")
    since = read_idle_since(node)
    if since is not None:
        words.append(f"idle for {span(now - since)}")
    return ", ".join(words)


def _by(moment: datetime | None, now: datetime) -> str:
    return "" if moment is None else f", due by {clock(moment, now)}"
