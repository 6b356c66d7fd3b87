"""The records of simulated servers: one ConfigMap each, so that a kill of the worker loses none.

A record holds all that its server will ever need, so its class may change or go meanwhile.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from activities.kube.json_patch import escape, guarded
from activities.ports.cluster import CONFIG_MAPS, NAMESPACES, Cluster, Object
from activities.ports.errors import AlreadyExists, NotFound, Unreadable
from activities.ports.provider import Server, ServerState
from api.keys import LABEL_CLUSTER, LABEL_KWOK_SERVER
from api.meta import format_timestamp

_IS_SERVER: Final = "true"


@dataclass(frozen=True, slots=True)
class KwokRecord:
    """A simulated server."""

    object: Object
    """Its ConfigMap as it was read."""
    name: str
    server_type: str
    location: str
    class_name: str
    """Its KwokNodeClass, whose faults hold for it."""
    created_at: datetime
    runs_at: datetime
    """End of its boot."""
    node: dict[str, Any]
    """labels, taints, capacity and allocatable of its Node."""
    is_joined: bool
    """Its Node has been made once: one that a person deletes is not made again."""
    startup: dict[str, Any]
    """How slowly its Node starts, as long as it does: `startup_of`."""

    @property
    def provider_id(self) -> str:
        """How the provider names the server."""
        return f"kwok://{self.object['metadata']['labels'].get(LABEL_CLUSTER, '')}/{self.name}"

    def server(self, state: ServerState) -> Server:
        """Return the server as the port tells it."""
        labels = dict(self.object["metadata"]["labels"])
        del labels[LABEL_KWOK_SERVER]
        return Server(
            name=self.name,
            provider_id=self.provider_id,
            state=state,
            server_type=self.server_type,
            location=self.location,
            labels=labels,
            created_at=self.created_at,
        )


class KwokRecords:
    """The ConfigMaps of one namespace that are records.

    Calls may raise what the `Cluster` port raises.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    async def get(self, name: str) -> KwokRecord:
        """Return the record.

        Raises:
            NotFound: there is no such ConfigMap, or it is no record.
            Unreadable: a person broke it.
        """
        config_map = await self._cluster.get(CONFIG_MAPS, name, namespace=self._namespace)
        if not _is_record(config_map):
            raise NotFound(f"ConfigMap {self._namespace}/{name} is no record of a server")
        return _parse(config_map)

    async def list(self, cluster: str | None = None) -> list[KwokRecord]:
        """Return the records, of one cluster if given; one that a person broke is left out."""
        labels = f"{LABEL_KWOK_SERVER}={_IS_SERVER}" + (f",{LABEL_CLUSTER}={cluster}" if cluster else "")
        listed = await self._cluster.list(CONFIG_MAPS, namespace=self._namespace, labels=labels)
        records: list[KwokRecord] = []
        for item in listed.items:
            try:
                records.append(_parse(item))
            except Unreadable:
                continue
        return records

    async def add(
        self,
        name: str,
        *,
        server_type: str,
        location: str,
        class_name: str,
        created_at: datetime,
        runs_at: datetime,
        labels: dict[str, str],
        node: dict[str, Any],
        startup: dict[str, Any] | None = None,
    ) -> KwokRecord:
        """Write the record of a new server and return it; the namespace is made if it does not exist.

        Raises:
            AlreadyExists: a ConfigMap of that name exists.
        """
        body = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {"name": name, "labels": {**labels, LABEL_KWOK_SERVER: _IS_SERVER}},
            "data": {
                "serverType": server_type,
                "location": location,
                "class": class_name,
                "created": format_timestamp(created_at),
                "runsAt": format_timestamp(runs_at),
                "node": json.dumps(node, sort_keys=True),
                "joined": "false",
                **({"startup": json.dumps(startup, sort_keys=True)} if startup else {}),
            },
        }
        try:
            created = await self._cluster.create(CONFIG_MAPS, body, namespace=self._namespace)
        except NotFound:
            await make_namespace(self._cluster, self._namespace)
            created = await self._cluster.create(CONFIG_MAPS, body, namespace=self._namespace)
        return _parse(created)

    async def mark_joined(self, record: KwokRecord) -> None:
        """Write that the Node has been made.

        Raises:
            Conflict: the record has changed since it was read.
            NotFound: the server was deleted.
        """
        operations = guarded(record.object, [{"op": "add", "path": "/data/joined", "value": "true"}])
        await self._cluster.patch(CONFIG_MAPS, record.name, operations, namespace=self._namespace)

    async def mark_started(self, record: KwokRecord) -> None:
        """Write that its Node has started.

        Raises:
            Conflict: the record has changed since it was read.
            NotFound: the server was deleted.
        """
        operations = guarded(record.object, [{"op": "remove", "path": "/data/startup"}])
        await self._cluster.patch(CONFIG_MAPS, record.name, operations, namespace=self._namespace)

    async def label(self, record: KwokRecord, labels: dict[str, str]) -> None:
        """Add labels.

        Raises:
            NotFound: the server was deleted.
        """
        uid = record.object["metadata"]["uid"]
        # Labels have one owner each here, so the change needs no version, only the same server.
        operations = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            *(
                {"op": "add", "path": f"/metadata/labels/{escape(key)}", "value": value}
                for key, value in labels.items()
            ),
        ]
        await self._cluster.patch(CONFIG_MAPS, record.name, operations, namespace=self._namespace)

    async def remove(self, record: KwokRecord) -> None:
        """Delete the record; one that is gone is success."""
        try:
            await self._cluster.delete(
                CONFIG_MAPS, record.name, namespace=self._namespace, uid=record.object["metadata"]["uid"]
            )
        except NotFound:
            return


async def make_namespace(cluster: Cluster, name: str) -> None:
    """Create the namespace; one that exists is success."""
    body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": name}}
    try:
        await cluster.create(NAMESPACES, body)
    except AlreadyExists:
        return


def _is_record(config_map: Object) -> bool:
    return (config_map["metadata"].get("labels") or {}).get(LABEL_KWOK_SERVER) == _IS_SERVER


def _parse(config_map: Object) -> KwokRecord:
    name = config_map["metadata"]["name"]
    try:
        data = config_map["data"]
        return KwokRecord(
            object=config_map,
            name=name,
            server_type=data["serverType"],
            location=data["location"],
            class_name=data["class"],
            created_at=datetime.fromisoformat(data["created"]),
            runs_at=datetime.fromisoformat(data["runsAt"]),
            node=json.loads(data["node"]),
            is_joined=data["joined"] == "true",
            startup=json.loads(data.get("startup") or "{}"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(
            f"ConfigMap {config_map['metadata'].get('namespace')}/{name} is no readable record of a server: {error}"
        ) from error
