"""Labels that CSI drivers will set on a machine to come, as the checker expects them: from raw objects."""

from collections.abc import Iterable, Mapping

from tests.planner.reading import Json

PLACE = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
TYPE = "growth.dev/server-type"


def learned(labels: Mapping[str, str], nodes: Mapping[str, Json], csi_nodes: Iterable[Json]) -> dict[str, str]:
    """Return the labels of drivers on which Nodes at the place of these labels agree, those of the same type first."""
    told: list[tuple[bool, str, str]] = []
    for csi_node in csi_nodes:
        name = csi_node["metadata"]["name"]
        there = nodes[name]["metadata"]["labels"] if name in nodes else {}
        known = [label for label in PLACE if label in there and label in labels]
        if known and all(there[label] == labels[label] for label in known):
            kind = there.get(TYPE) or there.get("node.kubernetes.io/instance-type", "")
            for driver in csi_node["spec"]["drivers"]:
                told += [
                    (kind.lower() == labels[TYPE].lower(), key, there[key])
                    for key in driver.get("topologyKeys") or ()
                    if key in there and there[key] not in (name, there.get("kubernetes.io/hostname"))
                ]
    found: dict[str, str] = {}
    for key in {key for _, key, _ in told}:
        alike = {value for same, k, value in told if k == key and same}
        values = alike or {value for _, k, value in told if k == key}
        if len(values) == 1:
            found[key] = values.pop()
    return found
