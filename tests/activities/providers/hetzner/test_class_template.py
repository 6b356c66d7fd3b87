"""What a HetznerNodeClass gives its servers for life, and what of it may change without replacing them."""

import pytest

from activities.providers.hetzner.classes.template import class_template
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.objects.class_template import template_hash
from tests.builders import hetzner_node_class, node_pool

POOL = NodePool.model_validate(node_pool())
REF = ClassRef(kind="HetznerNodeClass")
SSH = {"sshKeys": ["ops", "backup"], "firewalls": ["web", "ssh"]}
NETWORKS = {"networks": [{"name": "inner"}, {"name": "storage", "subnetIPRange": "10.0.1.0/24"}]}
USER_DATA = {
    "template": "#!/bin/sh\njoin {{ token }} {{ flavour }}\n",
    "variables": {
        "token": {"secretKeyRef": {"namespace": "growth-system", "name": "join", "key": "token"}},
        "flavour": {"value": "a"},
    },
}
GIVEN = SSH | NETWORKS | {"userData": USER_DATA, "serverLabels": {"cost": "a"}}


def hashed(architecture="amd64", **spec):
    node_class = read(HetznerNodeClass, hetzner_node_class(**(GIVEN | spec)))
    return template_hash(POOL, REF, class_template(node_class), "cx22", architecture)


def test_the_hash_of_a_class_never_changes_under_one_version():
    # Written down when v1 was made. A change here replaces every machine there is: raise the version instead.
    assert hashed() == "v1:19a6e539f33af83e"


@pytest.mark.parametrize(
    "spec",
    [
        {"image": {"name": "debian-13"}},
        {"image": {"id": 12}},
        {"image": {"selector": "role=worker"}},
        {"imageByArchitecture": {"amd64": {"name": "debian-13"}}},
        {"sshKeys": ["ops"]},
        {"firewalls": ["web"]},
        {"networks": [{"name": "inner"}]},
        {"networks": [{"name": "inner"}, {"name": "storage", "subnetIPRange": "10.0.2.0/24"}]},
        {"userData": USER_DATA | {"template": "#!/bin/sh\njoin {{ token }}\n"}},
        {"userData": USER_DATA | {"variables": USER_DATA["variables"] | {"flavour": {"value": "b"}}}},
        {"enableIPv4": False},
        {"enableIPv6": False},
        {"kubelet": {"maxPods": 50}},
        {"kubelet": {"kubeReserved": {"memory": "512Mi"}}},
        {"placement": {"strategy": "spread"}},
    ],
    ids=str,
)
def test_what_counts(spec):
    assert hashed(**spec) != hashed()


@pytest.mark.parametrize(
    "spec",
    [
        {"sshKeys": ["backup", "ops"], "firewalls": ["ssh", "web"]},
        {"networks": NETWORKS["networks"][::-1]},
        {"userData": {"variables": dict(reversed(USER_DATA["variables"].items())), "template": USER_DATA["template"]}},
        {"locations": ["fsn1"]},
        {"serverLabels": {"cost": "b"}},
        {"tokenSecretRef": {"namespace": "growth-system", "name": "other", "key": "token"}},
        {"attachLimits": {"csi.hetzner.cloud": 12}},
        {"placement": {"required": True}},
        {"imageByArchitecture": {"arm64": {"name": "debian-13"}}},
        {"imageByArchitecture": {"amd64": {"name": "debian-12"}}},
        # As the API server has it, with all of its defaults.
        {"kubelet": {"maxPods": 110, "evictionMemory": "100Mi", "evictionStoragePercent": 10}},
        {"enableIPv4": True, "enableIPv6": True, "imageByArchitecture": {}, "placement": {"strategy": "none"}},
        {"status": {"conditions": []}},
    ],
    ids=str,
)
def test_what_does_not(spec):
    assert hashed(**spec) == hashed()


def test_an_image_counts_for_its_architecture():
    arm = {"imageByArchitecture": {"arm64": {"name": "debian-13"}}}
    assert hashed("arm64", **arm) != hashed("arm64")
    assert hashed("amd64", **arm) == hashed("amd64")
