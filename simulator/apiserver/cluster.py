"""A Kubernetes API server in memory: the store, its versions, watches, finalizers and garbage collection.

Deterministic: the clock is handed in, uids and generated names are counted. One conformance suite
runs against this and a real API server. What admission plug-ins, controllers and kubelets do there
(default values, taints of new nodes, schemas and CEL, scheduling, stopping pods) is not done here:
`bind` and `finish` are the seats for a scheduler and a kubelet.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import CRDS, DISRUPTION_BUDGETS, PODS, Object, ObjectList, PatchOp, Resource, WatchEvent
from activities.ports.errors import AlreadyExists, Conflict, Rejected
from simulator.apiserver.copying import checked_json, copy_json
from simulator.apiserver.disruption_budgets import check_budgets
from simulator.apiserver.field_writes import note_write
from simulator.apiserver.kinds import first_status, has_generation
from simulator.apiserver.patching import drop_empty_metadata, patched_subresource, scale_of
from simulator.apiserver.selectors import field_selector, label_selector
from simulator.apiserver.store import DEFINITION_FINALIZER, Key, Observer, Store

_HISTORY: Final = 20_000
"""Changes kept per resource: two for each pod of the largest simulation, so that a slow watcher keeps up."""
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH: Final = 253


class MemoryCluster:
    """A cluster in memory behind the `Cluster` port.

    Any resource is served; namespaces need not exist. The kinds of growth.dev are served until their
    CustomResourceDefinition, if one was created, is deleted. No method but `watch` waits for anything,
    so each call is one atomic step. Garbage is collected within the call that makes it: an object goes when
    all its owners that were ever stored here are gone; owners never stored count as alive.

    Args:
        now: the time, UTC, of creations and deletions.
        history: how many changes of a resource a watch may lag behind before it expires.
    """

    def __init__(self, now: Callable[[], datetime], *, history: int = _HISTORY) -> None:
        self._store = Store(now, history)
        self._uids = 0

    def peek(self, resource: Resource) -> list[Object]:
        """Return the stored objects themselves in the order of `list`, for readers that change nothing."""
        items = self._store.shelf(resource).items
        return [items[key] for key in sorted(items, key="/".join)]

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """Return all objects that both selectors accept, in the order of namespace and name: `Cluster.list`."""
        items = self._store.shelf(resource).items
        has_labels, has_fields = label_selector(labels), field_selector(resource, fields)
        selected = [
            copy_json(items[key])
            for key in sorted(items, key="/".join)
            if (namespace is None or key[0] == namespace) and has_labels(items[key]) and has_fields(items[key])
        ]
        return ObjectList(selected, str(self._store.version))

    def observe(self, observer: Observer) -> None:
        """Call `observer` within every write from now on, before anybody else can act on it."""
        self._store.observe(observer)

    async def watch(self, resource: Resource, *, resource_version: str, labels: str = "") -> AsyncIterator[WatchEvent]:
        """Yield changes after `resource_version`, without end while the resource exists: `Cluster.watch`."""
        history = self._store.shelf(resource).history
        async for event in history.watch(int(resource_version), label_selector(labels)):
            yield event

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object: `Cluster.get`."""
        return copy_json(self._store.find(resource, (namespace or "", name)))

    async def create(self, resource: Resource, body: Object, *, namespace: str | None = None) -> Object:
        """Create the object and return it as stored: `Cluster.create`."""
        return self._create(resource, body, namespace)

    async def patch(
        self,
        resource: Resource,
        name: str,
        operations: Sequence[PatchOp],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Apply a JSON patch as a whole and return the object: `Cluster.patch`."""
        key = (namespace or "", name)
        stored = self._store.find(resource, key)
        result = patched_subresource(resource, stored, operations, subresource)
        if result != stored:
            note_write(resource, stored, result, subresource, self._store.moment())
            if _may_go(result):
                result = self._store.remove(resource, key, result)
            else:
                result = self._store.put(resource, key, result)
        return scale_of(result) if subresource == "scale" else copy_json(result)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        grace: timedelta | None = None,
    ) -> None:
        """Delete the object, or mark it while finalizers or a kubelet hold it: `Cluster.delete`."""
        key = (namespace or "", name)
        metadata = self._store.find(resource, key)["metadata"]
        for field, wanted in (("uid", uid), ("resourceVersion", resource_version)):
            if wanted is not None and wanted != metadata[field]:
                raise Conflict(f"{resource.plural} {name!r}: {field} is {metadata[field]}, not {wanted}")
        self._store.delete(resource, key, grace=None if grace is None else max(1, int(grace.total_seconds())))

    async def evict(self, name: str, *, namespace: str, uid: str, dry_run: bool = False) -> None:
        """Ask for the end of a pod if its budgets allow that: `Cluster.evict`."""
        key = (namespace, name)
        pod = self._store.find(PODS, key)
        if pod["metadata"]["uid"] != uid:
            raise Conflict(f"pods {name!r}: uid is {pod['metadata']['uid']}, not {uid}")
        pods, budgets = (self._store.shelf(resource).items for resource in (PODS, DISRUPTION_BUDGETS))
        check_budgets(
            pod,
            [budget for (place, _), budget in budgets.items() if place == namespace],
            [other for (place, _), other in pods.items() if place == namespace],
        )
        if not dry_run:
            self._store.delete(PODS, key)

    def install_definitions(self, definitions: Iterable[Object]) -> None:
        """Create CustomResourceDefinitions, as `kubectl apply` of deploy/crds does; existing ones stay as they are."""
        known = self._store.shelf(CRDS).items
        for definition in definitions:
            if ("", definition["metadata"]["name"]) not in known:
                self._create(CRDS, definition, None)

    def bind(self, namespace: str, name: str, node: str, *, uid: str | None = None) -> Object:
        """Assign a pod to a node, as a scheduler does through the pod's binding, and return the pod.

        Raises:
            NotFound: there is no such pod.
            Conflict: it has a node already, is being deleted, or has another uid than the one given.
        """
        key = (namespace, name)
        stored = self._store.find(PODS, key)
        if uid is not None and uid != stored["metadata"]["uid"]:
            raise Conflict(f"pod {namespace}/{name} is another one than the one to be bound")
        if stored.get("spec", {}).get("nodeName") or "deletionTimestamp" in stored["metadata"]:
            raise Conflict(f"pod {namespace}/{name} is assigned to a node already or is being deleted")
        pod = copy_json(stored)
        pod.setdefault("spec", {})["nodeName"] = node
        conditions = [
            condition for condition in pod["status"].get("conditions", ()) if condition["type"] != "PodScheduled"
        ]
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": self._store.moment()}
        pod["status"]["conditions"] = [*conditions, scheduled]
        return copy_json(self._store.put(PODS, key, pod))

    def finish(self, namespace: str, name: str) -> None:
        """Let a deleted pod go without the rest of its grace, as a kubelet does when its containers have stopped.

        Raises:
            NotFound: there is no such pod.
            Conflict: it is not being deleted.
        """
        key = (namespace, name)
        pod = copy_json(self._store.find(PODS, key))
        if "deletionTimestamp" not in pod["metadata"]:
            raise Conflict(f"pod {namespace}/{name} is not being deleted")
        pod["metadata"]["deletionGracePeriodSeconds"] = 0
        if _may_go(pod):
            self._store.remove(PODS, key, pod)
        else:
            self._store.put(PODS, key, pod)

    def forget_history(self, resource: Resource) -> None:
        """Forget the changes of the resource, as a compaction does: watches that have not seen them expire."""
        self._store.shelf(resource).history.forget()

    def _create(self, resource: Resource, body: Object, namespace: str | None) -> Object:
        items = self._store.shelf(resource).items
        item = checked_json(body)
        key = self._place(resource, item, namespace)
        if self._store.is_being_undefined(resource):
            raise Rejected(f"{resource.plural} {key[1]!r}: their CustomResourceDefinition is being deleted")
        if key in items:
            raise AlreadyExists(f"{resource.plural} {key[1]!r} already exists")
        self._uids += 1
        metadata = item["metadata"]
        for unset in ("deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
            metadata.pop(unset, None)
        metadata["uid"] = f"{self._uids:08x}-0000-4000-8000-{self._uids:012x}"
        metadata["creationTimestamp"] = self._store.moment()
        if has_generation(resource):
            metadata["generation"] = 1
        status = first_status(resource, item.pop("status", None))
        if status is not None:
            item["status"] = status
        if resource == CRDS:
            metadata.setdefault("finalizers", []).append(DEFINITION_FINALIZER)
        drop_empty_metadata(item)
        note_write(resource, None, item, None, self._store.moment())
        return copy_json(self._store.put(resource, key, item))

    def _place(self, resource: Resource, item: Object, namespace: str | None) -> Key:
        """Check and complete name, namespace and kind of a new object, and return where it goes."""
        metadata = item.setdefault("metadata", {})
        if "resourceVersion" in metadata:
            raise Rejected(f"{resource.kind}: metadata.resourceVersion must not be set on a new object")
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + self._suffix()
        name = metadata.get("name", "")
        if len(name) > _NAME_LENGTH or not _NAME.fullmatch(name):
            raise Rejected(f"{resource.kind} {name!r}: metadata.name must be a DNS subdomain of at most 253 characters")
        if item.setdefault("apiVersion", resource.api_version) != resource.api_version:
            raise Rejected(f"{resource.kind} {name!r}: apiVersion must be {resource.api_version}")
        if item.setdefault("kind", resource.kind) != resource.kind:
            raise Rejected(f"{resource.kind} {name!r}: kind must be {resource.kind}, not {item['kind']}")
        sent = metadata.pop("namespace", None)
        if not resource.namespaced:
            return "", name
        place = namespace or sent
        if place is None or sent not in (None, place):
            raise Rejected(f"{resource.kind} {name!r}: namespace is {namespace} in the call and {sent} in the object")
        metadata["namespace"] = place
        return place, name

    def _suffix(self) -> str:
        number, letters = self._uids + 1, ""
        for _ in range(5):
            number, digit = divmod(number, len(_SUFFIX_LETTERS))
            letters = _SUFFIX_LETTERS[digit] + letters
        return letters


def _may_go(item: Object) -> bool:
    metadata = item["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
