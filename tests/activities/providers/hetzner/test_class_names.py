"""Images, networks, firewalls and SSH keys are found in the project, or told of with field and value."""

from datetime import timedelta

import pytest

from activities.ports.errors import InvalidConfiguration
from activities.providers.hetzner.classes.catalogue import NotLookedUp
from tests.activities.providers.hetzner.scenes import START, ClassScene


@pytest.fixture
def scene():
    return ClassScene()


async def test_all_that_a_class_names_is_found_by_nine_calls_at_most():
    scene = ClassScene(
        networks=[{"name": "private", "subnetIPRange": "10.0.1.0/24"}, {"name": "other"}],
        firewalls=["web", "ssh"],
        sshKeys=["ann", "bob"],
        imageByArchitecture={"arm64": {"selector": "role=worker"}},
    )
    private, other = scene.cloud.add_network("private"), scene.cloud.add_network("other")
    web, ssh = scene.cloud.add_firewall("web"), scene.cloud.add_firewall("ssh")
    ann, bob = scene.cloud.add_ssh_key("ann"), scene.cloud.add_ssh_key("bob")
    scene.cloud.add_image(architecture="arm", labels={"role": "worker"}, created=START - timedelta(days=2))
    newest = scene.cloud.add_image(architecture="arm", labels={"role": "worker"}, created=START - timedelta(days=1))
    scene.cloud.add_image(architecture="arm", labels={"role": "worker"}, status="creating")
    resolved = (await scene.look()).resolved
    assert scene.calls == 9
    assert [(each.id, each.zone, each.subnet_ip_range) for each in resolved.networks] == [
        (private, "eu-central", "10.0.1.0/24"),
        (other, "eu-central", None),
    ]
    assert (resolved.firewalls, resolved.ssh_keys) == ((web, ssh), (ann, bob))
    assert {image.architecture: image.id for image in resolved.images}["arm64"] == newest
    assert scene.condition("Ready") == ("True", "Ready", "it offers servers in fsn1, hel1, nbg1")


