"""Drains in a test: a Node with pods, the kubelet that ends them, and life until the drain is over."""

from datetime import datetime, timedelta

from activities.ports.cluster import PODS
from planner.lifecycle.removal import next_step
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import SCALE_DOWN, START, Life

OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
DRAINING = OVER | {"phase": "Draining", "drainStartedAt": START, "excludedAt": START - timedelta(minutes=1)}


async def draining(*pods, status=DRAINING, scale_down=None, **spec):
    """A Node with these pods in its drain, in a pool of mode drain."""
    life = Life()
    await life.install(scaleDown={"mode": "drain"} | (scale_down or {}))
    await life.add_leaving(status, SCALE_DOWN, **spec)
    for name in pods:
        await life.run_pod(name)
    return life


async def go_on(life, *, seconds=600, kubelet=True, tick=1):
    """Live on until the drain is over or for so long, and return the effects and awaited reasons in their order."""
    steps, ends = [], life.now() + timedelta(seconds=seconds)
    while life.now() < ends:
        seen = await life.look_removal()
        if not seen.exists or seen.status.phase == "Deprovisioning":
            break
        step = next_step(seen, None, life.now())
        word = step.effect if isinstance(step, Act) else step.reason
        if not steps or steps[-1] != word:
            steps.append(word)
        if isinstance(step, Act):
            await life.do(step.effect, step)
        else:
            life.pass_time(tick)
        if kubelet:
            await end_pods(life)
    return steps


async def end_pods(life, *, in_time=False):
    """End the pods that were asked to, at once or when their time is over."""
    for pod in (await MemoryCluster.list(life.cluster, PODS)).items:
        at = pod["metadata"].get("deletionTimestamp")
        if at is not None and (not in_time or datetime.fromisoformat(at) <= life.now()):
            life.cluster.finish("shop", pod["metadata"]["name"])


async def pods(life):
    """Return the metadata of the pods by name."""
    return {p["metadata"]["name"]: p["metadata"] for p in (await MemoryCluster.list(life.cluster, PODS)).items}


async def going(life):
    """Return the names of the pods that were asked to end."""
    return sorted(name for name, metadata in (await pods(life)).items() if "deletionTimestamp" in metadata)


async def status_of(life):
    """Return the status of the removal."""
    return (await life.removal())["status"]


def events(status):
    """Return the names of what happened, in its order."""
    return [event["name"] for event in status["events"]]
