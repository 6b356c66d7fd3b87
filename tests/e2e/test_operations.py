"""docs/operations.md as a person follows it: every command for a cluster, in its order, and what it does."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster_view import NAMESPACE, OBJECTS
from tests.e2e.harness import ControlPlane
from tests.e2e.operations import Cluster
from tests.e2e.scene import account_kubeconfig, clear_after_walk, clear_rest
from tests.e2e.walk import NO_KUBELET, Walk
from tests.e2e.workloads import single_pod
from tests.project.documents import ROOT, objects

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]

DOCUMENT = "docs/operations.md"
POOL_FILE = ROOT / "deploy" / "examples" / "pool.yaml"
STUBBORN = [{"call": "delete", "error": "transient"}]
DEAF = [{"call": "join"}]


@contextmanager
def beginning(plane: ControlPlane, folder: Path) -> Iterator[Cluster]:
    """Lend a cluster as it is before the first command, and leave an empty one behind."""
    walk = Walk(DOCUMENT, plane, folder, cluster="operations")
    # A node that another test left, or that is still on its way out, would take pods that shall get machines.
    plane.apply_definitions()
    clear_rest(plane)
    plane.kubectl("apply", "-f", str(OBJECTS / "home.yaml"))
    try:
        yield Cluster(plane, walk)
    except BaseException:
        print(walk.tail())
        # A parked removal would outlast this test.
        Cluster(plane, walk).faults([])
        plane.kubectl("annotate", "noderemovalrequests", "--all", "growth.dev/decision=retry")
        raise
    finally:
        clear_after_walk(plane, walk)


def test_every_command_does_what_it_says(control_plane: ControlPlane, tmp_path: Path):
    with beginning(control_plane, tmp_path) as cluster:
        installed(cluster, tmp_path)
        seen(cluster)
        cancelled(cluster)
        decided(cluster)
        replayed(cluster)
        kept(cluster)
        drained(cluster)
        bought(cluster)
        explained(cluster)
        stopped(cluster)
        lost(cluster, tmp_path)
        watched(cluster)
        upgraded(cluster)
        purged(cluster)
        ended(cluster, tmp_path)
        cluster.walk.finish()


def installed(cluster: Cluster, folder: Path) -> None:
    walk, plane = cluster.walk, cluster.plane
    walk.next("kubectl apply --server-side -k my-cluster")
    walk.next("kubectl -n growth-system rollout status")
    # Its pod runs on a node without a kubelet: this process is the worker, with the rights of its account.
    walk.start_worker(kubeconfig=account_kubeconfig(plane, folder))
    walk.next("kubectl apply -f deploy/examples/pool.yaml")
    cluster.pool(serverTypes=[{"name": "cx22"}, {"name": "cx32"}], scaleDown={"idleAfter": "1s", "softGrace": "5m"})
    cluster.boot_at_once()
    cluster.until_seen()
    walk.next("kubectl get nodepools.growth.dev")
    walk.next("kubectl -n growth-system exec", fails=NO_KUBELET)


def seen(cluster: Cluster) -> None:
    walk, view = cluster.walk, cluster.view
    cluster.web(4)
    cluster.until(lambda: len(cluster.running()) == 4, "all pods run")
    cluster.until(cluster.is_open, "all machines are open")
    walk.next("growth status")
    pod, name = next(iter(cluster.running().items()))
    walk.next("growth why pod", NAMESPACE="default", POD=pod)
    walk.next("growth why request", NAME=name)
    walk.next("growth why node", NAME=name)
    walk.next("kubectl get nodepools.growth.dev,noderequests,noderemovalrequests")
    walk.next("growth requests list")
    walk.next("kubectl events --for noderequest/", NAME=name)
    assert name in walk.next("kubectl get events --all-namespaces")
    # Only the records go, as docs/concepts.md says of it.
    machines = set(view.nodes())
    cluster.plane.kubectl("delete", "noderequests", "--all")
    assert set(view.nodes()) == view.servers() == machines


def cancelled(cluster: Cluster) -> None:
    walk = cluster.walk
    cluster.web(0)
    cluster.until(lambda: len(cluster.removals("Pending")) == 4, "all machines cool off")
    # What is cancelled now stays.
    cluster.pool(scaleDown={"idleAfter": "10m"})
    machines = cluster.removals("Pending")
    walk.next("growth removals list")
    walk.next("growth why removal", NAME=machines[0])
    ways = ("growth removals cancel", "kubectl annotate noderemovalrequest", "kubectl delete noderemovalrequest")
    for way, name in zip((*ways, "kubectl annotate node"), machines, strict=True):
        walk.next(way, NAME=name)
        cluster.until(lambda name=name: name not in cluster.names("noderemovalrequests"), f"{way} has ended it")
        assert not cluster.taints(name)
    walk.next("kubectl events --for noderemovalrequest/", NAME=machines[0])


FORGOTTEN = ("growth.dev/removal-cancelled-at-", "growth.dev/removals-cancelled-")
"""Takes back that a person cancelled removals: else none begins by itself for an hour."""


def decided(cluster: Cluster) -> None:
    walk, view = cluster.walk, cluster.view
    machines = sorted(view.nodes())
    cluster.faults(STUBBORN)
    cluster.plane.kubectl("annotate", "nodes", *machines, "growth.dev/do-not-remove-", *FORGOTTEN)
    cluster.pool(scaleDown={"idleAfter": "1s", "softGrace": "0s", "removal": {"maxAttempts": 1, "retry": "1s"}})
    cluster.until(lambda: cluster.removals("CouldNotRemove") == machines, "all removals are parked")
    retried, skipped, abandoned, annotated = machines
    walk.next("kubectl get noderemovalrequests")
    walk.next("growth why removal", NAME=retried)
    walk.next("growth removals cancel", NAME=retried, fails="too late to cancel")
    cluster.faults([])
    walk.next("growth removals retry", NAME=retried)
    walk.next("growth removals skip", NAME=skipped)
    walk.next("growth removals abandon", NAME=abandoned)
    walk.next("kubectl annotate noderemovalrequest", NAME=annotated)
    cluster.until(lambda: not view.items("noderemovalrequests"), "all removals have ended")
    assert view.servers() == {skipped, abandoned}
    assert set(view.nodes()) == {abandoned}
    assert not cluster.taints(abandoned)


def replayed(cluster: Cluster) -> None:
    walk, view = cluster.walk, cluster.view
    cluster.faults(STUBBORN)
    # One pod fits on the machine that was abandoned.
    cluster.web(3)
    cluster.until(lambda: len(cluster.running()) == 3 and cluster.is_open(), "all pods run")
    cluster.web(0)
    cluster.until(lambda: len(cluster.removals("CouldNotRemove")) == 2, "two removals are parked")
    here, gone = cluster.removals("CouldNotRemove")
    cluster.plane.kubectl("delete", "configmap", gone, "-n", NAMESPACE)
    walk.next("growth removals replay --all-parked --dry-run")
    assert cluster.removals("CouldNotRemove") == [here, gone]
    cluster.faults([])
    walk.next("growth removals replay", NAME=here, NODE=gone)
    cluster.until(lambda: not view.items("noderemovalrequests"), "both removals have ended")
    assert not {here, gone} & (view.servers() | set(view.nodes()))
    assert json.loads(walk.next("growth removals replay --pool default")) == {"dryRun": False, "removals": []}


def kept(cluster: Cluster) -> None:
    walk, view = cluster.walk, cluster.view
    (abandoned,) = view.nodes()
    cluster.pool(scaleDown={"idleAfter": "10m"})
    cluster.web(2)
    cluster.until(lambda: len(cluster.running()) == 2 and cluster.is_open(), "both pods run")
    (name,) = set(view.nodes()) - {abandoned}
    walk.next("kubectl annotate node", NAME=name)
    assert "hours to fill" in walk.next("kubectl get nodes -o custom-columns", NAME=name)
    walk.next("kubectl annotate node", NAME=name)
    cluster.pool(scaleDown={"softGrace": "5m"})
    walk.next("kubectl drain", NAME=name)
    walk.next("kubectl apply -f removal.yaml", NAME=name)
    cluster.until(lambda: cluster.removals("Pending") == [name], "its cool-off has begun")
    walk.next("growth why removal", NAME=name)
    # It has no data; tests/e2e/test_local_data.py shows what becomes of some.
    walk.next("kubectl annotate noderemovalrequest", NAME=name)


def drained(cluster: Cluster) -> None:
    walk = cluster.walk
    closed = set(cluster.removals("Pending"))
    cluster.pool(scaleDown={"softGrace": "0s"})

    def movable() -> dict[str, str]:
        """Return the machine of each running pod, but of machines that go or that a person keeps."""
        nodes = cluster.view.nodes().items()
        kept = {n for n, node in nodes if node["metadata"]["annotations"].get("growth.dev/do-not-remove")}
        return {pod: n for pod, n in cluster.running().items() if n not in closed | kept and not cluster.taints(n)}

    cluster.until(lambda: len(cluster.running()) == 2 and len(movable()) == 1, "a pod runs that can be moved")
    ((pod, name),) = movable().items()
    walk.next("kubectl patch nodepools.growth.dev default")
    walk.next("kubectl annotate pod", POD=pod, NAMESPACE="default")
    walk.next("kubectl apply -f removal.yaml", NAME=name)
    cluster.until(lambda: cluster.reason(name) == "BlockedByAnnotation", "the pod blocks the drain")
    walk.next("growth why removal", NAME=name)
    assert cluster.running()[pod] == name
    walk.next("kubectl annotate pod", POD=pod, NAMESPACE="default")
    walk.next("kubectl wait noderemovalrequest", NAME=name)
    assert name not in {*cluster.view.nodes(), *cluster.view.servers()}
    cluster.until(lambda: len(cluster.running()) == 2 and bool(movable()), "the pod runs elsewhere")
    (pod, name), *_ = movable().items()
    walk.next("kubectl taint node", NAME=name)
    cluster.plane.kubectl("delete", "pod", pod)
    cluster.until(lambda: name not in {*cluster.view.nodes(), *cluster.view.servers()}, "it goes once it is empty")
    cluster.until(lambda: len(cluster.running()) == 2, "the pod runs elsewhere")


def bought(cluster: Cluster) -> None:
    walk, view, plane = cluster.walk, cluster.view, cluster.plane
    plane.kubectl("apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump_all(objects().values()))
    walk.next("kubectl patch nodepools.growth.dev default")
    cluster.until(lambda: len(set(view.nodes()) - set(cluster.removals("Pending"))) == 4, "four machines are kept")
    walk.next("kubectl apply -f request.yaml")
    walk.next("kubectl wait noderequest extra-1")
    assert view.nodes()["extra-1"]["metadata"]["labels"]["growth.dev/server-type"] == "cx32"


def explained(cluster: Cluster) -> None:
    walk, view, plane = cluster.walk, cluster.view, cluster.plane
    plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod("too-large", "100")))
    cluster.until(lambda: "TooLarge" in plane.kubectl("events", "--for", "pod/too-large"), "the pod is told why")
    walk.next("growth why pod", NAMESPACE="default", POD="too-large")
    assert "TooLarge" in walk.next("kubectl get pods,nodes")
    # Nothing is remembered here; tests/e2e/test_refused_places.py shows what becomes of something.
    walk.next("kubectl get nodepool default -o jsonpath")
    walk.next("kubectl patch nodepool default --subresource status")
    plane.kubectl("delete", "pod", "too-large", "--grace-period=0", "--force")

    plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod("large", "3500m")))
    cluster.until(lambda: "large" in cluster.running(), "a pod fills the machine that was asked for")
    cluster.faults(DEAF)
    before = cluster.names("noderequests")
    plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod("second", "3500m")))
    cluster.until(lambda: bool(cluster.joining(before)), "a server runs whose node does not join")
    name = cluster.joining(before)[0]
    walk.next("growth why request", NAME=name)
    plane.kubectl("delete", "pods", "large", "second", "--grace-period=0", "--force")
    walk.next("growth requests cancel", NAME=name)
    cluster.until(lambda: name not in cluster.names("noderequests") | view.servers(), "request and server have gone")
    assert name in cluster.names("noderemovalrequests")
    cluster.faults([])
    # No machine is dead; tests/e2e/test_repair.py shows what becomes of one.
    walk.next("kubectl get nodepools.growth.dev -o custom-columns")
    walk.next("kubectl patch nodepools.growth.dev default")
    walk.next("kubectl get events --all-namespaces --field-selector reason=Orphan")


def stopped(cluster: Cluster) -> None:
    walk, view, plane = cluster.walk, cluster.view, cluster.plane
    machines = set(view.nodes())
    walk.next("growth pause default")
    cluster.until(lambda: paused(cluster) == "True", "the pool is paused")
    walk.next("growth resume")
    cluster.until(lambda: paused(cluster) == "False", "the pool is not paused any more")
    walk.next("kubectl delete nodepools.growth.dev default")
    assert set(view.nodes()) == machines
    cluster.until(lambda: not cluster.removals("Pending"), "all cool-offs are cancelled")
    plane.kubectl("apply", "-f", str(POOL_FILE))
    cluster.until_seen()
    walk.next("kubectl annotate nodepools.growth.dev default")
    walk.next("kubectl delete nodepools.growth.dev default")
    # The machine that was abandoned is kept by its annotation.
    cluster.until(lambda: len(cluster.removals("Pending")) == len(machines) - 1, "its machines cool off")
    walk.next("kubectl get noderemovalrequests")


def paused(cluster: Cluster) -> str:
    jsonpath = '{.status.conditions[?(@.type=="Paused")].status}'
    return cluster.plane.kubectl("get", "nodepools.growth.dev", "default", "-o", f"jsonpath={jsonpath}")


def lost(cluster: Cluster, folder: Path) -> None:
    walk, view, plane = cluster.walk, cluster.view, cluster.plane
    walk.next("kubectl -n growth-system port-forward", fails=NO_KUBELET)
    plane.kubectl("delete", "noderemovalrequests", *cluster.removals("Pending"))
    plane.kubectl("annotate", "nodes", *view.nodes(), *FORGOTTEN)
    cluster.web(0)
    plane.kubectl("apply", "-f", str(POOL_FILE))
    cluster.pool(scaleDown={"idleAfter": "1s", "softGrace": "6s"})
    cluster.until(lambda: len(cluster.removals("Pending")) >= 2, "cool-offs have begun")
    going = set(cluster.removals("Pending"))
    walk.next("kubectl -n growth-system scale deployment/growth --replicas=0")
    walk.kill_worker()
    walk.next("kubectl -n growth-system delete persistentvolumeclaim growth-data")
    shutil.rmtree(walk.data)
    assert going <= set(view.nodes())
    walk.next("kubectl apply --server-side -k my-cluster")
    walk.start_worker(kubeconfig=folder / "account.kubeconfig")
    cluster.until(lambda: not going & (set(view.nodes()) | view.servers()), "the removals have gone on to their end")


def watched(cluster: Cluster) -> None:
    walk = cluster.walk
    walk.next("kubectl apply --server-side --dry-run=server -k several")
    walk.next("kubectl -n growth-system logs", fails=NO_KUBELET)
    walk.next("kubectl -n growth-system port-forward", fails=NO_KUBELET)
    assert walk.next("curl") == "ok\n"
    assert walk.next("curl") == "ok\n"
    # Counters are shown from their first count on, and this worker has only just begun; a gauge is there at once.
    assert "temporal_sticky_cache_size" in walk.next("curl")


def upgraded(cluster: Cluster) -> None:
    walk = cluster.walk
    walk.next("kubectl apply --server-side -k my-cluster")
    walk.next("kubectl -n growth-system rollout status")


def purged(cluster: Cluster) -> None:
    walk, view, plane = cluster.walk, cluster.view, cluster.plane
    cluster.pool(limits={"min": 2})
    cluster.until(lambda: len(view.nodes()) == 2 and cluster.is_open(), "machines have come")
    walk.next("growth purge", CLUSTER="operations")
    assert len(view.nodes()) == 2
    walk.next("kubectl -n growth-system scale deployment/growth --replicas=0")
    walk.kill_worker()
    walk.next("growth purge", CLUSTER="operations")
    # Of two machines one was abandoned, and another server was skipped: they are people's.
    (abandoned,) = view.nodes()
    assert abandoned in view.servers()
    assert len(view.servers()) == 2
    assert plane.kubectl("get", "nodepools.growth.dev,kwoknodeclasses,noderequests", "-o", "name") == ""


def ended(cluster: Cluster, folder: Path) -> None:
    walk, view, plane = cluster.walk, cluster.view, cluster.plane
    plane.kubectl("apply", "-f", str(POOL_FILE))
    cluster.boot_at_once()
    walk.start_worker(kubeconfig=folder / "account.kubeconfig")
    cluster.pool(limits={"min": 2})
    cluster.until(lambda: len(view.nodes()) == 2, "machines have come")
    machines, servers = set(view.nodes()), view.servers()
    walk.next("kubectl delete -k deploy/crds")
    assert view.servers() == servers
    walk.next("kubectl delete -k my-cluster")
    assert set(view.nodes()) == machines
    assert "home" in walk.next("kubectl get nodes")
