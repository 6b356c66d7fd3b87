"""A local copy of some resources, kept up to date by list and watch, for readers that ask often.

It satisfies `Reader`. It may lag behind the API server, so nothing is written on its word alone: writes
are conditional on the version that was read. Of kinds that are read for a few fields it keeps nothing else.

A watch lasts for minutes and costs nothing while it is quiet; but a connection that died without a word is as quiet,
and so is a watch from a version that the API server has lost, as after a restore of its store. So after a silence a
list tells, while the watch goes on; a second silence ends the watch.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from activities.ports.cluster import (
    CSI_NODES,
    DISRUPTION_BUDGETS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Cluster,
    Object,
    ObjectList,
    Resource,
    WatchEvent,
    version_number,
)
from activities.ports.errors import Expired, Forbidden, GrowthError, NotFound, Unreachable

log = logging.getLogger(__name__)

Key = tuple[str, str]
Subscriber = Callable[[Resource, WatchEvent, Object | None], None]
"""Called with each change: the resource, the event and the object as it was before, None if it did not exist."""

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0
"""As client-go's reflectors: an API server that comes back must not be met by all its clients at once."""
_SILENCE_SECONDS: Final = 75.0
"""An API server sends a bookmark a minute on watches of kinds that change, a second or two late at most.
Source: Kubernetes, apiserver/pkg/storage/cacher, `defaultBookmarkFrequency`."""
_LONGEST_UNDEFINED_SECONDS: Final = 3.0
"""For a kind that is not defined: asking costs next to nothing, and whoever has defined it waits for the answer."""

_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
_FIELDS: Final[Mapping[Resource, frozenset[str]]] = {
    NAMESPACES: _IDENTITY,
    PERSISTENT_VOLUME_CLAIMS: _IDENTITY | {"spec", "status"},
    PERSISTENT_VOLUMES: _IDENTITY | {"spec", "status"},
    STORAGE_CLASSES: _IDENTITY | {"provisioner", "volumeBindingMode", "allowedTopologies"},
    CSI_NODES: _IDENTITY | {"spec"},
    LIMIT_RANGES: _IDENTITY | {"spec"},
    DISRUPTION_BUDGETS: _IDENTITY | {"spec", "status"},
}
"""Fields kept of a kind; of a kind that is not here, all."""
_BULKY: Final = "kubectl.kubernetes.io/last-applied-configuration"


class _Store:
    """The copy of one resource."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.items: dict[Key, Object] = {}
        self.version = ""
        """Of the newest change that is known; empty before the first list, and while the resource is undefined."""
        self.must_list = True
        self.confirmed = 0
        """The version at which a list has confirmed the watch that is under way; 0 before that."""
        self.is_absent = False
        """Whether it is optional and not defined, or dispensable and may not be read: then it counts as empty."""
        self.failures = 0
        self.failure: GrowthError | None = None
        """Of the last attempt that failed."""
        self.followed_from: float | None = None
        """Since when, by the loop's clock, it is followed without a failure."""

    @property
    def is_known(self) -> bool:
        """Whether it is known what objects there are."""
        return bool(self.version) or self.is_absent


