"""Where the objects of the cluster in memory live: versions, deletion, owners and definitions.

Stored objects are never changed in place: each write puts a new one, so history and watchers share them.
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import CRDS, Object, Resource
from activities.ports.errors import NotFound
from api.meta import format_timestamp
from simulator.apiserver.copying import copy_json
from simulator.apiserver.history import Change, History, Kind
from simulator.apiserver.kinds import grace_seconds

Key = tuple[str, str]
"""Namespace, empty for cluster-scoped kinds, and name."""

Place = tuple[str, str]
"""Group and plural of a resource."""

Observer = Callable[[Resource, Change], None]
"""Told of each write in its place, with no delay; it must be quick, and write nothing."""

DEFINITION_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a definition until its instances are gone."""


class Shelf:
    """The objects of one resource and their recent changes."""

    def __init__(self, resource: Resource, history: int) -> None:
        self.resource = resource
        self.items: dict[Key, Object] = {}
        self.history = History(history)


class Store:
    """All objects under one counter of versions.

    Args:
        now: the time, UTC.
        history: how many changes of a resource are kept for watches.
    """

    def __init__(self, now: Callable[[], datetime], history: int) -> None:
        self._now = now
        self._history = history
        self.version = 1
        self._shelves: dict[Place, Shelf] = {}
        self._dependents: defaultdict[str, set[tuple[Resource, Key]]] = defaultdict(set)
        self._gone_uids: set[str] = set()
        self._undefined: set[Place] = set()
        self._observers: list[Observer] = []

    def observe(self, observer: Observer) -> None:
        """Call `observer` within every write from now on; the objects of a change are the stored ones."""
        self._observers.append(observer)

    def shelf(self, resource: Resource) -> Shelf:
        """Return where the objects of the resource are.

        Raises:
            NotFound: its definition was deleted.
        """
        place = (resource.group, resource.plural)
        if place in self._undefined:
            raise NotFound(f"{resource.plural}.{resource.group}: the API server does not know this resource")
        if place not in self._shelves:
            self._shelves[place] = Shelf(resource, self._history)
        return self._shelves[place]

    def find(self, resource: Resource, key: Key) -> Object:
        """Return the stored object itself, which nobody may change.

        Raises:
            NotFound: it does not exist.
        """
        item = self.shelf(resource).items.get(key)
        if item is None:
            raise NotFound(f"{resource.plural} {key[1]!r} not found")
        return item

    def moment(self, seconds_ahead: int = 0) -> str:
        """Return the time as the API server writes it: whole seconds."""
        return format_timestamp(self._now().replace(microsecond=0) + timedelta(seconds=seconds_ahead))

    def put(self, resource: Resource, key: Key, item: Object) -> Object:
        """Store `item` under the next version, tell the watchers, and return it; a new orphan is collected at once."""
        shelf = self.shelf(resource)
        before = shelf.items.get(key)
        self._append(shelf, "MODIFIED" if before else "ADDED", item, before)
        shelf.items[key] = item
        self._index_owners(resource, key, before, item)
        if before is None:
            if resource == CRDS:
                self._undefined.discard(_place_defined_by(item))
            self._collect(resource, key)
        return item

    def delete(self, resource: Resource, key: Key, *, grace: int | None = None) -> None:
        """Remove the object, or mark it while finalizers or a kubelet hold it; one that is marked stays as it is.

        A pod that terminates ends earlier if it is deleted again with a shorter `grace`, given in seconds.
        Source: kubernetes/apiserver, registry/rest/delete.go, BeforeDelete.
        """
        stored = self.find(resource, key)
        metadata = stored["metadata"]
        own = grace_seconds(resource, stored)
        if "deletionTimestamp" in metadata:
            if grace is not None and own and self.moment(grace) < metadata["deletionTimestamp"]:
                sooner = copy_json(stored)
                sooner["metadata"]["deletionTimestamp"] = self.moment(grace)
                sooner["metadata"]["deletionGracePeriodSeconds"] = grace
                self.put(resource, key, sooner)
            return
        grace = own if grace is None or not own else grace
        if not grace and not metadata.get("finalizers"):
            self.remove(resource, key, stored)
            return
        marked = copy_json(stored)
        marked["metadata"]["deletionTimestamp"] = self.moment(grace)
        marked["metadata"]["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata:
            marked["metadata"]["generation"] += 1
        self.put(resource, key, marked)
        if resource == CRDS:
            self._delete_instances(_place_defined_by(marked))

    def remove(self, resource: Resource, key: Key, last: Object) -> Object:
        """Take the object away for good, as `last`, with all that it owned alone, and return it as last seen."""
        shelf = self.shelf(resource)
        before = shelf.items.pop(key)
        item = copy_json(last)
        self._append(shelf, "DELETED", item, before)
        self._index_owners(resource, key, before, None)
        uid = item["metadata"]["uid"]
        self._gone_uids.add(uid)
        for owned in sorted(self._dependents.pop(uid, ()), key=lambda entry: (entry[0].plural, entry[1])):
            self._collect(*owned)
        if resource == CRDS:
            self._undefine(_place_defined_by(item))
        elif not shelf.items:
            self._finish_definition((resource.group, resource.plural))
        return item

    def is_being_undefined(self, resource: Resource) -> bool:
        """Return whether the definition of the resource waits for its last instances to go."""
        definition = self._definition((resource.group, resource.plural))
        return definition is not None and "deletionTimestamp" in definition["metadata"]

    def _append(self, shelf: Shelf, kind: Kind, item: Object, before: Object | None) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        change = Change(self.version, kind, item, before)
        shelf.history.append(change)
        for observer in self._observers:
            observer(shelf.resource, change)

    def _index_owners(self, resource: Resource, key: Key, before: Object | None, after: Object | None) -> None:
        was, owners = _owner_uids(before), _owner_uids(after)
        for uid in was - owners:
            self._dependents[uid].discard((resource, key))
        for uid in owners - was:
            self._dependents[uid].add((resource, key))

    def _collect(self, resource: Resource, key: Key) -> None:
        """Delete the object if all its owners are gone, else drop its references to those that are.

        Source: Kubernetes docs, "Garbage Collection"; what the controller of that name does in the background.
        """
        item = self.shelf(resource).items.get(key)
        gone = _owner_uids(item) & self._gone_uids
        if item is None or not gone:
            return
        if gone == _owner_uids(item):
            self.delete(resource, key)
            return
        stored = copy_json(item)
        owners = stored["metadata"]["ownerReferences"]
        stored["metadata"]["ownerReferences"] = [owner for owner in owners if owner["uid"] not in gone]
        self.put(resource, key, stored)

    def _definition(self, place: Place) -> Object | None:
        group, plural = place
        return self.shelf(CRDS).items.get(("", f"{plural}.{group}"))

    def _delete_instances(self, place: Place) -> None:
        shelf = self._shelves.get(place)
        for key in sorted(shelf.items) if shelf else ():
            if shelf and key in shelf.items:
                self.delete(shelf.resource, key)
        if not shelf or not shelf.items:
            self._finish_definition(place)

    def _finish_definition(self, place: Place) -> None:
        """Let a deleted definition go now that it has no instances, unless other finalizers hold it."""
        definition = self._definition(place)
        if definition is None or "deletionTimestamp" not in definition["metadata"]:
            return
        freed = copy_json(definition)
        finalizers = freed["metadata"].pop("finalizers", [])
        held_by = [finalizer for finalizer in finalizers if finalizer != DEFINITION_FINALIZER]
        key = ("", definition["metadata"]["name"])
        if held_by:
            freed["metadata"]["finalizers"] = held_by
            self.put(CRDS, key, freed)
        else:
            self.remove(CRDS, key, freed)

    def _undefine(self, place: Place) -> None:
        self._undefined.add(place)
        if shelf := self._shelves.pop(place, None):
            shelf.history.close()


def _place_defined_by(definition: Object) -> Place:
    return definition["spec"]["group"], definition["spec"]["names"]["plural"]


def _owner_uids(item: Object | None) -> frozenset[str]:
    owners = item["metadata"].get("ownerReferences") if item else None
    return frozenset(owner["uid"] for owner in owners) if owners else frozenset()
