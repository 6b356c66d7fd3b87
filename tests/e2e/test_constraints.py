"""Pods that ask for special places: what fits nowhere waits and is woken, all else runs where it was planned."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from simulator.catalogue import machine
from tests.builders import as_sent, claim, deployment, kwok_node_class, node_pool, volume
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import clear_with_worker, scene
from tests.e2e.workloads import single_pod

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

ZONE = "topology.kubernetes.io/zone"
ZONES = ("fsn1", "hel1", "nbg1")
CLASS = as_sent(
    kwok_node_class(
        machine("four", cpu=4, memory=8, price="0.0100", locations=ZONES, boot_time="500ms"),
        machine("eight", cpu=8, memory=16, price="0.0250", boot_time="500ms"),
        name="zoned",
    )
)
LONG = "10m"
"""A back-off that no test outlasts."""


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane with a worker, whose pools each test adds for itself."""
    with scene(control_plane, tmp_path_factory.mktemp("constraints"), cluster="constraints") as growth:
        apply(control_plane, CLASS)
        growth.start()
        yield control_plane
        # A claim goes only after the pods that use it, and a volume after its claim.
        clear_with_worker(control_plane)
        for kind in ("persistentvolumeclaims", "persistentvolumes"):
            control_plane.api.delete_all(kind, "default")
            control_plane.api.wait_gone(kind)


def apply(plane: ControlPlane, *objects: dict[str, Any]) -> None:
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))


def pool(name: str, *, server_type: str = "four", class_name: str = "zoned", **spec: Any) -> dict[str, Any]:
    template = {"classRef": {"name": class_name}, **spec.pop("template", {})}
    return as_sent(node_pool(name, [server_type], limits={"max": 5}, template=template, **spec))


def workload(name: str, pool_name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    """Return a Deployment of pods that want 2 CPUs of a pool's machine."""
    body = deployment(name, replicas, "2", "1Gi")
    body["spec"]["template"]["spec"] |= {"nodeSelector": {"growth.dev/pool": pool_name}, **spec}
    return body


def told(plane: ControlPlane, pod: str) -> dict[str, tuple[str, str]]:
    """Return time and message of each Growth event on a pod, by reason."""
    events = plane.api.items("events", "default")
    return {
        event["reason"]: (event["eventTime"], event["message"])
        for event in events
        if event.get("reportingComponent") == "growth.dev/growth" and event["involvedObject"]["name"] == pod
    }


def landed(plane: ControlPlane, view: ClusterView, name: str, count: int) -> dict[str, str]:
    """Wait until that many pods whose names begin so run, and return their nodes: as many on each as were planned.

    Which of equal pods is where is the scheduler's to say, while Nodes join one by one.
    """

    def running() -> dict[str, str]:
        view.look()
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in view.pods()
            if pod["metadata"]["name"].startswith(name) and pod["status"].get("phase") == "Running"
        }

    plane.wait_for(lambda: len(running()) == count, f"{count} pods of {name} run", 40)
    nodes = running()
    assert Counter(nodes.values()) == Counter(view.planned[pod] for pod in nodes)
    return nodes


def zones(view: ClusterView) -> dict[str, str]:
    """Return the zone of each of our Nodes."""
    return {name: node["metadata"]["labels"][ZONE] for name, node in view.nodes().items()}


def as_planned(view: ClusterView, request: str) -> str:
    """Return the status of a request's condition NodeAsPlanned."""
    found = next(r for r in view.items("noderequests") if r["metadata"]["name"] == request)
    return next((c["status"] for c in found["status"]["conditions"] if c["type"] == "NodeAsPlanned"), "")


def test_a_pod_that_fits_nothing_is_told_why_backs_off_and_is_woken_by_an_edit_of_its_pool(plane):
    view = ClusterView(plane)
    back_off = {"podBackoff": {"afterRounds": 2, "base": LONG, "max": LONG}}
    small = pool("small", server_type="cx22", class_name="default", scaleUp=back_off)
    large = single_pod("constraints-large", "3")
    large["spec"]["nodeSelector"] = {"growth.dev/pool": "small"}
    apply(plane, small)
    apply(plane, large)
    plane.wait_for(lambda: "TooLarge" in told(plane, "constraints-large"), "the pod is told why")
    assert "cx22: cpu short by 1.1" in told(plane, "constraints-large")["TooLarge"][1]
    plane.wait_for(lambda: "BackOff" in told(plane, "constraints-large"), "the pod is told that it waits", 30)
    events = told(plane, "constraints-large")
    assert events["TooLarge"][0] < events["BackOff"][0], "it was looked at again before it had to wait"
    assert not [r for r in view.items("noderequests") if r["spec"]["pool"] == "small"]
    small["spec"]["serverTypes"].append({"name": "cx32", "max": 1})
    apply(plane, small)
    ((_, node),) = landed(plane, view, "constraints-large", 1).items()
    assert view.nodes()[node]["metadata"]["labels"]["growth.dev/server-type"] == "cx32"