class Cache:
    """Copies of resources.

    Args:
        cluster: where they come from.
        resources: which ones.
        sleep: waits so many seconds; a test's may not wait at all.
    """

    def __init__(
        self,
        cluster: Cluster,
        resources: Iterable[Resource],
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._cluster = cluster
        self._stores = {resource: _Store(resource) for resource in resources}
        self._sleep = sleep
        self._subscribers: list[Subscriber] = []
        self._listed = asyncio.Condition()

    async def run(self) -> None:
        """Follow all resources until cancelled, through outages of any length."""
        async with asyncio.TaskGroup() as group:
            for store in self._stores.values():
                group.create_task(self._follow(store))

    async def list(self, resource: Resource) -> ObjectList:
        """Return all objects of a resource that is followed, and the version they are from: `Reader.list`.

        They are the cache's own objects, not copies: do not change them.

        Raises:
            Unreachable: they could not be listed yet, or the resource is not defined and not optional.
        """
        store = self._stores[resource]
        if not store.is_known:
            raise Unreachable(f"list {resource.plural}: the cache has none yet")
        return ObjectList(list(store.items.values()), store.version)

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return an object of a resource that is followed: `Reader.get`. It is the cache's own, not a copy.

        Raises:
            NotFound: there is none of that name, as far as is known here.
            Unreachable: as for a list.
        """
        store = self._stores[resource]
        if not store.is_known:
            raise Unreachable(f"get {resource.plural} {name}: the cache has none yet")
        item = store.items.get((namespace or "", name))
        if item is None:
            raise NotFound(f"{resource.kind} {name} is not in the cache")
        return item

    def synced(self, but: Container[Resource] = ()) -> bool:
        """Return whether every resource has been listed, some left out."""
        return all(store.is_known for resource, store in self._stores.items() if resource not in but)

    async def wait_until_synced(self) -> None:
        """Wait until every resource has been listed."""
        async with self._listed:
            await self._listed.wait_for(self.synced)

    def failures(self) -> dict[Resource, GrowthError]:
        """Return why resources could not be listed, of those that were tried and are not known yet or any more."""
        return {
            store.resource: store.failure
            for store in self._stores.values()
            if not store.is_known and store.failure is not None
        }

    def followed_seconds(self, resource: Resource) -> float:
        """Return for how long the resource has been followed without a failure; 0 while it is not."""
        began = self._stores[resource].followed_from
        return 0.0 if began is None else asyncio.get_running_loop().time() - began

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` after each change from now on.

        It must be quick and must not change the objects. What a list shows that no watch told of arrives too:
        as ADDED (the first list: every object), MODIFIED or DELETED; BOOKMARKs do not.
        """
        self._subscribers.append(subscriber)

    async def _follow(self, store: _Store) -> None:
        while True:
            try:
                if store.must_list:
                    await self._list(store)
                if await self._watch(store):
                    continue
                # Nothing was seen of it: the next one could be as silent for ever.
                store.must_list = True
            except Expired:
                store.must_list = True
            except NotFound as failure:
                store.failure = failure
                self._clear(store)
                await self._note_absence(store)
            except GrowthError as failure:
                if isinstance(failure, Forbidden) and store.resource.is_dispensable:
                    await self._do_without(store, failure)
                    continue
                # Until the first list, who waits for it tells of all resources in one line; later on, an outage is told
                # of when it begins.
                is_news = bool(store.version) and not store.failures
                level = logging.WARNING if is_news else logging.DEBUG
                log.log(level, "the cache cannot follow %s and tries again: %s", store.resource.plural, failure)
                store.failure, store.followed_from = failure, None
                await self._pause(store, failure)
                continue
            await self._pause(store)

    async def _list(self, store: _Store) -> None:
        listed = await self._cluster.list(store.resource)
        items = {_key(item): trimmed(store.resource, item) for item in listed.items}
        known = store.items
        store.items, store.version, store.must_list = items, listed.resource_version, False
        store.is_absent = False
        self._note_answer(store)
        for event, before in _differences(known, items):
            self._tell(store.resource, event, before)
        async with self._listed:
            self._listed.notify_all()

    async def _watch(self, store: _Store) -> bool:
        """Take over changes until the stream ends, and return whether anything was seen of it."""
        has_any = is_doubted = False
        store.confirmed = 0
        began = asyncio.get_running_loop().time()
        stream = self._cluster.watch(store.resource, resource_version=store.version)
        while True:
            upcoming = asyncio.ensure_future(_next(stream))
            try:
                while not (await asyncio.wait({upcoming}, timeout=_SILENCE_SECONDS))[0]:
                    if is_doubted or not await self._confirm(store):
                        # The next watch begins at what the list has told.
                        return True
                    is_doubted = has_any = True
            finally:
                upcoming.cancel()
            event = await upcoming
            if event is None:
                break
            has_any, is_doubted, store.failures = True, False, 0
            self._note_answer(store)
            self._take(store, event)
        if asyncio.get_running_loop().time() - began > _FIRST_PAUSE_SECONDS:
            store.failures = 0
        return has_any

    async def _confirm(self, store: _Store) -> bool:
        """List while a watch is silent, and return whether the watch can have more to tell than the list."""
        watched_from = store.version
        await self._list(store)
        store.confirmed = version_number(store.version)
        return store.confirmed >= version_number(watched_from)

    def _take(self, store: _Store, event: WatchEvent) -> None:
        item = trimmed(store.resource, event.object)
        version = item["metadata"]["resourceVersion"]
        if store.confirmed and version_number(version) <= store.confirmed:
            # It was on its way while the list was made, which has it, or what came after it.
            return
        store.version = version
        if event.type == "BOOKMARK":
            return
        before = store.items.get(_key(item))
        if event.type == "DELETED":
            store.items.pop(_key(item), None)
        else:
            store.items[_key(item)] = item
        self._tell(store.resource, event, before)

    @staticmethod
    def _note_answer(store: _Store) -> None:
        if store.followed_from is None:
            store.followed_from = asyncio.get_running_loop().time()

    def _clear(self, store: _Store) -> None:
        """Forget all objects: without its definition, the resource has none."""
        known = store.items
        store.items, store.version, store.must_list = {}, "", True
        for event, before in _differences(known, {}):
            self._tell(store.resource, event, before)

    async def _do_without(self, store: _Store, refusal: Forbidden) -> None:
        """Go on without objects that need not be read, and ask again later: somebody may grant the right."""
        if not store.is_absent:
            log.warning("%s are not read, and nothing is planned by them: %s", store.resource.plural, refusal)
        store.failure = refusal
        self._clear(store)
        await self._note_absence(store)
        await self._pause(store, refusal)

    async def _note_absence(self, store: _Store) -> None:
        """Note that a resource that may be absent has no objects, so that nobody waits for its list."""
        may_be_absent = store.resource.is_optional or store.resource.is_dispensable
        if may_be_absent and not store.is_absent:
            store.is_absent = True
            async with self._listed:
                self._listed.notify_all()

    def _tell(self, resource: Resource, event: WatchEvent, before: Object | None) -> None:
        for subscriber in self._subscribers:
            try:
                subscriber(resource, event, before)
            except Exception:
                # One subscriber's fault must not stop the copy that all others read.
                log.exception("a subscriber failed on %s %s", resource.plural, _key(event.object))

    async def _pause(self, store: _Store, failure: GrowthError | None = None) -> None:
        """Wait, longer after each failure in a row, and not the same time in each replica."""
        limit = _LONGEST_PAUSE_SECONDS if failure or store.version else _LONGEST_UNDEFINED_SECONDS
        longest = min(_FIRST_PAUSE_SECONDS * 2**store.failures, limit)
        store.failures += 1
        seconds = longest * random.uniform(0.5, 1)  # noqa: S311 - it spreads load, it guards nothing
        asked_seconds = failure.retry_after_seconds if isinstance(failure, Unreachable) else None
        await self._sleep(max(seconds, asked_seconds or 0))


def followed_since(
    cache: Cache,
    resource: Resource,
    now: Callable[[], datetime],
    present_for: Callable[[], timedelta | None] = lambda: None,
) -> Callable[[], datetime]:
    """Return what returns since when the resource is followed without a failure; the present while it is not.

    Args:
        cache: that follows it.
        resource: that is followed.
        now: the time, UTC.
        present_for: for how long the API server has answered, as far as that is known: a watch that died without a
            word with its API server goes on where it was, as if nothing had been.
    """

    def since() -> datetime:
        followed, present = timedelta(seconds=cache.followed_seconds(resource)), present_for()
        return now() - (followed if present is None else min(followed, present))

    return since


def _differences(known: dict[Key, Object], listed: dict[Key, Object]) -> list[tuple[WatchEvent, Object | None]]:
    """Return the events that lead from what was known to what a list found, each with the object before."""
    events: list[tuple[WatchEvent, Object | None]] = []
    for key, before in known.items():
        now = listed.get(key)
        if now is None or now["metadata"]["uid"] != before["metadata"]["uid"]:
            events.append((WatchEvent("DELETED", before), before))
    for key, now in listed.items():
        before = known.get(key)
        if before is None or now["metadata"]["uid"] != before["metadata"]["uid"]:
            events.append((WatchEvent("ADDED", now), None))
        elif now["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
            events.append((WatchEvent("MODIFIED", now), before))
    return events


async def _next(stream: AsyncIterator[WatchEvent]) -> WatchEvent | None:
    return await anext(stream, None)


def _key(item: Object) -> Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def trimmed(resource: Resource, item: Object) -> Object:
    """Return the object without the fields that no decision reads.

    Who wrote which field goes, of every kind: it is up to half of an object. So does, of the kinds that nothing
    but a plan looks at, what `kubectl apply` has noted, which is the object once more; and of Nodes the list of
    their container images, which is most of a Node.
    """
    metadata: dict[str, Any] = item["metadata"]
    metadata.pop("managedFields", None)
    if resource == NODES:
        item.get("status", {}).pop("images", None)
    fields = _FIELDS.get(resource)
    if fields is None:
        return item
    (metadata.get("annotations") or {}).pop(_BULKY, None)
    return {key: value for key, value in item.items() if key in fields}
