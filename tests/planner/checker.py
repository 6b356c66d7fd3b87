"""Judges a plan by the raw objects it was made from, with none of the planner's code but its answer's types.

`violations` returns every broken rule as a sentence; an empty list is a clean bill.
"""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from planner.model.plan import Plan
from tests.planner import checker_headroom, checker_pace, checker_shares, checker_topology, checker_volumes
from tests.planner.checker_sums import PoolSums
from tests.planner.lookups import Lookups
from tests.planner.reading import (
    OWN_TAINTS,
    Amounts,
    Json,
    amounts,
    asked,
    is_beyond,
    is_demand,
    key,
    moment,
    owner,
    plus,
    tolerates,
    wants,
)
from tests.planner.scenes import Scene
from tests.planner.selecting import HOSTNAME, asks_of_others, clash, same_port
from tests.planner.world import Spot

Looks = tuple[dict[str, str], list[Json], Amounts]
"""Labels, taints and allocatable of a node."""


class Checker(Lookups):
    def violations(self) -> list[str]:
        checks = (self.once, self.bought, self.there, self.coming, self.limits, self.money, self.complete, self.leaving)
        world, kept = self.world(), self.storage()
        return [
            *(sentence for check in checks for sentence in check()),
            *checker_shares.violations(self),
            *checker_topology.violations(world),
            *checker_volumes.violations(world, kept),
            *checker_headroom.violations(self),
            *checker_pace.violations(self),
        ]

    # Every pod has one fate.

    def once(self) -> Iterator[str]:
        placed = [p.pod for p in self.plan.placed]
        seated = [f"{s.namespace}/{s.name}" for r in self.plan.requests for s in r.seats]
        unplaced = [u.pod for u in self.plan.unplaced]
        fates = Counter([*placed, *seated, *unplaced])
        demand = {key(p) for p in self.scene.pods if is_demand(p) and not self.lands_on(p)}
        yield from (f"{pod} has {n} fates" for pod, n in fates.items() if n != 1)
        yield from (f"{pod} has no fate" for pod in demand - set(fates))
        yield from (f"{pod} is no demand" for pod in set(fates) - demand)
        held = Counter(s.uid for seats in self.seats_after().values() for s in seats)
        held.update(s.uid for r in self.plan.requests for s in r.seats)
        yield from (f"{uid} holds {n} seats" for uid, n in held.items() if n > 1)
        yield from (f"{u.pod} has no reason" for u in self.plan.unplaced if not u.reasons or not u.reasons[0].message)
        yield from (f"{pod} is placed though not judged" for pod in (*placed, *seated) if is_beyond(self.pods[pod]))
        expected = "NoDemands" if not demand else "IncompletePlacement" if unplaced else "AllPlaced"
        if self.plan.result != expected:
            yield f"the result is {self.plan.result}, not {expected}"

    # What machines hold.

    def bought(self) -> Iterator[str]:
        for bought in self.plan.requests:
            kind, place = self.offering(bought)
            if self.is_blocked(bought.pool):
                yield f"a machine is bought for pool {bought.pool}, whose last request failed"
            if self.is_out(bought.class_ref.name, kind["name"], place):
                yield f"{kind['name']} in {place['name']} is bought though it is not to be had"
            if kind["pricePerHour"] != str(bought.price_per_hour):
                yield f"{kind['name']} has another price"
            looks = self.looks(bought.pool, kind, place, "new")
            pods = [self.by_uid[s.uid] for s in bought.seats]
            if any(bought.pool not in self.pools_of(p) for p in pods):
                yield f"a pod is in pool {bought.pool} that is not its own"
            yield from self.misfits(f"new {kind['name']}", pods, looks, [])

    def there(self) -> Iterator[str]:
        cancelled = {c.removal for c in self.plan.removal_cancels}
        for name in sorted({p.node for p in self.plan.placed if p.node}):
            node, request = self.nodes[name], self.requests.get(name)
            pods = [self.pods[p.pod] for p in self.plan.placed if p.node == name]
            reserved = request is not None and "releasedAt" not in request["status"] and request["spec"]["reservedFor"]
            removal = self.removals.get(name)
            if reserved:
                owned = {s.uid for s in self.seats_after()[name]}
                yield from (f"{key(p)} is on {name} without a seat" for p in pods if p["metadata"]["uid"] not in owned)
                pods = [self.by_uid[uid] for uid in owned if uid in self.by_uid and not self.lands_on(self.by_uid[uid])]
            ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
            if not ready or node["spec"].get("unschedulable"):
                yield f"{name} takes no pods"
            if removal and not removal["status"].get("cancel") and name not in cancelled:
                yield f"{name} is under removal and nobody cancels it"
            if removal and removal["status"].get("phase", "Pending") not in _takes_back(removal):
                yield f"{name} is past its point of no return"
            taints = [t for t in self.taints(name) if t["key"] not in OWN_TAINTS]
            allocatable = amounts(node["status"]["allocatable"])
            labels = node["metadata"]["labels"]
            yield from self.misfits(name, pods, (labels, taints, allocatable), self.residents(name))

    def coming(self) -> Iterator[str]:
        placed = {p.request for p in self.plan.placed if p.request}
        for name, seats in self.seats_after().items():
            request = self.requests[name]
            if request["status"].get("phase", "Pending") == "Ready":
                continue
            sources = {n for n, r in self.removals.items() if name in r["spec"].get("replacedBy", ()) and _goes_on(r)}
            stays = name not in self.plan.cancelled
            if stays and any(s.uid not in self.by_uid for s in seats) and not sources:
                yield f"{name} is kept for a pod that is gone"
            pods = [self.by_uid[s.uid] for s in seats if s.uid in self.by_uid]
            yield from (
                f"{name} is kept for {key(p)}, which is elsewhere"
                for p in pods
                if stays and self.lands_on(p) not in {"", name, *sources}
            )
            if not self.pools[request["spec"]["pool"]]["spec"].get("scaleUp", {}).get("reserve", True):
                pods = [self.pods[p.pod] for p in self.plan.placed if p.request == name]
            kind, place = self.offering_of(request["spec"])
            looks = self.looks(request["spec"]["pool"], kind, place, name)
            waiting = [p for p in pods if self.lands_on(p) != name]
            yield from self.misfits(name, waiting, looks, self.residents(name))
            if name in placed and name in self.plan.cancelled:
                yield f"{name} is cancelled although pods are placed on it"
        for name in placed:
            request = self.requests[name]
            if "deletionTimestamp" in request["metadata"] or request["status"].get("phase", "Pending") not in {
                "Pending",
                "Provisioning",
                "Ready",
            }:
                yield f"{name} is not coming"

    def misfits(self, where: str, pods: list[Json], looks: Looks, residents: list[Json]) -> Iterator[str]:
        """Yield why these pods cannot all be on one machine, whose name is `where`."""
        labels, taints, allocatable = looks
        if not pods:
            return
        residents = [*residents, *self.daemons(where, labels, taints, residents)]
        used = plus(*(asked(p["spec"]) for p in (*pods, *residents)))
        for name in {n for p in pods for n in asked(p["spec"])}:
            if used[name] > allocatable.get(name, 0):
                yield f"{where} is overfilled: {name} {used[name]} of {allocatable.get(name, 0)}"
        for k, p in enumerate(pods):
            if not wants(p["spec"], labels, where):
                yield f"{key(p)} does not want {where}"
            yield from (
                f"{key(p)} does not tolerate {t['key']} of {where}" for t in taints if not tolerates(p["spec"], t)
            )
            others = (*pods[k + 1 :], *residents)
            here = {HOSTNAME: where}
            yield from (
                f"{key(p)} and {key(o)} must not share {where}"
                for o in others
                if clash(p, o, self.scene.namespaces, here, here)
            )
            for other in others:
                if number := same_port(p["spec"], other["spec"]):
                    yield f"port {number} of {where} is asked for by {key(p)} and by another pod"

    # Limits, money, completeness.

    def limits(self) -> Iterator[str]:
        for (pool, kind), (room, number) in self.rooms().items():
            if number and room is not None and number > room:
                yield f"{number} machines of {kind or 'all types'} are bought for pool {pool}, room was for {room}"
        yield from PoolSums(self.scene, self.plan).violations()

        for entry in (e for c in self.scene.classes for e in c["status"]["unavailable"]):
            here = (entry["serverType"], entry["location"])
            probes = sum((r.server_type, r.location) == here for r in self.plan.requests)
            running = any(
                (r["spec"]["serverType"], r["spec"]["location"]) == here
                and r["status"].get("phase") == "Provisioning"
                and moment(r["status"]["createAttemptAt"]) >= moment(entry["until"])
                for r in self.scene.requests
            )
            if probes > 1 and not running:
                yield f"{probes} machines of {here} are bought where one probe comes first"

    def rooms(self) -> dict[tuple[str, str], tuple[int | None, int]]:
        """Return room before and machines bought, by pool and type; all types together under an empty name."""
        machines: dict[str, tuple[str, str]] = {}
        for name, node in self.nodes.items():
            labels = node["metadata"]["labels"]
            if "growth.dev/pool" in labels:
                machines[name] = (labels["growth.dev/pool"], labels["growth.dev/server-type"])
        for name, r in (*self.requests.items(), *self.removals.items()):
            if r["kind"] == "NodeRemovalRequest" or r["status"].get("phase") not in ("Unmet", "Failed"):
                machines[name] = (r["spec"]["pool"], r["spec"]["serverType"])
        there = Counter(machines.values())
        bought = Counter((r.pool, r.server_type) for r in self.plan.requests)
        rooms: dict[tuple[str, str], tuple[int | None, int]] = {}
        for name, pool in self.pools.items():
            most = pool["spec"].get("limits", {}).get("max")
            total = sum(n for (p, _), n in there.items() if p == name)
            number = sum(n for (p, _), n in bought.items() if p == name)
            rooms[name, ""] = (None if most is None else most - total, number)
            for t in pool["spec"]["serverTypes"]:
                kind = t["name"].lower()
                room = None if "max" not in t else t["max"] - there[name, kind]
                rooms[name, kind] = (room, bought[name, kind])
        return rooms

    def money(self) -> Iterator[str]:
        cost = sum((r.price_per_hour for r in self.plan.requests), Decimal(0))
        if cost != self.plan.cost_per_hour:
            yield f"the cost is {cost}, not {self.plan.cost_per_hour}"
        if self.plan.lower_bound_per_hour > cost:
            yield f"the plan costs {cost}, below its own bound {self.plan.lower_bound_per_hour}"
        if self.plan.optimal != (self.plan.lower_bound_per_hour == cost):
            yield "optimal means that cost and bound are equal"

    def complete(self) -> Iterator[str]:
        """Nobody is left out for whom a machine may still be bought.

        Where pods ask something of others, a round may decide for one group what stands in the way of
        another one; later rounds must find a place for those, too.
        """
        rooms, world, kept = self.rooms(), self.world(), self.storage()
        sums = PoolSums(self.scene, self.plan)
        for unplaced in self.plan.unplaced:
            pod, code = self.pods[unplaced.pod], unplaced.reasons[0].code if unplaced.reasons else ""
            if code == "NotJudged" and not is_beyond(pod):
                yield f"{unplaced.pod} is not judged although it has nothing unusual"
            if is_beyond(pod) or code in ("BackOff", "NotJudged", "NamespaceLimit"):
                continue
            if self.is_expendable(pod) != (code == "Expendable"):
                yield f"{unplaced.pod} waits by {code}, and is {'' if self.is_expendable(pod) else 'not '}expendable"
            if self.is_expendable(pod):
                continue
            if checker_volumes.is_shared(kept, pod, self.scene.pods):
                continue
            if not self.is_settled and asks_of_others(pod):
                continue
            for pool in (name for name in self.pools_of(pod) if not self.is_blocked(name)):
                if checker_pace.holds_back(self, pod, pool):
                    continue
                for kind, place in self.catalogue(self.pools[pool]):
                    room = [rooms[pool, k] for k in ("", kind["name"])]
                    looks = self.looks(pool, kind, place, "new")
                    ref = self.pools[pool]["spec"].get("template", {}).get("classRef", {}).get("name", "default")
                    free = all(most is None or number + self.set_aside(pool) < most for most, number in room)
                    free = free and sums.is_room(pool, kind["name"], self.set_aside(pool))
                    free = free and not self.is_probed(kind["name"], place)
                    free = free and not self.is_out(ref, kind["name"], place)
                    if not free or any(True for _ in self.misfits("new", [pod], looks, [])):
                        continue
                    spot = Spot("new", looks[0], looks[1], newcomers=[pod])
                    if checker_topology.could_land(world, spot, pod) and checker_volumes.could_land(world, kept, spot):
                        yield f"{unplaced.pod} is left out although {kind['name']} may be bought for pool {pool}"

    def leaving(self) -> Iterator[str]:
        yield from self.minimums()
        for leaving in self.plan.removals:
            node = self.nodes[leaving.node]
            notes = node["metadata"]["annotations"]
            since = notes.get("growth.dev/idle-since")
            words = [taint.get("value") for taint in _wishes(node)]
            after = self.pools[leaving.pool]["spec"].get("scaleDown", {}).get("idleAfter", "10m") if not words else "0s"
            assert after in {"10m", "0s"}
            busy = [
                key(p)
                for p in self.residents(leaving.node)
                if owner(p).get("kind") != "DaemonSet"
                and "kubernetes.io/config.mirror" not in p["metadata"].get("annotations", {})
                and not _is_of_storage(p, leaving.node)
                and not (leaving.reason == "Consolidation" and self.is_expendable(p))
            ]
            placed = {p.node for p in self.plan.placed}
            if (
                busy
                or leaving.node in placed
                or (notes.get("growth.dev/do-not-remove") and "force" not in words)
                or (node["spec"].get("unschedulable") and not words)
            ):
                yield f"{leaving.node} shall go although something keeps it"
            if leaving.node in self.removals or leaving.node in self.scene.protected:
                yield f"{leaving.node} must not get a removal"
            if after == "10m" and (since is None or (self.scene.now - moment(since)).total_seconds() < 600):
                yield f"{leaving.node} is not idle for long enough"

    def minimums(self) -> Iterator[str]:
        """Yield the minimums that removals break; Ready machines that go must leave Ready ones."""
        ready = {
            name
            for name, node in self.nodes.items()
            if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
        }
        for word, counted in (("machines", set(self.nodes)), ("Ready machines", ready)):
            staying = Counter()
            for name in counted:
                metadata = self.nodes[name]["metadata"]
                under_removal = name in self.removals and not self.removals[name]["status"].get("cancel")
                if (
                    "growth.dev/pool" in metadata["labels"]
                    and not under_removal
                    and "deletionTimestamp" not in metadata
                ):
                    own = metadata["labels"]["growth.dev/pool"]
                    staying.update([(own, ""), (own, metadata["labels"]["growth.dev/server-type"])])
            # One that is asked for goes whatever the minimum, and no other may take it for one that stays.
            wished = [r for r in self.plan.removals if _wishes(self.nodes[r.node])]
            staying.subtract(k for r in wished if r.node in counted for k in ((r.pool, ""), (r.pool, r.server_type)))
            removed = [r for r in self.plan.removals if r.node in counted and r not in wished]
            going = Counter(k for r in removed for k in ((r.pool, ""), (r.pool, r.server_type)))
            for (name, kind), number in going.items():
                spec = self.pools[name]["spec"]
                least = next((t.get("min", 0) for t in spec["serverTypes"] if t["name"].lower() == kind), 0)
                least = least if kind else spec.get("limits", {}).get("min", 0)
                if staying[name, kind] - number < least:
                    yield f"{number} {word} of {kind or 'all types'} leave pool {name}, which keeps {least}"