def test_a_dedicated_pool_takes_its_own_pods_and_no_others(plane):
    view = ClusterView(plane)
    taint = {"key": "dedicated", "value": "database", "effect": "NoSchedule"}
    apply(plane, pool("dedicated", template={"taints": [taint], "labels": {"example.com/use": "database"}}))
    tolerant = {"key": "dedicated", "operator": "Equal", "value": "database", "effect": "NoSchedule"}
    apply(
        plane,
        workload("database", "dedicated", 3, tolerations=[tolerant]),
        # It selects the pool and does not tolerate its taint.
        workload("stranger", "dedicated", 1),
    )
    nodes = landed(plane, view, "database", 3)
    assert len(set(nodes.values())) == 2
    for name in set(nodes.values()):
        node = view.nodes()[name]
        assert node["metadata"]["labels"]["example.com/use"] == "database"
        assert taint in node["spec"]["taints"]
        plane.wait_for(lambda name=name: as_planned(view, name) == "True", f"{name} is what was planned")
    (stranger,) = (p["metadata"]["name"] for p in view.pods() if p["metadata"]["name"].startswith("stranger"))
    plane.wait_for(lambda: bool(told(plane, stranger)), "the stranger is told why")
    assert "dedicated=database" in told(plane, stranger)["NoCompatibleOffering"][1]
    assert len([r for r in view.items("noderequests") if r["spec"]["pool"] == "dedicated"]) == 2


def test_pods_that_spread_over_zones_get_a_machine_in_each(plane):
    view = ClusterView(plane)
    apply(plane, pool("spread"))
    constraint = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    apply(plane, workload("spread", "spread", 6, topologySpreadConstraints=[constraint]))
    nodes = landed(plane, view, "spread", 6)
    place = zones(view)
    assert Counter(place[node] for node in nodes.values()) == dict.fromkeys(ZONES, 2)
    assert len(set(nodes.values())) == len(ZONES)


def test_pods_that_wait_for_another_pod_get_one_machine_together_with_it(plane):
    view = ClusterView(plane)
    company = pool("company")
    company["spec"]["serverTypes"] = [{"name": "four", "max": 5}, {"name": "eight", "max": 5}]
    beside = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "company-db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}}
    apply(plane, company, workload("company-web", "company", 2, affinity=affinity))
    plane.wait_for(
        lambda: all("AffinityUnsatisfiable" in told(plane, web) for web in waiting(view, "company-web", 2)),
        "both are told that nothing is there for them to be beside",
    )
    # Alone, the db would get the cheaper machine, which has room for one of them only.
    apply(plane, workload("company-db", "company", 1))
    nodes = landed(plane, view, "company", 3)
    assert len(set(nodes.values())) == 1
    labels = view.nodes()[nodes.popitem()[1]]["metadata"]["labels"]
    assert labels["growth.dev/server-type"] == "eight"
    assert len([r for r in view.items("noderequests") if r["spec"]["pool"] == "company"]) == 1


def waiting(view: ClusterView, name: str, count: int) -> list[str]:
    """Return so many names of pods that begin so; a placeholder for each that is not there yet."""
    found = [pod["metadata"]["name"] for pod in view.pods() if pod["metadata"]["name"].startswith(name)]
    return [*found, *[""] * (count - len(found))]


def test_a_pod_with_a_bound_volume_gets_its_machine_in_the_volumes_zone(plane):
    view = ClusterView(plane)
    apply(plane, pool("volume"), *disk("disk", "nbg1"))
    plane.wait_for(lambda: claim_phase(plane, "disk") == "Bound", "the claim is bound")
    used = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
    apply(plane, workload("volume", "volume", 1, volumes=[used]))
    nodes = landed(plane, view, "volume", 1)
    assert [zones(view)[node] for node in nodes.values()] == ["nbg1"]


def disk(name: str, zone: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a volume that can be had in one zone, and the claim on it, which a controller binds."""
    owner = {"namespace": "default", "name": name}
    made = volume(name, zone=zone, storageClassName="", csi=None, hostPath={"path": "/nowhere"}, claimRef=owner)
    asking = as_sent(claim(name, storage_class=""))
    asking["spec"]["volumeName"] = name
    return as_sent(made), asking


def claim_phase(plane: ControlPlane, name: str) -> str:
    found = plane.api.get("persistentvolumeclaims", name, "default")
    return "" if found is None else found["status"].get("phase", "")
