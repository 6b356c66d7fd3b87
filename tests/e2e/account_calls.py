"""Calls to an API server as Growth's account makes them, each a dry run: authorisation, admission and validation judge
it as any other, and nothing is changed, so that no call depends on another."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from activities.kube.json_patch import guarded, set_field
from tests.e2e.api_server import ApiServer, Refused

Object = dict[str, Any]
Change = Callable[[Object], list[dict[str, Any]]]
"""Returns the operations of a JSON patch for the object as it is."""
JSON_PATCH: Final = "application/json-patch+json"
NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
TRIES: Final = 5
UNPROCESSABLE: Final = 422
"""Without causes, a `test` of a JSON patch that does not hold."""
NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/namespaces/default/pods"
POOLS: Final = "/apis/growth.dev/v1alpha1/nodepools"


@dataclass(frozen=True)
class Call:
    """A call on one object: what it does to the object as the admin reads it."""

    path: str
    change: Change = lambda _: []
    method: str = "PATCH"
    body: Object = field(default_factory=dict)
    subresource: str = ""

    def make(self, admin: ApiServer, caller: ApiServer) -> Object:
        """Make the call and return the answer.

        Raises:
            Refused: the API server does not do it.
        """
        path = self.path + self.subresource
        if self.method == "PATCH":
            return self._patch(path, admin, caller)
        body = deepcopy(self.body)
        if self.method == "DELETE" or self.subresource == "/eviction":
            options = body if self.method == "DELETE" else body["deleteOptions"]
            options["dryRun"] = ["All"]
            if options.get("preconditions") == {"uid": "its"}:
                options["preconditions"] = {"uid": admin.call("GET", self.path)["metadata"]["uid"]}
            return caller.call(self.method, path, body)
        return caller.call(self.method, path, body, dryRun="All")

    def _patch(self, path: str, admin: ApiServer, caller: ApiServer) -> Object:
        tries = 0
        while True:
            tries += 1
            live = admin.call("GET", self.path)
            try:
                return caller.call("PATCH", path, guarded(live, self.change(live)), JSON_PATCH, dryRun="All")
            except Refused as refused:
                # A controller has written to it between the two calls.
                if tries == TRIES or refused.code != UNPROCESSABLE or refused.causes:
                    raise


def node(name: str, *changes: Change, status: bool = False) -> Call:
    return Call(f"{NODES}/{name}", together(*changes), subresource="/status" if status else "")


def pod(name: str, *changes: Change) -> Call:
    return Call(f"{PODS}/{name}", together(*changes))


def pool(*changes: Change, status: bool = False) -> Call:
    return Call(f"{POOLS}/bounded", together(*changes), subresource="/status" if status else "")


def delete(path: str, **options: Any) -> Call:
    return Call(path, method="DELETE", body={"kind": "DeleteOptions", "apiVersion": "v1", **options})


def evict(name: str, **options: Any) -> Call:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
        "deleteOptions": options,
    }
    return Call(f"{PODS}/{name}", method="POST", body=body, subresource="/eviction")


def create(body: Object) -> Call:
    return Call(NODES, method="POST", body=body)


def together(*changes: Change) -> Change:
    """Return one change of several, each of another field."""
    return lambda live: [operation for change in changes for operation in change(live)]


def put(*path: str, value: Any) -> Change:
    """Return the change that sets a field; None removes it."""
    return lambda live: set_field(live, path, value)


def label(key: str, value: str | None) -> Change:
    return put("metadata", "labels", key, value=value)


def annotation(key: str, value: str | None) -> Change:
    return put("metadata", "annotations", key, value=value)


def listed(*path: str, with_: Callable[[list[Any]], list[Any]]) -> Change:
    """Return the change of a list by a function of what is in it."""

    def operations(live: Object) -> list[dict[str, Any]]:
        here: Any = live
        for key in path:
            here = (here or {}).get(key)
        return set_field(live, path, with_(list(here or [])) or None)

    return operations


def more_taints(*taints: Object) -> Change:
    return listed("spec", "taints", with_=lambda before: [*before, *taints])


def no_taint(key: str) -> Change:
    return listed("spec", "taints", with_=lambda before: [taint for taint in before if taint["key"] != key])


def tolerations(with_: Callable[[list[Any]], list[Any]]) -> Change:
    return listed("spec", "tolerations", with_=with_)


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Object:
    return {"key": key, "effect": effect} | ({"value": value} if value else {})
