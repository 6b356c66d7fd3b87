"""Scenes with less: without a server type, a pool, a zone, or the free room of a node."""

from collections.abc import Callable
from copy import deepcopy
from typing import Final

from tests.builders import Json, pod
from tests.planner.reading import amounts, asked, plus
from tests.planner.scenes import Scene


def without_type(scene: Scene, name: str) -> Scene:
    """Return the scene without a server type, and without pools that bought no other one."""
    cut = deepcopy(scene)
    spec = cut.classes[0]["spec"]
    spec["serverTypes"] = [each for each in spec["serverTypes"] if each["name"] != name]
    for each in cut.pools:
        each["spec"]["serverTypes"] = [one for one in each["spec"]["serverTypes"] if one["name"] != name]
    cut.pools = [each for each in cut.pools if each["spec"]["serverTypes"]]
    return cut


def without_pool(scene: Scene, name: str) -> Scene:
    """Return the scene without a pool."""
    cut = deepcopy(scene)
    cut.pools = [each for each in cut.pools if each["metadata"]["name"] != name]
    return cut


def without_zone(scene: Scene, name: str) -> Scene:
    """Return the scene in which nothing can be bought in a zone; its nodes stay."""
    cut = deepcopy(scene)
    for each in cut.classes[0]["spec"]["serverTypes"]:
        each["locations"] = [place for place in each["locations"] if place["name"] != name]
    gone = [each["name"] for each in cut.classes[0]["spec"]["serverTypes"] if not each["locations"]]
    for kind in gone:
        cut = without_type(cut, kind)
    return cut


def without_room(scene: Scene, name: str) -> Scene:
    """Return the scene with a pod on a node that takes all processor time that was free."""
    cut = deepcopy(scene)
    node = next(each for each in cut.nodes if each["metadata"]["name"] == name)
    residents = [each for each in cut.pods if each["spec"].get("nodeName") == name]
    used = plus(*(asked(each["spec"]) for each in residents)).get("cpu", 0)
    free = amounts(node["status"]["allocatable"])["cpu"] - used
    cut.pods.append(pod("filler", f"{free}m", None, node=name, labels={"app": "filler"}, owner="rs-filler"))
    return cut


CUTS: Final[dict[str, Callable[[Scene, str], Scene]]] = {
    "type": without_type,
    "pool": without_pool,
    "zone": without_zone,
    "room": without_room,
}


def possible(scene: Scene) -> dict[str, list[str]]:
    """Return what can be cut, by kind of cut: nothing that a machine of Growth is of, never all of a kind."""
    labels = [each["metadata"]["labels"] for each in scene.nodes]
    of_pools = {one.get("growth.dev/pool") for one in labels} | {each["spec"]["pool"] for each in scene.requests}
    of_types = {one.get("growth.dev/server-type") for one in labels}
    of_types |= {each["spec"]["serverType"] for each in scene.requests}
    in_zones = {each["spec"]["location"] for each in scene.requests}
    kinds = scene.classes[0]["spec"]["serverTypes"]
    zones = sorted({place["name"] for each in kinds for place in each["locations"]})
    found = {
        "type": [each["name"] for each in kinds if each["name"] not in of_types] if len(kinds) > 1 else [],
        "pool": [name for each in scene.pools if (name := each["metadata"]["name"]) not in of_pools],
        "zone": [zone for zone in zones if zone not in in_zones] if len(zones) > 1 else [],
        "room": [each["metadata"]["name"] for each in scene.nodes if _is_open(each)],
    }
    found["pool"] = found["pool"] if len(scene.pools) > 1 else []
    return {kind: names for kind, names in found.items() if names}


def _is_open(node: Json) -> bool:
    return not node["spec"].get("unschedulable") and not node["spec"]["taints"]
