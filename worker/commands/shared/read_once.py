"""The cluster as a command reads it: each kind is listed once, and all later questions are answered from that list.

So the reads that lifecycles make for their next step, a dozen for each machine, cost one list of each kind together.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from activities.ports.cluster import Cluster, Object, ObjectList, Resource, WatchEvent
from activities.ports.errors import NotFound

_NAME: Final = "metadata.name"


class ReadOnce(Cluster):
    """A `Cluster` and a `Reader` of one moment. Writes and watches are errors of the caller."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lists: dict[Resource, asyncio.Future[ObjectList]] = {}
        self._indexes: dict[tuple[Resource, str], Mapping[str, Sequence[Object]]] = {}

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """Return the objects; `fields` may be one `path=value`.

        Raises:
            NotFound: the resource does not exist.
            ValueError: a selector that cannot be answered here.
        """
        listed = await self._listed(resource)
        path, equals, value = fields.partition("=")
        if labels or (fields and (not equals or path.endswith("!"))):
            raise ValueError(f"{resource.plural}: {labels or fields} cannot be selected from a list")
        items = self._index(resource, path, listed.items).get(value, ()) if fields else listed.items
        chosen = [one for one in items if namespace is None or one["metadata"].get("namespace") == namespace]
        return ObjectList(chosen, listed.resource_version)

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object; of a kind that was not listed, it alone is read.

        Raises:
            NotFound: it was not there.
        """
        if resource not in self._lists:
            return await self._cluster.get(resource, name, namespace=namespace)
        items = (await self.list(resource, namespace=namespace, fields=f"{_NAME}={name}")).items
        if not items:
            raise NotFound(f"{resource.kind} {name} was not there")
        return items[0]

    async def _listed(self, resource: Resource) -> ObjectList:
        # A future, so that questions that come during the list wait for it instead of listing again.
        known = self._lists.get(resource)
        if known is None:
            known = self._lists[resource] = asyncio.ensure_future(self._cluster.list(resource))
        return await known

    def _index(self, resource: Resource, path: str, items: Sequence[Object]) -> Mapping[str, Sequence[Object]]:
        """Return the objects by the value of a field: without it, each machine would search all pods."""
        index = self._indexes.get((resource, path))
        if index is None:
            by_value: dict[str, list[Object]] = {}
            for item in items:
                by_value.setdefault(_value(item, path.split(".")), []).append(item)
            index = self._indexes[resource, path] = by_value
        return index

    def watch(self, resource: Resource, *, resource_version: str, labels: str = "") -> AsyncIterator[WatchEvent]:
        """Refuse it."""
        _refuse("watch", resource, resource_version, labels)

    async def create(self, resource: Resource, body: Object, *, namespace: str | None = None) -> Object:
        """Refuse it."""
        _refuse("create", resource, body, namespace)

    async def patch(self, resource: Resource, name: str, *given: Any, **options: Any) -> Object:
        """Refuse it."""
        _refuse("patch", resource, name, given, options)

    async def delete(self, resource: Resource, name: str, **options: Any) -> None:
        """Refuse it."""
        _refuse("delete", resource, name, options)

    async def evict(self, name: str, *, namespace: str, uid: str, dry_run: bool = False) -> None:
        """Refuse it; what a trial would tell is left open."""
        if not dry_run:
            _refuse("evict", name, namespace, uid)


def _refuse(verb: str, *arguments: Any) -> NoReturn:
    raise TypeError(f"{verb} of {arguments[0]}: a command that only reads must not do this")


def _value(item: Any, path: Sequence[str]) -> str:
    for key in path:
        item = (item or {}).get(key)
    return "" if item is None else str(item)
