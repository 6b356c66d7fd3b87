"""Plays situations on a real control plane, many at once, and asks what the scheduler did."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp

from tests.e2e.harness import ControlPlane
from tests.e2e.harness_files import token
from tests.e2e.situations import NAMESPACES, NEW, Json, Situation
from tests.e2e.situations_nominated import PRIORITY_CLASSES
from tests.e2e.situations_resources import RUNTIME_CLASS
from tests.e2e.situations_volumes import ATTACHMENTS, CLAIMS, CLASSES, CSI_DRIVERS, CSI_NODES, VOLUMES

NODES, ALL_PODS, SPACES = "/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
GATE = {"name": "example.com/waits-for-its-claims"}
_BATCH = "batch"
"""Label of everything that is made and cleared together."""
_CALLS_AT_ONCE = 16
_SECONDS = 45.0
"""Within it every pod has an answer. A minute after their last sign of life nodes count as lost."""
_SETTLE_SECONDS = 1.5
"""In which the scheduler corrects an answer that it gave before it had seen all objects."""


@dataclass(frozen=True)
class Scene:
    """What there is before the pods are placed, as the API server lists it; and the pods, as it stores them."""

    objects: dict[str, list[Json]]
    pods: dict[str, Json]


@dataclass(frozen=True)
class Answer:
    """What the scheduler did with a pod: its node, or its reason and message."""

    node: str = ""
    reason: str = ""
    message: str = ""


class Api:
    """The API server by path, with the admin's rights."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url
        self._turn = asyncio.Semaphore(_CALLS_AT_ONCE)

    async def call(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", **query: str
    ) -> Json:
        """Return what the server answers; an error raises with its text."""
        async with (
            self._turn,
            self._session.request(
                method, self._url + path, json=body, params=query, headers={"Content-Type": kind}
            ) as response,
        ):
            answer = await response.json()
            assert response.ok, f"{method} {path}: {answer.get('message')} {body}"
            return answer

    async def items(self, path: str, **query: str) -> list[Json]:
        """Return all objects of a path."""
        return (await self.call("GET", path, **query))["items"]

    async def patch(self, path: str, body: Any) -> Json:
        """Merge the body into the object."""
        return await self.call("PATCH", path, body, "application/merge-patch+json")


@asynccontextmanager
async def stage(plane: ControlPlane) -> AsyncIterator[Api]:
    """Lend the API server with the namespaces, the runtime class and the priority classes that situations share."""
    context = ssl.create_default_context(cafile=str(plane.folder / "certificates" / "apiserver.crt"))
    headers = {"Authorization": f"Bearer {token('admin')}"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=context)) as session:
        api = Api(session, plane.url)
        for name, labels in NAMESPACES.items():
            await api.call("POST", SPACES, {"metadata": {"name": name, "labels": labels}})
        overhead = {"podFixed": {"cpu": "250m", "memory": "120Mi"}}
        made = {"metadata": {"name": RUNTIME_CLASS}, "handler": "situations", "overhead": overhead}
        await api.call("POST", RUNTIME_CLASSES, made)
        for name, value in PRIORITY_CLASSES.items():
            await api.call("POST", PRIORITIES, {"metadata": {"name": name}, "value": value})
        try:
            yield api
        finally:
            for name in PRIORITY_CLASSES:
                await api.call("DELETE", f"{PRIORITIES}/{name}")
            await api.call("DELETE", f"{RUNTIME_CLASSES}/{RUNTIME_CLASS}")
            for name in NAMESPACES:
                await api.call("DELETE", f"{SPACES}/{name}")


async def play(
    api: Api, situations: Sequence[Situation], at_once: int
) -> AsyncIterator[tuple[Sequence[Situation], Scene, dict[str, Answer]]]:
    """Yield batches with what there was and what the scheduler answered, by name of the situation.

    While the objects of a batch go away, those of the next one are made.
    """
    clearing: asyncio.Task[None] | None = None
    try:
        for start in range(0, len(situations), at_once):
            batch = situations[start : start + at_once]
            await _build(api, batch, str(start))
            if clearing:
                await clearing
            scene = await _raise_curtain(api, batch)
            answers = await _answers(api, batch)
            clearing = asyncio.create_task(_clear(api, f"{_BATCH}={start}"))
            yield batch, scene, answers
    finally:
        if clearing:
            await clearing
        await _clear(api, _BATCH)


async def _build(api: Api, situations: Sequence[Situation], batch: str) -> None:
    for s in situations:
        others = (*(other for _, other in s.others), *(pod for pod, _ in s.nominated))
        for item in (*s.nodes, *s.residents, s.pod, *others):
            item["metadata"].setdefault("labels", {})[_BATCH] = batch
    # Volumes come first: while controllers bind them, the rest is made.
    await asyncio.gather(*(_others(api, s) for s in situations))
    await asyncio.gather(*(_node(api, node) for s in situations for node in s.nodes))
    await asyncio.gather(*(_create_pod(api, pod) for s in situations for pod in s.residents))
    await asyncio.gather(*(api.patch(f"{path}/status", status) for s in situations for path, status in s.statuses))
    waiting = {name for s in situations for name in s.unbound_claims}

    async def settled() -> bool:
        own = {"labelSelector": f"{_BATCH}={batch}"}
        claims, volumes = await api.items(CLAIMS, **own), await api.items(VOLUMES, **own)
        bound = (c["status"].get("phase") == "Bound" for c in claims if c["metadata"]["name"] not in waiting)
        return all((*bound, *(v["status"].get("phase") in ("Available", "Bound") for v in volumes)))

    await _until(settled, "claims are bound and volumes available")
    nominated = [each for s in situations for each in s.nominated]
    if nominated:
        await _nominate(api, nominated)
    await asyncio.gather(*(api.call("DELETE", path) for s in situations for path in s.deleted))


