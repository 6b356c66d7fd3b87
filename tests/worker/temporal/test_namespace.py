"""What must exist in Temporal is looked for with what the credentials allow, and told to whoever may create it."""

import asyncio
from contextlib import suppress

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import OperatorService, RPCError, RPCStatusCode, WorkflowService

from worker.temporal.namespace import NotPreparedError, ensure_namespace, ensure_search_attributes

OF_OPERATORS = ("list_search_attributes", "add_search_attributes")
OF_ALL_NAMESPACES = ("describe_namespace", "register_namespace", "update_namespace")


def refuse(monkeypatch, *calls, status=RPCStatusCode.PERMISSION_DENIED):
    """Answer these calls as a server does to a token for one namespace."""

    async def refused(*_arguments, **_options):
        raise RPCError("Request unauthorized.", status, b"")

    for call in calls:
        monkeypatch.setattr(OperatorService if call in OF_OPERATORS else WorkflowService, call, refused)


@pytest.mark.parametrize("status", [RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED])
async def test_a_token_for_one_namespace_is_enough_where_all_exists(client, monkeypatch, status):
    refuse(monkeypatch, *OF_OPERATORS, *OF_ALL_NAMESPACES, status=status)
    assert await ensure_namespace(client, keep_retention=False) is False
    assert await ensure_search_attributes(client) is False


async def test_a_namespace_that_may_not_be_created_is_told_with_the_command_for_it(dev_server, monkeypatch):
    client = await Client.connect(dev_server, namespace="nowhere", data_converter=pydantic_data_converter)
    refuse(monkeypatch, "register_namespace")
    with pytest.raises(NotPreparedError) as told:
        await ensure_namespace(client, keep_retention=False)
    assert str(told.value) == (
        "Temporal has no namespace nowhere, and these credentials may not create it: "
        "temporal operator namespace create --retention 7d -n nowhere"
    )


@pytest.mark.parametrize("calls", [OF_OPERATORS, ("add_search_attributes",)], ids=["not even listed", "not added"])
async def test_search_attributes_that_may_not_be_added_are_told_with_the_command_for_it(
    dev_server, monkeypatch, cluster_name, calls
):
    fresh = await Client.connect(dev_server, namespace=f"bare-{cluster_name}", data_converter=pydantic_data_converter)
    await ensure_namespace(fresh, keep_retention=False)
    await _is_known(fresh)
    refuse(monkeypatch, *calls)
    with pytest.raises(NotPreparedError) as told:
        await ensure_search_attributes(fresh)
    assert f"temporal operator search-attribute create -n {fresh.namespace} --name " in str(told.value)
    assert "--name GrowthCluster --type Keyword" in str(told.value)


async def _is_known(client: Client) -> None:
    """Return when every part of the server knows the new namespace."""
    async with asyncio.timeout(30):
        while True:
            with suppress(RPCError):
                await client.count_workflows("WorkflowId = 'none'")
                break
            await asyncio.sleep(0.2)