async def test_things_are_found_by_their_ids_too(scene):
    firewall, image = scene.cloud.add_firewall("web"), scene.cloud.add_image(description="golden")
    scene.use_class(firewalls=[str(firewall)], image={"id": image})
    resolved = (await scene.look()).resolved
    assert resolved.firewalls == (firewall,)
    assert [(each.architecture, each.id, each.name) for each in resolved.images] == [("amd64", image, "golden")]
    # A snapshot is of one architecture: that no server of the other one is offered is told, but is no fault.
    assert {one.labels["kubernetes.io/arch"] for one in scene.offers()} == {"amd64"}
    assert scene.condition("Images") == (
        "True",
        "Images",
        f"spec.image.id: {image}: the project has no image of this id for arm64",
    )


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"image": {"name": "debian-99"}},
            "ImageNotFound",
            "spec.image.name: debian-99: the project has no image of this name for amd64 and arm64",
        ),
        (
            {"image": {"id": 7}},
            "ImageNotFound",
            "spec.image.id: 7: the project has no image of this id for amd64 and arm64",
        ),
        (
            {"image": {"selector": "role=none"}},
            "ImageNotFound",
            "spec.image.selector: role=none: the project has no snapshot that matches for amd64 and arm64",
        ),
        (
            {"image": {"selector": "half=yes"}},
            "ImageNotFound",
            "spec.image.selector: half=yes is not finished yet for amd64 and arm64",
        ),
        (
            {"networks": [{"name": "known"}, {"name": "nowhere"}]},
            "NetworkNotFound",
            "spec.networks[1].name: the project has no network nowhere",
        ),
        (
            {"networks": [{"name": "known", "subnetIPRange": "10.0.9.0/24"}]},
            "NetworkNotFound",
            "spec.networks[0].subnetIPRange: network known has no subnet 10.0.9.0/24, only 10.0.1.0/24",
        ),
        (
            {"networks": [{"name": "bare"}]},
            "NetworkNotFound",
            "spec.networks[0].name: network bare has no subnet, so no server can join it: add one",
        ),
        ({"firewalls": ["known", "web"]}, "FirewallNotFound", "spec.firewalls: the project has no firewall web"),
        (
            {"locations": ["fsn1", "fsn2"]},
            "LocationNotFound",
            "spec.locations: Hetzner has no location fsn2, only ash, fsn1, hel1, hil, nbg1, sin",
        ),
        (
            {"locations": ["ash"], "networks": [{"name": "known"}]},
            "NoOfferings",
            "no location of spec.locations (ash) is in the network zone of all spec.networks: eu-central",
        ),
        (
            {"locations": ["ash", "hil"], "image": {"selector": "arm=only"}},
            "NoOfferings",
            (
                "no server type for arm64 with a known price is sold in ash, hil: "
                "see spec.locations, spec.imageByArchitecture and spec.enableIPv4"
            ),
        ),
        (
            {"firewalls": ["web"], "locations": ["x1"]},
            "LocationNotFound",
            (
                "spec.locations: Hetzner has no location x1, only ash, fsn1, hel1, hil, nbg1, sin; "
                "spec.firewalls: the project has no firewall web"
            ),
        ),
    ],
)
async def test_what_the_project_does_not_have_is_told_with_field_and_value_and_nothing_is_offered(
    spec, reason, message
):
    scene = ClassScene(**spec)
    scene.cloud.add_network("known")
    scene.cloud.add_network("bare", subnets=())
    scene.cloud.add_firewall("known")
    scene.cloud.add_image(labels={"half": "yes"}, status="creating")
    scene.cloud.add_image(labels={"half": "yes"}, status="creating", architecture="arm")
    scene.cloud.add_image(labels={"arm": "only"}, architecture="arm")
    status = await scene.look()
    assert scene.condition("Ready") == ("False", reason, message)
    assert scene.condition("CatalogueRead")[0] == "True"
    assert status.server_types
    with pytest.raises(InvalidConfiguration) as raised:
        scene.offers()
    assert str(raised.value) == f"HetznerNodeClass default: {message}"
    assert not isinstance(raised.value, NotLookedUp)


@pytest.mark.parametrize(
    ("network", "locations"),
    [
        ({"subnetIPRange": "10.0.9.0/24"}, {"ash"}),
        ({"subnetIPRange": "10.0.1.0/24"}, {"fsn1", "nbg1", "hel1"}),
        ({}, {"fsn1", "nbg1", "hel1", "ash"}),
    ],
    ids=["second subnet", "first subnet", "none named"],
)
async def test_servers_are_offered_in_the_zone_of_the_subnet_that_they_shall_join(network, locations):
    scene = ClassScene(networks=[{"name": "wide"} | network])
    scene.cloud.add_network("wide", subnets=(("10.0.1.0/24", "eu-central"), ("10.0.9.0/24", "us-east")))
    await scene.look()
    assert {one.location for one in scene.offers()} == locations


async def test_an_image_that_one_architecture_lacks_keeps_only_that_one_out():
    scene = ClassScene(imageByArchitecture={"arm64": {"name": "debian-99"}})
    await scene.look()
    assert scene.condition("Ready")[0] == "True"
    assert scene.condition("Images") == (
        "False",
        "ImageNotFound",
        "spec.imageByArchitecture.arm64.name: debian-99: the project has no image of this name for arm64",
    )
    assert {one.labels["kubernetes.io/arch"] for one in scene.offers()} == {"amd64"}


async def test_an_ssh_key_that_does_not_exist_is_told_of_and_left_out():
    scene = ClassScene(sshKeys=["ann", "eve"])
    ann = scene.cloud.add_ssh_key("ann")
    status = await scene.look()
    assert scene.condition("Ready")[0] == "True"
    assert scene.condition("SSHKeys") == (
        "False",
        "SSHKeyNotFound",
        "spec.sshKeys: the project has no SSH key eve: servers are made without it",
    )
    assert status.resolved.ssh_keys == (ann,)
    scene.cloud.add_ssh_key("eve")
    await scene.look()
    assert scene.condition("SSHKeys")[0] == "True"
