"""Scenes in which machines have been quiet for long enough, in pools that consolidate."""

from planner.consolidation.quiet import pods_hash
from planner.displacement.displace import movable
from planner.plan import plan
from planner.supply.machines import machines_of
from tests import builders
from tests.builders import before
from tests.planner.scenes import Scene, scene

CONSOLIDATES = {"mode": "drain", "consolidate": {"movePrice": "5%"}, "budgets": [{"nodes": "100%"}]}


def pod(name, *amounts, **parts):
    """Return a pod of a ReplicaSet, so that it may move."""
    return builders.pod(name, *amounts, **({"owner": "web"} | parts))


def consolidating(*objects, **parts):
    """Return a scene whose pool consolidates, with Nodes that have had their pods for 20 minutes."""
    return quiet(scene(*objects, **({"scaleDown": CONSOLIDATES} | parts)))


def quiet(given: Scene, **since) -> Scene:
    """Mark all Nodes as having had their pods since then, 20 minutes ago if it is not said."""
    machines = machines_of(given.snapshot())
    for raw in given.nodes:
        seen = pods_hash(movable(machines[raw["metadata"]["name"]]))
        raw["metadata"]["annotations"]["growth.dev/pods-since"] = f"{before(**(since or {'minutes': 20}))} {seen}"
    return given


def planned(given: Scene, **more):
    """Return the plan of the scene."""
    return plan(given.snapshot(), **more)


def going(made):
    """Return the machines whose removal begins, with their reasons."""
    return sorted((removal.node, removal.reason) for removal in made.removals)
