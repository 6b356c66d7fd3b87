"""Evictions of pods: asked for, tried, and the refusals of the API server.

A budget selects pods by namespace and labels, and treats those that are Ready alike: what it says of one pod holds for
all that are its equals. So once it has refused one of them, the others are not asked in that round: of 250 pods of a
Deployment whose budget lets one go at a time, a round asks three at most.
Source: Kubernetes API, PodDisruptionBudgetSpec, selector and unhealthyPodEvictionPolicy.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from activities.kube.json_patch import set_field
from activities.objects.pods import change_pod
from activities.ports.cluster import PODS, Cluster, Object, PatchOp
from activities.ports.errors import BudgetExhausted, Conflict, Forbidden, NotFound, Rejected
from api.keys import LABEL_HARD_GRACE_OVER
from planner.lifecycle.drain import Refusal
from planner.lifecycle.json_predicates import is_ready

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_AT_ONCE: Final = 8
"""Concurrent calls for the pods of one node."""


@dataclass(frozen=True, slots=True)
class EvictionRefused:
    """A pod whose eviction or deletion the API server refused."""

    reason: Refusal
    why: str
    """The answer of the API server, which names the pod; of an equal one, if this one was not asked."""


async def first_refusal(cluster: Cluster, pods: Sequence[Object]) -> str:
    """Return why the first pod that may not be evicted now may not, empty if all may; none is evicted.

    Raises:
        Unreachable: the API server does not answer.
        Forbidden: these credentials may not evict.
    """
    refused = await ask_to_leave(cluster, pods, dry_run=True)
    return refused[0].why if refused else ""


async def ask_to_leave(cluster: Cluster, pods: Sequence[Object], *, dry_run: bool = False) -> list[EvictionRefused]:
    """Evict the pods with their own grace, and return a refusal for each that stays, in their order.

    A `dry_run` only asks whether they may be. A pod that is gone, or whose name another one bears, counts as left.

    Raises:
        Unreachable: the API server gave no answer about a pod; the others were asked.
        Forbidden: these credentials may not do it.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def evict(pod: Object) -> EvictionRefused | None:
        async with gate:
            metadata = pod["metadata"]
            place = {"namespace": metadata["namespace"], "uid": metadata["uid"]}
            return await _refused(cluster.evict(metadata["name"], **place, dry_run=dry_run))

    async def evict_equals(equals: Sequence[Object]) -> dict[str, EvictionRefused]:
        refusals: dict[str, EvictionRefused] = {}
        errors: list[Exception] = []
        done, number = 0, 1
        while done < len(equals):
            asked = equals[done : done + number]
            answers = await asyncio.gather(*map(evict, asked), return_exceptions=True)
            errors += [answer for answer in answers if isinstance(answer, Exception)]
            refusals |= {
                pod["metadata"]["uid"]: answer
                for pod, answer in zip(asked, answers, strict=True)
                if isinstance(answer, EvictionRefused)
            }
            # A budget that has let so many go may let more go: one that lets one go at a time is asked twice or thrice.
            done, number = done + number, min(2 * number, _AT_ONCE)
            by_budget = next((one for one in refusals.values() if one.reason is Refusal.BUDGET), None)
            if by_budget is not None:
                refusals |= {pod["metadata"]["uid"]: by_budget for pod in equals[done:]}
                break
        if errors:
            raise errors[0]
        return refusals

    by_uid: dict[str, EvictionRefused] = {}
    for refusals in await _all(_equals(pods), evict_equals):
        by_uid |= refusals
    return [by_uid[pod["metadata"]["uid"]] for pod in pods if pod["metadata"]["uid"] in by_uid]


async def delete_pods(
    cluster: Cluster, pods: Sequence[Object], graces: Mapping[str, timedelta]
) -> list[EvictionRefused]:
    """Delete the pods whatever keeps them, and return those that are refused.

    Args:
        cluster: the API server.
        pods: those to delete, marked first: the base's policies let Growth delete no other.
        graces: by uid, the time to end of those that have not their own.

    Raises:
        Unreachable: the API server gave no answer about a pod; the others were deleted.
        Forbidden: these credentials may not do it.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def delete(pod: Object) -> EvictionRefused | None:
        async with gate:
            return await _refused(_delete(cluster, pod, graces.get(pod["metadata"]["uid"])))

    return [answer for answer in await _all(pods, delete) if answer is not None]


async def _delete(cluster: Cluster, pod: Object, grace: timedelta | None) -> None:
    metadata = pod["metadata"]
    await change_pod(cluster, pod, _marked)
    await cluster.delete(PODS, metadata["name"], namespace=metadata["namespace"], uid=metadata["uid"], grace=grace)


async def _all(items: Sequence[Item], act: Callable[[Item], Awaitable[Answer]]) -> list[Answer]:
    """Return the answers for all items; an error is raised once each has its answer."""
    answers = await asyncio.gather(*(act(item) for item in items), return_exceptions=True)
    complete: list[Answer] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        complete.append(answer)
    return complete


async def _refused(call: Awaitable[None]) -> EvictionRefused | None:
    try:
        await call
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


def _equals(pods: Sequence[Object]) -> list[list[Object]]:
    """Return the pods in groups for which every budget has the same answer."""
    groups: dict[object, list[Object]] = {}
    for pod in pods:
        metadata = pod["metadata"]
        labels = frozenset((metadata.get("labels") or {}).items())
        groups.setdefault((metadata["namespace"], labels, is_ready(pod)), []).append(pod)
    return list(groups.values())


def _marked(pod: Object) -> Sequence[PatchOp]:
    """Return the operations that mark the pod as one to delete: the base's policies let Growth delete no other."""
    if LABEL_HARD_GRACE_OVER in (pod["metadata"].get("labels") or {}):
        return ()
    return set_field(pod, ("metadata", "labels", LABEL_HARD_GRACE_OVER), "true")
