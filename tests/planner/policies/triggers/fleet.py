"""Machines of one pool in which triggers find something, each with a pod that has another place to go."""

from datetime import timedelta

from api.meta import format_timestamp
from planner.plan import plan
from tests.builders import NOW, node, pod
from tests.planner.scenes import scene

DRAIN = {"scaleDown": {"mode": "drain", "budgets": [{"nodes": "100%"}]}}


def aged(name, server_type="cx22", *, days=0.0, conditions=(), uid=None, **changes):
    """A Node that was created so many days ago, with these conditions besides Ready."""
    made = node(name, server_type, **changes)
    made["metadata"]["creationTimestamp"] = format_timestamp((NOW - timedelta(days=days)).replace(microsecond=0))
    if uid is not None:
        made["metadata"]["uid"] = uid
    made["status"]["conditions"] += list(conditions)
    return made


def with_pods(*nodes, cpu="500m", **spec):
    """A pool that drains, with these Nodes and a pod on each."""
    pods = [pod(f"on-{each['metadata']['name']}", cpu, node=each["metadata"]["name"], owner="rs") for each in nodes]
    return scene(*nodes, pods=[*pods, *spec.pop("pods", [])], **(DRAIN | spec))


def leaving(given):
    """Return node and reason of each removal that begins."""
    return [(removal.node, removal.reason) for removal in plan(given.snapshot()).removals]


def condition(given, kind, pool="default"):
    """Return the condition of the pool after a round, None if it has none of this type."""
    (report,) = (each for each in plan(given.snapshot()).pools if each.name == pool)
    return next((each for each in report.status.conditions if each.type == kind), None)
