"""What pods take. Values follow the examples of the Kubernetes docs on init containers and sidecars."""

from typing import Any

import pytest

from planner.parsing.effective_request import effective_request
from planner.parsing.json_part import Part
from planner.parsing.objects import parse_pod
from tests.builders import pod


def container(cpu: str, memory: str = "0", **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}} | more


def taken(**spec: Any) -> dict[str, int]:
    return effective_request(Part(spec, "spec"))


def sidecar(cpu: str, **more: Any) -> dict[str, Any]:
    return container(cpu, restartPolicy="Always", **more)


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
        # KEP-753: the third init container is the peak, beside the one sidecar that was begun before it.
        (
            {
                "containers": [container("1"), container("1")],
                "initContainers": [container("5"), sidecar("1"), container("6"), sidecar("1"), container("1")],
            },
            7000,
        ),
        (
            {
                "containers": [container("3")],
                "initContainers": [container("5"), sidecar("1"), container("1"), sidecar("2")],
            },
            6000,
        ),
        # What is asked for the pod as a whole stands in place of the sum (of less, the API server keeps pods free).
        ({"containers": [container("100m")], "resources": {"requests": {"cpu": "1"}}}, 1000),
        ({"containers": [container("2")], "resources": {"requests": {"cpu": "1"}}}, 1000),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("4")],
                "resources": {"requests": {"cpu": "2"}},
            },
            2000,
        ),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "100m"}}, 2100),
        ({"containers": [container("1")], "resources": {"requests": {"memory": "1Gi"}}}, 1000),
        # Its limit stands for a request that neither it nor its containers make.
        ({"containers": [{}], "resources": {"limits": {"cpu": "3"}}}, 3000),
        ({"containers": [container("1")], "resources": {"limits": {"cpu": "3"}}}, 1000),
        ({"containers": [{}], "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "2"}}}, 2000),
        # Started with a limit of its own, an init container asks for that.
        ({"containers": [container("1")], "initContainers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000),
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


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "hugepages-2Mi", "ephemeral-storage", "example.com/licence"])
def test_every_resource_is_summed_and_peaks_alike(name: str):
    def asking(amount: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {name: amount}}} | more

    running = [asking("2"), asking("1")]
    assert taken(containers=running)[name] == 3
    assert taken(containers=running, initContainers=[asking("4")])[name] == 4
    assert taken(containers=running, initContainers=[asking("1", restartPolicy="Always"), asking("2")])[name] == 4


def test_only_cpu_memory_and_huge_pages_can_be_asked_for_the_pod_as_a_whole():
    """As in IsSupportedPodLevelResource; huge pages have limit and request the same."""
    whole = {"requests": {"memory": "1Gi", "nvidia.com/gpu": "3"}, "limits": {"hugepages-2Mi": "4Mi"}}
    main = {"resources": {"requests": {"nvidia.com/gpu": "1", "memory": "2Gi", "hugepages-2Mi": "2Mi"}}}
    assert taken(containers=[main], resources=whole) == {
        "memory": 2**30,
        "nvidia.com/gpu": 1,
        "hugepages-2Mi": 4 * 2**20,
        "pods": 1,
    }


def status(allotted: str, has: str, **more: Any) -> dict[str, Any]:
    own = {"name": "main", "allocatedResources": {"cpu": allotted}, "resources": {"requests": {"cpu": has}}}
    return {"containerStatuses": [own]} | more


PENDING = {"type": "PodResizePending", "status": "True"}


@pytest.mark.parametrize(
    ("asked", "state", "cpu"),
    [
        ("1", {}, 1000),
        ("1", status("1", "1"), 1000),
        # Growing: what it asks for counts before it has it. Shrinking: what it has, until it is given up.
        ("2", status("1", "1"), 2000),
        ("1", status("2", "1"), 2000),
        ("1", status("1", "2"), 2000),
        ("4", status("1", "2", conditions=[PENDING | {"reason": "Deferred"}]), 4000),
        # The node can never grant it.
        ("4", status("1", "2", conditions=[PENDING | {"reason": "Infeasible"}]), 2000),
        ("2", {"containerStatuses": [{"name": "main"}]}, 2000),
        ("2", {"containerStatuses": [{"name": "other", "resources": {"requests": {"cpu": "9"}}}]}, 2000),
    ],
)
def test_while_a_resize_is_under_way_the_most_counts(asked: str, state: dict[str, Any], cpu: int):
    """As in determineEffectiveRequests; an init container that ends is never resized."""
    spec = Part({"containers": [container(asked, name="main")]})
    assert effective_request(spec, Part(state))["cpu"] == cpu


def test_sidecars_are_resized_too_and_other_init_containers_are_not():
    state = Part(
        {
            "initContainerStatuses": [
                {"name": name, "resources": {"requests": {"cpu": "3"}}} for name in ("side", "once")
            ]
        }
    )
    once = container("1", name="once")
    spec = {"containers": [container("1", name="main")], "initContainers": [sidecar("1", name="side"), once]}
    assert effective_request(Part(spec), state)["cpu"] == 4000


def test_the_resize_of_the_pod_as_a_whole():
    spec = Part({"containers": [{}], "resources": {"requests": {"cpu": "2"}}})
    state = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"}}
    assert effective_request(spec, Part(state))["cpu"] == 3000
    infeasible = state | {"conditions": [PENDING | {"reason": "Infeasible"}], "resources": {"requests": {"cpu": "1"}}}
    assert effective_request(spec, Part(infeasible))["cpu"] == 1000


def test_cpu_is_not_rounded_up_to_whole_cores():
    # The public code of the seed rounds 500m to 1 and 1500m to 2 (golden row 21); the scheduler does not.
    assert taken(containers=[container("500m"), container("1500m")])["cpu"] == 2000
