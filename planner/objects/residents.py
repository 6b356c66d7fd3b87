"""Which pods take room on which node."""

from collections.abc import Iterable

from planner.objects.kinds import Pod


def residents_by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Return the pods that take room by the node they are on or on their way to.

    Terminating ones do until they are gone, so that a preempted pod and the one it makes room for both count.
    """
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.lands_on and not pod.is_finished:
            found.setdefault(pod.lands_on, []).append(pod)
    return found
