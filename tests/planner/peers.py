"""What Nodes of a pool and type teach about the next one, from raw objects: none of the planner's code is used here."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from tests.planner.reading import Amounts, Json, asked, is_finished, moment, most, owner

PLACES = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
STATED = {
    *PLACES,
    *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type"),
    *(f"beta.kubernetes.io/{what}" for what in ("os", "arch", "instance-type")),
    *(f"failure-domain.beta.kubernetes.io/{what}" for what in ("region", "zone")),
    "node.kubernetes.io/exclude-from-external-load-balancers",
}
PASSING = ("growth.dev/", "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
STARTS = {
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/network-unavailable",
}
MIRROR = "kubernetes.io/config.mirror"


def kind_of(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels.get("growth.dev/pool", ""), labels.get("growth.dev/server-type", "").lower()


def is_start(taint: Json, pool: Json | None) -> bool:
    """Return whether the taint is one of a start, by its name or as the pool declares it, and not the pool's own."""
    spec = {} if pool is None else pool["spec"]
    own = [(t["key"], t["effect"]) for t in spec.get("template", {}).get("taints", ())]
    if taint["effect"] == "PreferNoSchedule" or (taint["key"], taint["effect"]) in own:
        return False
    domain, _, name = taint["key"].partition("/")
    known = (
        taint["key"] in STARTS
        or domain in ("startup-taint.cluster-autoscaler.kubernetes.io", "ignore-taint.cluster-autoscaler.kubernetes.io")
        or name == "agent-not-ready"
    )
    declared = spec.get("scaleUp", {}).get("startupTaints", ())
    return known or any(
        d["key"] == taint["key"]
        and d.get("value", taint.get("value", "")) == taint.get("value", "")
        and d.get("effect", taint["effect"]) == taint["effect"]
        for d in declared
    )


def settled(nodes: Iterable[Json], labels: Mapping[str, str], now: datetime, pool: Json | None = None) -> list[Json]:
    """Return the Ready Nodes of the pool and type that these labels name, but for those that have hardly started."""
    found: list[Json] = []
    for node in nodes:
        ready = [c for c in node["status"]["conditions"] if c["type"] == "Ready" and c["status"] == "True"]
        taints = node["spec"].get("taints", ())
        starts = any(t["key"] == "growth.dev/unregistered" or is_start(t, pool) for t in taints)
        if ready and not starts and kind_of(node["metadata"]["labels"]) == kind_of(labels) != ("", ""):
            since = ready[0].get("lastTransitionTime")
            if since is None or now - moment(since) >= timedelta(seconds=10):
                found.append(node)
    return found


def is_open(node: Json) -> bool:
    return not node["spec"].get("unschedulable") and "deletionTimestamp" not in node["metadata"]


def agreed(
    labels: Mapping[str, str],
    nodes: Iterable[Json],
    csi_nodes: Iterable[Json],
    now: datetime,
    pool: Json | None = None,
) -> tuple[dict[str, str], list[Json]]:
    """Return labels and taints that every such Node has, of which two at least take pods."""
    there = settled(nodes, labels, now, pool)
    names = {n["metadata"]["name"] for n in there}
    of_drivers = {
        key
        for c in csi_nodes
        if c["metadata"]["name"] in names
        for d in c["spec"]["drivers"]
        for key in d.get("topologyKeys") or ()
    }
    if sum(is_open(n) for n in there) < 2:
        return {}, []
    all_labels = [n["metadata"]["labels"] for n in there]
    open_labels = [n["metadata"]["labels"] for n in there if is_open(n)]
    found = {
        key: value
        for key, value in set.intersection(*(set(each.items()) for each in all_labels))
        if not key.startswith("growth.dev/") and key not in STATED | of_drivers
    }
    here = {open_labels[0].get(place) for place in PLACES} - {labels.get(place) for place in PLACES}
    taints = [
        t
        for t in next(n for n in there if is_open(n))["spec"].get("taints", ())
        if not t["key"].startswith(PASSING) and t["effect"] != "PreferNoSchedule"
        if all(any(same(t, o) for o in n["spec"].get("taints", ())) for n in there)
        if sum(lasts(t, n, now) for n in there if is_open(n)) >= 2
    ]
    return {key: value for key, value in found.items() if value not in here}, taints


def same(taint: Json, other: Json) -> bool:
    return all(taint.get(k, "") == other.get(k, "") for k in ("key", "value", "effect"))


def lasts(taint: Json, node: Json, now: datetime) -> bool:
    own = next(t for t in node["spec"]["taints"] if same(t, taint))
    ready = next(c for c in node["status"]["conditions"] if c["type"] == "Ready" and c["status"] == "True")
    since = own.get("timeAdded") or ready.get("lastTransitionTime") or node["metadata"].get("creationTimestamp")
    return since is None or now - moment(since) >= timedelta(minutes=10)


def amounts_of(daemon_set: Json, labels: Mapping[str, str], nodes: Mapping[str, Json], pods: Iterable[Json]) -> Amounts:
    """Return what a pod of the DaemonSet asks for on a Node of these labels."""
    own = [p for p in pods if owner(p).get("uid") == daemon_set["metadata"]["uid"] and p["spec"].get("nodeName")]
    own = [p for p in own if not is_finished(p)]
    template = asked(daemon_set["spec"]["template"]["spec"])
    last = max((generation(p) for p in own), default=0)
    own = [p for p in own if generation(p) == last]
    kinds = [
        kind_of(nodes[name]["metadata"]["labels"] if (name := p["spec"]["nodeName"]) in nodes else {}) for p in own
    ]
    wanted = kind_of(labels)
    alike = [p for p, kind in zip(own, kinds, strict=True) if kind == wanted and all(wanted)]
    near = [p for p, kind in zip(own, kinds, strict=True) if kind[0] == wanted[0] and all(kind)]
    chosen = alike or near or own
    if not chosen:
        return template
    newest = max(p["metadata"].get("creationTimestamp", "") for p in chosen)
    found = [asked(p["spec"]) for p in chosen if p["metadata"].get("creationTimestamp", "") == newest]
    amounts = max(found, key=lambda each: sorted(each.items()))
    annotations = daemon_set["metadata"].get("annotations", {})
    wished = int(annotations.get("deprecated.daemonset.template.generation", 0))
    return most(amounts, template) if 0 < last < wished else amounts


def generation(pod: Json) -> int:
    return int(pod["metadata"].get("labels", {}).get("pod-template-generation", 0))


def static_pods(
    labels: Mapping[str, str],
    nodes: Iterable[Json],
    pods: Iterable[Json],
    now: datetime,
    pool: Json | None = None,
) -> dict[str, Json]:
    """Return the pods of kubelets' own files that all settled Nodes of the pool and type have, by the file's name."""
    held: list[dict[str, Json]] = []
    for node in settled(nodes, labels, now, pool):
        name = node["metadata"]["name"]
        held.append({file_of(p): p for p in pods if p["spec"].get("nodeName") == name and file_of(p)})
    everywhere = set.intersection(*(set(each) for each in held)) if held else set[str]()
    return {
        file: max((each[file] for each in held), key=lambda p: sorted(asked(p["spec"]).items())) for file in everywhere
    }


def file_of(pod: Json) -> str:
    metadata = pod["metadata"]
    if MIRROR not in metadata.get("annotations", {}) or is_finished(pod):
        return ""
    return f"{metadata['namespace']}/{metadata['name'].removesuffix('-' + pod['spec']['nodeName'])}"
