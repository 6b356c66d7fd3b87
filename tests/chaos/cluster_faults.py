"""An API server that misbehaves towards Growth alone: people, kubelets and scheduler are not disturbed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from activities.ports.cluster import PODS, Resource, WatchEvent
from activities.ports.errors import Conflict, Expired, GrowthError, Rejected, Unreachable
from tests.chaos.taps import READS


class FaultyCluster:
    """The `Cluster` port; `fault` says for each call whether it fails, before it has any effect.

    Args:
        cluster: the real one.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.calls: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def fault(self, verb: str, resource: Resource) -> GrowthError | None:
        """Return what the call answers instead of the truth."""
        raise NotImplementedError

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        call: Callable[..., Awaitable[Any]] = getattr(self._cluster, verb)

        async def faulty(target: Any, *given: Any, **options: Any) -> Any:
            # An eviction names no resource: it is always about a pod.
            self._meet(verb, target if isinstance(target, Resource) else PODS)
            return await call(target, *given, **options)

        return faulty

    async def watch(self, resource: Resource, **options: Any) -> AsyncIterator[WatchEvent]:
        """Yield changes until a fault ends the stream."""
        self._meet("watch", resource)
        async for event in self._cluster.watch(resource, **options):
            yield event

    def _meet(self, verb: str, resource: Resource) -> None:
        name = f"{verb} {resource.plural}"
        self.calls[name] += 1
        error = self.fault(verb, resource)
        if error is not None:
            self.failed[name] += 1
            raise error


class Down(FaultyCluster):
    """Answers nothing for a while, once, beginning with the first write of the named kind.

    Args:
        cluster: the real one.
        at: plural of the kind.
        seconds: how long.
        retry_after: what the answer asks for, as a 429 does; without it there is no answer.
    """

    def __init__(self, cluster: Any, *, at: str, seconds: float, retry_after: float | None = None) -> None:
        super().__init__(cluster)
        self._at = at
        self._seconds = seconds
        self._retry_after = retry_after
        self._until: float | None = None

    def fault(self, verb: str, resource: Resource) -> GrowthError | None:
        now = asyncio.get_running_loop().time()
        if self._until is None and verb not in (*READS, "watch") and resource.plural == self._at:
            self._until = now + self._seconds
        if self._until is not None and now < self._until:
            return Unreachable("injected: the API server is down or busy", self._retry_after)
        return None


class Quarrelsome(FaultyCluster):
    """Says of each write at first that the object has changed meanwhile."""

    def fault(self, verb: str, resource: Resource) -> GrowthError | None:
        if verb not in ("patch", "delete"):
            return None
        return Conflict("injected: the object has changed") if self.calls[f"{verb} {resource.plural}"] % 2 else None


class Webhook(FaultyCluster):
    """Refuses every patch of a kind for a while, as an admission webhook that is wrongly set up.

    Args:
        cluster: the real one.
        of: plural of the kind.
        times: how many it refuses.
    """

    def __init__(self, cluster: Any, *, of: str, times: int) -> None:
        super().__init__(cluster)
        self._of = of
        self._times = times

    def fault(self, verb: str, resource: Resource) -> GrowthError | None:
        refuses = verb == "patch" and resource.plural == self._of and self.failed[f"patch {self._of}"] < self._times
        return Rejected("injected: admission webhook denied the request") if refuses else None


class ShortWatches:
    """Ends each watch after a few events, or says then that its version is too old.

    Args:
        cluster: the real one.
        after: events.
        ends_with: nothing for an end without a word, as a time-out of the server.
    """

    def __init__(self, cluster: Any, *, after: int, ends_with: Sequence[type[Expired]] = ()) -> None:
        self._cluster = cluster
        self._after = after
        self._ends_with = ends_with
        self.ended = 0

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._cluster, verb)

    async def watch(self, resource: Resource, **options: Any) -> AsyncIterator[WatchEvent]:
        """Yield a few changes."""
        count = 0
        async for event in self._cluster.watch(resource, **options):
            yield event
            count += 1
            if count >= self._after:
                self.ended += 1
                for error in self._ends_with:
                    raise error("injected: resourceVersion is too old")
                return
