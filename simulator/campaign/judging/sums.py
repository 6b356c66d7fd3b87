"""What a pool's machines come to in cores, memory and money is never above its limits when one more is asked for."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, Object, Resource
from api.keys import ANNOTATION_PRICE
from api.quantity import parse_quantity
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import PoolSpecs
from simulator.campaign.judging.invariants import EDIT_SECONDS
from simulator.campaign.judging.recorder import Witness

_FIELDS: Final = ("cpu", "memory", "pricePerHour")
Amounts = dict[str, Decimal]


class Sums:
    """Judges each request when it is made.

    Args:
        witness: knows which machines there are, before it takes the write.
        types: returns the server types of the class as they are, as its object has them.
        tell: takes a sentence for each violation.
    """

    def __init__(
        self,
        witness: Witness,
        types: Callable[[], list[Object]],
        *,
        seconds: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._witness, self._types, self._tell = witness, types, tell
        self._specs = PoolSpecs(seconds, EDIT_SECONDS)
        self._known: dict[str, Amounts] = {}
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Judge one write."""
        self._specs.note(resource, change)
        if resource == NODE_REQUESTS and change.kind != "DELETED" and change.before is None:
            self._bought(change.now["spec"]["pool"], change.now["spec"]["serverType"])

    def _bought(self, pool: str, server_type: str) -> None:
        bounds = [spec.get("limits") or {} for spec in self._specs.recent(pool)]
        if not bounds or not any(name in each for each in bounds for name in _FIELDS):
            return
        self._learn()
        machines = [self._amounts(name, kind) for name, kind in self._witness.machines_of(pool)]
        machines.append(self._known.get(server_type, {}))
        for name in _FIELDS:
            most = max((_number(each[name]) for each in bounds if name in each), default=Decimal(0))
            total = sum((amounts.get(name, Decimal(0)) for amounts in machines), Decimal(0))
            self._witness.counts[f"machines bought under a limit of {name}"] += any(name in each for each in bounds)
            if all(name in each for each in bounds) and total > most:
                violation = f"pool {pool} comes to {total} of {name} with one more {server_type}, of at most {most}"
                self.violations.append(violation)
                self._tell(violation)

    def _amounts(self, name: str, server_type: str) -> Amounts:
        """Return what a machine counts with: its price is what it was bought at, where that is on record."""
        of_type = self._known.get(server_type, {})
        node, request = self._witness.nodes.get(name, {}), self._witness.requests.get(name, {})
        paid = (node.get("metadata", {}).get("annotations") or {}).get(ANNOTATION_PRICE)
        paid = paid or request.get("status", {}).get("pricePerHour")
        return of_type | ({} if paid is None else {"pricePerHour": Decimal(paid)})

    def _learn(self) -> None:
        """Take the types of the class; of a price that changes, the lowest: a round may have read any."""
        for each in self._types():
            amounts = {name: _number(each["capacity"][name]) for name in ("cpu", "memory")}
            before = self._known.get(each["name"], {}).get("pricePerHour")
            price = Decimal(each["pricePerHour"])
            self._known[each["name"]] = amounts | {"pricePerHour": price if before is None else min(price, before)}


def _number(text: object) -> Decimal:
    value = parse_quantity(text)
    return Decimal(value.numerator) / value.denominator
