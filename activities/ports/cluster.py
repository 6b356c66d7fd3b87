"""The port to a Kubernetes API server: the few verbs Growth uses, on objects as plain JSON.

`activities.kube.client` speaks to a real API server, `simulator.apiserver.cluster` keeps one in memory; one
conformance suite runs against both. Objects are dicts in the shape of the API; `planner` parses
what it needs of them into its own frozen types.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, Protocol

from activities.ports.errors import NotFound
from api.keys import GROUP, VERSION

Object = dict[str, Any]
"""An API object as JSON."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Where objects of a kind live."""

    group: str
    """Empty for the core group."""
    version: str
    kind: str
    plural: str
    namespaced: bool
    is_optional: bool = field(default=False, compare=False)
    """Whether Growth works without its definition: then that is absent because nobody uses the kind."""
    is_dispensable: bool = field(default=False, compare=False)
    """Whether Growth works without the right to read it: then it counts as having no objects."""

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def kinds(self) -> str:
        """Several of its objects in a sentence, such as KwokNodeClasses."""
        return self.kind + self.plural[len(self.kind) :]


PODS: Final = Resource("", "v1", "Pod", "pods", namespaced=True)
NODES: Final = Resource("", "v1", "Node", "nodes", namespaced=False)
NAMESPACES: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
PERSISTENT_VOLUMES: Final = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIMS: Final = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
DAEMON_SETS: Final = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
LIMIT_RANGES: Final = Resource("", "v1", "LimitRange", "limitranges", namespaced=True, is_dispensable=True)
DISRUPTION_BUDGETS: Final = Resource(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    namespaced=True,
    is_optional=True,
    is_dispensable=True,
)
PROVISIONING_REQUESTS: Final = Resource(
    "autoscaling.x-k8s.io",
    "v1",
    "ProvisioningRequest",
    "provisioningrequests",
    namespaced=True,
    is_optional=True,
    is_dispensable=True,
)
NODE_METRICS: Final = Resource(
    "metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes", namespaced=False, is_optional=True, is_dispensable=True
)
CAPACITY_BUFFERS: Final = tuple(
    Resource(
        "autoscaling.x-k8s.io",
        version,
        "CapacityBuffer",
        "capacitybuffers",
        namespaced=True,
        is_optional=True,
        is_dispensable=True,
    )
    for version in ("v1beta1", "v1alpha1")
)
"""Versions of one definition, which serves either or both: an object that is in both is the same."""
POD_TEMPLATES: Final = Resource("", "v1", "PodTemplate", "podtemplates", namespaced=True)
DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
REPLICA_SETS: Final = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
STATEFUL_SETS: Final = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
JOBS: Final = Resource("batch", "v1", "Job", "jobs", namespaced=True)
STORAGE_CLASSES: Final = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CSI_NODES: Final = Resource("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False)
VOLUME_ATTACHMENTS: Final = Resource("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False)
LEASES: Final = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
EVENTS: Final = Resource("events.k8s.io", "v1", "Event", "events", namespaced=True)
CRDS: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
NODE_POOLS: Final = Resource(GROUP, VERSION, "NodePool", "nodepools", namespaced=False)
SECRETS: Final = Resource("", "v1", "Secret", "secrets", namespaced=True)
NODE_REQUESTS: Final = Resource(GROUP, VERSION, "NodeRequest", "noderequests", namespaced=False)
NODE_REMOVAL_REQUESTS: Final = Resource(GROUP, VERSION, "NodeRemovalRequest", "noderemovalrequests", namespaced=False)


@dataclass(frozen=True, slots=True)
class ObjectList:
    """A consistent list and the version from which a watch goes on."""

    items: list[Object]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change. A BOOKMARK carries only metadata.resourceVersion."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: Object


PatchOp = dict[str, Any]
"""One operation of a JSON patch (RFC 6902): op, path, value."""


class Getter(Protocol):
    """Where one object is read from: the API server, or a copy of what it has."""

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object.

        Raises:
            NotFound: it does not exist there.
            Unreachable: there is no answer.
        """
        ...


class Cluster(Protocol):
    """The verbs. Every call may also raise `Unreachable`, and `Rejected` when forbidden."""

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """Return all objects, of one namespace if given, that both selectors accept.

        Items carry kind and apiVersion. `labels` is a label selector, `fields` a field selector
        (`spec.nodeName=`, `metadata.name=` and `status.phase!=` are enough).

        Raises:
            NotFound: the resource does not exist (its CRD is gone).
        """
        ...

    def watch(self, resource: Resource, *, resource_version: str, labels: str = "") -> AsyncIterator[WatchEvent]:
        """Yield changes after `resource_version` until the server ends the stream.

        Raises:
            Expired: the version is too old: list again.
        """
        ...

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object, read live.

        Raises:
            NotFound: it does not exist.
        """
        ...

    async def create(self, resource: Resource, body: Object, *, namespace: str | None = None) -> Object:
        """Create the object and return it as stored; a status in `body` of a kind with a status subresource is dropped.

        Raises:
            AlreadyExists: an object of that name exists.
            Rejected: the API server refuses it; the message is the server's.
        """
        ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        operations: Sequence[PatchOp],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Apply a JSON patch as a whole to the object or to one of its subresources, and return what was patched.

        `subresource` is such as `status`, `scale` of what has replicas, or `resize` of a pod. `scale` is an object of
        its own, kind Scale; the others are the object itself, of which a patch changes only their part.

        A `test` that does not hold (on /metadata/resourceVersion, /metadata/uid or any other path)
        means that nothing was changed.

        Raises:
            NotFound: it does not exist, or its kind has no such subresource.
            Conflict: a `test` failed or the object changed meanwhile.
            Rejected: the result is invalid.
        """
        ...

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
        """Delete the object, or mark it when finalizers hold it.

        With a `grace`, a pod has that instead of its own; one that terminates already has it if it ends earlier so.

        Raises:
            NotFound: it does not exist.
            Conflict: uid or resource_version differ.
        """
        ...

    async def evict(self, name: str, *, namespace: str, uid: str, dry_run: bool = False) -> None:
        """Ask for the end of a pod by the eviction API, which deletes it with its own grace if its budgets allow that.

        A `dry_run` only asks whether they do.

        Raises:
            NotFound: it does not exist.
            Conflict: another pod has its name.
            BudgetExhausted: a PodDisruptionBudget does not let it go now; the message names the budget.
        """
        ...


async def find_object(source: Getter, resource: Resource, name: str, *, namespace: str | None = None) -> Object | None:
    """Return the object, read live where `source` is the cluster, or None if there is none of this name.

    Raises:
        Unreachable: the API server does not answer.
    """
    try:
        return await source.get(resource, name, namespace=namespace)
    except NotFound:
        return None


def version_number(version: str) -> int:
    """Return a resourceVersion as a number, 0 for what is none.

    Those of one resource are ordered as integers. Source: Kubernetes API concepts, "Resource versions".
    """
    return int(version) if version.isdecimal() else 0


def secret_value(secret: Object, key: str) -> str | None:
    """Return the text under a key of a Secret, or None if there is no such key or it is no text."""
    coded = (secret.get("data") or {}).get(key)
    if coded is None:
        return None
    try:
        return base64.b64decode(coded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return None
