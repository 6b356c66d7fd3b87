"""What commands say when nothing runs where they look: another namespace or cluster is meant, or nobody answers."""

import pytest
from temporalio.common import WorkflowIDConflictPolicy

from planner.lifecycle.kinds import REMOVAL
from planner.model.round import planner_workflow_id
from worker.commands.lifecycles.running import UnderWay, Whereabouts, temporal_address, under_way
from worker.errors import CommandError
from worker.settings import load
from workflows.messages import PLANNER, PlannerState


async def plan(client, cluster: str) -> None:
    """Start the planner of a cluster, which no worker carries out."""
    await client.start_workflow(
        PLANNER,
        PlannerState(),
        id=planner_workflow_id(cluster),
        task_queue="nobody",
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )


async def refusal(there: UnderWay) -> str:
    with pytest.raises(CommandError) as refused:
        await there.all(REMOVAL.workflow)
    return str(refused.value)


async def test_another_cluster_is_told_with_those_that_are_planned(client, dev_server, cluster_name):
    await plan(client, cluster_name)
    there = await under_way(Whereabouts(cluster="elsewhere", temporal_address=dev_server))
    told = ""
    # The list of running workflows lags behind.
    while cluster_name not in told:
        told = await refusal(there)
    assert told.startswith(
        f"no cluster elsewhere is planned in namespace growth of Temporal at {dev_server}: name one with --cluster "
        "(GROWTH_CLUSTER); there are "
    )
    here = await under_way(Whereabouts(cluster=cluster_name, temporal_address=dev_server))
    assert await here.all(REMOVAL.workflow) == []


async def test_another_namespace_is_told_with_those_there_are(dev_server):
    there = await under_way(Whereabouts(temporal_address=dev_server, temporal_namespace="nope"))
    told, _, names = (await refusal(there)).partition("; it has ")
    assert told == (
        f"Temporal at {dev_server} has no namespace nope: name another with --temporal-namespace "
        "(GROWTH_TEMPORAL_NAMESPACE)"
    )
    # Other tests make some of their own; Temporal's is nobody's choice.
    assert {"default", "growth"} <= set(names.split(", "))
    assert "temporal-system" not in names


async def test_a_namespace_without_any_cluster_asks_for_the_worker(dev_server):
    there = await under_way(Whereabouts(temporal_address=dev_server, temporal_namespace="default"))
    assert (await refusal(there)).endswith("is `growth run` up, and is this its namespace?")


async def test_nobody_works_for_a_cluster_without_a_worker(dev_server, cluster_name):
    there = await under_way(Whereabouts(cluster=cluster_name, temporal_address=dev_server))
    assert not await there.has_worker()


@pytest.mark.parametrize(
    ("given", "record", "address", "hint"),
    [
        ({"temporal_address": "temporal.example:7233"}, True, "temporal.example:7233", "; --temporal-address"),
        ({}, True, "127.0.0.1:4711", ": the worker of the data folder FOLDER was killed; start it again"),
        ({}, False, "localhost:7233", ", and no embedded one runs on the data folder FOLDER: start `growth run`"),
    ],
    ids=["as set", "embedded server of the data folder", "neither"],
)
def test_where_temporal_is_and_what_to_do_if_it_is_not(tmp_path, monkeypatch, given, record, address, hint):  # noqa: PLR0917
    monkeypatch.delenv("GROWTH_TEMPORAL_ADDRESS", raising=False)
    if record:
        (tmp_path / "temporal.json").write_text('{"pid": 1, "port": 4711}')
    found, told = temporal_address(load(data_dir=tmp_path, **given))
    assert found == address
    assert told.startswith(hint.replace("FOLDER", str(tmp_path)))


def test_no_embedded_server_is_told_where_one_is_wanted(tmp_path):
    with pytest.raises(CommandError, match=f"no embedded Temporal server runs on the data folder {tmp_path}: start "):
        temporal_address(load(embedded_temporal=True, data_dir=tmp_path))
