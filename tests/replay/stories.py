"""Writes histories of the chaos stories for `test_replay.py`: `make histories`, before each release.

They are played undisturbed on a real Temporal server and with the product's own durations, so payloads and waits are
those of this version. Kept are the fewest runs that show everything that any run shows. A folder stays for as long as
workflows that its version began may be under way.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from temporalio.client import Client
from temporalio.service import ConnectConfig, ServiceClient

from simulator.view import View
from tests.chaos.stage import NAMESPACE_OF_TEMPORAL, Stage
from tests.chaos.stories import STORIES, Story
from tests.chaos.temporal_server import TemporalServer
from tests.replay.record import HISTORIES, text_of
from worker.settings import task_queue
from worker.temporal.namespace import ensure_search_attributes

SETTINGS: Final = {"limit.historyCount.suggestContinueAsNew": "40"}
"""Instead of 4,096 events: some of the runs go on as new ones."""
PATIENCE_SECONDS: Final = 600.0
AFTERWARDS_SECONDS: Final = 90.0
"""In which lifecycles end; what goes on then is kept as far as it has come."""
KINDS: Final = {"NodeRequest": "request", "NodeRemoval": "removal", "Planner": "planner"}
_STARTED, _SCHEDULED = "workflowExecutionStartedEventAttributes", "activityTaskScheduledEventAttributes"
_SIGNALED, _UPDATED = "workflowExecutionSignaledEventAttributes", "workflowExecutionUpdateAcceptedEventAttributes"

History = Mapping[str, Any]


class Patient(Stage):
    """A stage on which everything may take as long as with the product's own durations."""

    async def until(self, holds: Callable[[View], Any], what: str, *, within: float = PATIENCE_SECONDS) -> View:
        return await super().until(holds, what, within=within)


@dataclass(frozen=True)
class Run:
    """A run of a workflow, and what it shows."""

    name: str
    history: History
    shows: frozenset[str]


def activities_of(history: History) -> set[str]:
    """Return the names of the activities of a history."""
    return {event[_SCHEDULED]["activityType"]["name"] for event in history["events"] if _SCHEDULED in event}


def ends_as_new(history: History) -> bool:
    """Return whether another run goes on with its work."""
    return history["events"][-1]["eventType"].endswith("CONTINUED_AS_NEW")


def started(history: History) -> History:
    """Return how the run began."""
    return history["events"][0][_STARTED]


def goes_on(history: History) -> bool:
    """Return whether another run came before."""
    return bool(started(history).get("continuedExecutionRunId"))


def shown(kind: str, history: History) -> Iterator[str]:
    """Yield all that a run of this kind shows: its activities, events and messages, and how it begins and ends."""
    for event in history["events"]:
        yield f"{kind} {event['eventType']}"
        if _SIGNALED in event:
            yield f"{kind} signal {event[_SIGNALED]['signalName']}"
        if _UPDATED in event:
            yield f"{kind} update {event[_UPDATED]['acceptedRequest']['input']['name']}"
    yield from (f"{kind} {name}" for name in activities_of(history))
    if ends_as_new(history):
        yield f"{kind} ends as new"
    if goes_on(history):
        yield f"{kind} goes on"


def fewest(found: Iterable[Run]) -> list[Run]:
    """Return few runs that show all that any shows, short ones first."""
    left = sorted(found, key=lambda run: (len(run.history["events"]), run.name))
    missing = {what for run in left for what in run.shows}
    kept: list[Run] = []
    while missing:
        best = max(left, key=lambda run: len(run.shows & missing) / len(run.history["events"]))
        kept.append(best)
        missing -= best.shows
    return kept


async def played(service: ServiceClient, number: int, story: Story) -> list[Run]:
    """Play a story to its end and return all runs of its workflows."""
    stage = Patient(service, f"recorded-{number}")
    async with stage.playing(*story.objects()):
        await story.play(stage)
        deadline = asyncio.get_running_loop().time() + AFTERWARDS_SECONDS
        while await stage.workflows() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(1)
        found = []
        async for one in stage.client.list_workflows(f"TaskQueue = '{task_queue(stage.name)}'"):
            handle = stage.client.get_workflow_handle(one.id, run_id=one.run_id)
            history = (await handle.fetch_history()).to_json_dict()
            kind = KINDS[one.workflow_type]
            name = f"{kind}-{story.name.replace(',', '').replace(' ', '-')}"
            found.append(Run(name, history, frozenset(shown(kind, history))))
        return found


async def record(folder: Path) -> None:
    """Play all stories and write the runs that are kept into the folder, which is made anew."""
    with tempfile.TemporaryDirectory() as data:
        server = TemporalServer(Path(data), SETTINGS)
        await server.start(NAMESPACE_OF_TEMPORAL)
        try:
            service = await ServiceClient.connect(ConnectConfig(target_host=server.address))
            await ensure_search_attributes(Client(service, namespace=NAMESPACE_OF_TEMPORAL))
            found = await asyncio.gather(*(played(service, i, story) for i, story in enumerate(STORIES)))
        finally:
            server.kill()
    runs = [run for of_story in found for run in of_story]
    kept = fewest(runs)
    await asyncio.to_thread(_write, folder, kept)
    print(f"{len(kept)} of {len(runs)} runs of {len(STORIES)} stories are in {folder}")


def _write(folder: Path, runs: list[Run]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, run in enumerate(sorted(runs, key=lambda run: run.name), 1):
        (folder / f"{run.name}-{number:02}.json").write_text(text_of(run.history))


def read(path: Path) -> History:
    """Return a stored history."""
    return json.loads(path.read_text())


if __name__ == "__main__":
    asyncio.run(record(HISTORIES / version("growth-autoscaler")))
