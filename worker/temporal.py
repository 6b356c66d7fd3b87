"""The client to Temporal, and what must exist there before a workflow can run."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client, Interceptor
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from worker.settings import Settings
from workflows.messages import SEARCH_ATTRIBUTES

log = structlog.stdlib.get_logger(__name__)

RETENTION: Final = timedelta(days=7)
"""How long an ended machine's history can be looked at."""
LONGEST_PAUSE: Final = 15.0
"""Seconds between attempts to reach a server that does not answer."""


async def connect(
    settings: Settings,
    address: str,
    *,
    runtime: Runtime | None = None,
    interceptors: Sequence[Interceptor] = (),
    attempts: int | None = None,
) -> Client:
    """Return a client of the server at `address`, trying until it answers, or `attempts` times.

    Raises:
        RuntimeError: the server did not answer in the last attempt.
        OSError: a certificate file cannot be read.
    """
    tls = await asyncio.to_thread(_tls, settings)
    pause = 0.5
    made = 0
    while True:
        try:
            return await Client.connect(
                address,
                namespace=settings.temporal_namespace,
                data_converter=pydantic_data_converter,
                interceptors=interceptors,
                tls=tls,
                api_key=None if settings.temporal_api_key is None else settings.temporal_api_key.get_secret_value(),
                runtime=runtime,
            )
        except RuntimeError as error:
            # This is all the SDK tells of a server that is not there.
            made += 1
            if attempts is not None and made >= attempts:
                raise
            log.warning("Temporal does not answer", address=address, error=str(error), again_in_seconds=pause)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _tls(settings: Settings) -> TLSConfig | bool:
    if not settings.temporal_tls:
        return False
    return TLSConfig(
        server_root_ca_cert=_bytes_of(settings.temporal_tls_ca),
        client_cert=_bytes_of(settings.temporal_tls_cert),
        client_private_key=_bytes_of(settings.temporal_tls_key),
    )


def _bytes_of(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()


async def ensure_namespace(client: Client, *, keep_retention: bool) -> bool:
    """Create the client's namespace if it is missing and return whether it was.

    With `keep_retention` a shorter retention is raised to 7 days: the worker's own server would
    keep a day. A namespace that others manage keeps what they chose.
    """
    service = client.workflow_service
    try:
        found = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        await _register(client)
        return True
    if keep_retention and found.config.workflow_execution_retention_ttl.ToTimedelta() < RETENTION:
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
