"""The `Cluster` port on a real API server: the only file that imports the Kubernetes client.

Bodies stay raw JSON: the client's typed models cost four to seventeen times as much for a list of pods
and refuse fields that a newer server sends.
"""

import asyncio
import json
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlencode
from urllib.request import getproxies_environment

import aiohttp
import jsonpatch
import yaml
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from activities.kube.api_errors import error_of, is_failed_patch, unreachable
from activities.kube.kubeconfig import DEFAULT_PATH, Access, any_exists, client_complaints, read_kubeconfig
from activities.ports.cluster import PODS, Object, ObjectList, PatchOp, Resource, WatchEvent
from activities.ports.errors import Conflict, Expired, GrowthError, Rejected, Unreachable
from activities.ports.presence import Presence

_PAGE_SIZE: Final = 500
"""As client-go: large enough for few round trips, small enough that decoding one page does not hold up the loop."""
_WATCH_SECONDS: Final = 600.0
"""As client-go's reflectors, which ask for five to ten minutes: each watch that begins is a request."""
_WATCH_GRACE_SECONDS: Final = 10.0
"""Beyond the time asked for, a stream may last so much longer before it counts as cut off."""
_CONNECT_SECONDS: Final = 3.0
"""A server that is there accepts a connection at once; a long list may take longer, which a person must not wait for
in vain."""
_JSON: Final = "application/json"
_JSON_PATCH: Final = "application/json-patch+json"
_STRICT: Final = {"fieldValidation": "Strict"}
"""An unknown field is an error, not dropped without a word: a lost deadline would be worse than a refused write."""
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_OK: Final = 200
_REDIRECT: Final = 300
_UNAUTHORIZED: Final = 401
_UNPROCESSABLE: Final = 422
_INTERNAL: Final = 500

_T = TypeVar("_T")


