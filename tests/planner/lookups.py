"""What the checker looks up in a scene and its plan: raw objects, who holds which seat, which pools may buy."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from api.v1alpha1.node_request import Seat
from planner.model.plan import Plan, PlannedRequest
from tests.planner import checker_volumes, peers
from tests.planner.reading import (
    OWN_TAINTS,
    REQUIRED,
    Amounts,
    Json,
    asked,
    expression_holds,
    is_finished,
    kept_node,
    key,
    moment,
    offering_node,
    owner,
    tolerates,
    wants,
)
from tests.planner.scenes import Scene
from tests.planner.world import Spot, World

PLACE_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
TYPE_LABEL = "growth.dev/server-type"
STARTING = 10
"""Seconds after Ready."""


class Lookups:
    def __init__(self, scene: Scene, plan: Plan, *, is_settled: bool = False) -> None:
        self.is_settled = is_settled
        self.scene = scene
        self.plan = plan
        self.pods = {key(p): p for p in scene.pods}
        self.by_uid = {p["metadata"]["uid"]: p for p in scene.pods}
        self.nodes = {n["metadata"]["name"]: n for n in scene.nodes}
        self.requests = {r["metadata"]["name"]: r for r in scene.requests}
        self.removals = {r["spec"]["serverName"]: r for r in scene.removals}
        self.pools = {p["metadata"]["name"]: p for p in scene.pools}
        self.classes = {c["metadata"]["name"]: c for c in scene.classes}

    def world(self) -> World:
        """Return every machine that there will be, with the pods that it has and gets."""
        landing: dict[str, list[Json]] = {}
        for placed in self.plan.placed:
            landing.setdefault(placed.node or placed.request or "", []).append(self.pods[placed.pod])
        for name, seats in self.seats_after().items():
            held = [p for s in seats if (p := self.by_uid.get(s.uid)) and not self.lands_on(p)]
            there = landing.setdefault(name, [])
            there += [p for p in held if p not in there and not is_finished(p)]
        spots: dict[str, Spot] = {}
        for name, r in self.requests.items():
            is_coming = name in self.seats_after() and name not in self.plan.cancelled
            if (is_coming or (name in self.nodes and self.starts(name))) and r["spec"]["pool"] in self.pools:
                labels, taints, _ = self.looks(r["spec"]["pool"], *self.offering_of(r["spec"]), name)
                spots[name] = Spot(name, labels, taints)
        for name, node in self.nodes.items():
            known = spots.get(name, Spot(name, {}, [])).labels
            spec = node["spec"]
            labels = known | node["metadata"]["labels"]
            cordoned = spec.get("unschedulable", False)
            spots[name] = Spot(name, labels, self.taints(name), is_cordoned=cordoned, is_there=True)
        for name, spot in spots.items():
            spot.residents, spot.newcomers = self.residents(name), landing.get(name, [])
            spot.residents += self.daemons(name, spot.labels, spot.taints, spot.residents)
        for bought in self.plan.requests:
            name = f"new-{bought.ordinal}"
            labels, taints, _ = self.looks(bought.pool, *self.offering(bought), name)
            first = self.daemons(name, labels, taints, [])
            spots[name] = Spot(name, labels, taints, first, [self.by_uid[s.uid] for s in bought.seats])
        return World(tuple(spots.values()), self.scene.namespaces, attach_limits(self.scene.csi_nodes))

    def looks(self, pool: str, kind: Json, place: Json, host: str) -> tuple[dict[str, str], list[Json], Amounts]:
        """Return labels, taints and allocatable of a machine to come of this server type in this pool."""
        labels, taints, allocatable = offering_node(self.pools[pool], kind, place, host)
        of_drivers = learned(labels, self.nodes, self.scene.csi_nodes)
        of_peers, more = peers.agreed(labels, self.scene.nodes, self.scene.csi_nodes, self.scene.now, self.pools[pool])
        known = {(t["key"], t["effect"]) for t in taints}
        taints = [*taints, *(t for t in more if (t["key"], t["effect"]) not in known)]
        return of_peers | of_drivers | labels, taints, allocatable

    def taints(self, node: str) -> list[Json]:
        """Return the taints of a Node, but while it starts those of its pool and our own: others are taken back."""
        taints: list[Json] = self.nodes[node]["spec"]["taints"]
        if not self.starts(node):
            return taints
        spec = self.requests[node]["spec"]
        planned = self.looks(spec["pool"], *self.offering_of(spec), node)[1]
        return [*planned, *(t for t in taints if t["key"] in OWN_TAINTS)]

    def starts(self, node: str) -> bool:
        """Whether a machine of ours is not Ready yet, or has been so for a moment only."""
        request = self.requests.get(node)
        if request is None or request["spec"]["pool"] not in self.pools:
            return False
        phase, ready_at = request["status"].get("phase", "Pending"), request["status"].get("readyAt")
        if phase == "Ready":
            return ready_at is not None and (self.scene.now - moment(ready_at)).total_seconds() < STARTING
        return phase in ("Pending", "Provisioning")

    def storage(self) -> checker_volumes.Storage:
        return checker_volumes.storage(self.scene.claims, self.scene.volumes, self.scene.storage_classes)

    def residents(self, node: str) -> list[Json]:
        return [p for p in self.scene.pods if self.lands_on(p) == node and not is_finished(p)]

    def _static_pods(self, labels: dict[str, str]) -> dict[str, Json]:
        pool = self.pools.get(labels.get("growth.dev/pool", ""))
        return peers.static_pods(labels, self.scene.nodes, self.scene.pods, self.scene.now, pool)

    def daemons(self, node: str, labels: dict[str, str], taints: list[Json], residents: list[Json]) -> list[Json]:
        """Return the DaemonSet pods that are still missing on a node."""
        present = {owner(p).get("uid") for p in residents}
        found: list[Json] = []
        for each in self.scene.daemon_sets:
            metadata, template = each["metadata"], each["spec"]["template"]
            spec = template["spec"]
            is_wanted = wants(spec, labels, node) and all(
                tolerates(spec, t) for t in taints if t["key"] not in OWN_TAINTS
            )
            if is_wanted and metadata["uid"] not in present:
                name = f"{metadata['name']}-on-{node}"
                looks = {"name": name, "uid": name, "namespace": metadata["namespace"], "labels": {}}
                asked_for = peers.amounts_of(each, labels, self.nodes, self.scene.pods)
                own = {**spec, **of_amounts(asked_for)} if asked_for != asked(spec) else spec
                found.append({"metadata": looks | template.get("metadata", {}), "spec": own, "status": {}})
        there = {peers.file_of(p) for p in residents if p["spec"].get("nodeName")}
        for file, static in self._static_pods(labels).items():
            if file not in there:
                found.append({**static, "spec": {k: v for k, v in static["spec"].items() if k != "nodeName"}})
        return found

    def lands_on(self, pod: Json) -> str:
        """Return the node that the pod is on, or that the scheduler keeps for it while it waits."""
        return pod["spec"].get("nodeName") or kept_node(pod, self.nodes)

    def seats_after(self):
        live = {
            name: r
            for name, r in self.requests.items()
            if "deletionTimestamp" not in r["metadata"]
            and name not in self.removals
            and "releasedAt" not in r["status"]
            and r["status"].get("phase", "Pending") in ("Pending", "Provisioning", "Ready")
        }
        return {
            name: self.plan.reservations.get(name, [Seat.model_validate(s) for s in r["spec"]["reservedFor"]])
            for name, r in live.items()
        }

    def pools_of(self, pod: Json) -> set[str]:
        named = pod["spec"].get("nodeSelector", {}).get("growth.dev/pool")
        if named is not None:
            return {named} & set(self.pools)
        if names_pools(pod):
            return {name for name in self.pools if wants_pool(pod, name)}
        return {
            name
            for name, p in self.pools.items()
            if p["spec"].get("matchUnselectedPods", name == "default") and wants_pool(pod, name)
        }

    def is_expendable(self, pod: Json) -> bool:
        """Return whether the priority of the pod is too low for a machine in each pool that it may use."""
        cutoffs = [self.pools[name]["spec"].get("scaleUp", {}).get("expendablePriority") for name in self.pools_of(pod)]
        own = pod["spec"].get("priority", 0)
        return bool(cutoffs) and all(cutoff is not None and own < cutoff for cutoff in cutoffs)

    def catalogue(self, pool: Json) -> Iterator[tuple[Json, Json]]:
        ref = pool["spec"].get("template", {}).get("classRef", {}).get("name", "default")
        wanted = {t["name"].lower() for t in pool["spec"]["serverTypes"]}
        for kind in self.classes.get(ref, {"spec": {"serverTypes": []}})["spec"]["serverTypes"]:
            if kind["name"].lower() in wanted:
                yield from ((kind, place) for place in kind["locations"])

    def offering(self, bought: PlannedRequest) -> tuple[Json, Json]:
        return next(
            (k, p)
            for k, p in self.catalogue(self.pools[bought.pool])
            if k["name"] == bought.server_type and p["name"] == bought.location
        )

    def offering_of(self, spec: Json) -> tuple[Json, Json]:
        kinds = self.classes[spec["classRef"]["name"]]["spec"]["serverTypes"]
        return next(
            (k, p)
            for k in kinds
            for p in k["locations"]
            if (k["name"], p["name"]) == (spec["serverType"], spec["location"])
        )

    def set_aside(self, pool: str) -> int:
        """Return for how many machines of minimums a round keeps room, though others may come to meet them."""
        labels = [n["metadata"]["labels"] for n in self.nodes.values()]
        kinds = Counter(x["growth.dev/server-type"] for x in labels if x.get("growth.dev/pool") == pool)
        types = self.pools[pool]["spec"]["serverTypes"]
        return sum(max(0, t.get("min", 0) - kinds[t["name"].lower()]) for t in types)

    def is_blocked(self, pool: str) -> bool:
        """Whether a request of the pool has failed in a way that every other one would, and no breaker counts such."""
        return "breaker" not in self.pools[pool]["spec"].get("scaleUp", {}) and any(
            r["spec"]["pool"] == pool
            and r["status"].get("phase") == "Failed"
            and moment(r["status"]["expiresAt"]) > self.scene.now
            for r in self.scene.requests
        )

    def is_probed(self, kind: str, place: Json) -> bool:
        """Whether a machine that had no capacity lately is being tried, so that there may be no second one."""
        entries = [e for c in self.scene.classes for e in c["status"]["unavailable"]]
        tried = [
            r
            for r in (*self.plan.requests, *self.scene.requests)
            if isinstance(r, PlannedRequest) or r["status"].get("phase", "Pending") == "Pending"
        ]
        places = [
            (r.server_type, r.location)
            if isinstance(r, PlannedRequest)
            else (r["spec"]["serverType"], r["spec"]["location"])
            for r in tried
        ]
        here = (kind, place["name"])
        return here in places and any((e["serverType"], e["location"]) == here for e in entries)

    def is_out(self, ref: str, kind: str, place: Json) -> bool:
        status = self.classes[ref].get("status", {}).get("unavailable", ())
        unmet = [
            r
            for r in self.requests.values()
            if r["status"].get("phase") == "Unmet"
            and (r["spec"]["serverType"], r["spec"]["location"]) == (kind, place["name"])
            and moment(r["status"]["expiresAt"]) > self.scene.now
        ]
        noted = [
            e
            for e in status
            if (e["serverType"], e["location"]) == (kind, place["name"]) and moment(e["until"]) > self.scene.now
        ]
        return not place.get("available", True) or bool(unmet or noted)


def of_amounts(asked_for: Amounts) -> Json:
    """Return the containers of a pod that asks for this much."""
    units = {"cpu": "m"}
    requests = {name: f"{n}{units.get(name, '')}" for name, n in asked_for.items() if name != "pods"}
    return {"containers": [{"name": "main", "resources": {"requests": requests}}], "initContainers": [], "overhead": {}}


def attach_limits(csi_nodes: list[Json]) -> dict[str, dict[str, int]]:
    """Return how many volumes of each driver each node takes."""
    return {
        n["metadata"]["name"]: {
            d["name"]: d["allocatable"]["count"] for d in n["spec"]["drivers"] if "count" in d.get("allocatable", {})
        }
        for n in csi_nodes
    }


def names_pools(pod: Json) -> bool:
    """Whether every term of the pod's node affinity says which pools it may be in."""
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    return required is not None and all(
        any(e["key"] == "growth.dev/pool" and e["operator"] in ("In", "Exists") for e in t.get("matchExpressions", ()))
        for t in required["nodeSelectorTerms"]
    )


