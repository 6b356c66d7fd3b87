"""What tests build is what a cluster holds: a real API server takes each object, and our readers read it."""

import json

import pytest

from api.definitions import DEFINITIONS
from api.model import read
from tests import builders
from tests.builders import (
    claim,
    csi_node,
    daemon_set,
    deployment,
    disruption_budget,
    hetzner_node_class,
    kwok_node_class,
    limit_range,
    namespace,
    node,
    node_pool,
    node_removal_request,
    node_request,
    pod,
    server_type,
    storage_class,
    volume,
)
from tests.planner.scenes import scene, seat

EVERY = {
    "pod": pod("waits"),
    "pod on a Node": pod("web", node="m-1", owner="rs", labels={"app": "web"}, requests={"ephemeral-storage": "1Gi"}),
    "node": node("m-1"),
    "foreign node": node("other", pool=None, ready=False, taints=[{"key": "a", "effect": "NoSchedule"}]),
    "node that goes": node("gone", deleting=True, annotations={"growth.dev/do-not-remove": "busy"}),
    "daemon_set": daemon_set("agent"),
    "limit_range": limit_range("usual", {"defaultRequest": {"cpu": "200m"}}),
    "deployment": deployment("shop", 2, "100m", "64Mi", spread=True),
    "disruption_budget": disruption_budget("shop", minAvailable=1),
    "namespace": namespace("shop", {"team": "blue"}),
    "claim": claim("waits"),
    "claim of a volume": claim("data", "pv-1"),
    "volume": volume("pv-1", zone="fsn1"),
    "storage_class": storage_class("waits", "fsn1", "hel1"),
    "csi_node": csi_node("m-1", 16, keys=("topology.kubernetes.io/zone",)),
    "node_pool": node_pool(),
    "kwok_node_class": kwok_node_class(),
    "class with no capacity": kwok_node_class(
        server_type("cx22", sold_out=True),
        name="empty",
        unavailable=[
            {
                "serverType": "cx22",
                "location": "fsn1",
                "lastFailureAt": builders.before(minutes=1),
                "failures": 1,
                "until": builders.after(minutes=1),
            }
        ],
    ),
    "hetzner_node_class": hetzner_node_class(),
    "node_request": node_request("default-a1", seats=[seat(pod("waits"))]),
    "request by hand": node_request("mine", by_hand=True, phase="Ready", readyAt=builders.before(minutes=1)),
    "node_removal_request": node_removal_request("m-1", scaleDownAt=builders.after(seconds=30)),
    "removal that goes": node_removal_request("m-2", immediate=True, deleting=True, phase="Deprovisioning"),
}
NO_OBJECTS = {"before", "after", "as_sent", "differing", "server_type"}


def test_every_builder_is_tried():
    public = {name for name, value in vars(builders).items() if getattr(value, "__module__", "") == builders.__name__}
    assert {name for name in public if not name.startswith("_")} - NO_OBJECTS <= EVERY.keys()


def test_our_readers_read_every_kind():
    ours = {definition.kind: definition.model for definition in DEFINITIONS}
    for each in EVERY.values():
        if model := ours.get(each["kind"]):
            assert read(model, each).metadata.name == each["metadata"]["name"]
    others = ("Deployment", "PodDisruptionBudget", "Namespace", "HetznerNodeClass")
    read_by_scenes = [each for each in EVERY.values() if each["kind"] not in others]
    made = scene(*read_by_scenes).snapshot()
    assert not made.problems
    assert (len(made.pods), len(made.nodes), len(made.daemon_sets)) == (2, 3, 1)


@pytest.mark.e2e
def test_an_api_server_takes_every_object(control_plane):
    control_plane.apply_definitions()
    items = {"apiVersion": "v1", "kind": "List", "items": [*EVERY.values()]}
    told = control_plane.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(items))
    assert told.count("created (server dry run)") == len(EVERY)
