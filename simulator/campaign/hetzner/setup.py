"""What a seed decides of a cluster with Hetzner's servers before anything happens."""

import base64
from functools import partial
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.node_pool import ClassRef
from simulator.campaign.setup import Setup, drains_happen, peopled
from simulator.hetzner.project.state import Durations
from simulator.hetzner.world import TOKEN, HetznerWorld, Terms
from simulator.world import NAMESPACE

TYPES: Final = ("cx23", "cx33", "cx43")
OTHERS_TYPE: Final = "ccx13"
"""Of other clusters' servers; the pools do not name it."""
LOCATIONS: Final = ("fsn1", "nbg1")
NETWORK: Final = "inside"
"""The project has it if the class has networks."""
_CONTROLLER_SECONDS: Final = (0.0, 3.0, 20.0)
"""Until the controller has initialised a Node, pods cannot land there; a plan waits ten seconds for them."""
_SUBNET: Final = "10.0.1.0/24"
_TIMINGS: Final = {
    "provisioningTimeout": "90s",
    "joinTimeout": "90s",
    "unavailableTTL": "5s",
    "failedTTL": "10s",
    "recordTTL": "60s",
    "podBackoff": {"base": "10s", "max": "40s"},
}
"""As short as a provider allows that lists its servers every half minute."""
_REMOVAL: Final = {"maxAttempts": 3, "retry": "20s", "parkedRetry": "60s"}
_WITHIN_SECONDS: Final = 7200.0
"""After several refusals of the account, a class buys nothing for up to an hour; of what is withdrawn, records stay
for an hour."""
_SHARE: Final = 0.35
"""Of histories: with networks, with placement groups, with a controller, with Nodes that come without labels."""
_SCHEMES: Final = ("", "", "k3s", "talos", "kwok")
"""Of the provider ids that Nodes register with: mostly those of their servers, or none."""


def draw(random: Random, drains: Random) -> Setup:
    """Return a scenario; what is about drains, and about the ids of Nodes, is drawn from streams of their own."""
    ids = _beside(random, "ids of Nodes")
    has_drains = drains_happen(drains)
    spec: dict[str, Any] = {}
    if random.random() < _SHARE:
        chosen = {"subnetIPRange": _SUBNET} if random.random() < 0.7 else {}  # noqa: PLR2004 - a share
        spec["networks"] = [{"name": NETWORK, **chosen}]
    if random.random() < _SHARE:
        spec["placement"] = {"strategy": "spread", "required": random.random() < 0.5}  # noqa: PLR2004 - a share
    if random.random() < _SHARE:
        spec["enableIPv4"] = False
    delay = random.choice(_CONTROLLER_SECONDS) if random.random() < 2 * _SHARE else None
    durations = Durations(
        create_seconds=random.choice([3.0, 10.0, 25.0]),
        start_seconds=random.choice([0.5, 2.0]),
        delete_seconds=random.choice([1.0, 5.0, 12.0]),
    )
    return peopled(
        class_objects(spec, is_controlled=delay is not None),
        random,
        drains if has_drains else None,
        types=TYPES,
        class_ref=ClassRef(kind="HetznerNodeClass"),
        timings=_TIMINGS,
        removal=_REMOVAL,
        make_world=partial(
            world_of,
            terms=Terms(
                durations,
                random.choice([1.0, 4.0]),
                delay,
                other_scheme=ids.choice(_SCHEMES),
                labels_are_lost=ids.random() < _SHARE,
            ),
            has_network="networks" in spec,
        ),
        served_within_seconds=_WITHIN_SECONDS,
        settled_within_seconds=_WITHIN_SECONDS,
    )


def _beside(random: Random, purpose: str) -> Random:
    """Return a stream that takes nothing from `random`, so that the histories there are do not change with it."""
    copy = Random()  # noqa: S311 - a simulation wants repeatable choices, not secrets
    copy.setstate(random.getstate())
    return Random(f"{purpose} of {copy.random()}")  # noqa: S311 - as above


def world_of(*, has_network: bool, **settings: Any) -> HetznerWorld:
    """Return a world whose project has the types that pools here name, and their network if a class wants it."""
    world = HetznerWorld(**settings)
    # Every plan reads all of them: with Hetzner's twenty-five it would do nothing else.
    world.cloud.keep_types({*TYPES, OTHERS_TYPE})
    if has_network:
        world.cloud.add_network(NETWORK, subnets=((_SUBNET, "eu-central"),))
    return world


def class_objects(spec: dict[str, Any], *, is_controlled: bool = False) -> list[Object]:
    """Return the HetznerNodeClass named default and the Secret with its token.

    Args:
        spec: what is particular about the class.
        is_controlled: whether a cloud-controller-manager is to initialise its Nodes.
    """
    external = "--cloud-provider=external " if is_controlled else ""
    parsed = HetznerNodeClass.model_validate(
        {
            "metadata": {"name": "default"},
            "spec": {
                "tokenSecretRef": {"namespace": NAMESPACE, "name": "hcloud"},
                "image": {"name": "debian-12"},
                "locations": list(LOCATIONS),
                "userData": {"template": f"#!/bin/sh\nkubelet {external}{{{{ kubelet.args }}}}\n"},
                **spec,
            },
        }
    ).to_json()
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hcloud", "namespace": NAMESPACE},
        "data": {"token": base64.b64encode(TOKEN.encode()).decode()},
    }
    return [secret, parsed]
