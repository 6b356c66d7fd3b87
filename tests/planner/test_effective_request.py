"""What pods take. Values follow the examples of the Kubernetes docs on init containers and sidecars."""

from typing import Any

import pytest

from planner.effective_request import effective_request
from planner.json_part import Part
from planner.parse import parse_pod
from tests.planner.scenes import pod


def container(cpu: str, memory: str = "0", **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}} | more


def taken(**spec: Any) -> dict[str, int]:
    return effective_request(Part(spec, "spec"))


def sidecar(cpu: str) -> dict[str, Any]:
    return container(cpu, restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("500m"), container("0.25")]}, 750),
        ({"containers": [container("1")], "initContainers": [container("3"), container("2")]}, 3000),
        ({"containers": [container("1")], "initContainers": [sidecar("500m")]}, 1500),
        # The init container runs beside the sidecar begun before it, not beside the later one.
        ({"containers": [container("1")], "initContainers": [sidecar("500m"), container("2"), sidecar("1")]}, 2500),
        ({"containers": [container("1")], "initContainers": [container("2"), sidecar("500m")]}, 2000),
        ({"containers": [container("1")], "overhead": {"cpu": "100m"}}, 1100),
        ({"containers": [container("1")], "initContainers": [container("2")], "overhead": {"cpu": "100m"}}, 2100),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, 1000),
        ({"containers": [container("100m")], "resources": {"requests": {"cpu": "1"}}}, 1000),
        ({"containers": [container("0.0001")]}, 1),
    ],
)
def test_cpu(spec: dict[str, Any], cpu: int):
    assert taken(**spec)["cpu"] == cpu


def test_memory_and_cpu_may_have_their_peak_at_different_times():
    spec = {"containers": [container("1", "1Gi")], "initContainers": [container("2", "1Mi")]}
    assert taken(**spec) == {"cpu": 2000, "memory": 2**30, "pods": 1}


def test_a_pod_that_asks_for_nothing_takes_a_place_all_the_same():
    assert taken(containers=[{}]) == {"pods": 1}


def test_devices_count():
    assert parse_pod(pod("a", requests={"nvidia.com/gpu": "2"})).requests["nvidia.com/gpu"] == 2


def test_cpu_is_not_rounded_up_to_whole_cores():
    # The public code of the seed rounds 500m to 1 and 1500m to 2 (golden row 21); the scheduler does not.
    assert taken(containers=[container("500m"), container("1500m")])["cpu"] == 2000