class KubeCluster:
    """A Kubernetes API server.

    Args:
        client: the configured client; closed by `close`.
        access: where the connection goes.
        reload: reads the credentials again, for those that expire; called once after each 401.
        timeout_seconds: for each call but list and watch. Nothing is retried here: who calls knows whether
            a repetition is safe.
        list_timeout_seconds: for each page of a list.
        watch_seconds: after which at the latest the API server is asked to end a watch, and after half of which at the
            earliest: those of many kinds and workers must not all begin anew together.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        access: Access,
        reload: Callable[[], Awaitable[object]] | None = None,
        timeout_seconds: float = 4.0,
        list_timeout_seconds: float = 30.0,
        watch_seconds: float = _WATCH_SECONDS,
    ) -> None:
        self._client = client
        self.presence: Final = Presence(time.monotonic)
        """Of this client and the API server."""
        self.access: Final = access
        """Where the connection goes."""
        self._reload = reload
        self._timeout_seconds = timeout_seconds
        self._list_timeout_seconds = list_timeout_seconds
        self._watch_seconds = watch_seconds

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        *,
        timeout_seconds: float = 4.0,
        list_timeout_seconds: float = 30.0,
        watch_seconds: float = _WATCH_SECONDS,
    ) -> Self:
        """Return a cluster: of `kubeconfig` if given, else of the user's, and in a pod without any the pod's own.

        That is kubectl's order, so that both mean the same cluster. No call is made yet.

        Raises:
            Rejected: there is no usable configuration.
        """
        configuration = Configuration()
        # The client looks for proxies in the environment. Where there are none, it would still look for a ~/.netrc at
        # each call, in a thread: a tenth of the worker's processor time under load.
        configuration.client_session_kwargs = {"trust_env": bool(getproxies_environment())}
        reload = None
        path = kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT_PATH
        if kubeconfig is None and context is None and _IN_CLUSTER in os.environ and not any_exists(path):
            access = Access("the cluster of this pod")
            place = "the service account that this pod should mount"
            await _load(place, _load_service_account, configuration)
        else:
            access = await asyncio.to_thread(read_kubeconfig, path, context)
            place = f"kubeconfig {path}, context {access.context}"
            load = partial(config.load_kube_config, path, access.context, persist_config=False)
            reload = partial(_load, place, load, configuration)
            await reload()
        try:
            client = ApiClient(configuration)
        except (OSError, ValueError) as failure:
            raise Rejected(f"{place}: a certificate or key cannot be used: {failure}") from failure
        client.user_agent = "growth"
        return cls(
            client,
            access=access,
            reload=reload,
            timeout_seconds=timeout_seconds,
            list_timeout_seconds=list_timeout_seconds,
            watch_seconds=watch_seconds,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """Return all objects that both selectors accept: `Cluster.list`."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        try:
            return await self._pages(resource, namespace, {**query, "limit": str(_PAGE_SIZE)})
        except Expired:
            # The list took so long that its version was compacted away: one page cannot.
            return await self._pages(resource, namespace, query)

    async def watch(self, resource: Resource, *, resource_version: str, labels: str = "") -> AsyncIterator[WatchEvent]:
        """Yield changes after `resource_version` until the server ends the stream: `Cluster.watch`."""
        call = f"watch {resource.plural}"
        asked_seconds = self._watch_seconds * random.uniform(0.5, 1)  # noqa: S311 - it spreads load, it guards nothing
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(asked_seconds)),
            "labelSelector": labels,
        }
        seconds = asked_seconds + _WATCH_GRACE_SECONDS
        response = await self._open("GET", _path(resource), call=call, query=query, seconds=seconds)
        try:
            if response.status != _OK:
                raise error_of(response.status, await self._text(response, call), response.headers, call=call)
            while line := await self._reached(response.content.readline(), call):
                event = _decoded(line, call)
                if event["type"] == "ERROR":
                    raise error_of(event["object"].get("code", 500), json.dumps(event["object"]), {}, call=call)
                yield WatchEvent(event["type"], event["object"])
        finally:
            response.close()

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object, read live: `Cluster.get`."""
        call = f"get {resource.plural} {name}"
        return (await self._send("GET", _path(resource, namespace, name), call=call)).object()

    async def create(self, resource: Resource, body: Object, *, namespace: str | None = None) -> Object:
        """Create the object and return it as stored: `Cluster.create`."""
        metadata = body.get("metadata", {})
        call = f"create {resource.plural} {metadata.get('name') or metadata.get('generateName', '')}"
        if "resourceVersion" in metadata:
            # The API server answers this with 500, which would look like an outage.
            raise Rejected(f"{call}: metadata.resourceVersion must not be set on a new object")
        path = _path(resource, namespace or metadata.get("namespace"))
        sent = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return (await self._send("POST", path, call=call, query=_STRICT, body=sent)).object()

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
        call = f"patch {resource.plural} {name}"
        path = _path(resource, namespace, name, subresource)
        answer = await self._send("PATCH", path, call=call, query=_STRICT, body=list(operations), content=_JSON_PATCH)
        if answer.status == _UNPROCESSABLE and is_failed_patch(answer.text):
            # Of the subresources, only a scale is another object than the one it belongs to.
            patched = path if subresource == "scale" else _path(resource, namespace, name)
            raise await self._why_not_applied(patched, operations, call=call)
        return answer.object()

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
        """Delete the object, or mark it when finalizers hold it: `Cluster.delete`."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {key: value for key, value in wanted.items() if value is not None},
            **({} if grace is None else {"gracePeriodSeconds": max(1, int(grace.total_seconds()))}),
        }
        call = f"delete {resource.plural} {name}"
        (await self._send("DELETE", _path(resource, namespace, name), call=call, body=options)).object()

    async def evict(self, name: str, *, namespace: str, uid: str, dry_run: bool = False) -> None:
        """Ask for the end of a pod if its budgets allow that: `Cluster.evict`."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}, **({"dryRun": ["All"]} if dry_run else {})},
        }
        path = _path(PODS, namespace, name, "eviction")
        (await self._send("POST", path, call=f"evict pod {namespace}/{name}", body=eviction)).object()

    async def _pages(self, resource: Resource, namespace: str | None, query: Mapping[str, str]) -> ObjectList:
        """Return all pages of a list; they are all of the version of the first."""
        call = f"list {resource.plural}"
        items: list[Object] = []
        token = ""
        while True:
            page = await self._send(
                "GET",
                _path(resource, namespace),
                call=call,
                query={**query, "continue": token},
                seconds=self._list_timeout_seconds,
            )
            body = page.object()
            # Items of built-in kinds come without their kind.
            items += (
                {"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in body["items"] or ()
            )
            token = body["metadata"].get("continue", "")
            if not token:
                # What cannot be watched, such as metrics, has no version.
                return ObjectList(items, body["metadata"].get("resourceVersion", ""))

    async def _why_not_applied(self, path: str, operations: Sequence[PatchOp], *, call: str) -> GrowthError:
        """Return the error of a patch that was not applied: a `test` failed, or it can never be applied.

        Args:
            path: of what was patched: an object, or a subresource that is an object of its own.
            operations: of the patch.
            call: for the message: verb, resource and name.
        """
        read = (await self._send("GET", path, call=call)).object()
        try:
            jsonpatch.JsonPatch(list(operations)).apply(read)
        except jsonpatch.JsonPatchTestFailed as failure:
            return Conflict(f"{call}: {failure}")
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as failure:
            return Rejected(f"{call}: the patch cannot be applied: {failure}")
        return Conflict(f"{call}: the object changed meanwhile")

    async def _send(
        self,
        method: str,
        path: str,
        *,
        call: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = _JSON,
        seconds: float | None = None,
    ) -> "_Answer":
        seconds = seconds or self._timeout_seconds
        response = await self._open(method, path, call=call, query=query, body=body, content=content, seconds=seconds)
        try:
            return _Answer(call, response.status, await self._text(response, call), response.headers)
        finally:
            response.release()

    async def _open(
        self,
        method: str,
        path: str,
        *,
        call: str,
        seconds: float,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = _JSON,
    ) -> aiohttp.ClientResponse:
        """Send the request and return the answer, its body unread; the time runs until that is read too."""
        parameters = urlencode({key: value for key, value in (query or {}).items() if value})
        url = f"{self._client.configuration.host}{path}" + (f"?{parameters}" if parameters else "")

        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, _CONNECT_SECONDS))

        async def send() -> aiohttp.ClientResponse:
            headers = {"Content-Type": content, "Accept": _JSON, "User-Agent": self._client.user_agent}
            await self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
            sent = self._client.call_api(method, url, header_params=headers, body=body, _request_timeout=limits)
            return (await self._reached(sent, call)).response

        response = await send()
        # One that cannot serve, as without its store, is as good as away.
        self.presence.note(is_answered=response.status < _INTERNAL)
        if response.status == _UNAUTHORIZED and self._reload:
            response.release()
            await self._reload()
            response = await send()
        return response

    async def _text(self, response: aiohttp.ClientResponse, call: str) -> str:
        return (await self._reached(response.read(), call)).decode(errors="replace")

    async def _reached(self, answer: Awaitable[_T], call: str) -> _T:
        """Return the server's answer, or raise `Unreachable` when it cannot be reached or stops answering."""
        try:
            return await answer
        except (aiohttp.ClientError, OSError) as failure:
            self.presence.note(is_answered=False)
            raise unreachable(failure, call=call, server=self._client.configuration.host) from failure