async def _nominate(api: Api, nominated: Sequence[tuple[Json, str]]) -> None:
    """Make the pods, and tell the scheduler which node it keeps for each once it has found none itself."""

    async def all_open() -> bool:
        # A node that loses a taint has every pod tried again, and those that fit nowhere are let go.
        taints = (taint for node in await api.items(NODES) for taint in node["spec"].get("taints", ()))
        return not any(taint["key"] == NEW["key"] for taint in taints)

    await _until(all_open, "nodes are seen to be ready")
    await asyncio.gather(*(_create_pod(api, pod) for pod, _ in nominated))
    names = {pod["metadata"]["name"] for pod, _ in nominated}

    async def all_refused() -> bool:
        return all(_answer(pod).reason for pod in await api.items(ALL_PODS) if pod["metadata"]["name"] in names)

    await _until(all_refused, "pods that fit nowhere are refused")
    told = ((_path(pod), {"status": {"nominatedNodeName": node}}) for pod, node in nominated)
    await asyncio.gather(*(api.patch(f"{path}/status", status) for path, status in told))


async def _raise_curtain(api: Api, situations: Sequence[Situation]) -> Scene:
    """Look at everything, then let the pods in; those that bring claims come in before, held back by a gate."""
    early = [s for s in situations if s.has_own_claims]
    late = [s for s in situations if not s.has_own_claims]
    for s in early:
        s.pod["spec"]["schedulingGates"] = [GATE]
    pods = await _create_pods(api, early)
    wanted = {claim for s in early for claim in s.unbound_claims}

    async def all_there() -> bool:
        return wanted <= {claim["metadata"]["name"] for claim in await api.items(CLAIMS)}

    await _until(all_there, "the claims of pods are made")
    paths = (NODES, ALL_PODS, CLAIMS, VOLUMES, CLASSES, CSI_NODES, SPACES)
    objects = dict(zip(paths, await asyncio.gather(*(api.items(path) for path in paths)), strict=True))
    held = {s.pod["metadata"]["name"] for s in early}
    objects[ALL_PODS] = [pod for pod in objects[ALL_PODS] if pod["metadata"]["name"] not in held]
    for s in early:
        del pods[s.name]["spec"]["schedulingGates"]
        await api.patch(_path(s.pod), {"spec": {"schedulingGates": None}})
    pods |= await _create_pods(api, late)
    return Scene(objects, pods)


async def _answers(api: Api, situations: Iterable[Situation]) -> dict[str, Answer]:
    names = {s.pod["metadata"]["name"]: s.name for s in situations}

    async def look() -> dict[str, Answer]:
        pods = {pod["metadata"]["name"]: pod for pod in await api.items(ALL_PODS)}
        return {name: _answer(pods[pod]) for pod, name in names.items()}

    async def all_answered() -> bool:
        return all(answer.node or answer.reason for answer in (await look()).values())

    await _until(all_answered, "every pod has an answer")
    await asyncio.sleep(_SETTLE_SECONDS)
    return await look()


def _answer(pod: Json) -> Answer:
    # While volumes are bound, which nobody here does for claims to be provisioned, the node stands in the status.
    node = pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName", "")
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False" and not node:
            return Answer(reason=condition["reason"], message=condition.get("message", ""))
    return Answer(node=node)


async def _node(api: Api, node: Json) -> None:
    # A sign of life that differs from that of a node of the same name before, which would count as lost at once.
    node["status"]["conditions"][0]["lastHeartbeatTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    await api.call("POST", NODES, node)


async def _others(api: Api, s: Situation) -> None:
    for path, body in s.others:
        await api.call("POST", path, body)


async def _create_pods(api: Api, situations: Sequence[Situation]) -> dict[str, Json]:
    """Return the pods to place as the API server stores them, by name of their situation."""
    made = await asyncio.gather(*(_create_pod(api, s.pod) for s in situations))
    return {s.name: pod for s, pod in zip(situations, made, strict=True)}


async def _create_pod(api: Api, pod: Json) -> Json:
    return await api.call("POST", _path(pod).rpartition("/")[0], pod)


def _path(pod: Json) -> str:
    return f"{SPACES}/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


async def _clear(api: Api, selector: str) -> None:
    pods = (f"{SPACES}/{namespace}/pods" for namespace in NAMESPACES)
    for path in (*pods, ATTACHMENTS, CLAIMS, VOLUMES, CSI_NODES, CSI_DRIVERS, CLASSES, NODES):
        now = {"gracePeriodSeconds": "0"} if path.endswith("/pods") else {}
        await api.call("DELETE", path, labelSelector=selector, **now)


async def _until(holds: Any, what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not await holds():
        assert time.monotonic() < deadline, f"{what}: not within {_SECONDS:g} s"
        await asyncio.sleep(0.2)
