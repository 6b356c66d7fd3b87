"""Random wishes of pods about other pods, ports, names of nodes and volumes."""

from typing import Any

from hypothesis import strategies as st

from tests.builders import claim, storage_class, volume
from tests.planner.reading import Json
from tests.planner.wishes import HOST, ZONE, affinity, named, on_port, own_disk, spread, term, using

APPS = ("web", "db", "queue")
ZONES = ("fsn1", "nbg1")
KEYS = st.sampled_from([ZONE, ZONE, HOST, "kubernetes.io/arch", "disk"])
DRIVER_ZONE = "topology.csi.disks.example/zone"
DISKS = ("disk-0", "disk-1", "disk-2", "disk-3")


@st.composite
def spreads(draw: st.DrawFn, app: str) -> Json:
    more: dict[str, Any] = {}
    if draw(st.integers(0, 3)) == 0:
        more["minDomains"] = draw(st.integers(2, 3))
    if draw(st.integers(0, 3)) == 0:
        more["nodeTaintsPolicy"] = "Honor"
    if draw(st.integers(0, 3)) == 0:
        more["nodeAffinityPolicy"] = "Ignore"
    if draw(st.integers(0, 7)) == 0:
        more["whenUnsatisfiable"] = "ScheduleAnyway"
    of = draw(st.sampled_from([app, app, app, *APPS]))
    return spread(draw(KEYS), draw(st.integers(1, 2)), of, **more)


@st.composite
def terms(draw: st.DrawFn) -> Json:
    more = draw(
        st.sampled_from([{}, {}, {}, {"namespaces": ["other"]}, {"namespaceSelector": {}}, {"matchLabelKeys": ["app"]}])
    )
    return term(draw(KEYS), {"app": draw(st.sampled_from(APPS))}, **more)


@st.composite
def wishes(draw: st.DrawFn, app: str) -> dict[str, Any]:
    """Draw what pods of an app ask of their neighbours."""
    match draw(st.integers(0, 4)):
        case 0 | 1:
            # The API server takes a key once only.
            several = st.lists(spreads(app), min_size=1, max_size=2, unique_by=lambda c: c["topologyKey"])
            return {"topologySpreadConstraints": draw(several)}
        case 2:
            return {"affinity": affinity(away=draw(terms()))}
        case 3:
            return {"affinity": affinity(near=draw(terms()))}
        case _:
            name = draw(st.sampled_from(["node-0", "node-1"]))
            return {"affinity": affinity(fields=named(name, operator=draw(st.sampled_from(["In", "NotIn"]))))}


def add_ports(draw: st.DrawFn, pods: list[Json]) -> None:
    number, more = draw(st.sampled_from([8080, 9090])), draw(st.sampled_from([{}, {"protocol": "UDP"}]))
    address = draw(st.sampled_from([{}, {}, {"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}]))
    for p in pods:
        on_port(p, number, **more, **address)


def add_volumes(draw: st.DrawFn, pods: list[Json]) -> None:
    for p in pods:
        if draw(st.integers(0, 5)) == 0:
            own_disk(p)
        else:
            using(p, *draw(st.lists(st.sampled_from(DISKS), min_size=1, max_size=2, unique=True)))


def storage_for(draw: st.DrawFn, pods: list[Json]) -> dict[str, list[Json]]:
    """Draw what there is of the claims that these pods use, and of their volumes and classes."""
    names = {
        c
        for p in pods
        for v in p["spec"].get("volumes", ())
        for c in [
            v["persistentVolumeClaim"]["claimName"]
            if "persistentVolumeClaim" in v
            else f"{p['metadata']['name']}-{v['name']}"
        ]
    }
    claims: list[Json] = []
    volumes: list[Json] = []
    for name in sorted(names):
        mode = draw(st.sampled_from(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]))
        kind = draw(st.integers(0, 9))
        if kind in (0, 1, 2):
            volumes.append(volume(f"volume-of-{name}", zone=draw(st.sampled_from([*ZONES, None]))))
            claims.append(claim(name, f"volume-of-{name}", mode=mode))
        elif kind == 3:
            claims.append(claim(name, "gone"))
        elif kind == 4:
            claims.append(claim(name, storage_class=draw(st.sampled_from(["now", None]))))
        elif kind > 5:
            claims.append(claim(name, mode=mode, storage_class=draw(st.sampled_from(["waits", "waits", "north"]))))
    classes = [storage_class(), storage_class("north", "nbg1"), storage_class("now", waits=False)]
    return {"claims": claims, "volumes": volumes, "storage_classes": classes}


def tie_to_driver(draw: st.DrawFn, nodes: list[Json], csi_nodes: list[Json], tied: tuple[Json, ...]) -> None:
    """Let a CSI driver tell zones by a label of its own, which Nodes have where it has registered.

    `tied` are the volumes and storage classes that ask for a zone.
    """
    for made in nodes:
        labels, name = made["metadata"]["labels"], made["metadata"]["name"]
        labels["topology.kubernetes.io/region"] = labels[ZONE]
        # One in a few is said to be elsewhere, or has disks of its own.
        labels[DRIVER_ZONE] = draw(st.sampled_from([labels[ZONE], labels[ZONE], labels[ZONE], "nbg1", name]))
    for csi in csi_nodes:
        for driver in csi["spec"]["drivers"]:
            driver["topologyKeys"] = draw(st.sampled_from([[DRIVER_ZONE], [DRIVER_ZONE], []]))
    for each in tied:
        required = each.get("spec", {}).get("nodeAffinity", {}).get("required", {})
        expressions = [e for term in required.get("nodeSelectorTerms", ()) for e in term["matchExpressions"]]
        expressions += [e for term in each.get("allowedTopologies", ()) for e in term["matchLabelExpressions"]]
        for expression in expressions:
            expression["key"] = DRIVER_ZONE
