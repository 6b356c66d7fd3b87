"""Looks for secrets wherever people can read: histories of workflows, the log, objects and events."""

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from temporalio.client import Client

from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane

NAMESPACE: Final = "growth"
"""Growth's own, at Temporal."""
_PART: Final = 16
"""Characters: so short a piece of a secret counts as told."""
_KINDS: Final = (
    "nodepools",
    "noderequests",
    "noderemovalrequests",
    "kwoknodeclasses",
    "hetznernodeclasses",
    "nodes",
    "pods",
    "configmaps",
    "leases",
    "events",
)


def assert_kept(plane: ControlPlane, growth: GrowthProcess, temporal: str, secrets: Sequence[str]) -> None:
    """Assert that no piece of a secret stands in anything but Secrets, and print how much was searched.

    Each place must hold a word that is known to be there, so that an empty one does not pass, nor one with payloads
    that cannot be read.
    """
    histories, workflows = asyncio.run(_histories(temporal))
    objects = "".join(json.dumps(plane.api.items(kind)) for kind in _KINDS)
    places = {
        "histories": (histories, b"json/plain"),
        "log": (growth.log().encode(), b"works on a cluster"),
        "objects": (objects.encode(), b"tokenSecretRef"),
    }
    for name, (text, known) in places.items():
        assert known in text, f"{name} do not even hold {known!r}"
        assert not _found(text, secrets), f"{name} hold pieces of a secret"
    sizes = ", ".join(f"{name} {len(text) // 1024} KiB" for name, (text, _) in places.items())
    print(f"\nno piece of {len(secrets)} secrets in {sizes} ({workflows} workflows)")


def _found(text: bytes, secrets: Sequence[str]) -> list[str]:
    pieces = {secret[at : at + _PART] for secret in secrets for at in range(len(secret) - _PART + 1)}
    return [piece for piece in pieces if piece.encode() in text]


async def _histories(address: str) -> tuple[bytes, int]:
    """Return the histories of all workflows, with payloads as they are, and how many there are."""
    client = await Client.connect(address, namespace=NAMESPACE)
    texts = []
    runs = 0
    async for workflow in client.list_workflows():
        history = await client.get_workflow_handle(workflow.id, run_id=workflow.run_id).fetch_history()
        texts += [event.SerializeToString() for event in history.events]
        runs += 1
    return b"".join(texts), runs
