"""What the machines of pools come to in cores, memory and money beside their limits, from raw objects."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from planner.model.plan import Plan
from tests.planner.reading import Json, quantity
from tests.planner.scenes import Scene

FIELDS = ("cpu", "memory", "pricePerHour")
Sums = dict[str, Decimal]


class PoolSums:
    """The sums of a scene, and of what its plan buys."""

    def __init__(self, scene: Scene, plan: Plan) -> None:
        self._pools = {p["metadata"]["name"]: p for p in scene.pools}
        self._classes = {c["metadata"]["name"]: c for c in scene.classes}
        self._nodes = {n["metadata"]["name"]: n for n in scene.nodes}
        self._requests = {r["metadata"]["name"]: r for r in scene.requests}
        self._removals = {r["spec"]["serverName"]: r for r in scene.removals}
        self.bought = {
            name: [self.of_type(p, r.server_type) for r in plan.requests if r.pool == name]
            for name, p in self._pools.items()
        }

    def violations(self) -> Iterator[str]:
        """Yield each limit that what is bought goes beyond; what was there before may be above it."""
        for name in self._pools:
            for field in FIELDS if self.bought[name] else ():
                if (room := self.room(name, field)) is not None and room < 0:
                    yield f"machines are bought for pool {name} that come to {-room} more of {field} than its limit"

    def is_room(self, name: str, kind: str, set_aside: int) -> bool:
        """Return whether limits allow one more machine of the type beside what is bought, and beside so many others."""
        pool = self._pools[name]
        own = [self.of_type(pool, each["name"]) for each in pool["spec"]["serverTypes"]]
        wanted = self.of_type(pool, kind)
        for field in FIELDS:
            room, largest = self.room(name, field), max(each[field] for each in own)
            if room is not None and wanted[field] + set_aside * largest > room:
                return False
        return True

    def room(self, name: str, field: str) -> Decimal | None:
        """Return what is left after the plan; None without a limit."""
        pool = self._pools[name]
        most = pool["spec"].get("limits", {}).get(field)
        if most is None:
            return None
        there = [self._of_machine(pool, machine) for machine in self._machines(name)]
        used = sum((each[field] for each in (*there, *self.bought[name])), Decimal(0))
        return number(field, most) - used

    def _machines(self, pool: str) -> Iterable[str]:
        for name in sorted({*self._nodes, *self._requests, *self._removals}):
            request, removal = self._requests.get(name), self._removals.get(name)
            whose, _ = self._origin(name)
            is_wish_alone = name not in self._nodes and removal is None and request is not None
            if whose == pool and not (is_wish_alone and request["status"].get("phase") in ("Unmet", "Failed")):
                yield name

    def _of_machine(self, pool: Json, name: str) -> Sums:
        node, request = self._nodes.get(name), self._requests.get(name)
        amounts = self.of_type(pool, self._origin(name)[1])
        paid = None if node is None else node["metadata"]["annotations"].get("growth.dev/price-per-hour")
        if paid is None and request is not None:
            paid = request["status"].get("pricePerHour")
        return amounts if paid is None else amounts | {"pricePerHour": Decimal(paid)}

    def _origin(self, name: str) -> tuple[str, str]:
        """Return pool and type of a machine."""
        wish = self._requests.get(name) or self._removals.get(name)
        if wish is not None:
            return wish["spec"]["pool"], wish["spec"]["serverType"]
        labels = self._nodes[name]["metadata"]["labels"]
        return labels.get("growth.dev/pool", ""), labels.get("growth.dev/server-type", "")

    def of_type(self, pool: Json, kind: str) -> Sums:
        """Return what a machine of the type counts with: what its class says of the type."""
        ref = pool["spec"].get("template", {}).get("classRef", {}).get("name", "default")
        types = self._classes[ref]["spec"]["serverTypes"] if ref in self._classes else []
        for each in types:
            if each["name"].lower() == kind.lower():
                amounts = {field: number(field, each["capacity"][field]) for field in ("cpu", "memory")}
                return amounts | {"pricePerHour": Decimal(each["pricePerHour"])}
        return dict.fromkeys(FIELDS, Decimal(0))


def number(field: str, text: object) -> Decimal:
    """Return a limit or an amount as a number."""
    return Decimal(str(text)) if field == "pricePerHour" else Decimal(quantity(str(text), field))
