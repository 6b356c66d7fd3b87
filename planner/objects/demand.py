"""Which pods ask for machines."""

from planner.objects.kinds import Pod


def may_be_placed(pod: Pod) -> bool:
    """Return whether the scheduler may bind this pod now or soon: it waits, for itself and not for one node.

    DaemonSet and mirror pods belong to their node, as does one that a node is kept for; gated pods wait for someone
    else.
    """
    return (
        not pod.lands_on
        and pod.phase == "Pending"
        and not (pod.is_terminating or pod.is_gated or pod.is_daemon or pod.is_mirror)
    )


def is_demand(pod: Pod) -> bool:
    """Return whether this pod asks for a machine: the scheduler has found no place for it.

    Source: docs/design.md#demand.
    """
    return pod.is_unschedulable and may_be_placed(pod)
