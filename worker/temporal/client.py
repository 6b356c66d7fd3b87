"""The client to Temporal, and what must exist there before a workflow can run."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.failure.v1 import Failure
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client, Interceptor
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadConverter
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from activities.ports.errors import GrowthError
from worker.errors import USAGE_ERROR, CommandError
from worker.log_once import LogOnce
from worker.settings import Settings
from worker.temporal.trouble import TemporalUnreachable, connect_trouble
from workflows.messages import SEARCH_ATTRIBUTES
from workflows.node_removal import REFUSED

log = structlog.stdlib.get_logger(__name__)

RETENTION: Final = timedelta(days=7)
"""How long an ended machine's history can be looked at."""
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
    if not settings.temporal_tls:
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


async def ensure_namespace(client: Client, *, keep_retention: bool) -> bool:
    """Create the client's namespace if it is missing and return whether it was.

    With `keep_retention` a shorter retention is raised to 7 days: the worker's own server would
    keep a day. A namespace that others manage keeps what they chose.
    """
    service = client.workflow_service
    try:
        description = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        await _register(client)
        return True
    if keep_retention and description.config.workflow_execution_retention_ttl.ToTimedelta() < RETENTION:
        update = UpdateNamespaceRequest(namespace=client.namespace)
        update.config.workflow_execution_retention_ttl.FromTimedelta(RETENTION)
        await service.update_namespace(update)
    return False


async def _register(client: Client) -> None:
    request = RegisterNamespaceRequest(namespace=client.namespace, description="Growth: machines of a cluster")
    request.workflow_execution_retention_period.FromTimedelta(RETENTION)
    try:
        await client.workflow_service.register_namespace(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
        return
    log.info("Temporal namespace created", namespace=client.namespace)


async def ensure_search_attributes(client: Client) -> bool:
    """Register the search attributes that are missing and return whether any was.

    Without them each workflow task that sets one fails, and is repeated for ever.
    """
    service = client.operator_service
    known = await service.list_search_attributes(ListSearchAttributesRequest(namespace=client.namespace))
    missing = {
        key.name: IndexedValueType.Value(f"INDEXED_VALUE_TYPE_{key.indexed_value_type.name}")
        for key in SEARCH_ATTRIBUTES
        if key.name not in known.custom_attributes
    }
    if not missing:
        return False
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
    try:
        await service.add_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    return True
