"""The purchases of a pool that rounds have made, by its requests: those that persons made are none of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.request import BY_DELETION

_COMING: Final = frozenset({RequestPhase.PENDING, RequestPhase.PROVISIONING})


@dataclass(frozen=True, slots=True)
class Purchases:
    """The requests of one pool."""

    requests: tuple[NodeRequest, ...] = ()

    @property
    def in_flight(self) -> int:
        """How many machines are asked for and not Ready, also those that persons asked for."""
        return sum(is_coming(request) for request in self.requests)

    @property
    def by_rounds(self) -> tuple[NodeRequest, ...]:
        """Those that rounds have made."""
        return tuple(r for r in self.requests if any(o.kind == "NodePool" for o in r.metadata.owner_references))

    @property
    def newest_at(self) -> datetime | None:
        """When a round last asked for a machine, as far as its request still exists."""
        return max((at for r in self.by_rounds if (at := r.metadata.creation_timestamp) is not None), default=None)


def purchases_by_pool(requests: Iterable[NodeRequest]) -> dict[str, Purchases]:
    """Return the purchases of each pool that has requests, by its name."""
    by_pool: dict[str, list[NodeRequest]] = {}
    for request in requests:
        by_pool.setdefault(request.spec.pool, []).append(request)
    return {name: Purchases(tuple(of_pool)) for name, of_pool in by_pool.items()}


def is_coming(request: NodeRequest) -> bool:
    """Return whether its machine is asked for and was not seen Ready."""
    return request.status.phase in _COMING and request.metadata.deletion_timestamp is None


def has_failed(request: NodeRequest) -> bool:
    """Return whether it ended without a machine that was ever Ready, and not because somebody took it back."""
    status = request.status
    if request.metadata.deletion_timestamp is not None or status.ready_at is not None:
        return False
    if status.phase is RequestPhase.DEPROVISIONING:
        return status.reason not in BY_DELETION
    return status.phase in {RequestPhase.UNMET, RequestPhase.FAILED}


def failed_at(request: NodeRequest) -> datetime | None:
    """Return when a failed request failed: by the event of that name, as later ones tell of its end."""
    events = request.status.events
    named = [event.at for event in events if event.name == request.status.reason]
    return min(named, default=events[-1].at if events else request.metadata.creation_timestamp)
