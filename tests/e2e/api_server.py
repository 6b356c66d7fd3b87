"""The API server over one connection: what a test sees, and what it does often, without a process for each call."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import requests
import yaml

from activities.ports import cluster
from activities.ports.cluster import Resource
from activities.providers.kinds import node_classes

KINDS: Final[Mapping[str, Resource]] = {
    one.plural: one
    for one in (
        cluster.PODS,
        cluster.NODES,
        cluster.NAMESPACES,
        cluster.PERSISTENT_VOLUMES,
        cluster.PERSISTENT_VOLUME_CLAIMS,
        cluster.CONFIG_MAPS,
        cluster.SECRETS,
        cluster.DAEMON_SETS,
        cluster.LEASES,
        cluster.LIMIT_RANGES,
        cluster.DISRUPTION_BUDGETS,
        cluster.CRDS,
        cluster.NODE_POOLS,
        *node_classes(),
        cluster.NODE_REQUESTS,
        cluster.NODE_REMOVAL_REQUESTS,
        Resource("apps", "v1", "Deployment", "deployments", namespaced=True),
        Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True),
        Resource("", "v1", "Event", "events", namespaced=True),
        Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True),
    )
}
"""By plural."""
_OF_KIND: Final = {one.kind: one for one in KINDS.values()}
_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.1
_JSON: Final = "application/json"
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_NOT_FOUND: Final = 404


class Refused(AssertionError):
    """The API server did not do what it was asked; the message is its own.

    Args:
        status: what it answered, a `Status`; empty if it did not answer at all.
    """

    def __init__(self, what: str, status: Mapping[str, Any]) -> None:
        self.code: int = status.get("code", 0)
        self.causes: list[dict[str, str]] = status.get("details", {}).get("causes", [])
        super().__init__(f"{what}: {status.get('message', 'no answer')}")


class ApiServer:
    """The API server as the admin sees it.

    Args:
        url: of the API server.
        authority: file with the certificate that its own is signed with.
        token: of the admin.
    """

    def __init__(self, url: str, authority: Path, token: str) -> None:
        self._url = url
        self._session = requests.Session()
        # Nothing of the user's environment, proxies for instance, may change where calls go.
        self._session.trust_env = False
        self._session.verify = str(authority)
        self._session.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._session.close()

    def call(self, method: str, path: str, body: Any = None, kind: str = _JSON, **query: str) -> dict[str, Any]:
        """Return what the server answers.

        Raises:
            Refused: with its words, or because it cannot be reached.
        """
        what = f"{method} {path}"
        try:
            response = self._session.request(
                method, self._url + path, json=body, params=query, headers={"Content-Type": kind}, timeout=_SECONDS
            )
        except OSError as error:
            raise Refused(what, {}) from error
        answer = response.json() if "json" in response.headers.get("Content-Type", "") else {"message": response.text}
        if not response.ok:
            raise Refused(what, {"code": response.status_code, **answer})
        return answer

    def answers(self) -> bool:
        """Return whether the server is ready."""
        try:
            self.call("GET", "/readyz")
        except Refused:
            return False
        return True

    def items(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> list[dict[str, Any]]:
        """Return the objects of a kind, by its plural; of all namespaces if none is given."""
        resource = KINDS[kind]
        found = self.call("GET", _path(resource, namespace), labelSelector=labels, fieldSelector=fields)
        # Members of a list do not say of what kind they are.
        same = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        return [same | item for item in found["items"]]

    def get(self, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Return an object, if it is there."""
        try:
            return self.call("GET", f"{_path(KINDS[kind], namespace)}/{name}")
        except Refused as refused:
            if refused.code == _NOT_FOUND:
                return None
            raise

    def create(self, body: Mapping[str, Any], **query: str) -> dict[str, Any]:
        """Create an object and return it as stored."""
        path = _path(_OF_KIND[body["kind"]], body["metadata"].get("namespace", ""))
        return self.call("POST", path, body, **{"fieldValidation": "Strict", **query})

    def patch(self, kind: str, name: str, change: Mapping[str, Any], namespace: str = "") -> dict[str, Any]:
        """Merge the change into an object and return it as stored."""
        return self.call("PATCH", f"{_path(KINDS[kind], namespace)}/{name}", change, _MERGE, fieldValidation="Strict")

    def apply_file(self, path: Path) -> list[dict[str, Any]]:
        """Apply the objects of a file as one who owns every field that it names, and return them as stored."""
        bodies = [body for body in yaml.safe_load_all(path.read_text()) if body]
        return [
            self.call(
                "PATCH",
                f"{_path(_OF_KIND[body['kind']], body['metadata'].get('namespace', ''))}/{body['metadata']['name']}",
                body,
                _APPLY,
                # As kubectl calls itself: a person who applies the same file later owns the same fields.
                fieldManager="kubectl",
                force="true",
            )
            for body in bodies
        ]

    def delete_all(self, kind: str, namespace: str = "", *, labels: str = "", **query: str) -> None:
        """Delete all objects of a kind in one call; those with finalizers go later."""
        self.call("DELETE", _path(KINDS[kind], namespace), labelSelector=labels, **query)

    def wait_gone(self, *kinds: str, namespace: str = "", labels: str = "", seconds: float = _SECONDS) -> None:
        """Wait until no object of these kinds is left."""
        deadline = time.monotonic() + seconds
        for kind in kinds:
            while left := self.items(kind, namespace, labels=labels):
                if time.monotonic() > deadline:
                    shown = "\n".join(f"{item['metadata']['name']}: {item.get('status')}" for item in left)
                    raise AssertionError(f"{kind} are still there after {seconds:g} s:\n{shown}")
                time.sleep(_POLL_SECONDS)


def _path(resource: Resource, namespace: str) -> str:
    group = f"apis/{resource.group}" if resource.group else "api"
    space = f"/namespaces/{namespace}" if namespace and resource.namespaced else ""
    return f"/{group}/{resource.version}{space}/{resource.plural}"
