"""Health, readiness and metrics over HTTP."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from worker.runtime.reach import NONE, Outage


def application(
    registry: CollectorRegistry,
    missing: Callable[[], str],
    failing: Callable[[], str],
    outage: Callable[[], Outage] = lambda: NONE,
) -> Starlette:
    """Return the three routes.

    Args:
        registry: the metrics.
        missing: says what the worker still waits for, nothing when it is ready.
        failing: says why rounds fail, nothing while they succeed.
        outage: says what does not answer the worker.
    """

    async def healthz(_request: Request) -> Response:
        # That it answers is the news: the event loop runs. A restart mends no round that fails.
        gone = outage()
        if gone.is_stuck:
            return PlainTextResponse(f"{gone.sentence}\n", 503)
        return PlainTextResponse(f"ok, but {gone.sentence}\n" if gone.sentence else "ok\n")

    async def readyz(_request: Request) -> Response:
        awaited = missing()
        trouble = f"waiting for {awaited}" if awaited else outage().sentence or failing()
        return PlainTextResponse(f"{trouble or 'ok'}\n", 503 if trouble else 200)

    async def metrics(_request: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
        ]
    )


def listen(address: str) -> socket.socket:
    """Return a listening socket at host:port.

    Raises:
        OSError: the port is taken, or the host is not ours; the message says what to do.
    """
    host, _, port = address.rpartition(":")
    try:
        return socket.create_server((host, int(port)))
    except OSError as error:
        # Python adds its own words to the system's.
        reason = error.strerror if error.errno is None else os.strerror(error.errno)
        raise OSError(
            f"cannot listen at {address}: {reason}; set GROWTH_HTTP_ADDRESS (--http-address) to another"
        ) from error


async def serve(app: Starlette, listener: socket.socket) -> None:
    """Answer until cancelled."""
    server = _Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Leaves signals to the worker, which has more than this to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield
