"""The cluster in memory over HTTP, for programs of another process: what is there can be listed, read and patched.

As much of the Kubernetes API as commands need that look once, and change a field at most.
"""

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from activities.ports.cluster import Cluster, Resource
from activities.ports.errors import AlreadyExists, Conflict, GrowthError, NotFound, Rejected

_STATUSES: Final = {
    NotFound: HTTPStatus.NOT_FOUND,
    AlreadyExists: HTTPStatus.CONFLICT,
    Conflict: HTTPStatus.CONFLICT,
    Rejected: HTTPStatus.BAD_REQUEST,
}
_BY_GROUP: Final = "apis"
_NAMESPACES: Final = "namespaces"
_OBJECT: Final = 2
"""Parts of a path that names an object, after its group and its namespace; of one with a subresource, one more."""


class _Unserved(Exception):
    """The call is not one of those that are answered here; the message says which it is."""


def application(cluster: Cluster, resources: Iterable[Resource]) -> Starlette:
    """Return the API of these resources of the cluster; it asks nobody who he is."""
    known = {(resource.group, resource.version, resource.plural): resource for resource in resources}

    async def answer(request: Request) -> Response:
        try:
            return JSONResponse(await _called(cluster, known, request))
        except GrowthError as error:
            kinds = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
            return _refused(next(kinds, HTTPStatus.INTERNAL_SERVER_ERROR), str(error))
        except _Unserved as error:
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, f"the simulated cluster does not answer {error}")
        except ValueError as error:
            return _refused(HTTPStatus.BAD_REQUEST, str(error))

    return Starlette(routes=[Route("/{rest:path}", answer, methods=["GET", "PATCH", "POST", "PUT", "DELETE"])])


async def _called(cluster: Cluster, known: dict[tuple[str, str, str], Resource], request: Request) -> Any:
    """Return the body of the answer."""
    resource, namespace, names = _place(known, str(request.scope["path"]))
    query = request.query_params
    if request.method == "GET" and not names and query.get("watch") != "true":
        listed = await cluster.list(
            resource, namespace=namespace, labels=query.get("labelSelector", ""), fields=query.get("fieldSelector", "")
        )
        return {
            "apiVersion": resource.api_version,
            "kind": f"{resource.kind}List",
            "metadata": {"resourceVersion": listed.resource_version},
            "items": listed.items,
        }
    if request.method == "GET" and len(names) == 1:
        return await cluster.get(resource, names[0], namespace=namespace)
    if request.method == "PATCH" and names:
        operations = json.loads(await request.body())
        subresource = names[1] if len(names) > 1 else None
        return await cluster.patch(resource, names[0], operations, namespace=namespace, subresource=subresource)
    raise _Unserved(f"{request.method} {request.url.path}")


def _place(known: dict[tuple[str, str, str], Resource], path: str) -> tuple[Resource, str | None, list[str]]:
    """Return resource and namespace of a path, and the name of an object with that of its subresource.

    Raises:
        NotFound: there is no such resource.
    """
    root, *parts = path.strip("/").split("/")
    group = parts.pop(0) if root == _BY_GROUP and parts else ""
    version, *parts = parts or [""]
    namespace = None
    # A Namespace is itself an object at such a path.
    if len(parts) > _OBJECT and parts[0] == _NAMESPACES and (group, version, parts[2]) in known:
        _, namespace, *parts = parts
    resource = known.get((group, version, parts[0])) if parts else None
    if resource is None or len(parts) > _OBJECT + 1:
        raise NotFound("the simulated cluster has no such resource")
    return resource, namespace, parts[1:]


def _refused(status: HTTPStatus, message: str) -> Response:
    """Return an answer as the API server gives it. Source: Kubernetes API reference, Status."""
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": message, "code": status}
    return JSONResponse(body, status)
