"""The longest payloads that there can be: names, words and lists as long as the API lets them be."""

from datetime import UTC, datetime
from decimal import Decimal

from activities.objects.start_notes import note_on_removal, note_on_request, prices
from api.meta import Condition
from api.v1alpha1.node_removal_request import CancelRecord, NodeRemovalRequestStatus
from api.v1alpha1.node_request import NodeRequestStatus
from api.v1alpha1.pool_parts.scale_up import PodBackoff
from planner.lifecycle.kinds import ObjectId
from planner.lifecycle.seen import DecisionSeen, DrainSeen, NodeSeen, RemovalObservation, RequestObservation
from planner.model.plan import PlannerMemory, PlanResult, PodBackoffState
from planner.model.round import STARTS_PER_ROUND, RoundResult
from planner.objects.offering import Offering
from planner.policies.admission import Miss, remember

NOW = datetime(2026, 11, 1, 12, 30, 15, 123456, tzinfo=UTC)
UID = "01234567-89ab-cdef-0123-456789abcdef"
LABEL = "t" * 63
POOL = "p" * 40
NODE = "n" * 253
POD = f"{'s' * 63}/{'p' * 253}"
VERSIONS = {f"{number:02d}{'k' * 61}": "9" * 20 for number in range(16)}
CLASS_REF = {"kind": "KwokNodeClass", "name": "c" * 63}
PRICES = prices([("KwokNodeClass", "c" * 63, [Offering(LABEL, LABEL, Decimal("123.4567890"), "EUR", {})])])


def name(number: int) -> str:
    """Return a name of a request or removal, as long as one may be."""
    return f"{number:03d}{'n' * 60}"


def uid(number: int) -> str:
    """Return a uid."""
    return f"{number:08d}{UID[8:]}"


def request(number: int) -> dict:
    """Return a NodeRequest for as many pods as the largest machine may take."""
    seats = [
        {"namespace": "s" * 63, "name": "p" * 253, "uid": uid(seat), "owner": UID, "class": "c" * 16}
        for seat in range(1000)
    ]
    spec = {"pool": POOL, "serverType": LABEL, "location": LABEL, "classRef": CLASS_REF, "reservedFor": seats}
    return _object("NodeRequest", number, spec)


def removal(number: int) -> dict:
    """Return a NodeRemovalRequest."""
    spec = {
        "serverName": name(number),
        "nodeName": NODE,
        "pool": POOL,
        "serverType": LABEL,
        "location": LABEL,
        "classRef": CLASS_REF,
        "reason": "R" * 64,
    }
    return _object("NodeRemovalRequest", number, spec)


def memory() -> PlannerMemory:
    """Return what a planner remembers after a round in which far more classes than it keeps had no place."""
    misses = [Miss(key=f"{number:016x}", policy=PodBackoff(), affinity_fingerprint="f" * 16) for number in range(1000)]
    return remember(PlannerMemory(supply="f" * 16), "f" * 16, misses, {}, NOW).memory


def named_memory() -> PlannerMemory:
    """Return the largest memory if classes were known by names as long as a pod's."""
    state = PodBackoffState(misses=10**9, until=NOW, sought="f" * 16)
    return PlannerMemory(backoff={f"{number:02d}{'p' * 251}": state for number in range(40)}, supply="f" * 64)


def busiest_round() -> RoundResult:
    """Return a round that starts as many workflows as it may, and says as much of each as it may."""
    half = STARTS_PER_ROUND // 2
    notes = {uid(number): note_on_request(request(number), PRICES) for number in range(half)}
    notes |= {uid(number): note_on_removal(removal(number), PRICES) for number in range(half, STARTS_PER_ROUND)}
    subjects = [ObjectId(name=name(number), uid=uid(number)) for number in range(STARTS_PER_ROUND)]
    return RoundResult(
        result=PlanResult.INCOMPLETE_PLACEMENT,
        summary="s" * 400,
        requests=tuple(subjects[:half]),
        removals=tuple(subjects[half:]),
        notes=notes,
        memory=named_memory(),
        versions=VERSIONS,
        is_open=True,
        wake_at=NOW,
    )


def request_seen() -> RequestObservation:
    """Return the most that can be seen of a request."""
    status = NodeRequestStatus(
        reason="R" * 64,
        message="m" * 1024,
        workflow_id="w" * 200,
        provider_id="i" * 253,
        node_name=NODE,
        conditions=_conditions("Launched", "Registered", "Ready", "NodeAsPlanned"),
        **dict.fromkeys(_moments(NodeRequestStatus), NOW),
    )
    return RequestObservation(pool=POOL, status=status, node=NodeSeen(name=NODE, ready=True))


def removal_seen() -> RemovalObservation:
    """Return the most that can be seen of a removal."""
    status = NodeRemovalRequestStatus(
        reason="R" * 64,
        message="m" * 1024,
        workflow_id="w" * 200,
        cancel=CancelRecord(at=NOW, by="b" * 64, reason="r" * 512),
        conditions=_conditions("Tainted", "Drained", "Empty", "Removed"),
        **dict.fromkeys(_moments(NodeRemovalRequestStatus), NOW),
    )
    return RemovalObservation(
        pool=POOL,
        status=status,
        server_problem="p" * 1024,
        decision=DecisionSeen(word="w" * 64, reason="r" * 512, by="b" * 64),
        node=NodeSeen(name=NODE, ready=True),
        occupants=(POD,) * 5,
        occupant_count=1000,
        drain=DrainSeen(in_turn=1000, blockers=(f"{POD}: BlockedByLocalStorage",) * 6),
    )


def _conditions(*types: str) -> tuple[Condition, ...]:
    longest = {"status": "Unknown", "reason": "R" * 64, "message": "m" * 1024, "last_transition_time": NOW}
    return tuple(Condition(type=each, observed_generation=10**9, **longest) for each in types)


def _moments(status: type) -> list[str]:
    return [field for field in status.model_fields if field.endswith(("_at", "_by", "_deadline"))]


def _object(kind: str, number: int, spec: dict) -> dict:
    metadata = {"name": name(number), "uid": uid(number)}
    return {"apiVersion": "growth.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