def _wishes(node):
    """Return the taints by which somebody wants the node to go at once."""
    return [taint for taint in node["spec"].get("taints") or () if taint["key"] == "growth.dev/remove-now"]


def violations(scene: Scene, plan: Plan, *, is_settled: bool = False) -> list[str]:
    """Return every rule that the plan breaks, as sentences.

    With `is_settled`, rounds before have carried out what they decided: nobody may be left out any more.
    """
    return Checker(scene, plan, is_settled=is_settled).violations()


def _goes_on(removal: Json) -> bool:
    status = removal["status"]
    return not status.get("cancel") and status.get("phase", "Pending") != "CouldNotRemove"


def _takes_back(removal: Json) -> set[str]:
    """Return the phases in which the machine may be taken back: what finds no room where it moves to comes back."""
    spec = removal["spec"]
    return {"Pending", "Draining"} if spec.get("replacedBy") or spec.get("moves") else {"Pending"}


def _is_of_storage(pod: Json, node: str) -> bool:
    """Return whether it is a pod that Longhorn has on each node, and that may be evicted."""
    metadata = pod["metadata"]
    may_go = metadata.get("annotations", {}).get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "true"
    return may_go and owner(pod).get("kind") == "InstanceManager" and metadata["labels"].get("longhorn.io/node") == node
