"""What must exist in Temporal before a workflow can run: a namespace, and the search attributes of Growth's workflows.

Whoever may not create, or even list, them can still work where they exist: a token for one namespace is enough.
"""

from datetime import timedelta
from typing import Final

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from workflows.messages import SEARCH_ATTRIBUTES

log = structlog.stdlib.get_logger(__name__)

RETENTION: Final = timedelta(days=7)
"""How long an ended machine's history can be looked at."""
_REFUSED: Final = frozenset(
    {RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.UNIMPLEMENTED}
)
"""Answers to calls that a token for one namespace, or a server without an operator's API, does not allow."""


class NotPreparedError(Exception):
    """Something is missing in Temporal that these credentials may not create; the message says how others do."""


async def ensure_namespace(client: Client, *, keep_retention: bool) -> bool:
    """Create the client's namespace if it is missing and return whether it was.

    With `keep_retention` a shorter retention is raised to 7 days: the worker's own server would
    keep a day. A namespace that others manage keeps what they chose.

    Raises:
        NotPreparedError: it is missing, and these credentials may not create it.
        RPCError: Temporal did not answer.
    """
    service = client.workflow_service
    try:
        description = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status in _REFUSED:
            # It may be there all the same: the calls that follow tell.
            return False
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
        if error.status in _REFUSED:
            raise NotPreparedError(
                f"Temporal has no namespace {client.namespace}, and these credentials may not create it: "
                f"temporal operator namespace create --retention {RETENTION.days}d -n {client.namespace}"
            ) from error
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
        return
    log.info("Temporal namespace created", namespace=client.namespace)


async def ensure_search_attributes(client: Client) -> bool:
    """Register the search attributes that are missing and return whether any was.

    Without them each workflow task that sets one fails, and is repeated for ever.

    Raises:
        NotPreparedError: one is missing, and these credentials may not add it.
        RPCError: Temporal did not answer.
    """
    missing = await _missing(client)
    if not missing:
        return False
    request = AddSearchAttributesRequest(
        namespace=client.namespace,
        search_attributes={
            key.name: IndexedValueType.Value(f"INDEXED_VALUE_TYPE_{key.indexed_value_type.name}") for key in missing
        },
    )
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status in _REFUSED:
            raise NotPreparedError(_how_to_add(client, missing)) from error
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    return True


async def _missing(client: Client) -> list[SearchAttributeKey]:
    """Return the search attributes that the namespace does not have."""
    service = client.operator_service
    try:
        known = await service.list_search_attributes(ListSearchAttributesRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status not in _REFUSED:
            raise
        # Whoever may not list them may search by them.
        return [key for key in SEARCH_ATTRIBUTES if not await _is_searchable(client, key)]
    return [key for key in SEARCH_ATTRIBUTES if key.name not in known.custom_attributes]


async def _is_searchable(client: Client, key: SearchAttributeKey) -> bool:
    try:
        await client.count_workflows(f"{key.name} IS NOT NULL")
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT and key.name in error.message:
            return False
        raise
    return True


def cli_type(key: SearchAttributeKey) -> str:
    """Return the type of a search attribute as the command `temporal` writes it."""
    return {"KEYWORD": "Keyword", "DATETIME": "Datetime"}[key.indexed_value_type.name]


def _how_to_add(client: Client, missing: list[SearchAttributeKey]) -> str:
    options = " ".join(f"--name {key.name} --type {cli_type(key)}" for key in missing)
    return (
        f"the namespace {client.namespace} lacks search attributes, and these credentials may not add them: "
        f"temporal operator search-attribute create -n {client.namespace} {options}"
    )