def wants_pool(pod: Json, name: str) -> bool:
    """Whether the pod's node affinity allows this pool, other labels aside."""
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    return required is None or any(
        all(
            expression_holds(e, {"growth.dev/pool": name})
            for e in t.get("matchExpressions", ())
            if e["key"] == "growth.dev/pool"
        )
        for t in required["nodeSelectorTerms"]
    )


def learned(labels: Mapping[str, str], nodes: Mapping[str, Json], csi_nodes: Iterable[Json]) -> dict[str, str]:
    """Return the labels of drivers on which Nodes at the place of these labels agree, those of the same type first."""
    told: list[tuple[bool, str, str]] = []
    for csi_node in csi_nodes:
        name = csi_node["metadata"]["name"]
        there = nodes[name]["metadata"]["labels"] if name in nodes else {}
        known = [label for label in PLACE_LABELS if label in there and label in labels]
        if known and all(there[label] == labels[label] for label in known):
            kind = there.get(TYPE_LABEL) or there.get("node.kubernetes.io/instance-type", "")
            for driver in csi_node["spec"]["drivers"]:
                told += [
                    (kind.lower() == labels[TYPE_LABEL].lower(), key, there[key])
                    for key in driver.get("topologyKeys") or ()
                    if key in there and there[key] not in (name, there.get("kubernetes.io/hostname"))
                ]
    found: dict[str, str] = {}
    for label in {label for _, label, _ in told}:
        alike = {value for same, k, value in told if k == label and same}
        values = alike or {value for _, k, value in told if k == label}
        if len(values) == 1:
            found[label] = values.pop()
    return found
