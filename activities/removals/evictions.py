"""Evictions of pods: asked for, tried, and the refusals of the API server."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from activities.kube.json_patch import set_field
from activities.objects.pods import change_pod
from activities.ports.cluster import PODS, Cluster, Object, PatchOp
from activities.ports.errors import BudgetExhausted, Conflict, Forbidden, NotFound, Rejected
from api.keys import LABEL_HARD_GRACE_OVER
from planner.lifecycle.drain import Refusal

_AT_ONCE: Final = 8
"""Concurrent calls for the pods of one node."""


@dataclass(frozen=True, slots=True)
class EvictionRefused:
    """A pod whose eviction or deletion the API server refused."""

    reason: Refusal
    why: str
    """The answer of the API server, which begins with the pod's name."""


async def first_refusal(cluster: Cluster, pods: Sequence[Object]) -> str:
    """Return why the first pod that may not be evicted now may not, empty if all may; none is evicted.

    Raises:
        Unreachable: the API server does not answer.
        Forbidden: these credentials may not evict.
    """
    refused = await ask_to_leave(cluster, pods, dry_run=True)
    return refused[0].why if refused else ""


async def ask_to_leave(
    cluster: Cluster, pods: Sequence[Object], *, whatever_keeps_them: bool = False, dry_run: bool = False
) -> list[EvictionRefused]:
    """Evict the pods, or delete them, both with their own grace, and return those that are refused.

    A `dry_run` only asks whether they may be. A pod that is gone, or whose name another one bears, counts as left.

    Raises:
        Unreachable: the API server gave no answer about a pod; the others were asked.
        Forbidden: these credentials may not do it.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask_one(pod: Object) -> EvictionRefused | None:
        async with gate:
            return await _ask(cluster, pod, whatever_keeps_it=whatever_keeps_them, dry_run=dry_run)

    answers = await asyncio.gather(*(ask_one(pod) for pod in pods), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if isinstance(answer, EvictionRefused)]


async def _ask(cluster: Cluster, pod: Object, *, whatever_keeps_it: bool, dry_run: bool) -> EvictionRefused | None:
    metadata = pod["metadata"]
    name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
    try:
        if whatever_keeps_it:
            await change_pod(cluster, pod, _marked)
            await cluster.delete(PODS, name, namespace=namespace, uid=uid)
        else:
            await cluster.evict(name, namespace=namespace, uid=uid, dry_run=dry_run)
    except (NotFound, Conflict):
        # A label that could not be put on a pod that kept changing: the next round tries again.
        return None
    except BudgetExhausted as error:
        return EvictionRefused(Refusal.BUDGET, str(error))
    except Forbidden:
        raise
    except Rejected as error:
        return EvictionRefused(Refusal.SERVER, str(error))
    return None


def _marked(pod: Object) -> Sequence[PatchOp]:
    """Return the operations that mark the pod as one to delete: the base's policies let Growth delete no other."""
    if LABEL_HARD_GRACE_OVER in (pod["metadata"].get("labels") or {}):
        return ()
    return set_field(pod, ("metadata", "labels", LABEL_HARD_GRACE_OVER), "true")
