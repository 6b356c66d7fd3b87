"""Scripted failures of simulated servers, counted in a ConfigMap so that they survive a restart."""

from typing import Final

from activities.kube.json_patch import escape, guarded
from activities.ports.cluster import CONFIG_MAPS, Cluster, Object
from activities.ports.errors import (
    AlreadyExists,
    AuthenticationFailed,
    Conflict,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    ProviderError,
    QuotaExceeded,
    UnknownOutcome,
)
from activities.providers.kwok.record import make_namespace
from api.v1alpha1.kwok_node_class import KwokFault, KwokNodeClass

NAME: Final = "growth-kwok-faults"
"""The ConfigMap of counters: `<class>.<position of the fault>.<server>` to how often it failed."""
_TRIES: Final = 10

_ERRORS: Final[dict[str, type[ProviderError]]] = {
    "capacity": InsufficientCapacity,
    "quota": QuotaExceeded,
    "transient": UnknownOutcome,
    "configuration": InvalidConfiguration,
    "authentication": AuthenticationFailed,
}


class KwokFaults:
    """Chooses the scripted failure of each call, and counts it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    async def meet(
        self, node_class: KwokNodeClass, call: str, *, server_type: str, location: str, name: str
    ) -> KwokFault | None:
        """Return the first fault that holds for this call and is not used up, and count it; None lets the call pass."""
        for position, fault in enumerate(node_class.spec.faults):
            if not holds(fault, call, server_type=server_type, location=location):
                continue
            key = f"{node_class.metadata.name}.{position}.{name}"
            if fault.times is None or await self._count(key, fault.times):
                return fault
        return None

    async def forget(self, name: str) -> None:
        """Drop the counters of a server that is gone: a later one of that name meets the faults anew."""
        counters = await self._read()
        if counters is None:
            return
        keys = [key for key in counters.get("data") or {} if key.endswith(f".{name}")]
        if keys:
            operations = [{"op": "remove", "path": f"/data/{escape(key)}"} for key in keys]
            await self._cluster.patch(CONFIG_MAPS, NAME, guarded(counters, operations), namespace=self._namespace)

    async def _count(self, key: str, most: int) -> bool:
        """Add one to the counter unless it has reached `most`, and return whether it was added."""
        tries = 0
        while True:
            tries += 1
            counters = await self._read()
            count = int((counters or {}).get("data", {}).get(key, "0"))
            if count >= most:
                return False
            try:
                await self._write(counters, key, str(count + 1))
            except (Conflict, AlreadyExists, NotFound):
                if tries >= _TRIES:
                    raise
            else:
                return True

    async def _read(self) -> Object | None:
        try:
            return await self._cluster.get(CONFIG_MAPS, NAME, namespace=self._namespace)
        except NotFound:
            return None

    async def _write(self, counters: Object | None, key: str, value: str) -> None:
        if counters is not None:
            present = counters.get("data") is not None
            operation = (
                {"op": "add", "path": f"/data/{escape(key)}", "value": value}
                if present
                else {"op": "add", "path": "/data", "value": {key: value}}
            )
            await self._cluster.patch(CONFIG_MAPS, NAME, guarded(counters, [operation]), namespace=self._namespace)
            return
        body = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {"name": NAME},
            "data": {key: value},
        }
        try:
            await self._cluster.create(CONFIG_MAPS, body, namespace=self._namespace)
        except NotFound:
            await make_namespace(self._cluster, self._namespace)
            raise


def holds(fault: KwokFault, call: str, *, server_type: str, location: str) -> bool:
    """Return whether the fault is about this call and offering."""
    return fault.call == call and fault.server_type in (None, server_type) and fault.location in (None, location)


def error_of(fault: KwokFault, call: str) -> ProviderError:
    """Return the error with which a call fails that meets the fault."""
    return _ERRORS[fault.error](f"{call}: scripted fault of the class ({fault.error})")
