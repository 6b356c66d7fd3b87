"""How a machine leaves whole, for the table of the step function: what is awaited before the first delete call.

Source: issue of Karpenter, kubernetes-sigs/karpenter#1684 (volumes) and Kubernetes "Well-Known Labels" (balancers).
"""

from planner.lifecycle.seen import LocalDataSeen, ServerSeen, VolumesSeen
from planner.lifecycle.step import Wait
from tests.planner.lifecycle.drains import CANCEL, CANCELLED, EVICT
from tests.planner.lifecycle.removals import ago, ahead, cooling, draining, leaving, new, node, over

WAITS = {"detach_until": ahead(270)}
LATE = {"detach_until": ahead(240)}
OFF = {"excluded_at": ago(10)}
ATTACHED = VolumesSeen(count=2, names=("pv-1", "pv-2"))
TOLD = VolumesSeen(count=2, names=("pv-1", "pv-2"), is_told=True)
LEAVE = ("leave_balancers", "LeavesLoadBalancers", None, "")
DELETE = ("delete_server", "DeleteServer", None, "")
DATA = LocalDataSeen(count=1, names=("volume pv-1 of claim shop/db",))
DATA_TOLD = DATA.model_copy(update={"is_told": True})
OF_ROUND = DATA.model_copy(update={"ends_removal": True})
TELL_DATA = ("tell_blockers", "HasLocalData", None, "")
HELD = (Wait, "HasLocalData", None, None)
ENDED = ("cancel_removal", "HasLocalData", None, "HasLocalData")
LEAVINGS = {
    # name: (seen, decision, effect or kind of step, reason, deadline, by)
    "drains, balancers send to it": (draining(node=node(balanced=True)), None, *LEAVE),
    "drains, labelled, time not written": (draining(node=node(excluded=True)), None, *LEAVE),
    "drains, balancers left it out": (draining(OFF, node=node(excluded=True)), None, *EVICT),
    "drains, the label was refused for a minute": (
        draining({"drain_started_at": ago(60)}, node=node(balanced=True)),
        None,
        *EVICT,
    ),
    "drains no more, labelled": (
        draining(CANCELLED | OFF, node=node(scale_down=False, excluded=True)),
        None,
        "untaint_node",
        *CANCEL[1:],
        "",
    ),
    "cools off, balancers send to it": (over(node=node(balanced=True)), None, "commit_removal", "Empty", None, ""),
    "new, data on it": (new(local_data=DATA), None, *TELL_DATA),
    "new, data on it, told": (new(local_data=DATA_TOLD), None, *HELD),
    "new, data on it, found by a round": (new(local_data=OF_ROUND), None, *ENDED),
    "cools off, data comes": (cooling(local_data=DATA), None, *TELL_DATA),
    "cooled off, data on it": (over(local_data=DATA_TOLD), None, *HELD),
    "cooled off, data on it, found by a round": (over(local_data=OF_ROUND), None, *ENDED),
    "drains, data on it": (draining(local_data=DATA_TOLD), None, *HELD),
    "drains, data on it, hardGrace is over": (draining(local_data=DATA_TOLD, hard_grace=10), None, *HELD),
    "immediate, data on it": (new(immediate=True, local_data=DATA), None, *TELL_DATA),
    "its Node is gone, data on it": (over(node=None, local_data=DATA), None, *TELL_DATA),
    "another machine's Node, data on it": (
        over(node=node(foreign=True), local_data=DATA),
        None,
        "cancel_removal",
        "NotOurs",
        None,
        "NotOurs",
    ),
    "data on it, deleted": (
        new(deleting=True, local_data=DATA_TOLD),
        None,
        "cancel_removal",
        "Cancelled",
        None,
        "Delete",
    ),
    "leaves, data on it": (leaving(local_data=DATA), None, *DELETE),
    "leaves, balancers send to it": (leaving(WAITS, node=node(balanced=True)), None, *LEAVE),
    "leaves, labelled, time not written": (leaving(WAITS, node=node(excluded=True)), None, *LEAVE),
    "leaves, somebody took the label off": (leaving(WAITS | OFF, node=node(balanced=True)), None, *DELETE),
    "leaves, the label was refused for a minute": (leaving(LATE, node=node(balanced=True)), None, *DELETE),
    "leaves, told 3 s ago": (
        leaving(WAITS | {"excluded_at": ago(3)}, node=node(excluded=True)),
        None,
        Wait,
        "LoadBalancersLetGo",
        ahead(7),
        None,
    ),
    "leaves, told 10 s ago": (leaving(WAITS | OFF, node=node(excluded=True)), None, *DELETE),
    "leaves, left out by others": (leaving(WAITS), None, *DELETE),
    "leaves, another machine's Node": (leaving(WAITS, node=node(balanced=True, foreign=True)), None, *DELETE),
    "leaves, without a Node": (leaving(WAITS, node=None), None, *DELETE),
    "leaves since an earlier version": (leaving(node=node(balanced=True), volumes=ATTACHED), None, *DELETE),
    "leaves, volumes attached": (
        leaving(WAITS | OFF, volumes=ATTACHED),
        None,
        "tell_volumes",
        "VolumesDetach",
        None,
        "",
    ),
    "leaves, volumes attached, told": (
        leaving(WAITS | OFF, volumes=TOLD),
        None,
        Wait,
        "VolumesDetach",
        ahead(270),
        None,
    ),
    "leaves, one volume has detached": (
        leaving(WAITS | OFF, volumes=VolumesSeen(count=1, names=("pv-2",))),
        None,
        "tell_volumes",
        "VolumesDetach",
        None,
        "",
    ),
    "leaves, all have detached": (leaving(WAITS | OFF), None, *DELETE),
    "leaves, volumes that never detach": (
        leaving({"detach_until": ago(0)} | OFF, volumes=TOLD),
        None,
        *DELETE,
    ),
    "leaves, nobody may see volumes": (
        leaving(WAITS | OFF, volumes=VolumesSeen(problem="user growth may not list volumeattachments")),
        None,
        *DELETE,
    ),
    "leaves, its server is gone": (
        leaving(WAITS, node=node(balanced=True), volumes=ATTACHED, server=ServerSeen.ABSENT),
        None,
        "delete_node",
        "ServerGone",
        None,
        "",
    ),
    "leaves, delete call made": (
        leaving(
            WAITS | OFF | {"removal_attempts": 1, "remove_attempted_at": ago(5)},
            node=node(excluded=True),
            volumes=ATTACHED,
        ),
        None,
        Wait,
        "ServerDeletion",
        ahead(15),
        None,
    ),
}
