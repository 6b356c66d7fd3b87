"""Asks pods to leave their node, and tells which of them may not."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from activities.ports.cluster import PODS, Cluster, Object
from activities.ports.errors import BudgetExhausted, Conflict, Forbidden, NotFound, Rejected
from planner.lifecycle.drain import Refusal

_AT_ONCE: Final = 8
"""Concurrent calls for the pods of one node."""


@dataclass(frozen=True, slots=True)
class EvictionRefused:
    """A pod that may not leave now."""

    reason: Refusal
    why: str
    """The answer of the API server, which begins with the pod's name."""


async def ask_to_leave(cluster: Cluster, pods: Sequence[Object], *, whatever_keeps_them: bool) -> list[EvictionRefused]:
    """Evict the pods, or delete them, both with their own grace, and return those that are refused.

    A pod that is gone, or whose name another one bears, counts as left.

    Raises:
        Unreachable: the API server gave no answer about a pod; the others were asked.
        Forbidden: these credentials may not do it.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(pod: Object) -> EvictionRefused | None:
        async with gate:
            return await _ask(cluster, pod, whatever_keeps_it=whatever_keeps_them)

    answers = await asyncio.gather(*(one(pod) for pod in pods), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if isinstance(answer, EvictionRefused)]


async def _ask(cluster: Cluster, pod: Object, *, whatever_keeps_it: bool) -> EvictionRefused | None:
    metadata = pod["metadata"]
    name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
    try:
        if whatever_keeps_it:
            await cluster.delete(PODS, name, namespace=namespace, uid=uid)
        else:
            await cluster.evict(name, namespace=namespace, uid=uid)
    except (NotFound, Conflict):
        return None
    except BudgetExhausted as error:
        return EvictionRefused(Refusal.BUDGET, str(error))
    except Forbidden:
        raise
    except Rejected as error:
        return EvictionRefused(Refusal.SERVER, str(error))
    return None
