"""The fake API over HTTP: for programs of another process, and without a network for clients of the same one."""

import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from http.client import responses
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import requests
import uvicorn
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.reply import Reply

PREFIX = "/v1"
"""Of every path."""
_ABORT: Final = "growth.abort"
"""Where the scope of a request holds what cuts its connection."""
_STARTS_WITHIN_SECONDS: Final = 10.0
"""Far longer than a start takes on a busy machine."""
_POLL_SECONDS: Final = 0.01
_METHODS: Final = ["GET", "POST", "PUT", "DELETE"]

_Message = MutableMapping[str, Any]


def application(cloud: FakeHetzner) -> Starlette:
    """Return the API under /v1.

    A lost answer cuts the connection, or with `Fault.hangs` leaves it open until the client gives up.
    """

    async def answer(request: Request) -> Response:
        text = await request.body()
        reply = cloud.handle(
            request.method,
            request.url.path.removeprefix(PREFIX),
            request.query_params.multi_items(),
            json.loads(text) if text else None,
            request.headers.get("authorization", "").removeprefix("Bearer "),
        )
        if reply.is_lost:
            if not reply.is_hanging:
                request.scope[_ABORT]()
            while (await request.receive())["type"] != "http.disconnect":
                pass
            return Response()  # Nobody reads it.
        if reply.body is None:
            return Response(status_code=reply.status, headers=dict(reply.headers))
        return JSONResponse(reply.body, reply.status, dict(reply.headers))

    return Starlette(routes=[Route(PREFIX + "/{rest:path}", answer, methods=_METHODS)])


@contextmanager
def serve(cloud: FakeHetzner, *, port: int = 0) -> Iterator[str]:
    """Serve the API on the loopback interface from a thread, and yield its address, such as http://127.0.0.1:4711/v1.

    Args:
        cloud: what answers.
        port: where to listen; 0 takes a free one.

    Raises:
        RuntimeError: the server does not start.
    """
    config = uvicorn.Config(
        application(cloud),
        host="127.0.0.1",
        port=port,
        http=_Abortable,
        log_config=None,
        access_log=False,
        lifespan="off",
        # A hanging request does not hold up the end.
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="fake-hetzner", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{_port(server, thread)}{PREFIX}"
    finally:
        server.should_exit = True
        thread.join(_STARTS_WITHIN_SECONDS)


def _port(server: uvicorn.Server, thread: threading.Thread) -> int:
    """Wait until the server listens, and return where."""
    until = time.monotonic() + _STARTS_WITHIN_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise RuntimeError("the fake API does not start")
        time.sleep(_POLL_SECONDS)
    return int(server.servers[0].sockets[0].getsockname()[1])


class _Abortable(H11Protocol):
    """Hands each request the means to cut its connection, which ASGI has not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        app = self.app

        async def with_abort(
            scope: _Message, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
        ) -> None:
            scope[_ABORT] = self.transport.abort
            await app(scope, receive, send)

        self.app = with_abort


class InProcess(BaseAdapter):
    """A transport of `requests` that asks the fake.

    A lost answer is a timeout, at once.

    Args:
        cloud: whom to ask.
    """

    def __init__(self, cloud: FakeHetzner) -> None:
        super().__init__()
        self._cloud = cloud

    def send(self, request: requests.PreparedRequest, *_settings: Any, **_options: Any) -> requests.Response:
        """Return the answer.

        Raises:
            requests.exceptions.ReadTimeout: it is lost.
        """
        parts = urlsplit(request.url or "")
        reply = self._cloud.handle(
            request.method or "GET",
            str(parts.path).removeprefix(PREFIX),
            parse_qsl(str(parts.query), keep_blank_values=True),
            json.loads(request.body) if request.body else None,
            (request.headers.get("Authorization") or "").removeprefix("Bearer "),
        )
        if reply.is_lost:
            raise requests.exceptions.ReadTimeout("read timed out", request=request)
        return _response(request, reply)

    def close(self) -> None:
        """Do nothing."""


def _response(request: requests.PreparedRequest, reply: Reply) -> requests.Response:
    response = requests.Response()
    response.status_code = reply.status
    response.reason = responses.get(reply.status, "")
    response.url = request.url or ""
    response.request = request
    response.headers = CaseInsensitiveDict({"Content-Type": "application/json", **reply.headers})
    response.encoding = "utf-8"
    response._content = b"" if reply.body is None else json.dumps(reply.body).encode()  # noqa: SLF001 - there is no other way to fill it
    return response
