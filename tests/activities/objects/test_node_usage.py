"""Samples of usage: kept of Nodes that are there, asked for where a pool goes by them, no more than needed.

Source: kubernetes-sigs/metrics-server #745, #750 (usage below zero), #1141 (Nodes that come and go in answers).
"""

from typing import Any

import pytest

from activities.objects.node_usage import NOT_SERVED, sample_usage
from activities.ports.cluster import NODE_METRICS, NODE_POOLS, NODES, ObjectList, Resource
from activities.ports.errors import Forbidden, GrowthError, NotFound, Unreachable
from activities.ports.ports import Ports
from activities.ports.usage import KEPT
from planner.model.usage import UsageSample
from tests.builders import NOW, after, before, node, node_pool
from worker.ports import ports_on

BY_USAGE = node_pool(scaleDown={"mode": "wait", "node": {"basis": "usage"}})


def metrics(name: str, at: str, cpu: str = "500m", memory: str = "1Gi") -> dict[str, Any]:
    return {"metadata": {"name": name}, "timestamp": at, "window": "20s", "usage": {"cpu": cpu, "memory": memory}}


class Served:
    """An API server that has these objects, or raises an error for one kind."""

    def __init__(self, *pools: dict[str, Any], nodes: tuple[str, ...] = ("a", "b")) -> None:
        self.items: dict[Resource, list[dict[str, Any]]] = {
            NODE_POOLS: list(pools),
            NODES: [node(name) for name in nodes],
            NODE_METRICS: [],
        }
        self.error: GrowthError | None = None
        self.asked = 0

    async def list(self, resource: Resource, **_: Any) -> ObjectList:
        if resource == NODE_METRICS:
            self.asked += 1
            if self.error is not None:
                raise self.error
        return ObjectList(list(self.items[resource]), "")


def ports_of(served: Served) -> Ports:
    return ports_on(served, served, cluster_name="c", namespace="n", cluster_uid="u")  # type: ignore[arg-type]


def known(ports: Ports) -> dict[str, int]:
    return {name: len(samples) for name, samples in ports.usage.observed.samples.items()}


async def test_nothing_is_asked_for_where_no_pool_goes_by_usage():
    served = Served(
        node_pool(), node_pool("b", scaleDown={"node": {"basis": "requests"}}), node_pool("c", scaleDown=None)
    )
    assert await sample_usage(ports_of(served)) == ""
    assert served.asked == 0


async def test_a_sample_is_kept_once_in_whole_numbers():
    served = Served(BY_USAGE)
    ports = ports_of(served)
    # As metrics-server writes them: nanocores and kibibytes.
    served.items[NODE_METRICS] = [metrics("a", before(seconds=10), cpu="156340012n", memory="1017916Ki")]
    await sample_usage(ports)
    await sample_usage(ports)
    (sample,) = ports.usage.observed.samples["a"]
    assert (sample.cpu, sample.memory) == (157, 1_042_345_984)


async def test_a_node_keeps_the_last_samples_and_an_older_one_that_comes_late_is_not_taken():
    served = Served(BY_USAGE)
    ports = ports_of(served)
    for minute in range(KEPT + 10):
        served.items[NODE_METRICS] = [metrics("a", after(minutes=minute))]
        await sample_usage(ports)
    served.items[NODE_METRICS] = [metrics("a", before(hours=1))]
    await sample_usage(ports)
    samples = ports.usage.observed.samples["a"]
    assert len(samples) == KEPT
    assert samples[0] == UsageSample(samples[-1].at - (samples[-1].at - samples[0].at), 500, 1024**3)
    assert (samples[-1].at - NOW).total_seconds() == 60 * (KEPT + 9)


async def test_nodes_that_are_gone_are_forgotten_and_one_that_is_left_out_is_not():
    served = Served(BY_USAGE)
    ports = ports_of(served)
    served.items[NODE_METRICS] = [metrics("a", before(seconds=10)), metrics("b", before(seconds=10))]
    await sample_usage(ports)
    served.items[NODE_METRICS] = [metrics("b", before(seconds=1))]
    await sample_usage(ports)
    assert known(ports) == {"a": 1, "b": 2}
    served.items[NODES] = [node("b")]
    await sample_usage(ports)
    assert known(ports) == {"b": 2}


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NotFound("nodes"), NOT_SERVED),
        (
            Forbidden("no", user="growth", verb="list", resource="nodes", advice="apply the base again"),
            "it may not be read: no: apply the base again",
        ),
        (
            Unreachable("503: the server is currently unable"),
            "metrics.k8s.io does not answer: 503: the server is currently unable",
        ),
    ],
    ids=["not installed", "no right", "not Ready"],
)
async def test_without_an_answer_what_is_known_stays_and_the_reason_is_told(error: GrowthError, says: str):
    served = Served(BY_USAGE)
    ports = ports_of(served)
    served.items[NODE_METRICS] = [metrics("a", before(seconds=10))]
    await sample_usage(ports)
    served.error = error
    assert await sample_usage(ports) == says
    assert known(ports) == {"a": 1}
    assert ports.usage.observed.problem == says
    served.error = None
    assert await sample_usage(ports) == ""
    assert ports.usage.observed.problem == ""


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (metrics("a", before(seconds=1), cpu="much"), "usage.cpu"),
        (metrics("a", before(seconds=1), memory="-1Gi"), "usage.memory"),
        (metrics("a", "noon"), "timestamp"),
        ({"metadata": {"name": "a"}, "usage": {"cpu": "1", "memory": "1Gi"}}, "timestamp"),
        ({"metadata": {"name": "a"}, "timestamp": before(seconds=1), "usage": {"cpu": "1"}}, "usage.memory"),
        ({"metadata": {"name": "a"}, "timestamp": before(seconds=1), "usage": None}, "usage.cpu"),
    ],
    ids=["no amount", "less than nothing", "no time", "without a time", "half of it", "nothing"],
)
async def test_a_broken_sample_is_left_out_alone(broken: dict[str, Any], says: str):
    served = Served(BY_USAGE)
    ports = ports_of(served)
    served.items[NODE_METRICS] = [broken, metrics("b", before(seconds=10))]
    assert (await sample_usage(ports)).startswith(f"NodeMetrics a: {says}")
    assert known(ports) == {"b": 1}