@dataclass(frozen=True, slots=True)
class _Answer:
    call: str
    status: int
    text: str
    headers: Mapping[str, str]

    def object(self) -> Object:
        """Return the body of a success, or raise the error that the answer tells of."""
        if _OK <= self.status < _REDIRECT:
            return _decoded(self.text, self.call)
        raise error_of(self.status, self.text, self.headers, call=self.call)


def _decoded(text: str | bytes, call: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as failure:
        raise Unreachable(f"{call}: the answer is cut off or not from an API server: {text[:100]!r}") from failure


def _path(resource: Resource, namespace: str | None = None, name: str = "", subresource: str | None = None) -> str:
    parts = ["apis", resource.group, resource.version] if resource.group else ["api", resource.version]
    if resource.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts += [resource.plural, name, subresource or ""]
    return "/" + "/".join(quote(part, safe="") for part in parts if part)


async def _load(place: str, load: Callable[..., Awaitable[object]], configuration: Configuration) -> None:
    """Read address and credentials into the configuration.

    Raises:
        Rejected: they cannot be read.
    """
    try:
        with client_complaints() as complaints:
            await load(client_configuration=configuration)
    except (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError) as failure:
        # The client trips over a file of another shape as its reading code happens to: hence the last two.
        raise Rejected(f"{place} cannot be used: {' '.join(str(failure).split())}") from failure
    if complaints:
        raise Rejected(f"{place}: no credentials: {' '.join(complaints)}")


async def _load_service_account(client_configuration: Configuration) -> None:
    """Read what Kubernetes mounts into each pod; the client renews the token from there by itself."""
    config.load_incluster_config(client_configuration=client_configuration)
