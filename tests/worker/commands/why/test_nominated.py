"""What `growth why` tells of pods that the scheduler keeps a node for, and of that node."""

from tests.builders import before, node, node_removal_request, pod
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.why.command import NODE, REMOVAL, lines_about
from worker.commands.why.pod import why_pod


def about(name: str, seen: ClusterView) -> str:
    (found,) = [pod for pod in seen.snapshot.pods if pod.key == f"default/{name}"]
    return "\n".join(why_pod(found, seen))


def test_a_pod_on_its_way_to_a_node():
    low, high = pod("low", node="m-1"), pod("high", priority=5)
    low["metadata"]["deletionTimestamp"] = before(seconds=3)
    high["status"]["nominatedNodeName"] = "m-1"
    text = about("high", sight(scene(pods=[low, high], nodes=[node("m-1")])))
    assert "It is no demand: it waits for node m-1, where the scheduler makes room for it by preemption." in text
    assert "Machines for it" not in text
    # Once the others are gone, and while volumes are bound, the field says no more than that.
    text = about("high", sight(scene(pods=[high], nodes=[node("m-1")])))
    assert "It is no demand: it waits for node m-1, which the scheduler keeps for it." in text


def test_a_node_that_the_scheduler_keeps_for_a_pod():
    high = pod("high")
    high["status"]["nominatedNodeName"] = "m-1"
    idle = {"growth.dev/idle-since": before(minutes=20)}
    text = "\n".join(lines_about(NODE, "m-1", sight(scene(nodes=[node("m-1", annotations=idle)], pods=[high]))))
    assert "No pod on it.\nThe scheduler keeps it for 1 pod: default/high.\n" in text
    assert text.endswith("It is not removed: the scheduler keeps it for pods.")


def test_a_cool_off_that_ends_with_a_pod_on_its_way():
    high = pod("high")
    high["status"]["nominatedNodeName"] = "m-1"
    tainted = node("m-1", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    over = node_removal_request("m-1", scaleDownAt=before(seconds=30), taintedAt=before(seconds=90))
    text = "\n".join(lines_about(REMOVAL, "m-1", sight(scene(nodes=[tainted], removals=[over], pods=[high]))))
    assert "1 pods are on the node or on their way to it: default/high" in text
