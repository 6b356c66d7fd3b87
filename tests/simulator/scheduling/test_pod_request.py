import pytest

from simulator.scheduling.pod_request import occupied, occupies, pod_request


def container(cpu=None, memory=None, *, limits=None, sidecar=False):
    requests = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text}
    body = {"name": "c", "resources": {"requests": requests, "limits": limits or {}}}
    return body | ({"restartPolicy": "Always"} if sidecar else {})


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("250m"), container("0.5")]}, 750),
        # The larger of start and run. Source: Kubernetes docs, "Init containers: resource sharing".
        ({"containers": [container("250m")], "initContainers": [container("1"), container("400m")]}, 1000),
        ({"containers": [container("1500m")], "initContainers": [container("1")]}, 1500),
        # A sidecar counts while the containers run and for init containers that start after it.
        ({"containers": [container("1")], "initContainers": [container("500m", sidecar=True)]}, 1500),
        ({"containers": [container("1")], "initContainers": [container("500m", sidecar=True), container("2")]}, 2500),
        ({"containers": [container("1")], "initContainers": [container("2"), container("500m", sidecar=True)]}, 2000),
        ({"containers": [container("1")], "overhead": {"cpu": "50m"}}, 1050),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "300m"}}}, 300),
        ({"containers": [container(limits={"cpu": "700m"})]}, 700),
        ({"containers": [container()]}, 0),
    ],
)
def test_the_effective_request(spec, cpu):
    assert pod_request({"spec": spec}).get("cpu", 0) == cpu


def test_pods_on_a_node_add_up_and_finished_ones_do_not_count():
    def pod(phase):
        return {"spec": {"containers": [container("500m", "1Gi")]}, "status": {"phase": phase}}

    assert not occupies(pod("Succeeded"))
    pods = [pod("Running"), pod("Pending"), pod("Failed")]
    assert occupied(pods) == {"cpu": 1000, "memory": 2 * 2**30, "pods": 2}
