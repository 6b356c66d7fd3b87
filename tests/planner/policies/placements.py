"""Scenes in which planner and scheduler see a placement differently."""

from planner.supply.pod_group import GroupKeys
from tests.builders import after, before, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.scenes import Scene, seat

WORDS = "0/2 nodes are available: 1 node(s) were refused by the plug-in Moon, 1 Insufficient cpu."


def waiting(name="web", cpu="500m", *, since=None, message=WORDS, **more):
    raw = pod(name, cpu, **more)
    raw["status"]["conditions"][0] |= {"lastTransitionTime": since or before(minutes=9), "message": message}
    return raw


def running(name, *, on, since, cpu="500m", **more):
    raw = pod(name, cpu, node=on, **more)
    raw["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}]
    return raw


def busy(seconds_ago=1):
    """Return a pod of others that was bound lately: the scheduler is at work."""
    return running("other", on="old", since=before(seconds=seconds_ago), cpu="50m", namespace="others")


def old_node():
    return node("old", pool=None, allocatable={"cpu": "50m"})


def ended(name="m", of="cx22", *, seats, **status):
    times = {"readyAt": before(seconds=61), "releaseBy": before(seconds=1), "releasedAt": before(seconds=1)}
    return node_request(name, of, phase="Ready", seats=seats, expiresAt=after(minutes=10), **(times | status))


def made_late(name, of="cx22", **more):
    raw = node(name, of, **more)
    raw["metadata"]["creationTimestamp"] = before(minutes=2)
    raw["status"]["conditions"][0]["lastTransitionTime"] = before(seconds=61)
    return raw


def scene(*pods, nodes=(), types=("cx22", "cx32"), remembers=(), **given):
    pool = node_pool(types=types)
    pool["status"] = {"refusedPlacements": list(remembers)}
    classes = [kwok_node_class(server_type("cx22"), server_type("cx32"))]
    return Scene(classes=classes, pools=[pool], pods=list(pods), nodes=[old_node(), *nodes], **given)


def unbound(*, types=("cx22", "cx32"), remembers=(), **more):
    """Return a scene in which a reservation has ended although the scheduler is at work."""
    web = waiting()
    made = {"nodes": [made_late("m")], "requests": [ended(seats=[seat(web)])], "types": types, "remembers": remembers}
    return scene(web, busy(), **(made | more))


def class_of(raw):
    return GroupKeys().of(next(p for p in Scene(pods=[raw]).snapshot().pods))


def refused(raw, *, type_=None, nodes=(), until=None, failures=1, **more):
    entry = {
        "namespace": raw["metadata"]["namespace"],
        "class": class_of(raw),
        "pod": raw["metadata"]["name"],
        "podUid": raw["metadata"]["uid"],
        "nodes": list(nodes),
        "failures": failures,
        "lastRefusedAt": before(minutes=1),
        "until": until or after(minutes=9),
        "message": WORDS,
    }
    return entry | ({} if type_ is None else {"serverType": type_}) | more


def entries(made):
    return {(e.server_type, *e.nodes): e for report in made.pools for e in report.status.refused_placements}


def bought(made):
    return [request.server_type for request in made.requests]


def reasons(made, name="default/web"):
    return [(r.code, r.message) for u in made.unplaced if u.pod == name for r in u.reasons]
