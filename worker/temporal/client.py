"""The client to Temporal."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client, Interceptor
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadConverter
from temporalio.runtime import Runtime
from temporalio.service import TLSConfig

from activities.ports.errors import GrowthError
from worker.errors import USAGE_ERROR, CommandError
from worker.log_once import LogOnce
from worker.settings import Settings
from worker.temporal.trouble import TemporalUnreachable, connect_trouble
from workflows.node_removal import REFUSED

log = structlog.stdlib.get_logger(__name__)

LONGEST_PAUSE: Final = 15.0
"""Seconds between attempts to reach a server that does not answer."""
CONNECT_SECONDS: Final = 4.0
"""For one attempt: the client itself would wait half a minute for a port behind which nothing answers."""


class FailureConverter(DefaultFailureConverter):
    """The default one, without stack traces of refusals and of the project's own errors.

    Those of the latter are in the worker's log; here they would hide the line that says what to do.
    """

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """Write `exception` into `failure`."""
        super().to_failure(exception, payload_converter, failure)
        is_own = isinstance(exception.__cause__, GrowthError)
        if is_own:
            # It says the same once more.
            failure.ClearField("cause")
        if is_own or failure.application_failure_info.type == REFUSED:
            failure.ClearField("stack_trace")


DATA_CONVERTER: Final[DataConverter] = replace(pydantic_data_converter, failure_converter_class=FailureConverter)
"""Of every client of Growth."""


async def connect(
    settings: Settings,
    address: str,
    *,
    runtime: Runtime | None = None,
    interceptors: Sequence[Interceptor] = (),
    attempts: int | None = None,
    waiting_for: Callable[[str], None] = lambda _reason: None,
) -> Client:
    """Return a client of the server at `address`, trying until it answers, or `attempts` times.

    Args:
        settings: namespace and credentials.
        address: host:port.
        runtime: of the client.
        interceptors: of the client.
        attempts: how many, None for no end.
        waiting_for: is told why the last attempt failed.

    Raises:
        TemporalUnreachable: there was no usable server in the last attempt.
        CommandError: a certificate file cannot be read.
    """
    tls = await asyncio.to_thread(_tls, settings)
    warnings = LogOnce(log)
    pause = 0.5
    made = 0
    while True:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await Client.connect(
                    address,
                    namespace=settings.temporal_namespace,
                    data_converter=DATA_CONVERTER,
                    interceptors=interceptors,
                    tls=tls,
                    api_key=None if settings.temporal_api_key is None else settings.temporal_api_key.get_secret_value(),
                    runtime=runtime,
                )
        except (RuntimeError, ValueError, TimeoutError) as error:
            # The SDK has no errors of its own for a server or an address that cannot be used.
            made += 1
            reason = connect_trouble(error)
            if attempts is not None and made >= attempts:
                raise TemporalUnreachable(reason) from error
            waiting_for(reason)
            if made > 1:
                # A server that is starting opens its port before it answers: once is no trouble yet.
                warnings.warn(f"waiting for Temporal at {address}: {reason}")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _tls(settings: Settings) -> TLSConfig | bool:
    if not settings.uses_tls:
        return False
    return TLSConfig(
        server_root_ca_cert=_bytes_of(settings.temporal_tls_ca, "GROWTH_TEMPORAL_TLS_CA"),
        client_cert=_bytes_of(settings.temporal_tls_cert, "GROWTH_TEMPORAL_TLS_CERT"),
        client_private_key=_bytes_of(settings.temporal_tls_key, "GROWTH_TEMPORAL_TLS_KEY"),
    )


def _bytes_of(path: Path | None, setting: str) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise CommandError(f"{setting}: {path} cannot be read: {error.strerror}", USAGE_ERROR) from error
